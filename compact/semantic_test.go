package compact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// preset is a preset with a tail of keep tokens in a small window.
func preset(t *testing.T, name string, keep int64) compact.Policy {
	t.Helper()
	p, err := compact.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	p.Window, p.Keep = 40_000, compact.Tokens(keep)
	return p
}

// numbered is n lines that differ.
func numbered(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s line %d says what it says\n", name, i)
	}
	return b.String()
}

func TestSemanticDefaults(t *testing.T) {
	p, err := compact.Preset(compact.PresetSemantic)
	if err != nil {
		t.Fatal(err)
	}
	b, clamps, err := p.Resolve()
	if err != nil || len(clamps) > 0 || b.Keep != 20_000 || b.Limit != 200_000-16_384 || p.Trigger.IsSet() ||
		p.Template != summary.Brief {
		t.Errorf("%+v %+v %v %v", p, b, clamps, err)
	}
}

// mixed is a session whose last but two messages are a call and its long result.
func mixed(t *testing.T) (l *life, call, result, last string) {
	l = caseLog(t)
	l.user("port the parser")
	l.fill(8)
	l.user("and the tests?")
	result = l.call("read", `{"path":"parser.go"}`, numbered("parser.go", 300))
	items := l.context().Items
	call = items[len(items)-2].Entry.ID
	l.say("The parser is ported. " + prose(20))
	return l, call, result, l.log.Leaf()
}

// The kept part is no smaller than the tail, and begins with no result. The others cut the same session elsewhere.
func TestSemanticCut(t *testing.T) {
	l, call, _, last := mixed(t)
	semantic := l.make(compact.Manual, preset(t, compact.PresetSemantic, 2_000))
	if !semantic.Act || semantic.Guarded || semantic.Cut.FirstKept != call || semantic.Cut.Tokens < 2_000 {
		t.Errorf("semantic: %s, %+v", semantic.Why, semantic.Cut)
	}
	for _, name := range []string{compact.PresetClew, compact.PresetPi} {
		plan := l.make(compact.Manual, preset(t, name, 2_000))
		if !plan.Act || plan.Cut.FirstKept == call || plan.Cut.Tokens >= 2_000 {
			t.Errorf("%s: %s, %+v", name, plan.Why, plan.Cut)
		}
		if name == compact.PresetPi && plan.Cut.FirstKept != last {
			t.Errorf("pi: %+v", plan.Cut)
		}
	}
	// Exactly the tail is enough; a token more takes the message before.
	costs, sum := l.snapshot().Costs, int64(0)
	for _, c := range costs[len(costs)-4:] {
		sum += c
	}
	items := l.context().Items
	for keep, want := range map[int64]int{sum: 4, sum + 1: 5} {
		plan := l.make(compact.Manual, preset(t, compact.PresetSemantic, keep))
		if plan.Cut == nil || plan.Cut.Kept != want || plan.Cut.FirstKept != items[len(items)-want].Entry.ID {
			t.Errorf("a tail of %d: %s, %+v", keep, plan.Why, plan.Cut)
		}
	}
	// What does not reach the tail stays whole.
	wide := preset(t, compact.PresetSemantic, 40_000)
	wide.Window = 100_000
	plan := l.make(compact.Manual, wide)
	if plan.Act || !strings.Contains(plan.Why, "belongs to the tail of 40000 tokens") {
		t.Errorf("nothing is old: %v %s", plan.Act, plan.Why)
	}
}

// The summary has the sections of the document, and the window less the reserve is where it is made.
func TestSemanticSummary(t *testing.T) {
	for name, want := range map[string]string{
		compact.PresetSemantic: "## Summary\n", compact.PresetClew: "## Goal\n", compact.PresetPi: "## Goal\n",
	} {
		l, _, _, _ := mixed(t)
		plan := l.make(compact.Manual, preset(t, name, 2_000))
		text := plan.Summary.Text
		if !strings.HasPrefix(text, want) || name == compact.PresetSemantic && !strings.Contains(text, "\n## Key Points\n") {
			t.Errorf("%s: %.200s", name, text)
		}
	}
	l := caseLog(t)
	l.fill(24)
	policy := preset(t, compact.PresetSemantic, 2_000)
	policy.Reserve = compact.Tokens(1_000)
	over := l.snapshot().Reading.Guarded()
	policy.Window = over + 999
	if plan := l.make(compact.Threshold, policy); !plan.Act {
		t.Errorf("%d tokens in a window of %d: %s", over, policy.Window, plan.Why)
	}
	if policy.Window++; l.make(compact.Threshold, policy).Act {
		t.Errorf("%d tokens in a window of %d: a pass", over, policy.Window)
	}
}

// A message larger than the tail keeps its end, with a note, though all would fit; the whole stays in the log.
func TestSemanticSplitsAMessage(t *testing.T) {
	for name, add := range map[string]func(l *life){
		"result": func(l *life) { l.call("read", `{"path":"a.go"}`, numbered("a.go", 900)) },
		"answer": func(l *life) {
			l.append(session.Message(message.Assistant(l.clock, message.ThinkingBlock("hm", ""), message.TextBlock("before all"),
				message.TextBlock(numbered("answer", 900)), message.TextBlock("This is the end."))))
		},
	} {
		for _, of := range []string{compact.PresetSemantic, compact.PresetClew, compact.PresetPi} {
			l := caseLog(t)
			l.fill(4)
			l.user("read it")
			add(l)
			large := l.log.Leaf()
			l.say("I have read it.")
			policy := preset(t, of, 2_000)
			before := l.context()
			was := l.snapshot().Costs[len(before.Items)-2]
			if was < 6_000 {
				t.Fatalf("%s takes %d tokens", name, was)
			}
			l.apply(l.make(compact.Manual, policy))
			l.check()
			if of != compact.PresetSemantic {
				if f := l.fateOf(large); f.Fate == compact.FateEdited && f.Why == "split" {
					t.Errorf("%s, %s: %+v", of, name, f)
				}
				continue
			}
			after := l.context()
			i := len(after.Items) - 2
			text, cost := after.Items[i].Message.Text(), l.snapshot().Costs[i]
			if f := l.fateOf(large); f.Why != "split" || after.Items[i].Entry.ID != large {
				t.Errorf("%s: %+v", name, f)
			}
			var took, kept int64
			form := "[This message took %d tokens; only its last %d are here; recall #" + large + " for the whole]"
			_, err := fmt.Sscanf(text, form, &took, &kept)
			if err != nil || took != was || cost > 2_000 || cost < 1_600 || kept >= cost || kept < cost-60 {
				t.Errorf("%s: took %d, %d are kept of %d, which take %d: %v %.120s", name, took, kept, was, cost, err, text)
			}
			end := "a.go line 899 says what it says\n"
			if name == "answer" {
				end = "answer line 899 says what it says\n\nThis is the end."
			}
			if !strings.HasSuffix(text, end) || strings.Contains(text, "line 0 says") || strings.Contains(text, "before all") {
				t.Errorf("%s: not its end: …%q", name, text[max(len(text)-200, 0):])
			}
			m, err := l.context().Items[i].Entry.Message()
			if err != nil || !strings.Contains(m.Text(), "line 0 says") {
				t.Errorf("%s: the log has lost the beginning", name)
			}
			// It is made once.
			if plan := l.make(compact.Manual, policy); plan.Act {
				t.Errorf("%s: again: %s", name, plan.Why)
			}
		}
	}
}

// Where nothing stands before the large message, the split is all that the pass does.
func TestSemanticSplitsWithoutASummary(t *testing.T) {
	l := caseLog(t)
	l.say(numbered("answer", 900))
	l.user("go on")
	plan := l.make(compact.Manual, preset(t, compact.PresetSemantic, 2_000))
	if !plan.Act || plan.Summary != nil || len(plan.Stages) != 1 || plan.Stages[0].Name != "split" ||
		plan.After.Tokens > 2_100 {
		t.Fatalf("%s %+v %d", plan.Why, plan.Stages, plan.After.Tokens)
	}
	l.apply(plan)
	l.check()
}

// Nor is a call summarized apart from its result, or both of them because the one is over the tail.
func TestSemanticStaysBeforeACall(t *testing.T) {
	l := caseLog(t)
	l.call("read", `{"path":"a.go"}`, numbered("a.go", 500))
	l.say("I have read it.")
	plan := l.make(compact.Manual, preset(t, compact.PresetSemantic, 2_000))
	if !plan.Act || plan.Cut != nil || len(plan.Stages) != 1 {
		t.Errorf("%s %+v %+v", plan.Why, plan.Cut, plan.Stages)
	}
}

// A shell run can't be edited: an excerpt with its end takes its place, at the end. What stood before an image goes
// where the image does.
func TestSemanticSplitsOtherContent(t *testing.T) {
	l := caseLog(t)
	l.fill(4)
	l.append(session.Message(&message.Message{
		Role: message.RoleBashExecution, Command: "cat a.go", Output: numbered("a.go", 900), Timestamp: 1,
	}))
	run := l.log.Leaf()
	l.say("I see.")
	l.apply(l.make(compact.Manual, preset(t, compact.PresetSemantic, 2_000)))
	l.check()
	items := l.context().Items
	last := items[len(items)-1]
	if text := last.Message.Text(); compact.ExcerptOf(last.Entry) != run || strings.Contains(text, "line 0 says") ||
		!strings.HasSuffix(text, "a.go line 899 says what it says\n") {
		t.Errorf("the shell run: %.200s", text)
	}
	l = caseLog(t)
	l.fill(4)
	l.append(session.Message(message.Assistant(l.clock, message.ToolCallBlock("c1", "read", []byte("{}")))))
	result := message.ToolResult("c1", "read", "before the image", false, l.clock)
	image := message.Block{Type: message.BlockImage, MIMEType: "image/png", Data: strings.Repeat("iVBORw0KGgo", 40_000)}
	result.Content = append(result.Content, image, message.TextBlock(numbered("a.go", 60)))
	l.append(session.Message(result))
	policy := preset(t, compact.PresetSemantic, 1_200)
	l.apply(l.make(compact.Manual, policy))
	l.check()
	items = l.context().Items
	text := items[len(items)-1].Message.Text()
	if !strings.Contains(text, "This message took") || strings.Contains(text, "before the image") ||
		!strings.Contains(text, "a.go line 0 says") {
		t.Errorf("the image: %.300s", text)
	}
}

// A call keeps its name and a shorter form of its arguments, so that its result has a call.
func TestSemanticKeepsTheCall(t *testing.T) {
	l := caseLog(t)
	l.fill(4)
	args, err := json.Marshal(map[string]string{"path": "a.go", "content": numbered("a.go", 900)})
	if err != nil {
		t.Fatal(err)
	}
	l.call("write", string(args), "written")
	l.apply(l.make(compact.Manual, preset(t, compact.PresetSemantic, 2_000)))
	l.check()
	items := l.context().Items
	m := items[len(items)-2].Message
	calls := m.ToolCalls()
	if len(calls) != 1 || !json.Valid(calls[0].Arguments) || !strings.Contains(string(calls[0].Arguments), `"path":"a.go"`) || l.snapshot().Costs[len(items)-2] > 2_200 {
		t.Errorf("%d calls in %d tokens: %.200s", len(calls), l.snapshot().Costs[len(items)-2], m.Text())
	}
}

// What the user typed is not split, the last request or an earlier one; nor is what is pinned.
func TestSemanticLeavesTheUsersWords(t *testing.T) {
	l := caseLog(t)
	l.fill(2)
	pinned := l.call("read", `{"path":"a.go"}`, numbered("a.go", 500))
	l.append(session.NewPin(pinned, true))
	request := numbered("request", 500)
	l.user(request)
	plan := l.make(compact.Manual, preset(t, compact.PresetSemantic, 2_000))
	if !plan.Act || plan.Cut.Kept != 1 {
		t.Fatalf("%s %+v", plan.Why, plan.Cut)
	}
	l.apply(plan)
	items := l.context().Items
	if text := items[len(items)-1].Message.Text(); text != request {
		t.Errorf("the request: %.200s", text)
	}
	l = caseLog(t)
	l.fill(2)
	pinned = l.call("read", `{"path":"a.go"}`, numbered("a.go", 500))
	l.append(session.NewPin(pinned, true))
	l.apply(l.make(compact.Manual, preset(t, compact.PresetSemantic, 2_000)))
	if f := l.fateOf(pinned); f.Fate != compact.FateVerbatim {
		t.Errorf("pinned: %+v", f)
	}
}
