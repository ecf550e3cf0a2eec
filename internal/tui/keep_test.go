package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/model/modeltest"
)

// DraftFile is where a draft is kept.
func (h *fakeHost) DraftFile() (string, error) { return filepath.Join(h.dir, "x", "draft"), nil }

// TestDraftIsKept: Ctrl+C twice leaves only where nothing is typed between, and what stands
// in the editor then is offered the next time.
func TestDraftIsKept(t *testing.T) {
	x := newTerm(t, func(h *fakeHost, _ *Config) {
		if err := errors.Join(os.Mkdir(filepath.Join(h.dir, "x"), 0o700), os.WriteFile(filepath.Join(h.dir, "x", "draft"), []byte("of before"), 0o600)); err != nil {
			t.Fatal(err)
		}
	})
	x.until("the draft of before", func() bool { return x.u.ed.Text() == "of before" })
	x.press("ctrl+c")
	x.typed("a draft")
	x.press("ctrl+c")
	if x.quit || x.u.quitting {
		t.Fatal("it has left with a draft")
	}
	x.update(tea.PasteMsg{Content: "pasted"})
	x.press("ctrl+c")
	if x.quit || x.u.quitting {
		t.Fatal("it has left with a paste")
	}
	x.press("up", "up")
	if got := x.u.ed.Text(); got != "a draft" {
		t.Errorf("Ctrl+C has thrown %q away", got)
	}
	x.press("ctrl+c", "ctrl+c")
	if !x.u.quitting || x.u.ed.Text() != "a draft" {
		t.Fatalf("Ctrl+C twice: leaves %v, with the draft %q", x.u.quitting, x.u.ed.Text())
	}
	if err := x.u.keepDraft(); err != nil {
		t.Fatal(err)
	}
	y := newTerm(t, func(h *fakeHost, _ *Config) { h.dir, h.files = x.h.dir, []string{"another"} })
	y.until("the draft", func() bool { return y.u.ed.Text() == "a draft" })
	if _, err := os.Stat(filepath.Join(x.h.dir, "x", "draft")); !os.IsNotExist(err) {
		t.Errorf("it would be offered again: %v", err)
	}
}

// TestOutcomesAfterResume: what was denied and cancelled is shown as such when the log is
// read again.
func TestOutcomesAfterResume(t *testing.T) {
	slow, _ := gate("look")
	x := newTerm(t, withTools(ask("bash"), slow))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "bash", "{}")), modeltest.Answer(modeltest.Call("b", "look", "{}")))
	x.say("push")
	x.sees("allow bash?")
	x.h.clock.add(1e9)
	x.press("n")
	x.sees("look for the gate  running")
	x.press("esc")
	x.idle()
	for range 2 {
		status := map[string]bool{}
		for _, it := range x.u.log.items {
			if it.Kind == widget.BlockTool {
				status[strings.Join(it.Lines(x.u.theme, 80), "")] = true
			}
		}
		for line := range status {
			if !strings.Contains(line, "denied") && !strings.Contains(line, "cancelled") || len(status) != 2 {
				t.Errorf("%q", line)
			}
		}
		x.u.load()
		x.exec(x.u.flush())
		x.until("the reading", func() bool { return !x.u.loading })
	}
}

// TestReadingMeetsAQuestion: a call that the log has without a result gets it, also where the screen
// has not heard yet that the agent is at work.
func TestReadingMeetsAQuestion(t *testing.T) {
	x := newTerm(t, withTools(ask("bash")))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "bash", "{}")), modeltest.Text("All right."))
	x.say("push")
	x.sees("allow bash?")
	x.u.state.Doing = agent.DoingNothing
	x.u.load()
	x.exec(x.u.flush())
	x.until("the reading", func() bool { return !x.u.loading })
	x.lacks("cancelled")
	x.h.clock.add(1e9)
	x.press("n")
	x.sees("denied")
	x.sees("All right.")
	x.idle()
}

// TestPlainHoldsItsLines: what happens while the transcript is read is printed when it is there, once.
func TestPlainHoldsItsLines(t *testing.T) {
	x := newTerm(t, nil)
	var out strings.Builder
	x.u.cfg.Out = &out
	p := onLines(x.u)
	x.u.load()
	cmd := x.u.flush()
	p.event(agent.Event{Kind: agent.KindTurnStart})
	if out.Len() > 0 {
		t.Errorf("printed too early: %q", out.String())
	}
	p.loaded(loadedMsg{gen: x.u.gen})
	if n := strings.Count(out.String(), "Working"); n != 1 {
		t.Errorf("printed %d times:\n%s", n, out.String())
	}
	x.exec(cmd)
}

// TestOwnCommandIsSent: a command that a file defines is expanded and sent.
func TestOwnCommandIsSent(t *testing.T) {
	x := newTerm(t, nil)
	x.h.model.Add(modeltest.Text("Tidied."), modeltest.Text("As it is."))
	x.typed("/tid")
	x.sees("/tidy  Tidy up")
	x.press("tab")
	x.typed("the kitchen")
	x.press("enter")
	x.sees("Tidied.")
	x.say("//tidy")
	x.sees("As it is.")
	x.idle()
	if got := strings.Join(x.users(), "|"); got != "Tidy up: the kitchen|/tidy" {
		t.Errorf("sent %q", got)
	}
}

// TestLongSessionIsReadFromItsEnd: what is shown costs what is shown; going up reads more.
func TestLongSessionIsReadFromItsEnd(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(12)
	x.u.page = 4
	x.u.load()
	x.exec(x.u.flush())
	x.until("the end", func() bool { return !x.u.loading })
	said := func() (out string) {
		for _, it := range x.u.log.items {
			out += it.Text + "\n"
		}
		return out
	}
	if got := said(); !strings.Contains(got, "question 11") || strings.Contains(got, "question 8") {
		t.Errorf("of the last 4 entries the screen has\n%s", got)
	}
	for x.u.more {
		x.press("home")
		x.until("more", func() bool { return !x.u.loading })
	}
	if got := said(); !strings.Contains(got, "question 0") {
		t.Errorf("who goes up gets\n%s", got)
	}
}

// TestUndoTakesFilesBack: /undo offers the files of the last turn that changed some, the
// conversation, or both.
func TestUndoTakesFilesBack(t *testing.T) {
	for key, want := range map[string]struct{ file, said string }{"f": {"old", "change it"}, "c": {"new", ""}, "b": {"old", ""}, "n": {"new", "change it"}} {
		t.Run(key, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f.txt")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			write := &fake{name: "write", effect: tool.Effect{Kind: tool.Read}, do: func(ctx context.Context, c tool.Call) (tool.Result, error) {
				if err := c.Record(ctx, tool.Change{Path: path, Before: []byte("old"), After: []byte("new"), Mode: 0o600}); err != nil {
					return tool.Result{}, err
				}
				return tool.Text("ok"), os.WriteFile(path, []byte("new"), 0o600)
			}}
			x := newTerm(t, func(h *fakeHost, c *Config) {
				h.cfg = func(c *agent.Config) { c.Tools, c.Engine.Blobs = []tool.Tool{write}, &blob.Memory{} }
			})
			x.h.model.Add(modeltest.Answer(modeltest.Call("a", "write", "{}")), modeltest.Text("Changed."))
			x.say("change it")
			x.sees("Changed.")
			x.idle()
			x.say("/diff")
			x.sees("+new")
			x.press("esc")
			x.say("/undo")
			x.sees("take back what?")
			x.sees("f.txt")
			x.lacks("the last compaction")
			x.h.clock.add(time.Second)
			x.press(key)
			x.idle()
			x.until("the end", func() bool { return len(x.u.jobs) == 0 && strings.Join(x.users(), "") == want.said })
			if data, err := os.ReadFile(path); err != nil || string(data) != want.file {
				t.Errorf("the file is %q, %v", data, err)
			}
		})
	}
}

// TestTodosAreShown: the list that the model keeps stands above the editor until it is done,
// also after a resume.
func TestTodosAreShown(t *testing.T) {
	list := `{"todos":[{"content":"find the cause","status":"completed"},{"content":"mend it","status":"in_progress"},{"content":"test","status":"pending"}]}`
	todo := &fake{name: "todo", effect: tool.Effect{Kind: tool.Read}, do: func(context.Context, tool.Call) (tool.Result, error) {
		r := tool.Text("kept")
		r.Details = []byte(list)
		return r, nil
	}}
	x := newTerm(t, withTools(todo))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "todo", "{}")), modeltest.Text("Begun."), modeltest.Answer(modeltest.Call("b", "todo", "{}")), modeltest.Text("All done."))
	x.say("begin")
	x.sees("Begun.")
	x.idle()
	x.u.todos = nil
	x.u.load()
	x.exec(x.u.flush())
	x.sees("▸ mend it")
	x.sees("✓ find the cause")
	x.sees("☐ test")
	list = `{"todos":[{"content":"mend it","status":"completed"}]}`
	x.say("go on")
	x.sees("All done.")
	x.idle()
	x.lacks("✓ mend it")
}

// TestPreviewSaysWhenASummaryIsTooLong: what is too long is not applied, and not replaced.
func TestPreviewSaysWhenASummaryIsTooLong(t *testing.T) {
	x := newTerm(t, small)
	x.fill(4)
	x.say("/compact")
	x.sees("characters · Ctrl+S")
	x.update(tea.PasteMsg{Content: strings.Repeat("A long word of mine. ", 2_000)})
	x.sees("too long: ~")
	x.press("ctrl+s")
	x.sees("too long: ~")
	if len(x.u.over) != 1 {
		t.Fatal("it was taken all the same")
	}
	x.press("ctrl+_")
	x.sees("characters · Ctrl+S")
	x.press("ctrl+s")
	x.sees("[compaction]")
}

// TestSummarizeUpToHere: what is before an entry of the tree becomes a summary; what follows
// stays, and so does the place of the conversation.
func TestSummarizeUpToHere(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(3)
	tree := func(keys ...string) {
		x.say("/tree")
		x.sees("Enter go · Esc leave")
		x.press(keys...)
		x.sees("summarize up to here")
		x.press("u")
	}
	tree("up", "up", "up", "enter") // the second question
	x.sees("Ctrl+S applies it")
	x.sees("question 0")
	x.press("ctrl+s")
	x.sees("[compaction]")
	x.idle()
	got := x.context()
	if len(got) != 5 || got[0] != "compactionSummary: (summary)" || got[1] != "user: question 1" || !strings.HasPrefix(got[4], "assistant: Answer 2") {
		t.Errorf("the context is %q", got)
	}
	if x.u.ed.Text() != "" {
		t.Errorf("the editor has %q", x.u.ed.Text())
	}
	tree("home", "enter") // a summary stands for it
	x.sees("this entry is not in the context")
	if now := x.context(); !slices.Equal(now, got) {
		t.Errorf("the context is %q", now)
	}
}

// TestTreeAfterALabel: an entry that the tree has only since something was labelled can be chosen like any other.
func TestTreeAfterALabel(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(1)
	x.say("/tree")
	x.sees("Enter go · Esc leave")
	x.press("L")
	x.sees("label (empty: none)")
	x.typed("a mark")
	x.press("enter")
	x.sees("[a mark]")
	x.press("ctrl+o", "end", "enter")
	x.sees("go there?")
	x.sees("label")
}

// TestMovedCounts: what is said of one message is said of one.
func TestMovedCounts(t *testing.T) {
	x := newTerm(t, nil)
	arrived(x.u, &clew.Branched{From: "b", Leaf: "a", Left: 1})
	x.sees("moved; 1 message stays on the branch that was left")
	arrived(x.u, &clew.Branched{From: "b", Leaf: "a", Left: 2})
	x.sees("moved; 2 messages stay on the branch that was left")
}

// TestSummarizeFromHere: a summary tells what follows an entry, and the conversation goes on
// there.
func TestSummarizeFromHere(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(3)
	x.say("/tree")
	x.sees("Enter go · Esc leave")
	x.press("up", "up", "enter") // the second answer
	x.sees("summarize from here")
	x.press("s")
	x.sees("+ [branch summary]")
	x.idle()
	got := x.context()
	if len(got) != 5 || !strings.HasPrefix(got[3], "assistant: Answer 1") || got[4] != "branchSummary: (summary)" {
		t.Errorf("the context is %q", got)
	}
}

// TestSessionsSayHowFull: the list has what each session was about, and how full it is.
func TestSessionsSayHowFull(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(2)
	x.say("/name the keeper")
	x.sees("is now called")
	x.say("/new")
	x.sees("a new session")
	x.idle()
	x.say("/resume")
	x.sees("the keeper")
	x.sees(" 1 %")
	x.sees("question 0")
}

// TestProposalCanBeRead: however large the conversation is, the proposal of a summary is of a
// size that somebody reads, and the preview says how long it is.
func TestProposalCanBeRead(t *testing.T) {
	x := newTerm(t, nil)
	for i := range 60 {
		x.h.model.Add(modeltest.Text(fmt.Sprintf("Answer %d. I have changed pkg/file%d.go, and decided to take path %d because of rule %d. ", i, i, i, i) + strings.Repeat("The tide turns. ", 60)))
		x.tell(fmt.Sprintf("Step %d: %s", i, strings.Repeat(fmt.Sprintf("remember rule %d. ", i), 60)))
		x.h.wait()
	}
	x.idle()
	rep, err := x.h.Agent().Compact(t.Context(), agent.CompactRequest{Preview: true})
	if err != nil || len(rep.Summary) < 10_000 || len(rep.Summary) > 60_000 || rep.SummaryLimit != 12_000 {
		t.Fatalf("%d characters of at most %d tokens, %v", len(rep.Summary), rep.SummaryLimit, err)
	}
	x.say("/compact")
	x.sees("of 12k tokens, ")
}

// TestOmit: a message is taken out of the context, from the tree, by its id or from a list, and
// /undo brings it back.
func TestOmit(t *testing.T) {
	for name, how := range map[string]func(x *screenTest){
		"tree": func(x *screenTest) {
			x.say("/tree")
			x.sees("Enter go · Esc leave")
			x.press("up", "up", "enter", "o") // the second answer
		},
		"id": func(x *screenTest) { x.say("/omit [#" + x.id("Answer 1") + "]") },
		"list": func(x *screenTest) {
			x.say("/omit")
			x.sees("omit a message")
			x.typed("answer 1")
			x.press("enter")
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTerm(t, nil)
			x.fill(3)
			whole := x.context()
			how(x)
			x.sees("- omitted: ")
			x.sees("/undo takes it back")
			x.lacks("[compaction]")
			x.idle()
			if got := x.context(); len(got) != len(whole)-1 || strings.Contains(strings.Join(got, " "), "Answer 1") {
				t.Errorf("the context is %q", got)
			}
			x.say("/undo")
			x.sees("as it was before")
			x.idle()
			x.lacks("- omitted: ")
			if got := x.context(); !slices.Equal(got, whole) {
				t.Errorf("after /undo the context is %q", got)
			}
			x.say("/omit ffff")
			x.sees("omit ffff")
			x.say("/pin " + x.id("Answer 0"))
			x.sees("pinned: ")
			x.say("/omit " + x.id("Answer 0"))
			x.sees("omit: ")
			x.idle()
			x.lacks("the compaction failed")
		})
	}
}

// id is that of the message that begins with a text.
func (x *screenTest) id(begins string) string {
	path, err := x.h.Agent().Path(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	for _, s := range path {
		if s.Message != nil && strings.HasPrefix(s.Message.Text(), begins) {
			return s.ID
		}
	}
	x.t.Fatalf("nothing begins with %q", begins)
	return ""
}

// TestNothingToContinue: /continue after an answer that is whole says that there is nothing to do.
func TestNothingToContinue(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(1)
	x.lacks("nothing to go on with")
	x.say("/continue")
	x.sees("there is nothing to go on with")
}

// TestWhatWaitsForAnAnswer: what was asked for over a question is seen to wait.
func TestWhatWaitsForAnAnswer(t *testing.T) {
	push := &fake{name: "push", effect: tool.Effect{Kind: tool.Run, Line: "push"}, do: result("pushed", "")}
	x := newTerm(t, withTools(push))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "push", "{}")), modeltest.Text("Pushed."))
	x.say("push it")
	x.sees("allow push?")
	x.h.clock.add(time.Second)
	x.say("/compact")
	x.sees("making a preview of the compaction waits until this is answered")
	x.say("/explain")
	x.sees("A tool call is under way")
	x.press("esc")
	x.h.clock.add(time.Second)
	x.press("y")
	x.sees("Pushed.")
	x.idle()
}
