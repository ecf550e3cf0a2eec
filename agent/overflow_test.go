package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/modeltest"
)

// passes counts the passes that were made.
func (r *rig) passes() int {
	n := 0
	for _, e := range r.all(agent.KindCompactionEnd) {
		if e.Compaction.Done {
			n++
		}
	}
	return n
}

// filled has a conversation with n answers of 8,000 bytes each.
func filled(t *testing.T, n int, change func(*rig)) *rig {
	t.Helper()
	r := newRig(t, func(r *rig) {
		r.cfg.Tools = []tool.Tool{reader(100)}
		if change != nil {
			change(r)
		}
	})
	for i := range n {
		r.srv.Add(spoken(fmt.Sprint("f", i), "read"))
	}
	r.srv.Add(modeltest.Text("I have read it."))
	r.say("read the files")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Fatalf("ended %s %s", e.Outcome, e.Error)
	}
	return r
}

// tried counts requests.
func (r *rig) tried() int { return len(r.srv.Exchanges()) }

func TestOverflowCompactsOnceAndGoesOn(t *testing.T) {
	t.Parallel()
	r := filled(t, 10, nil)
	before := r.tried()
	r.srv.Add(modeltest.Overflow(15_000, 10_000), modeltest.Text("Fine now."))
	r.say("and now?")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Fatalf("ended %s %s", e.Outcome, e.Error)
	}
	if n := r.tried() - before; n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	if r.passes() != 1 {
		t.Errorf("%d passes, want 1", r.passes())
	}
	end := r.all(agent.KindCompactionEnd)[0].Compaction
	if end.Reason != compact.Overflow || !end.WillRetry || end.After >= end.Before {
		t.Errorf("%+v", end)
	}
	if s := r.State(); s.Window != 10_000 || s.WindowFrom != "learnt" {
		t.Errorf("the window is %d, %s", s.Window, s.WindowFrom)
	}
	r.fine()
}

// TestPi23OverflowIsUsedUp: an overflow that a pass has dealt with makes no other one.
func TestPi23OverflowIsUsedUp(t *testing.T) {
	t.Parallel()
	r := filled(t, 10, nil)
	r.srv.Add(modeltest.Overflow(15_000, 10_000), modeltest.Text("Fine now."), modeltest.Text("Still fine."))
	r.say("and now?")
	r.say("and again?")
	if r.passes() != 1 {
		t.Errorf("%d passes, want 1", r.passes())
	}
	r.fine()
}

// TestPi24OverflowForEver: a provider that always refuses gets one more request, after
// one pass; then the user is told. D-22, D-29: nothing of the attempts is sent again.
func TestPi24OverflowForEver(t *testing.T) {
	t.Parallel()
	r := filled(t, 10, nil)
	before := r.tried()
	for range 6 {
		r.srv.Add(modeltest.Overflow(15_000, 10_000))
	}
	r.say("and now?")
	e := r.ended()
	if e.Outcome != agent.OutcomeFailed || !strings.Contains(e.Error, "still too large after a pass") {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
	if n := r.tried() - before; n != 2 || r.passes() != 1 {
		t.Errorf("%d requests and %d passes, want 2 and 1", n, r.passes())
	}
	for range 4 { // the window is known to be smaller by now, but the requests do not grow
		r.say("try again")
	}
	xs := r.srv.Exchanges()
	if first, last := len(xs[before+1].Request), len(xs[len(xs)-1].Request); last > first+1_000 {
		t.Errorf("the request has grown from %d to %d bytes", first, last)
	}
}

// TestPi25AnswerOverTheWindowStands: an answer to more input than the window holds is
// not asked for again.
func TestPi25AnswerOverTheWindowStands(t *testing.T) {
	t.Parallel()
	r := filled(t, 8, small(30_000))
	before := r.tried()
	over := modeltest.Text("The answer.")
	over.Usage = &message.Usage{Input: 30_500, Output: 10}
	r.srv.Add(over)
	r.say("and now?")
	if n := r.tried() - before; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if r.passes() != 1 {
		t.Errorf("%d passes, want 1\n%s", r.passes(), r.log())
	}
	got := r.texts()
	if got[len(got)-1] != "assistant: The answer." {
		t.Errorf("the last message is %q", got[len(got)-1])
	}
	r.fine()
}

// TestPi26AndD19PassRunsNoModel: neither before a prompt nor after a turn.
func TestPi26AndD19PassRunsNoModel(t *testing.T) {
	t.Parallel()
	r := filled(t, 9, small(12_000))
	if r.passes() == 0 {
		t.Fatal("no pass was made")
	}
	before, passes := r.tried(), r.passes()
	if _, err := r.Compact(context.Background(), agent.CompactRequest{}); err != nil {
		t.Fatal(err)
	}
	if r.tried() != before {
		t.Errorf("a pass made %d requests", r.tried()-before)
	}
	_ = passes
	r.srv.Add(modeltest.Text("Yes."))
	r.say("done?")
	if n := r.tried() - before; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	r.fine()
}

// TestThresholdPassAsksNothing: a pass that is made after a turn, because the context is
// over its limit, lets nobody go on.
func TestThresholdPassAsksNothing(t *testing.T) {
	t.Parallel()
	r := filled(t, 4, small(12_000))
	heavy := modeltest.Text("That was much.")
	heavy.Usage = &message.Usage{Input: 9_750, Output: 10}
	r.srv.Add(heavy)
	before, passes := r.tried(), r.passes()
	r.say("and now?")
	ends := r.all(agent.KindCompactionEnd)
	if r.passes() != passes+1 || ends[len(ends)-1].Compaction.Reason != compact.Threshold {
		t.Fatalf("%d passes, then %d", passes, r.passes())
	}
	if n := r.tried() - before; n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	r.fine()
}

// TestPi27CutOffEarly: an answer that stops far below what the model can say is asked for
// again, after a pass.
func TestPi27CutOffEarly(t *testing.T) {
	t.Parallel()
	r := filled(t, 10, nil)
	cut := modeltest.Truncated("The begi")
	cut.Usage = &message.Usage{Input: 10_000, Output: 200}
	r.srv.Add(cut, modeltest.Text("The beginning and the end."))
	r.say("tell me")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Fatalf("ended %s %s", e.Outcome, e.Error)
	}
	got := strings.Join(r.texts(), "\n")
	if !strings.Contains(got, "The beginning and the end.") || strings.Contains(got, "assistant: The begi\n") {
		t.Errorf("the context is\n%s", got)
	}
	if r.passes() != 1 {
		t.Errorf("%d passes, want 1", r.passes())
	}
	r.fine()
}

// TestPi28CutOffTwice: the error says what it is.
func TestPi28CutOffTwice(t *testing.T) {
	t.Parallel()
	r := filled(t, 10, nil)
	cut := modeltest.Truncated("The begi")
	cut.Usage = &message.Usage{Input: 10_000, Output: 200}
	r.srv.Add(cut, cut)
	r.say("tell me")
	e := r.ended()
	if e.Outcome != agent.OutcomeFailed || !strings.Contains(e.Error, "has cut off the answer after 200 tokens") || strings.Contains(e.Error, "too large") {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
	if r.passes() != 1 {
		t.Errorf("%d passes, want 1", r.passes())
	}
}

// TestPi29CallOfACutAnswer: it is not run, and has a result.
func TestPi29CallOfACutAnswer(t *testing.T) {
	t.Parallel()
	write := &fake{name: "write", kind: tool.Write}
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{write} })
	cut := modeltest.Answer(modeltest.Call("a", "write", `{"content":"half"}`))
	cut.Finish = model.FinishLength
	r.srv.Add(cut, modeltest.Text("I will write less."))
	r.say("write it")
	if write.ran.Load() != 0 {
		t.Error("the call was run")
	}
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
	if got := strings.Join(r.texts(), "\n"); !strings.Contains(got, "toolResult: The answer was cut off") && !strings.Contains(got, "These calls could not be run") {
		t.Errorf("the context is\n%s", got)
	}
	r.fine()
}

// TestPi31FailedAttempts: they are not sent again, also after a restart, and can be read.
func TestPi31FailedAttempts(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	bad := modeltest.Text("Half an ans")
	bad.Failure = &modeltest.Failure{Kind: model.KindInvalid, Message: "no", InStream: true}
	r.srv.Add(bad, modeltest.Text("Whole."))
	r.say("first")
	if e := r.ended(); e.Outcome != agent.OutcomeFailed {
		t.Fatalf("ended %s", e.Outcome)
	}
	r.reopen()
	r.say("second")
	path, err := r.Path(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range path {
		found = found || s.Message != nil && s.Message.StopReason == message.StopError && s.Message.ErrorMessage != ""
	}
	if !found {
		t.Error("the failed attempt can't be read any more")
	}
	last := r.srv.Exchanges()[1].Request
	if strings.Contains(string(last), "Half an ans") {
		t.Errorf("the failed attempt was sent: %s", last)
	}
	r.fine()
}

// maxTokens is what the last request asked for.
func (r *rig) maxTokens() int64 {
	xs := r.srv.Exchanges()
	var req struct {
		MaxTokens int64 `json:"max_tokens"`
	}
	if err := json.Unmarshal(xs[len(xs)-1].Request, &req); err != nil {
		r.t.Fatal(err)
	}
	return req.MaxTokens
}

// TestPi33And34OutputFitsTheWindow: input and answer together fit, and after a pass the
// room is that of the new context. D-23.
func TestPi33And34OutputFitsTheWindow(t *testing.T) {
	t.Parallel()
	r := filled(t, 1, small(20_000))
	first := r.maxTokens()
	for i := range 4 {
		r.srv.Add(spoken(fmt.Sprint("g", i), "read"))
	}
	r.srv.Add(modeltest.Text("ok"))
	r.say("more")
	s := r.State()
	if m := r.maxTokens(); m+s.Tokens > 20_000+500 || m < 1_024 {
		t.Errorf("max_tokens %d with %d tokens in a window of 20,000", m, s.Tokens)
	}
	if first <= r.maxTokens() {
		t.Errorf("max_tokens was %d for a small context and is %d for a larger one", first, r.maxTokens())
	}
	full := r.maxTokens()
	if _, err := r.Compact(context.Background(), agent.CompactRequest{}); err != nil {
		t.Fatal(err)
	}
	r.srv.Add(modeltest.Text("ok"))
	r.say("and now")
	if r.maxTokens() <= full {
		t.Errorf("max_tokens was %d before the pass and is %d after it", full, r.maxTokens())
	}
	r.fine()
}

// TestPi35And36RateLimitIsNoOverflow: it is waited for, and nothing is compacted.
func TestPi35And36RateLimitIsNoOverflow(t *testing.T) {
	t.Parallel()
	for _, f := range []modeltest.Reply{
		modeltest.RateLimited(0), modeltest.Fail(model.KindOverloaded), modeltest.Fail(model.KindServer),
		modeltest.Status(http.StatusTooManyRequests, `{"type":"error","error":{"type":"rate_limit_error","message":"Too many tokens, please wait before trying again."}}`),
	} {
		r := newRig(t, nil)
		r.srv.Add(f, f, modeltest.Text("ok"))
		r.say("hi")
		if e := r.ended(); e.Outcome != agent.OutcomeDone {
			t.Errorf("ended %s %s", e.Outcome, e.Error)
		}
		if n := len(r.all(agent.KindRetry)); n != 2 {
			t.Errorf("%d retries, want 2", n)
		}
		if len(r.all(agent.KindCompactionStart)) > 0 {
			t.Error("a pass was begun")
		}
		r.fine()
	}
}

// TestPi86RetriesCountFromTheLastAnswer: and their number has a limit.
func TestPi86RetriesCountFromTheLastAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{reader(10)} })
	bad := modeltest.Fail(model.KindOverloaded)
	r.srv.Add(bad, bad, bad, call("a", "read"), bad, bad, bad, modeltest.Text("ok"))
	r.say("hi")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Fatalf("ended %s %s", e.Outcome, e.Error)
	}
	var got []int
	for _, e := range r.all(agent.KindRetry) {
		got = append(got, e.Retry.Attempt)
	}
	if fmt.Sprint(got) != "[1 2 3 1 2 3]" {
		t.Errorf("attempts %v", got)
	}
	for range 9 {
		r.srv.Add(bad)
	}
	before := r.tried()
	r.say("again")
	if e := r.ended(); e.Outcome != agent.OutcomeFailed {
		t.Errorf("ended %s", e.Outcome)
	}
	if n := r.tried() - before; n != agent.DefaultRetries+1 {
		t.Errorf("%d requests, want %d", n, agent.DefaultRetries+1)
	}
}

// TestOneLayerOfRetries: the transport tries once, whatever its own settings, for the agent tries again.
func TestOneLayerOfRetries(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		at := r.srv.Endpoint(modelName)
		at.Transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{
			Attempts: 9, Sleep: func(context.Context, time.Duration) error { t.Error("the transport waits"); return nil },
		}})
		m, err := anthropic.New(anthropic.Config{Endpoint: at})
		if err != nil {
			t.Fatal(err)
		}
		r.cfg.Model, r.cfg.Retries = m, 2
	})
	for range 9 {
		r.srv.Add(modeltest.Fail(model.KindOverloaded))
	}
	r.say("hi")
	if e := r.ended(); e.Outcome != agent.OutcomeFailed || r.tried() != 3 || len(r.all(agent.KindRetry)) != 2 {
		t.Errorf("ended %s after %d requests, and told of %d", e.Outcome, r.tried(), len(r.all(agent.KindRetry)))
	}
}

// TestPi19And20WithoutUsage: where nothing is reported the context is estimated, so that a
// pass comes before an overflow.
func TestPi19And20WithoutUsage(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) {
		small(32_000)(r)
		r.cfg.Tools = []tool.Tool{reader(12_000)}
	})
	for i := range 15 {
		x := call(fmt.Sprint("c", i), "read")
		x.Usage = &message.Usage{}
		r.srv.Add(x)
	}
	end := modeltest.Text("ok")
	end.Usage = &message.Usage{}
	r.srv.Add(end)
	r.say("read")
	if e := r.ended(); e.Outcome != agent.OutcomeDone || r.passes() == 0 {
		t.Errorf("ended %s %s after %d passes", e.Outcome, e.Error, r.passes())
	}
	for i, x := range r.srv.Exchanges() {
		if n := len(x.Request) / 4; n > 32_000 {
			t.Errorf("request %d has about %d tokens", i, n)
		}
	}
	r.fine()
}

// TestPi17NoSecondPass: what was reported before a pass does not count after it. D-13.
func TestPi17NoSecondPass(t *testing.T) {
	t.Parallel()
	r := filled(t, 4, small(12_000))
	heavy := modeltest.Text("Hm.")
	heavy.Usage = &message.Usage{Input: 9_750, Output: 10}
	r.srv.Add(heavy)
	r.say("think")
	n := r.passes()
	if n == 0 {
		t.Fatalf("no pass after the turn:\n%s", r.log())
	}
	for range 5 {
		r.srv.Add(modeltest.Text("ok"))
		r.say("go on")
	}
	if r.passes() != n {
		t.Errorf("%d passes, then %d", n, r.passes())
	}
	r.fine()
}

// TestPi14AbortNearTheLimit: the next prompt is looked at all the same.
func TestPi14AbortNearTheLimit(t *testing.T) {
	t.Parallel()
	stuck := &fake{name: "wait", kind: tool.Other, do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}
	r := filled(t, 4, func(r *rig) {
		small(12_000)(r)
		r.cfg.Tools = append(r.cfg.Tools, stuck)
	})
	heavy := call("w", "wait")
	heavy.Usage = &message.Usage{Input: 9_750, Output: 10}
	r.srv.Add(heavy)
	n := r.passes()
	r.send("wait for it")
	r.until("call", func(e agent.Event) bool { return e.Kind == agent.KindToolStart && e.Tool.Name == "wait" })
	if ok, err := r.Cancel(context.Background()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	r.wait()
	if r.passes() != n {
		t.Error("a pass followed the aborted answer")
	}
	r.srv.Add(modeltest.Text("ok"))
	r.say("go on")
	if r.passes() != n+1 {
		t.Errorf("%d passes before, %d after", n, r.passes())
	}
	r.fine()
}

// TestD22FailuresDoNotGrowTheRequest: twenty failures in a row.
func TestD22FailuresDoNotGrowTheRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.cfg.Retries = -1 })
	r.srv.Add(modeltest.Text("ok"))
	r.say("first")
	for range 20 {
		r.srv.Add(modeltest.Fail(model.KindServer))
	}
	r.say("second")
	size := len(r.srv.Exchanges()[1].Request)
	for range 19 {
		if err := r.Continue(context.Background()); err != nil {
			t.Fatal(err)
		}
		r.wait()
	}
	xs := r.srv.Exchanges()
	if n := len(xs[len(xs)-1].Request); n != size || len(xs) != 21 {
		t.Errorf("the request had %d bytes, and has %d after %d requests", size, n, len(xs))
	}
}

// TestPi29WholeCallOfACutAnswer: also a call that can be read may be half of what was
// meant.
func TestPi29WholeCallOfACutAnswer(t *testing.T) {
	t.Parallel()
	write := &fake{name: "write", kind: tool.Write}
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{write} })
	n := 0
	cut := func() modeltest.Reply { // its last call is broken, the first whole
		n++
		x := modeltest.Answer(modeltest.Call(fmt.Sprint("a", n), "write", `{"content":"half"}`), modeltest.Call(fmt.Sprint("b", n), "write", `{"content":"more"}`))
		x.Finish = model.FinishLength
		return x
	}
	r.srv.Add(cut(), modeltest.Text("I will write less."))
	r.say("write it")
	if write.ran.Load() != 0 {
		t.Error("the call was run")
	}
	if got := strings.Join(r.texts(), "\n"); !strings.Contains(got, "toolResult: The answer was cut off") {
		t.Errorf("the context is\n%s", got)
	}
	// And not for ever.
	for range 9 {
		r.srv.Add(cut())
	}
	r.say("write it all")
	if e := r.ended(); e.Outcome != agent.OutcomeFailed || !strings.Contains(e.Error, "in a row: ask for less at once") {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
}
