package compact_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/wire"
)

var at = time.UnixMilli(1_767_322_000_000)

func call(ids ...string) *message.Message {
	var blocks []message.Block
	for _, id := range ids {
		blocks = append(blocks, message.ToolCallBlock(id, "bash", []byte("{}")))
	}
	return message.Assistant(at, blocks...)
}

func stopped(m *message.Message) *message.Message {
	m.StopReason = message.StopAborted
	return m
}

// TestOpenCallsCanBeClosed: defect 1.2 of issue 11. Whatever follows an answer whose
// calls have no results, they are pending, and after CloseOpenCalls every provider
// takes the context.
func TestOpenCallsCanBeClosed(t *testing.T) {
	user := message.User("go on", at)
	text := func(s string) *message.Message { return message.Assistant(at, message.TextBlock(s)) }
	thinking := message.Assistant(at, message.ThinkingBlock("hm", "sig"))
	for _, c := range []struct {
		name    string
		msgs    []*message.Message
		pending int
	}{
		{"nothing", []*message.Message{call("c1")}, 1},
		{"an aborted answer", []*message.Message{call("c1"), stopped(text("par"))}, 1},
		{"a request and an aborted answer", []*message.Message{call("c1"), user, stopped(text("par"))}, 1},
		{"an aborted answer with a call of the same id", []*message.Message{call("c1"), stopped(call("c1", "c2"))}, 1},
		{"the result of an aborted answer's call", []*message.Message{call("c1", "c1"), stopped(call("c2")), message.ToolResult("c2", "bash", "x", false, at)}, 2},
		{"an answer that is all reasoning", []*message.Message{call("c1", "c2"), user, thinking}, 2},
		{"a blank answer", []*message.Message{call("c1"), user, text(" \n")}, 1},
		{"a late result", []*message.Message{call("c1"), user, stopped(text("par")), message.ToolResult("c1", "bash", "x", false, at)}, 0},
		{"an answer", []*message.Message{call("c1"), user, text("all right")}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := newLog(t)
			for _, m := range append([]*message.Message{message.User("run the tests", at)}, c.msgs...) {
				appendTo(t, log, session.Message(m))
			}
			closeAndRender(t, log, c.pending)
		})
	}
}

func newLog(t *testing.T, entries ...*session.Entry) *session.Log {
	t.Helper()
	log, err := session.NewLog(context.Background(), session.NewMemory(session.Header{ID: "s", Version: 3}, entries...), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func appendTo(t *testing.T, log *session.Log, drafts ...session.Draft) {
	t.Helper()
	if _, err := log.Append(context.Background(), drafts...); err != nil {
		t.Fatal(err)
	}
}

// closeAndRender closes the open calls of a log, of which there must be want unless
// it is negative, and renders the context for every provider. It returns how many
// calls there were.
func closeAndRender(t *testing.T, log *session.Log, want int) int {
	t.Helper()
	ctx := context.Background()
	n, err := compact.CloseOpenCalls(ctx, log)
	if err != nil || want >= 0 && n != want {
		t.Errorf("%d calls were closed, want %d: %v", n, want, err)
	}
	c, err := log.Context(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if left := compact.Pending(c.Items); len(left) > 0 {
		t.Errorf("%d calls are still pending", len(left))
	}
	for _, name := range wire.ProfileNames() {
		p, err := wire.ProfileByName(name)
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := wire.Build(contents(c), p, wire.Target{Provider: "anthropic", Model: "claude-opus-4-6", TakesImages: true}, wire.Options{})
		var invalid *wire.ValidationError
		if err != nil && (!errors.As(err, &invalid) || len(r.Messages) > 0 || len(invalid.Violations) != 1) {
			t.Errorf("%s: %v", name, err)
		}
	}
	return n
}

// TestAnySessionRendersAfterCloseOpenCalls: every leaf of random sessions, wild ones
// included.
func TestAnySessionRendersAfterCloseOpenCalls(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 40
	}
	ctx := context.Background()
	leaves, closed := 0, 0
	for seed := range seeds {
		s := sessiongen.Generate(seed, sessiongen.Options{Version: 3, WellFormed: seed%8 == 0, PiSafe: seed%4 == 1, Odds: sessiongen.Odds{Branch: 0.15}})
		var entries []*session.Entry
		parents := map[string]bool{}
		for line := range bytes.Lines(s.Bytes()) {
			if e, err := session.ParseEntry(bytes.TrimSpace(line)); err == nil {
				entries = append(entries, e)
				parents[e.ParentID] = true
			}
		}
		for _, e := range entries {
			if e.ID == "" || parents[e.ID] {
				continue
			}
			log := newLog(t, entries...)
			if err := log.Navigate(ctx, e.ID, ""); err != nil {
				continue // it is one of two entries with that id
			}
			leaves++
			closed += closeAndRender(t, log, -1)
			if t.Failed() {
				t.Fatalf("seed %d, leaf %s", seed, e.ID)
			}
		}
	}
	t.Logf("%d leaves, %d calls closed", leaves, closed)
	if closed < int(seeds)/4 {
		t.Errorf("only %d calls of %d leaves were pending", closed, leaves)
	}
}
