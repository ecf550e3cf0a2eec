package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/model/modeltest"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.srv.Add(modeltest.Text("Hello."))
	r.say("hi")
	r.wantTexts("user: hi", "assistant: Hello.")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
	s := r.State()
	if s.Doing != agent.DoingNothing || !s.Known || s.Tokens == 0 || s.Model != "anthropic/"+modelName || s.Totals.Requests != 1 || s.Queue != 0 {
		t.Errorf("state %+v", s)
	}
	r.fine()
}

func TestCallsAndResults(t *testing.T) {
	t.Parallel()
	read, write := reader(100), &fake{name: "write", kind: tool.Write}
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{read, write} })
	r.srv.Add(
		modeltest.Answer(modeltest.Call("a", "read", "{}"), modeltest.Call("b", "read", "{}"), modeltest.Call("c", "write", "{}"), modeltest.Call("d", "nosuch", "{}")),
		modeltest.Text("Done."),
	)
	r.say("do it")
	if read.ran.Load() != 2 || write.ran.Load() != 1 {
		t.Errorf("read ran %d times, write %d", read.ran.Load(), write.ran.Load())
	}
	got := strings.Join(r.texts(), "\n")
	for _, want := range []string{"<read><read><write><nosuch>", `There is no tool "nosuch"`, "assistant: Done."} {
		if !strings.Contains(got, want) {
			t.Errorf("the context lacks %q:\n%s", want, got)
		}
	}
	r.fine()
}

func TestPi15PassBetweenResultAndRequest(t *testing.T) {
	t.Parallel()
	read := reader(20_000)
	r := newRig(t, func(r *rig) {
		small(32_000)(r)
		r.cfg.Tools = []tool.Tool{read}
	})
	for i := range 12 {
		r.srv.Add(call(string(rune('a'+i)), "read"))
	}
	r.srv.Add(modeltest.Text("All read."))
	r.say("read everything")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Fatalf("ended %s %s", e.Outcome, e.Error)
	}
	if n := len(r.all(agent.KindCompactionEnd)); n == 0 {
		t.Error("no pass was made")
	}
	for _, e := range r.all(agent.KindCompactionEnd) {
		if e.Compaction.Reason != compact.Threshold {
			t.Errorf("a pass was made for %s", e.Compaction.Reason)
		}
	}
	if s := r.State(); s.Tokens > s.Threshold {
		t.Errorf("the context has %d tokens, and %d are the limit", s.Tokens, s.Threshold)
	}
	r.fine()
}

func TestResume(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.srv.Add(modeltest.Text("One."), modeltest.Text("Two."))
	r.say("first")
	r.reopen()
	r.say("second")
	r.wantTexts("user: first", "assistant: One.", "user: second", "assistant: Two.")
	r.fine()
	if _, err := r.Cancel(context.Background()); err != nil {
		t.Error(err)
	}
}
