package clew_test

import (
	"context"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/summary"
)

// TestBranchTemplate: the summary of a branch has the form that compactions have.
func TestBranchTemplate(t *testing.T) {
	cfg := small(200_000)
	cfg.Policy.Name, cfg.Policy.Template = compact.PresetPi, summary.Structured
	s := newSession(t, cfg)
	at := add(t, s, message.User("begin", start), message.Assistant(start, message.TextBlock("ok")))
	add(t, s, work("alpha")...)
	b := branchTo(t, s, at[1], clew.BranchOptions{Summarize: true})
	if text := b.Summary.Summary; !strings.Contains(text, "## Critical Context\n") || strings.Contains(text, "## Sources") {
		t.Error(text)
	}
}

// TestBeforeBranchIsAskedEachTime: also when nobody wants a summary, and with what the
// move is about.
func TestBeforeBranchIsAskedEachTime(t *testing.T) {
	var events []clew.BeforeBranchEvent
	cfg := small(200_000)
	cfg.Hooks = []clew.Hooks{{BeforeBranch: func(_ context.Context, e clew.BeforeBranchEvent) (clew.Decision, error) {
		events = append(events, e)
		return clew.Decision{}, nil
	}}}
	s := newSession(t, cfg)
	at := add(t, s, message.User("begin", start), message.Assistant(start, message.TextBlock("ok")))
	left := add(t, s, work("alpha")...)
	branchTo(t, s, at[1], clew.BranchOptions{})
	branchTo(t, s, left[4], clew.BranchOptions{})
	branchTo(t, s, at[1], clew.BranchOptions{Summarize: true})
	if len(events) != 3 {
		t.Fatalf("asked %d times", len(events))
	}
	if e := events[0]; e.Summarize || e.From != left[4] || e.Target != at[1] || e.Ancestor != at[1] || len(e.Entries()) != len(left) {
		t.Errorf("%+v, %d entries", e, len(e.Entries()))
	}
	if !events[2].Summarize {
		t.Error("the hook is not told that a summary is wanted")
	}
}
