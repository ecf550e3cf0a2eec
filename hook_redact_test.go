package clew_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// What a hook took out of the context comes back neither with a summary nor with its
// facts, nor when the pass or a branch is left.
func TestRedactedStaysOut(t *testing.T) {
	const secret = "hunter2hunter2"
	ctx := context.Background()
	cfg := small(8_000)
	cfg.Hooks = []clew.Hooks{{EditContext: func(_ context.Context, e clew.ContextEvent) (clew.Decision, error) {
		var d clew.Decision
		for _, it := range e.Context() {
			changed := false
			for i, b := range it.Message.Content {
				if b.Type == message.BlockText && strings.Contains(b.Text, secret) {
					it.Message.Content[i] = message.TextBlock(strings.ReplaceAll(b.Text, secret, clew.Redacted))
					changed = true
				}
				if b.Type == message.BlockToolCall && strings.Contains(string(b.Arguments), secret) {
					it.Message.Content[i] = message.ToolCallBlock(b.ID, b.Name, []byte(strings.ReplaceAll(string(b.Arguments), secret, clew.Redacted)))
					changed = true
				}
			}
			if changed {
				d.Edits = append(d.Edits, clew.Edit{Entry: it.Entry.ID, Content: it.Message.Content})
			}
		}
		return d, nil
	}}}
	s := newSession(t, cfg)
	ids := add(t, s, message.User("Remember: the password is "+secret+", use it for deploy.", start),
		message.Assistant(start, message.TextBlock("I use "+secret+"."), message.ToolCallBlock("c0", "bash", []byte(`{"command":"deploy --password `+secret+`"}`))),
		message.ToolResult("c0", "bash", "error: "+secret+" was refused", true, start))
	p := prepare(t, s)
	if shownText := shown(p.Messages); strings.Contains(shownText, secret) || strings.Count(shownText, clew.Redacted) != 4 || len(p.Warnings) > 0 {
		t.Fatalf("%v in %s", p.Warnings, shownText)
	}
	r := rand.New(rand.NewPCG(2, 2))
	passes := 0
	for k := range 25 {
		add(t, s, turn(r, k)...)
		p := prepare(t, s)
		if strings.Contains(shown(p.Messages), secret) {
			t.Fatalf("turn %d: the secret is back", k)
		}
		if p.Plan.Act {
			passes++
		}
	}
	if passes < 2 {
		t.Errorf("%d passes: the test shows little", passes)
	}
	for e, err := range s.Log().Store().All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(e.Raw()), secret) && e.ID != ids[0] && e.ID != ids[1] && e.ID != ids[2] {
			t.Errorf("the secret was copied to %s", e.Raw())
		}
	}
	if _, err := s.Undo(ctx, session.UndoOptions{KeepLater: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(contextOf(t, s.Log().Store()), secret) {
		t.Error("the secret came back when the pass was undone")
	}
	b, err := s.Branch(ctx, ids[2], clew.BranchOptions{Summarize: true})
	if err != nil {
		t.Fatal(err)
	}
	if b.Summary == nil || strings.Contains(b.Summary.Summary+string(b.Summary.Details), secret) {
		t.Error("the secret is in the summary of the branch")
	}
	// The branch stands before the edits, which are on the other one: the hook makes them
	// again.
	if p := prepare(t, s); strings.Contains(shown(p.Messages), secret) {
		t.Error("the secret is in the context of the new branch")
	}
}
