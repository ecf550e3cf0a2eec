package agent_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/agent/permission"
	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session"
)

// patience is what a second may become on a machine that is busy with other tests.
const patience = 5 * time.Second

// A phase is something that an agent can be in the middle of.
type phase struct {
	name  string
	setup func(r *rig)
	// enter brings the agent there.
	enter func(r *rig)
}

func phases() []phase {
	hang := modeltest.Text("slow").With(modeltest.Faults{Delay: 20 * time.Second})
	drip := modeltest.Text(words(2_000)).With(modeltest.Faults{Pause: time.Second})
	stubborn := &fake{name: "stubborn", kind: tool.Other, do: func(context.Context, tool.Call) (tool.Result, error) {
		time.Sleep(1500 * time.Millisecond) // it does not listen
		return tool.Text("late"), nil
	}}
	var s *slow
	return []phase{
		{"before the answer", nil, func(r *rig) {
			r.srv.Add(hang)
			r.send("go")
			r.until("request", func(e agent.Event) bool { return e.Kind == agent.KindRequest })
		}},
		{"in the answer", nil, func(r *rig) {
			r.srv.Add(drip)
			r.send("go")
			r.until("piece", func(e agent.Event) bool { return e.Kind == agent.KindDelta })
		}},
		{"in a retry", func(r *rig) { r.cfg.Sleep = nil; r.cfg.RetryBase = 20 * time.Second }, func(r *rig) {
			r.srv.Add(modeltest.Fail(model.KindOverloaded))
			r.send("go")
			r.until("retry", func(e agent.Event) bool { return e.Kind == agent.KindRetry })
		}},
		{"in a tool", func(r *rig) {
			wait, _ := gate()
			r.cfg.Tools = []tool.Tool{wait}
		}, func(r *rig) {
			r.srv.Add(call("a", "wait"))
			r.send("go")
			r.until("call", running("wait"))
		}},
		{"in a tool that does not listen", func(r *rig) { r.cfg.Tools = []tool.Tool{stubborn} }, func(r *rig) {
			r.srv.Add(call("a", "stubborn"))
			r.send("go")
			r.until("call", running("stubborn"))
		}},
		{"in a question", func(r *rig) {
			r.cfg.Interactive = true
			guard, err := permission.New(permission.Config{Dir: r.t.TempDir()})
			if err != nil {
				r.t.Fatal(err)
			}
			r.cfg.Guard = guard
			r.cfg.Tools = []tool.Tool{&fake{name: "send", kind: tool.Other}}
		}, func(r *rig) {
			r.srv.Add(call("a", "send"))
			r.send("go")
			r.until("question", func(e agent.Event) bool { return e.Kind == agent.KindAsk })
		}},
		{"in a pass", func(r *rig) {
			s = newSlow()
			r.cfg.Engine.Policy.Summarizer, r.cfg.Background = s, -1
			r.cfg.Tools = []tool.Tool{reader(100)}
			small(24_000)(r)
		}, func(r *rig) {
			for i := range 20 {
				r.srv.Add(spoken(string(rune('a'+i)), "read"))
			}
			r.send("go")
			<-s.begun
		}},
	}
}

// TestD75Pi48And49CancelEverywhere: cancelled within a second, whatever is under way;
// nothing starts afterwards, nothing is written, and the next request is a sound one.
func TestD75Pi48And49CancelEverywhere(t *testing.T) {
	for _, p := range phases() {
		t.Run(p.name, func(t *testing.T) {
			r := newRig(t, p.setup)
			p.enter(r)
			began := time.Now()
			ok, err := r.Cancel(context.Background())
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			if took := time.Since(began); took > patience {
				t.Errorf("it took %v", took)
			}
			if s := r.State(); s.Doing != agent.DoingNothing || s.Asking != 0 {
				t.Errorf("state %+v", s)
			}
			if e := r.ended(); e.Outcome != agent.OutcomeCancelled {
				t.Errorf("ended %s %s", e.Outcome, e.Error)
			}
			requests, size := r.tried(), fileSize(t, r.path)
			time.Sleep(20 * time.Millisecond)
			if p.name == "in a tool that does not listen" {
				time.Sleep(1500 * time.Millisecond)
			}
			if r.tried() != requests || fileSize(t, r.path) != size {
				t.Error("it went on after it was cancelled")
			}
			if ok, err := r.Cancel(context.Background()); ok || err != nil {
				t.Errorf("cancelled twice: %v, %v", ok, err)
			}
			r.cancelLeftovers()
			r.cfg.Engine.Policy.Summarizer = nil
			r.reopen()
			r.srv.Add(modeltest.Text("ok"))
			r.say("and now?")
			if e := r.ended(); e.Outcome != agent.OutcomeDone {
				t.Errorf("the next prompt ended %s %s", e.Outcome, e.Error)
			}
			for _, v := range r.srv.Violations() {
				t.Error(v)
			}
		})
	}
}

// cancelLeftovers replaces the server by one that knows nothing of the script.
func (r *rig) cancelLeftovers() {
	r.srv.Close()
	r.srv = modeltest.Start(modeltest.Config{})
	r.t.Cleanup(r.srv.Close)
	r.cfg.Model = r.model(modelName)
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestPi50CloseEverywhere: nothing is left running.
func TestPi50CloseEverywhere(t *testing.T) {
	for _, p := range phases() {
		t.Run(p.name, func(t *testing.T) {
			r := newRig(t, p.setup)
			before := goleak.IgnoreCurrent() // the server's
			p.enter(r)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			size := fileSize(t, r.path)
			if _, err := r.Send(context.Background(), agent.Input{Text: "late"}); !errors.Is(err, agent.ErrClosed) {
				t.Errorf("Send after Close: %v", err)
			}
			if err := r.SetModel(context.Background(), "x/y"); err == nil {
				t.Error("SetModel after Close")
			}
			if _, err := r.Compact(context.Background(), agent.CompactRequest{}); !errors.Is(err, agent.ErrClosed) {
				t.Errorf("Compact after Close: %v", err)
			}
			if fileSize(t, r.path) != size {
				t.Error("it was written to after Close")
			}
			r.srv.Close()
			if err := goleak.Find(before); err != nil && strings.Contains(err.Error(), "clew/agent") {
				t.Error(err)
			}
		})
	}
}

// TestPi46And47PassesOneAfterTheOther: a pass that the user asks for while a turn makes
// one waits for it.
func TestPi46And47PassesOneAfterTheOther(t *testing.T) {
	s := newSlow()
	r := newRig(t, func(r *rig) {
		r.cfg.Engine.Policy.Summarizer, r.cfg.Background = s, -1
		r.cfg.Tools = []tool.Tool{reader(100)}
		small(24_000)(r)
	})
	for i := range 12 {
		r.srv.Add(spoken(string(rune('a'+i)), "read"))
	}
	r.srv.Add(modeltest.Text("Read."))
	r.send("go")
	<-s.begun
	done := make(chan error, 1)
	go func() {
		_, err := r.Compact(context.Background(), agent.CompactRequest{})
		done <- err
	}()
	// Meanwhile other operations are refused, and say why.
	if _, err := r.Undo(context.Background(), session.UndoOptions{}); !errors.Is(err, agent.ErrBusy) {
		t.Errorf("undo: %v", err)
	}
	if _, err := r.Navigate(context.Background(), "", clew.BranchOptions{}); !errors.Is(err, agent.ErrBusy) {
		t.Errorf("navigate (pi 110): %v", err)
	}
	go func() {
		for {
			select {
			case s.open <- nil:
			case <-r.t.Context().Done():
				return
			}
		}
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
	r.wait()
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
	open := 0
	for _, e := range r.allEvents() {
		switch e.Kind {
		case agent.KindCompactionStart:
			if open++; open > 1 {
				t.Error("two passes at once")
			}
		case agent.KindCompactionEnd:
			open--
		default:
		}
	}
	if open != 0 {
		t.Errorf("%d passes have no end", open)
	}
	r.fine()
}

func (r *rig) allEvents() []agent.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]agent.Event(nil), r.events...)
}

// TestD06CancelledCallHasAResult: also where the tool never gave one.
func TestD06CancelledCallHasAResult(t *testing.T) {
	stubborn := &fake{name: "stubborn", kind: tool.Other, do: func(context.Context, tool.Call) (tool.Result, error) {
		time.Sleep(1500 * time.Millisecond)
		return tool.Text("late"), nil
	}}
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{stubborn} })
	r.srv.Add(call("a", "stubborn"), modeltest.Text("ok"))
	r.send("go")
	r.until("call", running("stubborn"))
	if _, err := r.Cancel(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.say("go on")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
	if got := strings.Join(r.texts(), "\n"); !strings.Contains(got, "interrupted") || strings.Contains(got, "late") {
		t.Errorf("the context is\n%s", got)
	}
	r.fine()
}
