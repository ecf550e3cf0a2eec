package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/modeltest"
)

// sized is a model of the server's with a window of its own.
func (r *rig) sized(name string, window int64) model.Model {
	r.t.Helper()
	at := r.srv.Endpoint(name)
	at.Transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{Attempts: 1}})
	at.Info = &model.Info{Provider: "anthropic", Model: name, API: "anthropic-messages", Window: window, MaxOutput: 8_000}
	m, err := anthropic.New(anthropic.Config{Endpoint: at})
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// switching can change between models of several sizes.
func switching(r *rig) {
	big, mid, little := r.sized("big", 1_000_000), r.sized("mid", 200_000), r.sized("little", 32_000)
	r.cfg.Model = big
	r.cfg.Find = func(_ context.Context, name string) (model.Model, error) {
		switch name {
		case "anthropic/big":
			return big, nil
		case "anthropic/mid":
			return mid, nil
		case "anthropic/little":
			return little, nil
		}
		return nil, fmt.Errorf("no model %q", name)
	}
}

// TestD28SwitchToASmallerModel: the context is compacted before it is sent to it.
func TestD28SwitchToASmallerModel(t *testing.T) {
	t.Parallel()
	r := filled(t, 40, switching)
	ctx := context.Background()
	if r.passes() != 0 {
		t.Fatal("a pass in a window of a million")
	}
	r.srv.NewConversation()
	for _, name := range []string{"mid", "little", "big"} {
		if err := r.SetModel(ctx, "anthropic/"+name); err != nil {
			t.Fatal(err)
		}
		r.srv.Add(modeltest.Text("I am " + name + "."))
		r.say("who are you?")
		s := r.State()
		if s.Model != "anthropic/"+name || s.Tokens > s.Threshold {
			t.Errorf("%s: %+v", name, s)
		}
		if n := int64(len(r.srv.Exchanges()[r.tried()-1].Request)) / 4; n > s.Window {
			t.Errorf("%s was sent about %d tokens", name, n)
		}
		r.srv.NewConversation()
	}
	if r.passes() != 1 {
		t.Errorf("%d passes, want 1: for the window of 32,000", r.passes())
	}
	if err := r.SetModel(ctx, "anthropic/none"); err == nil {
		t.Error("a model that is not there")
	}
	r.reopen()
	for _, v := range r.srv.Violations() {
		t.Error(v)
	}
}

// TestPi22OverflowOfAnotherModel: it does not compact the context of a larger one.
func TestPi22OverflowOfAnotherModel(t *testing.T) {
	t.Parallel()
	r := filled(t, 8, func(r *rig) {
		switching(r)
		r.cfg.Model, _ = r.cfg.Find(context.Background(), "anthropic/little")
	})
	passes := r.passes()
	r.srv.Add(modeltest.Overflow(15_000, 10_000), modeltest.Overflow(15_000, 10_000))
	r.say("too much")
	n := r.passes()
	if e := r.ended(); e.Outcome != agent.OutcomeFailed || n > passes+1 {
		t.Fatalf("ended %s after %d passes", e.Outcome, n)
	}
	if err := r.SetModel(context.Background(), "anthropic/big"); err != nil {
		t.Fatal(err)
	}
	r.srv.NewConversation()
	r.srv.Add(modeltest.Text("Plenty of room."))
	r.say("and you?")
	if r.passes() != n {
		t.Errorf("%d passes, then %d", n, r.passes())
	}
	if s := r.State(); s.Window != 1_000_000 || s.WindowFrom != "catalogue" {
		t.Errorf("the window is %d, %s", s.Window, s.WindowFrom)
	}
}

// TestSwitchInATurn: it counts from the next request on.
func TestSwitchInATurn(t *testing.T) {
	t.Parallel()
	wait, open := gate()
	r := newRig(t, func(r *rig) { switching(r); r.cfg.Tools = []tool.Tool{wait} })
	r.srv.Add(call("a", "wait"), modeltest.Text("I am mid."))
	r.send("go")
	r.until("call", running("wait"))
	if err := r.SetModel(context.Background(), "anthropic/mid"); err != nil {
		t.Fatal(err)
	}
	if m := r.State().Model; m != "anthropic/mid" {
		t.Errorf("the state says %s", m)
	}
	r.srv.NewConversation()
	close(open)
	r.wait()
	xs := r.srv.Exchanges()
	if !strings.Contains(string(xs[0].Request), `"big"`) || !strings.Contains(string(xs[1].Request), `"mid"`) {
		t.Errorf("asked were %.100s and %.100s", xs[0].Request, xs[1].Request)
	}
	r.fine()
}

// TestD26LearntWindowIsKept: another agent with the same Windows knows it.
func TestD26LearntWindowIsKept(t *testing.T) {
	t.Parallel()
	windows := model.NewWindows(nil)
	r := filled(t, 10, func(r *rig) { r.cfg.Windows = windows })
	r.srv.Add(modeltest.Overflow(15_000, 10_000), modeltest.Text("ok"))
	r.say("hm")
	r.reopen()
	if s := r.State(); s.Window != 10_000 || s.WindowFrom != "learnt" {
		t.Errorf("after a restart the window is %d, %s", s.Window, s.WindowFrom)
	}
	r.fine()
}

// TestServerThatCutsTheInput: what it reads is its window.
func TestServerThatCutsTheInput(t *testing.T) {
	t.Parallel()
	r := filled(t, 10, nil)
	cut := modeltest.Text("About the end.")
	cut.Usage = &message.Usage{Input: 2_048, Output: 5}
	r.srv.Add(cut)
	r.say("what was at the beginning?")
	if s := r.State(); s.Window != 2_048 || s.WindowFrom != "learnt" || len(r.all(agent.KindWarning)) == 0 {
		t.Errorf("%+v", s)
	}
	// Where what was reported before can't be true, nothing is learnt.
	r = newRig(t, nil)
	wrong := modeltest.Text("Hello.")
	wrong.Usage = &message.Usage{Input: 50_000, Output: 5}
	r.srv.Add(wrong, modeltest.Text("Hello again."))
	r.say("hi")
	r.say("hi again")
	if s := r.State(); s.WindowFrom != "catalogue" {
		t.Errorf("%+v", s)
	}
}
