package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

func TestStart(t *testing.T) {
	x := newTerm(t, nil)
	x.golden("start")
}

func TestAnswer(t *testing.T) {
	x := newTerm(t, nil)
	x.h.model.Add(modeltest.Text("# Hello\n\nI am *here*, with `code`.\n\n- one\n- two"))
	x.say("hi there")
	x.sees("two")
	x.idle()
	x.golden("answer")
	if got := strings.Join(x.h.lines, "|"); got != "hi there" {
		t.Errorf("remembered %q", got)
	}
}

// TestStreaming: what has come of an answer is shown, and goes when it counts for nothing.
func TestStreaming(t *testing.T) {
	x := newTerm(t, nil)
	event := func(e agent.Event) { x.h.queue.Send(e); x.sees("") }
	x.until("quiet", func() bool { return len(x.msgs) == 0 })
	event(agent.Event{Kind: agent.KindRequest})
	event(agent.Event{Kind: agent.KindDelta, Part: agent.PartThinking, Text: "let me think\nabout it"})
	event(agent.Event{Kind: agent.KindDelta, Part: agent.PartText, Block: 1, Text: "The ans"})
	event(agent.Event{Kind: agent.KindDelta, Part: agent.PartText, Block: 1, Text: "wer is"})
	event(agent.Event{Kind: agent.KindDelta, Part: agent.PartArguments, Block: 2, Tool: &agent.ToolCall{ID: "a", Name: "write"}, Text: `{"path":"` + strings.Repeat("x", 2000)})
	x.sees("write … 2.0 kB")
	x.sees("The answer is")
	x.sees("thought, 2 lines")
	x.press("ctrl+t")
	x.sees("about it")
	x.press("ctrl+t")
	x.lacks("about it")
	event(agent.Event{Kind: agent.KindDiscard, Why: "dropped"})
	x.until("the answer is gone", func() bool { return !strings.Contains(x.screen(), "The answer is") })
	event(agent.Event{Kind: agent.KindRetry, Retry: &agent.Retry{Attempt: 2, Of: 4, Wait: 8 * time.Second, Error: "overloaded"}, Time: x.h.clock.Now()})
	x.h.queue.Send(agent.Event{Kind: agent.KindState, State: &agent.State{Doing: agent.DoingTurn, Mode: permission.ModeAsk}})
	x.sees("trying again in 8s (2 of 4): overloaded")
	x.h.clock.add(3 * time.Second)
	x.sees("trying again in 5s")
	x.u.state.Doing = agent.DoingNothing
}

func result(text string, diff string) func(context.Context, tool.Call) (tool.Result, error) {
	return func(context.Context, tool.Call) (tool.Result, error) {
		r := tool.Text(text)
		r.Details = tool.Details{Diff: diff}.JSON()
		return r, nil
	}
}

const diff = "--- a/src/a.go\n+++ b/src/a.go\n@@ -1,3 +1,3 @@\n package a\n-var x = 1\n+var x = 2\n"

func withTools(tools ...tool.Tool) func(*fakeHost, *Config) {
	return func(h *fakeHost, _ *Config) { h.cfg = func(c *agent.Config) { c.Tools = tools } }
}

func TestToolCalls(t *testing.T) {
	read := &fake{name: "read", effect: tool.Effect{Kind: tool.Read, Line: "read src/a.go"}, do: result("package a\nvar x = 1\nvar y = 2", "")}
	edit := &fake{name: "edit", effect: tool.Effect{Kind: tool.Read, Line: "edit src/a.go"}, do: result("changed", diff)}
	bad := &fake{name: "bash", effect: tool.Effect{Kind: tool.Read, Line: "go vet ./..."}, do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("vet: no Go files")
	}}
	x := newTerm(t, withTools(read, edit, bad))
	x.h.model.Add(modeltest.Answer(modeltest.Think("first I look"), modeltest.Call("a", "read", `{"path":"src/a.go"}`), modeltest.Call("b", "edit", `{}`), modeltest.Call("c", "bash", `{}`)), modeltest.Text("Done."))
	x.say("fix it")
	x.sees("Done.")
	x.idle()
	x.golden("tools")
	x.press("ctrl+o")
	x.sees("var y = 2")
	x.golden("tools-open")
	x.press("ctrl+o")
	x.lacks("var y = 2")
	// What is read again looks as what has come.
	before := x.screen()
	x.u.load()
	x.exec(x.u.flush())
	x.idle()
	if after := strings.ReplaceAll(x.screen(), "edit {}", "edit src/a.go"); !strings.Contains(after, "+var x = 2") || strings.Count(after, "\n") != strings.Count(before, "\n") {
		t.Errorf("read again:\n%s\nbefore:\n%s", after, before)
	}
}

func TestRunningCall(t *testing.T) {
	wait, open := gate("wait")
	x := newTerm(t, withTools(wait))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "wait", "{}")), modeltest.Text("Waited."))
	x.say("wait for it")
	x.sees("wait for the gate  running")
	x.sees("Esc cancels")
	x.h.clock.add(75 * time.Second)
	x.sees("1:15")
	close(open)
	x.sees("Waited.")
	x.idle()
	x.lacks("Esc cancels")
}

func TestCancel(t *testing.T) {
	wait, _ := gate("wait")
	x := newTerm(t, withTools(wait))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "wait", "{}")))
	x.say("wait for it")
	x.sees("running")
	x.typed("half a tho")
	x.press("esc")
	x.idle()
	x.sees("cancelled; what was done stays")
	x.sees("wait for the gate  cancelled")
	x.sees("> half a tho")
}

// TestCancelledAnswer: it is said once.
func TestCancelledAnswer(t *testing.T) {
	x := newTerm(t, nil)
	x.h.model.Add(modeltest.Text(strings.Repeat("word ", 2000)).With(modeltest.Faults{Pause: 5 * time.Millisecond}))
	x.say("talk")
	x.sees("word word")
	x.press("esc")
	x.idle()
	x.sees("cancelled; what was done stays")
	if s := x.screen(); strings.Count(s, "cancelled") != 1 {
		t.Errorf("the screen is\n%s", s)
	}
}

// TestCancelledAnswerThatWasKept: where the beginning of the answer is in the log, it
// stays, and that it was cancelled is said once too.
func TestCancelledAnswerThatWasKept(t *testing.T) {
	x := newTerm(t, nil)
	m := message.Assistant(x.h.clock.Now(), message.TextBlock("The beginn"))
	m.StopReason = message.StopAborted
	x.h.queue.Send(agent.Event{Kind: agent.KindEntry, Entry: &agent.Entry{ID: "e1", Message: m}})
	x.h.queue.Send(agent.Event{Kind: agent.KindTurnEnd, Outcome: agent.OutcomeCancelled})
	x.sees("what was done stays")
	if s := x.screen(); strings.Count(s, "cancelled") != 1 || !strings.Contains(s, "The beginn") {
		t.Errorf("the screen is\n%s", s)
	}
}

func ask(name string) *fake {
	return &fake{name: name, effect: tool.Effect{Kind: tool.Run, Line: "git push --force", Command: "git push --force"}, do: result("pushed", "")}
}

func TestQuestion(t *testing.T) {
	for key, want := range map[string]struct {
		ran, allowed bool
		text         string
	}{
		"y": {ran: true}, "A": {ran: true, allowed: true}, "a": {ran: true}, "n": {}, "esc": {}, "r": {text: "use a branch"},
	} {
		t.Run(key, func(t *testing.T) {
			x := newTerm(t, withTools(ask("bash")))
			x.h.model.Add(modeltest.Answer(modeltest.Call("a", "bash", "{}")), modeltest.Text("So be it."))
			x.say("push")
			x.sees("allow bash?")
			if key == "y" {
				x.golden("question")
			}
			x.h.clock.add(time.Second)
			x.press(key)
			if want.text != "" {
				x.typed(want.text)
				x.press("enter")
			}
			x.sees("So be it.")
			x.idle()
			got := strings.Join(x.context(), "\n")
			if ran := strings.Contains(got, "toolResult: pushed"); ran != want.ran {
				t.Errorf("ran is %v:\n%s", ran, got)
			}
			if !strings.Contains(got, want.text) {
				t.Errorf("the model was not told why:\n%s", got)
			}
			if !want.ran {
				x.sees("git push --force  denied")
			}
			if (len(x.h.allowed) > 0) != want.allowed {
				t.Errorf("written into the settings: %q", x.h.allowed)
			}
			x.lacks("allow bash?")
		})
	}
}

// TestQuestionIsNotAnsweredByAccident: who is typing when it appears types on.
func TestQuestionIsNotAnsweredByAccident(t *testing.T) {
	t.Run("at once", func(t *testing.T) {
		x := newTerm(t, withTools(ask("bash")))
		x.h.model.Add(modeltest.Answer(modeltest.Call("a", "bash", "{}")))
		x.say("push")
		x.sees("allow bash?")
		x.typed("yay")
		x.h.clock.add(time.Second)
		x.typed(" a y") // in the editor by now, so it is the author's word
		x.sees("you are typing")
		if got := x.u.ed.Text(); got != "yay a y" {
			t.Errorf("the editor has %q", got)
		}
		if len(x.h.Agent().Questions()) != 1 {
			t.Error("it was answered")
		}
		x.golden("question-typing")
	})
	t.Run("in the middle of a word", func(t *testing.T) {
		wait, open := gate("wait")
		x := newTerm(t, withTools(wait, ask("bash")))
		x.h.model.Add(modeltest.Answer(modeltest.Call("w", "wait", "{}")), modeltest.Answer(modeltest.Call("a", "bash", "{}")), modeltest.Text("ok"))
		x.say("push")
		x.sees("running")
		x.typed("and ")
		close(open)
		x.sees("allow bash?")
		x.h.clock.add(time.Minute)
		x.typed("any")
		x.update(tea.PasteMsg{Content: "y"})
		x.press("enter") // sends it
		x.until("the message waits", func() bool { return len(x.u.queue) == 1 })
		if len(x.h.Agent().Questions()) != 1 || x.u.queue[0].Text != "and anyy" {
			t.Errorf("questions %d, queue %v", len(x.h.Agent().Questions()), x.u.queue)
		}
		x.press("y") // too early after the last key
		if len(x.h.Agent().Questions()) != 1 {
			t.Error("it was answered too early")
		}
		x.press("backspace")
		x.h.clock.add(time.Second)
		x.press("y")
		x.idle()
		if got := strings.Join(x.context(), "\n"); !strings.Contains(got, "toolResult: pushed") {
			t.Errorf("it was not run:\n%s", got)
		}
	})
	t.Run("over something that is open", func(t *testing.T) {
		x := newTerm(t, withTools(ask("bash")))
		x.h.model.Add(modeltest.Answer(modeltest.Call("a", "bash", "{}")), modeltest.Text("ok"))
		x.typed("push")
		x.u.help()
		x.tell("push")
		x.sees("1 question waits")
		x.h.clock.add(time.Second)
		x.press("y")
		if len(x.h.Agent().Questions()) != 1 {
			t.Error("it was answered")
		}
		x.press("esc")
		x.sees("allow bash?")
		x.press("ctrl+g")
		x.h.clock.add(time.Second)
		x.press("y")
		x.idle()
		if got := strings.Join(x.context(), "\n"); !strings.Contains(got, "toolResult: pushed") {
			t.Errorf("it was not run:\n%s", got)
		}
	})
}

func (u *ui) help() { help(u) }

func TestSeveralQuestions(t *testing.T) {
	x := newTerm(t, nil)
	for i := range 3 {
		x.u.asked(agent.Question{ID: fmt.Sprint(i), Tool: agent.ToolCall{Name: fmt.Sprint("tool", i)}, Why: "no rule allows it"})
	}
	x.sees("allow tool0? (1 of 3 questions)")
	x.u.answered("0")
	x.sees("allow tool1? (1 of 2 questions)")
	x.u.answered("2")
	x.u.answered("1")
	x.lacks("allow")
}

// TestPi111TypedDuringASummary: messages of both kinds that are typed while a summary
// is made keep their order and their time, whatever becomes of the summary.
func TestPi111TypedDuringASummary(t *testing.T) {
	for _, how := range []string{"success", "failure", "cancel"} {
		t.Run(how, func(t *testing.T) {
			s := newSlow()
			x := newTerm(t, func(h *fakeHost, c *Config) {
				small(h, c)
				inner := h.cfg
				h.cfg = func(c *agent.Config) { inner(c); c.Engine.Policy.Summarizer = s }
			})
			x.fill(6)
			x.say("/compact! keep names")
			x.begins(s)
			x.sees("compacting")
			var want []string
			for i := range 5 {
				text := fmt.Sprint("typed ", i)
				want = append(want, text)
				x.typed(text)
				if i%2 == 1 {
					x.press("ctrl+f")
				} else {
					x.send()
				}
			}
			x.typed("and a draft")
			x.until("all five wait", func() bool { return len(x.u.queue) == 5 })
			for i, q := range x.u.queue {
				when := agent.WhenNext
				if i%2 == 1 {
					when = agent.WhenDone
				}
				if q.Text != want[i] || q.When != when {
					t.Errorf("message %d is %q, %s", i, q.Text, q.When)
				}
			}
			if how == "success" {
				x.golden("queue")
			}
			x.h.model.Add(modeltest.Text("All five."))
			switch how {
			case "success":
				s.open <- nil
			case "failure":
				s.open <- errors.New("no quota")
			case "cancel":
				x.press("esc")
				x.idle()
				if len(x.u.queue) == 5 { // it was the whole operation
					x.sees("typed 0")
					x.u.ed.Clear()
					x.say("/continue")
				}
			}
			x.until("the delivery", func() bool { return x.h.Agent().State().Queue == 0 })
			x.idle()
			if got := x.users()[6:]; !slices.Equal(got, want) {
				t.Errorf("the user has said %q, want %q", got, want)
			}
			if how != "cancel" && x.u.ed.Text() != "and a draft" {
				t.Errorf("the editor has %q", x.u.ed.Text())
			}
		})
	}
}

// TestPi114OneBoxForEachPass: whoever asked for it, a pass has one box.
func TestPi114OneBoxForEachPass(t *testing.T) {
	for how, begin := range map[string]func(x *screenTest){
		"the user": func(x *screenTest) { x.say("/compact!") },
		"another program": func(x *screenTest) {
			if _, err := x.h.Agent().Compact(context.Background(), agent.CompactRequest{}); err != nil {
				t.Error(err)
			}
		},
		"the threshold": func(x *screenTest) {
			x.h.model.Add(modeltest.Text("Long. " + strings.Repeat("The tide turns at the lighthouse. ", 1500)))
			x.tell("tell me more")
		},
	} {
		t.Run(how, func(t *testing.T) {
			x := newTerm(t, small)
			x.fill(6)
			begin(x)
			x.until("the pass", func() bool { return len(x.u.passes) > 0 })
			x.idle()
			boxes := func() int {
				n := 0
				for _, it := range x.u.log.items {
					if strings.Contains(strings.Join(it.Lines(x.u.theme, 80), "\n"), "[compaction]") {
						n++
					}
				}
				return n
			}
			if n := boxes(); n != 1 || len(x.u.passes) != 1 {
				t.Errorf("%d boxes of %d passes:\n%s", n, len(x.u.passes), x.screen())
			}
			x.u.load()
			x.exec(x.u.flush())
			x.idle()
			if n := boxes(); n != 1 {
				t.Errorf("%d boxes after it was read again", n)
			}
			x.say("/undo")
			x.idle()
			if how == "the threshold" {
				return
			}
			x.sees("the context is as it was before")
			x.until("no box after it was taken back", func() bool { return boxes() == 0 })
		})
	}
}

func TestPreviewEditApply(t *testing.T) {
	x := newTerm(t, small)
	x.fill(6)
	before := len(x.context())
	x.say("/compact the lighthouse")
	x.sees("Ctrl+S applies it")
	x.idle()
	x.golden("preview")
	x.press("esc")
	x.idle()
	if got := len(x.context()); got != before {
		t.Errorf("leaving the preview changed the context: %d messages, before %d", got, before)
	}
	x.say("/compact the lighthouse")
	x.sees("Ctrl+S applies it")
	x.typed("THE KEEPER IS ADA. ")
	x.press("ctrl+s")
	x.until("the box", func() bool { return len(x.u.passes) == 1 })
	x.idle()
	x.sees("[compaction]")
	items, err := x.h.Agent().Session().Context(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(items[0].Message.Summary, "THE KEEPER IS ADA.") {
		t.Errorf("the summary is not the edited one: %q", items[0].Message.Summary)
	}
	x.idle()
	x.golden("compacted")
	x.lacks("THE KEEPER IS ADA.")
	x.press("ctrl+o", "home")
	for range 100 {
		if strings.Contains(x.screen(), "THE KEEPER IS ADA.") {
			break
		}
		x.press("pgdown")
	}
	x.sees("THE KEEPER IS ADA.")
	x.press("ctrl+o")
	x.lacks("THE KEEPER IS ADA.")
}

// TestBranchSummaryUnfolds: what was told of a branch that was left can be read where it
// stands.
func TestBranchSummaryUnfolds(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(2)
	x.say("/tree")
	x.sees("go · Esc leave")
	x.press("home", "enter")
	x.sees("go there?")
	x.press("s")
	x.sees("+ [branch summary]")
	x.idle()
	x.lacks("lighthouse")
	x.u.ed.Clear()
	x.press("ctrl+o", "home")
	for range 100 {
		if strings.Contains(x.screen(), "- [branch summary]") {
			break
		}
		x.press("pgdown")
	}
	x.sees("- [branch summary]")
	x.sees("lighthouse")
}

// TestCompactWithoutPreview: /compact does at once what it would show, where that is set.
func TestCompactWithoutPreview(t *testing.T) {
	x := newTerm(t, func(h *fakeHost, c *Config) { small(h, c); c.NoPreview = true })
	x.fill(6)
	x.say("/compact")
	x.until("the pass", func() bool { return len(x.u.passes) == 1 })
	x.idle()
	x.sees("[compaction]")
}

// TestNothingToCompact: it is said once.
func TestNothingToCompact(t *testing.T) {
	x := newTerm(t, nil)
	x.say("/compact")
	x.sees("nothing to compact")
	x.idle()
	if n := strings.Count(x.screen(), "there is nothing"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, x.screen())
	}
}

// TestPreviewOpensOverWhatIsTyped: what stands in the editor is as it was when the preview is closed.
func TestPreviewOpensOverWhatIsTyped(t *testing.T) {
	s := newSlow()
	x := newTerm(t, func(h *fakeHost, c *Config) {
		small(h, c)
		inner := h.cfg
		h.cfg = func(c *agent.Config) { inner(c); c.Engine.Policy.Summarizer = s }
	})
	x.fill(6)
	x.say("/compact")
	x.begins(s)
	x.typed("I was thi")
	s.open <- nil
	x.sees("Ctrl+S applies it")
	x.press("esc")
	if got := x.u.ed.Text(); got != "I was thi" {
		t.Errorf("the editor has %q", got)
	}
}

func TestUndoWithLaterTurns(t *testing.T) {
	for key, want := range map[string]int{"k": 7, "b": 6, "n": 7} {
		t.Run(key, func(t *testing.T) {
			x := newTerm(t, small)
			x.fill(6)
			x.say("/compact!")
			x.until("the pass", func() bool { return len(x.u.passes) == 1 })
			x.idle()
			compacted := len(x.context())
			x.h.model.Add(modeltest.Text("Later."))
			x.say("one more thing")
			x.sees("Later.")
			x.idle()
			x.say("/undo")
			x.sees("the conversation went on after the compaction")
			if key == "k" {
				x.idle()
				x.golden("undo")
			}
			x.h.clock.add(time.Second)
			x.press(key)
			x.idle()
			if got := len(x.users()); got != want {
				t.Errorf("%d messages of the user on the path, want %d: %q", got, want, x.users())
			}
			if n := len(x.context()); (n > compacted+2) != (key != "n") {
				t.Errorf("the context has %d messages, compacted it had %d", n, compacted)
			}
		})
	}
}

func TestTreeNavigation(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(3)
	x.say("/tree")
	x.sees("Enter go · Esc leave")
	x.idle()
	x.golden("tree", [2]int{80, 24}, [2]int{40, 10})
	x.press("up", "up", "up") // the second question
	x.press("enter")
	x.sees("go there?")
	x.golden("tree-question", [2]int{80, 24})
	x.press("esc")
	x.sees("Enter go · Esc leave")
	x.press("enter", "n")
	x.idle()
	if got := strings.Join(x.users(), "|"); got != "question 0" {
		t.Errorf("the path has %s", got)
	}
	x.sees("> question 1")
	if got := x.u.ed.Text(); got != "question 1" {
		t.Errorf("the editor has %q", got)
	}
	x.h.model.Add(modeltest.Text("Another answer."))
	x.typed(" again")
	x.send()
	x.sees("Another answer.")
	x.idle()
	if got := strings.Join(x.users(), "|"); got != "question 0|question 1 again" {
		t.Errorf("the path has %s", got)
	}
}

// TestTreeMovesAtOnce: where the settings say so, nobody is asked, and nothing summarized.
func TestTreeMovesAtOnce(t *testing.T) {
	x := newTerm(t, func(_ *fakeHost, c *Config) { c.MoveAtOnce = true })
	x.fill(3)
	x.say("/tree")
	x.sees("Enter go · Esc leave")
	x.idle()
	x.press("up", "up", "up", "enter")
	x.sees("> question 1")
	x.idle()
	if got := strings.Join(x.users(), "|"); got != "question 0" {
		t.Errorf("the path has %s", got)
	}
}

// TestTreeShowsTakenLabels: among all entries a label says what it is, and that it was taken away.
func TestTreeShowsTakenLabels(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(1)
	a := x.u.cfg.Host.Agent()
	for _, label := range []string{"start", ""} {
		if err := a.Label(t.Context(), a.State().Leaf, label); err != nil {
			t.Fatal(err)
		}
	}
	x.idle()
	x.say("/tree")
	x.sees("Enter go · Esc leave")
	x.press("ctrl+o")
	x.sees("label: start")
	x.sees("label: taken away")
}

// TestPi112TypedWhileTheTreeMoves: what was typed while the summary of a branch is
// made is not overwritten.
func TestPi112TypedWhileTheTreeMoves(t *testing.T) {
	s := newSlow()
	x := newTerm(t, func(h *fakeHost, _ *Config) { h.cfg = func(c *agent.Config) { c.Engine.Policy.Summarizer = s } })
	x.fill(3)
	x.say("/tree")
	x.sees("Enter go · Esc leave")
	x.press("up", "up", "up", "enter", "s")
	x.begins(s)
	x.sees("summarizing the branch you leave")
	x.typed("my own words")
	s.open <- nil
	x.idle()
	if got := x.u.ed.Text(); got != "my own words" {
		t.Errorf("the editor has %q", got)
	}
	x.sees("was not put into the editor")
	if got := strings.Join(x.users(), "|"); got != "question 0" {
		t.Errorf("the path has %s", got)
	}
}

func TestPi112CancelledMove(t *testing.T) {
	s := newSlow()
	x := newTerm(t, func(h *fakeHost, _ *Config) { h.cfg = func(c *agent.Config) { c.Engine.Policy.Summarizer = s } })
	x.fill(3)
	x.say("/tree")
	x.sees("Enter go · Esc leave")
	x.press("up", "up", "up", "enter", "s")
	x.begins(s)
	x.typed("wait")
	x.press("esc")
	x.idle()
	x.sees("cancelled; nothing was changed")
	if got := strings.Join(x.users(), "|"); got != "question 0|question 1|question 2" || x.u.ed.Text() != "wait" {
		t.Errorf("the path has %s, the editor %q", got, x.u.ed.Text())
	}
}

func TestResume(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(1)
	x.say("/new")
	x.sees("a new session")
	x.idle()
	if got := x.users(); len(got) != 0 {
		t.Errorf("the new session has %q", got)
	}
	x.lacks("question 0")
	x.say("/resume")
	x.sees("sessions of this project")
	x.press("tab")
	x.sees("sessions of all projects")
	x.typed("question")
	x.press("enter")
	x.sees("tide turns")
	x.idle()
	x.press("home")
	x.sees("> question 0")
	if got := strings.Join(x.users(), "|"); got != "question 0" {
		t.Errorf("the session has %s", got)
	}
}

func TestDeleteAndRenameSessions(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(1)
	x.say("/new")
	x.sees("a new session")
	x.idle()
	x.say("/resume")
	x.sees("sessions of this project")
	x.typed("question")
	x.press("ctrl+r")
	x.typed("!")
	x.press("enter")
	x.until("the refusal", func() bool { return strings.Contains(x.u.lastError, "unsupported") })
	x.press("ctrl+d")
	x.press("n")
	if len(x.h.files) != 2 {
		t.Error("it was deleted without a yes")
	}
	x.press("ctrl+d")
	x.press("y")
	x.until("the list without it", func() bool { return len(x.u.over) > 0 && !strings.Contains(x.screen(), "question 0") })
	if len(x.h.files) != 1 {
		t.Errorf("%q are left", x.h.files)
	}
}

// TestQuestionBehindSomething: the key that closes what covers a question does not
// answer it, nor does one that is typed with it.
func TestQuestionBehindSomething(t *testing.T) {
	x := newTerm(t, withTools(ask("bash")))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "bash", "{}")), modeltest.Text("ok"))
	x.say("push")
	x.sees("allow bash?")
	x.h.clock.add(time.Second)
	x.update(tea.KeyPressMsg{Code: 'g', Mod: tea.ModCtrl})
	x.u.help()
	x.sees("── help")
	x.press("y")
	x.press("esc", "y")
	if len(x.h.Agent().Questions()) != 1 {
		t.Error("it was answered")
	}
	x.press("backspace")
	x.h.clock.add(time.Second)
	x.press("y")
	x.idle()
	if got := strings.Join(x.context(), "\n"); !strings.Contains(got, "toolResult: pushed") {
		t.Errorf("it was not run:\n%s", got)
	}
}

// TestCommandEndsAtALine: what is pasted behind a command in a line of its own is no part of its name.
func TestCommandEndsAtALine(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(1)
	x.update(tea.PasteMsg{Content: "/new\nhello"})
	x.press("enter")
	x.sees("a new session")
}

func TestNewIsRefusedAtWork(t *testing.T) {
	wait, open := gate("wait")
	x := newTerm(t, withTools(wait))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "wait", "{}")), modeltest.Text("Waited."))
	x.say("wait for it")
	x.sees("running")
	x.say("/new")
	x.sees("the agent is at work")
	x.say("and then this")
	x.until("it waits", func() bool { return len(x.u.queue) == 1 })
	close(open)
	x.h.model.Add(modeltest.Text("That too."))
	x.idle()
	if got := strings.Join(x.users(), "|"); got != "wait for it|and then this" {
		t.Errorf("the path has %s", got)
	}
}

// TestD85Meter: the line at the bottom says what is known and no more, right after a
// pass too.
func TestD85Meter(t *testing.T) {
	x := newTerm(t, small)
	bottom := func() string {
		lines := strings.Split(strings.TrimSuffix(x.screen(), "\n"), "\n")
		return lines[len(lines)-1]
	}
	x.until("a size", func() bool { return x.u.state.Tokens > 0 })
	if got, n := bottom(), x.h.Agent().State().Tokens; !strings.HasPrefix(got, "~"+text.Tokens(n)+" of 16k") || n == 0 {
		t.Errorf("before the first request: %s; the agent says %d", got, n)
	}
	x.fill(6)
	before := bottom()
	if strings.HasPrefix(before, "0 ") || strings.Contains(before, "(0%)") || !strings.Contains(before, "of 16k") {
		t.Errorf("after six turns: %s", before)
	}
	x.say("/compact!")
	x.until("the pass", func() bool { return len(x.u.passes) == 1 })
	x.idle()
	after := bottom()
	s := x.h.Agent().State()
	if !strings.HasPrefix(after, "~"+text.Tokens(s.Tokens)+" of") || after == before || s.Tokens == 0 {
		t.Errorf("after the pass: %s; the agent says %d", after, s.Tokens)
	}
	for _, s := range []agent.State{{Known: true, Tokens: 250_000, Window: 200_000, Measured: true}, {Known: true, Tokens: 10}} {
		x.u.setState(s)
		want := "250k of 200k (125%)"
		if s.Window == 0 {
			want = "~10 of ?"
		}
		if got := bottom(); !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	x.u.state = x.h.Agent().State()
}

func TestWideCharacters(t *testing.T) {
	x := newTerm(t, nil)
	x.h.model.Add(modeltest.Text("灯台守は毎晩、油を足して灯をともします。" + strings.Repeat("潮が変わると霧笛を鳴らす。", 12) + "👩‍🚀 終わり"))
	x.say("灯台について教えてください。できるだけ長く、詳しく、例を挙げて説明してほしいです。")
	x.sees("終わり")
	x.idle()
	x.golden("cjk")
}

func TestHostileOutputDoesNotReachTheTerminal(t *testing.T) {
	evil := "\x1b[2J\x1b]0;owned\x07 \x1b]8;;http://x\x07link\x1b]8;;\x07 \r\n\x9b31m \u202egnp.exe"
	cat := &fake{name: "bash", effect: tool.Effect{Kind: tool.Read, Line: "cat " + evil}, do: result(evil, "--- a\n+++ b\n@@ -1 +1 @@\n-"+evil)}
	x := newTerm(t, withTools(cat))
	x.h.model.Add(modeltest.Answer(modeltest.Think(evil), modeltest.Call("a", "bash", `{}`)), modeltest.Text("said: "+evil+" end"))
	x.say("look")
	x.sees("end")
	x.idle()
	x.press("ctrl+o")
	x.screen() // fails on a control character
	x.say("/name " + evil)
	x.idle()
	if title := x.u.View().WindowTitle; strings.ContainsAny(title, "\x1b\x07") {
		t.Errorf("the title is %q", title)
	}
	x.say("/nosuch" + evil)
	x.screen()
}

func TestUnknownCommandSendsNothing(t *testing.T) {
	x := newTerm(t, nil)
	x.say("/compakt now")
	x.sees("did you mean /compact?")
	if n := len(x.h.model.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
	x.h.model.Add(modeltest.Text("A path."))
	x.say("//usr/bin is a folder")
	x.sees("A path.")
	if got := x.users(); len(got) != 1 || got[0] != "/usr/bin is a folder" {
		t.Errorf("sent %q", got)
	}
}

func TestShellCommands(t *testing.T) {
	x := newTerm(t, nil)
	x.say("!git status")
	x.idle()
	x.sees("+ ! git status  done")
	x.say("!!secret")
	x.idle()
	x.sees("not shown to the model")
	if got := strings.Join(x.context(), "\n"); !strings.Contains(got, "bashExecution") || strings.Contains(got, "secret") {
		t.Errorf("the context is %s", got)
	}
}

func TestTakeBack(t *testing.T) {
	wait, open := gate("wait")
	x := newTerm(t, withTools(wait))
	x.h.model.Add(modeltest.Answer(modeltest.Call("a", "wait", "{}")), modeltest.Text("Waited."))
	x.say("wait for it")
	x.sees("running")
	x.say("not this")
	x.sees("next: not this")
	x.typed("x")
	x.press("alt+up")
	x.sees("the editor is not empty")
	x.press("backspace", "alt+up")
	x.until("it is back", func() bool { return x.u.ed.Text() == "not this" })
	close(open)
	x.idle()
	if got := strings.Join(x.users(), "|"); got != "wait for it" {
		t.Errorf("the path has %s", got)
	}
}

func TestModes(t *testing.T) {
	x := newTerm(t, nil)
	for _, want := range []permission.Mode{permission.ModeEdits, permission.ModePlan, permission.ModeAsk} {
		x.press("shift+tab")
		x.until("mode "+string(want), func() bool { return x.u.state.Mode == want })
	}
	x.say("/mode nonsense")
	x.sees(`no permission mode "nonsense"`)
	x.say("/mode plan")
	x.sees("[plan]")
}

func TestPages(t *testing.T) {
	x := newTerm(t, small)
	x.fill(3)
	for _, c := range []string{"context", "explain", "cost", "help", "hooks"} {
		x.say("/" + c)
		x.sees("Esc leave")
		x.idle()
		x.golden("page-"+c, [2]int{80, 24}, [2]int{40, 10})
		x.press("esc")
		x.lacks("Esc leave")
	}
}

func TestRecall(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(2)
	x.say("/recall question")
	x.sees("hits for question")
	x.press("enter")
	x.sees("user [#")
	x.press("i")
	if got := x.u.ed.Text(); !strings.HasPrefix(got, "question ") {
		t.Errorf("the editor has %q", got)
	}
	x.u.ed.Clear()
	x.say("/recall nosuchword")
	x.sees("nothing in this session has nosuchword")
}

// TestSearchHistory: an earlier prompt is found, and what was typed is not lost.
func TestSearchHistory(t *testing.T) {
	x := newTerm(t, nil)
	x.u.ed.SetHistory([]string{"fix the parser", "run tests", "fix the tests", "run tests"})
	x.typed("my draft")
	x.press("ctrl+r")
	x.sees("earlier prompts · 1/3")
	x.typed("tests fix")
	x.press("enter")
	if got := x.u.ed.Text(); got != "fix the tests" {
		t.Errorf("the editor has %q", got)
	}
	x.press("ctrl+r", "esc")
	if got := x.u.ed.Text(); got != "fix the tests" {
		t.Errorf("Escape has changed the editor to %q", got)
	}
	x.press("down", "down")
	if got := x.u.ed.Text(); got != "my draft" {
		t.Errorf("the draft was lost: %q", got)
	}
}

func TestChooseModel(t *testing.T) {
	x := newTerm(t, nil)
	x.say("/model")
	x.sees("which model is to answer?")
	x.idle()
	x.golden("models", [2]int{80, 24})
	x.typed("other")
	x.press("enter")
	x.sees("scripted/other answers from the next request on")
	x.say("who are you?")
	x.sees("I am the other one.")
	x.idle()
	x.say("/model scripted/other")
	x.sees("scripted/other answers, as before")
	x.say("/model nobody/knows")
	x.sees("there is no model")
	x.idle()
}

func TestSettings(t *testing.T) {
	x := newTerm(t, nil)
	x.say("/settings")
	x.sees("Enter changes one")
	x.press("enter")
	x.sees("agent.mode (default ask)")
	x.press("backspace", "backspace", "backspace")
	x.typed("plan")
	x.press("enter")
	x.sees("it counts for the next session")
	x.say("/settings agent.idle 5m")
	x.sees("agent.idle is now 5m")
	if got := strings.Join(x.h.set, "|"); got != "agent.mode=plan|agent.idle=5m" {
		t.Errorf("set %s", got)
	}
}

func TestPinAndName(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(2)
	x.say("/unpin")
	x.sees("nothing is pinned")
	x.say("/pin")
	x.sees("so that it is never summarized")
	x.typed("question 0")
	x.press("enter")
	x.sees("pinned: [#")
	x.idle()
	x.say("/unpin")
	x.sees("unpin")
	x.press("enter")
	x.sees("is not pinned any more")
	x.say("/name tides")
	x.sees("now called tides")
	x.until("the title", func() bool { return x.u.View().WindowTitle == "clew: tides" })
	x.say("/export notes.md")
	x.sees("written to out.notes.md")
}

func TestFork(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(1)
	file := x.h.Agent().State().File
	x.say("/fork")
	x.sees("this is a copy")
	x.idle()
	if now := x.h.Agent().State().File; now == file || len(x.users()) != 1 {
		t.Errorf("still in %s with %q", now, x.users())
	}
	x.press("home")
	x.sees("question 0")
}

func TestScrolling(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(8)
	x.sees("lighthouse")
	end := x.screen()
	x.press("pgup")
	if x.screen() == end {
		t.Error("PgUp moved nothing")
	}
	x.h.model.Add(modeltest.Text("Something new."))
	held := strings.Split(x.screen(), "\n")[0]
	x.tell("more")
	x.until("the turn", func() bool { return len(x.users()) == 9 })
	x.idle()
	x.sees("new below")
	if got := strings.Split(x.screen(), "\n")[0]; got != held {
		t.Errorf("the screen moved: %q, before %q", got, held)
	}
	x.golden("scrolled", [2]int{80, 24})
	for range 60 {
		x.press("pgup")
	}
	x.sees("/help lists commands")
	for range 60 {
		x.press("pgdown")
	}
	x.sees("Something new.")
	if x.u.log.scrolled {
		t.Error("the end is not followed")
	}
	x.press("home")
	x.sees("/help lists commands")
	x.press("end")
	x.sees("Something new.")
	x.update(tea.MouseWheelMsg{Button: tea.MouseWheelUp})
	if !x.u.log.scrolled {
		t.Error("the wheel moves nothing")
	}
	x.update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	if x.u.log.scrolled {
		t.Error("the wheel does not come back")
	}
}

func TestErrorsStay(t *testing.T) {
	x := newTerm(t, func(h *fakeHost, _ *Config) { h.cfg = func(c *agent.Config) { c.Retries = -1 } })
	x.h.model.Add(modeltest.Reply{Failure: &modeltest.Failure{Kind: model.KindAuth, Message: "the key is wrong"}})
	x.say("hello")
	x.sees("the key is wrong")
	x.idle()
	x.sees("/continue tries again")
	x.golden("error", [2]int{80, 24})
}

func TestLeaving(t *testing.T) {
	x := newTerm(t, nil)
	x.typed("draft")
	x.press("ctrl+d")
	if x.quit || x.u.ed.Text() != "draft" {
		t.Errorf("Ctrl+D with a draft: quit %v, %q", x.quit, x.u.ed.Text())
	}
	x.press("ctrl+c")
	if x.quit || x.u.ed.Text() != "" {
		t.Errorf("Ctrl+C: quit %v, %q", x.quit, x.u.ed.Text())
	}
	x.sees("Ctrl+C again leaves")
	x.h.clock.add(3 * time.Second)
	x.lacks("Ctrl+C again leaves")
	x.press("ctrl+c")
	if x.quit {
		t.Error("a Ctrl+C much later has left")
	}
	x.press("ctrl+c")
	x.until("the end", func() bool { return x.quit })
}

// TestLeavingLosesNothing: what was sent is on the disk when the program ends.
func TestLeavingLosesNothing(t *testing.T) {
	x := newTerm(t, nil)
	x.h.model.Add(modeltest.Text("a"), modeltest.Text("b"))
	x.typed("one")
	x.send()
	x.typed("two")
	x.send()
	x.press("ctrl+d")
	x.until("the end", func() bool { return x.quit })
	x.h.wait()
	if got := append(x.users(), texts(x.h.Agent().Queue())...); strings.Join(got, "|") != "one|two" {
		t.Errorf("%q", got)
	}
}

// TestPi111EndOfTheProgram: what was typed and is not sent when the program is told to
// end is sent then, once.
func TestPi111EndOfTheProgram(t *testing.T) {
	x := newTerm(t, nil)
	x.h.model.Add(modeltest.Text("a"), modeltest.Text("b"), modeltest.Text("c"))
	x.u.switching = true // nothing leaves
	for _, s := range []string{"one", "two", "three"} {
		x.say(s)
	}
	x.u.switching = false
	x.u.next()
	x.u.flush()() // the first goes out, and its end is never dealt with
	if err := x.u.sendRest(); err != nil {
		t.Fatal(err)
	}
	x.h.wait()
	if got := strings.Join(x.users(), "|"); got != "one|two|three" {
		t.Errorf("sent %s", got)
	}
}

func texts(queue []agent.Queued) (out []string) {
	for _, q := range queue {
		out = append(out, q.Text)
	}
	return out
}

func TestCompletion(t *testing.T) {
	x := newTerm(t, nil)
	x.typed("/und")
	x.sees("take back the last compaction")
	x.press("tab")
	if got := x.u.ed.Text(); got != "/undo " {
		t.Errorf("the editor has %q", got)
	}
	x.press("ctrl+c")
	x.typed("look at @oth")
	x.sees("src/other.go")
	x.press("tab")
	if got := x.u.ed.Text(); got != "look at @src/other.go " {
		t.Errorf("the editor has %q", got)
	}
}

func TestLongSessionsKeepTheirNewestPart(t *testing.T) {
	x := newTerm(t, nil)
	for i := range mostKept * 3 / 2 {
		x.u.note(fmt.Sprint("line ", i))
	}
	if n := len(x.u.log.items); n > mostKept*11/10 || n < mostKept {
		t.Errorf("%d items are kept", n)
	}
	x.press("home")
	x.sees("earlier parts are read")
}

// TestEveryKey: no key does harm at any size.
func TestEveryKey(t *testing.T) {
	x := newTerm(t, nil)
	x.fill(2)
	for _, size := range [][2]int{{80, 24}, {40, 10}, {10, 4}, {2, 1}, {1, 2}, {200, 50}} {
		x.size(size[0], size[1])
		for r := rune(0); r < 128; r++ {
			x.update(tea.KeyPressMsg{Code: r, Text: string(r)})
			x.update(tea.KeyPressMsg{Code: r, Mod: tea.ModAlt})
			if !slices.Contains([]rune{'z', 'd', 'c'}, r) {
				x.update(tea.KeyPressMsg{Code: r, Mod: tea.ModCtrl})
			}
		}
		for name := range keys {
			x.press(name)
		}
		x.update(tea.PasteMsg{Content: "a\nb\x1b[31mc"})
		x.idleOrBusy()
	}
}

// idleOrBusy takes in what has come.
func (x *screenTest) idleOrBusy() {
	for range 100 {
		select {
		case m := <-x.msgs:
			x.update(m)
		default:
			return
		}
	}
}

// BenchmarkKey is a key that is typed into a long session, and what is drawn then.
func BenchmarkKey(b *testing.B) {
	x := newTerm(b, nil)
	for i := range mostKept {
		x.u.log.note(0, "", fmt.Sprint(i, strings.Repeat(" a message of the user", 20)))
	}
	x.size(200, 50)
	k := tea.KeyPressMsg{Code: 'x', Text: "x"}
	back := tea.KeyPressMsg{Code: tea.KeyBackspace}
	for b.Loop() {
		x.u.Update(k)
		x.u.View()
		x.u.Update(back)
		x.u.View()
	}
}
