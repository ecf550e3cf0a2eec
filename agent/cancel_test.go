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
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session"
)

// A phase is something that an agent can be in the middle of.
type phase struct {
	name  string
	setup func(r *rig)
	// enter brings the agent there.
	enter func(r *rig)
	// release lets a tool end that does not listen, and returns when it has; nil where there is none.
	release func()
}

// newStubborn returns a tool that ends when release is called, and not before. release
// returns when the tool has.
func newStubborn() (stubborn *fake, release func()) {
	open, left := make(chan struct{}), make(chan struct{})
	return &fake{name: "stubborn", kind: tool.Other, do: func(context.Context, tool.Call) (tool.Result, error) {
		defer close(left)
		<-open
		return tool.Text("late"), nil
	}}, func() { close(open); <-left }
}

func phases() []phase {
	hang := modeltest.Text("slow").With(modeltest.Faults{Delay: time.Hour})
	drip := modeltest.Text(words(100_000)).With(modeltest.Faults{Pause: 50 * time.Millisecond})
	stubborn, release := newStubborn()
	var s *slow
	return []phase{
		{name: "before the answer", enter: func(r *rig) {
			r.srv.Add(hang)
			r.send("go")
			r.until("request", func(e agent.Event) bool { return e.Kind == agent.KindRequest })
		}},
		{name: "in the answer", enter: func(r *rig) {
			r.srv.Add(drip)
			r.send("go")
			r.until("piece", func(e agent.Event) bool { return e.Kind == agent.KindDelta })
		}},
		{name: "in a retry", setup: func(r *rig) { r.cfg.Sleep = nil; r.cfg.RetryBase = time.Hour; r.cfg.RetryMax = time.Hour }, enter: func(r *rig) {
			r.srv.Add(modeltest.Fail(model.KindOverloaded))
			r.send("go")
			r.until("retry", func(e agent.Event) bool { return e.Kind == agent.KindRetry })
		}},
		{name: "in a tool", setup: func(r *rig) {
			wait, _ := gate()
			r.cfg.Tools = []tool.Tool{wait}
		}, enter: func(r *rig) {
			r.srv.Add(call("a", "wait"))
			r.send("go")
			r.until("call", running("wait"))
		}},
		{name: "in a tool that does not listen", setup: func(r *rig) { r.cfg.Tools = []tool.Tool{stubborn} }, enter: func(r *rig) {
			r.srv.Add(call("a", "stubborn"))
			r.send("go")
			r.until("call", running("stubborn"))
		}, release: release},
		{name: "in a question", setup: func(r *rig) {
			r.cfg.Interactive = true
			guard, err := permission.New(permission.Config{Dir: r.t.TempDir()})
			if err != nil {
				r.t.Fatal(err)
			}
			r.cfg.Guard = guard
			r.cfg.Tools = []tool.Tool{&fake{name: "send", kind: tool.Other}}
		}, enter: func(r *rig) {
			r.srv.Add(call("a", "send"))
			r.send("go")
			r.until("question", func(e agent.Event) bool { return e.Kind == agent.KindAsk })
		}},
		{name: "in a pass", setup: func(r *rig) {
			s = newSlow()
			r.cfg.Engine.Policy.Summarizer, r.cfg.Background = s, -1
			r.cfg.Tools = []tool.Tool{reader(100)}
			small(12_000)(r)
		}, enter: func(r *rig) {
			for i := range 20 {
				r.srv.Add(spoken(string(rune('a'+i)), "read"))
			}
			r.send("go")
			<-s.begun
		}},
	}
}

// TestD75Pi48And49CancelEverywhere: it is cancelled, whatever is under way and however
// long that would take; nothing starts afterwards, nothing is written, and the next request is a sound one.
func TestD75Pi48And49CancelEverywhere(t *testing.T) {
	t.Parallel()
	for _, p := range phases() {
		t.Run(p.name, func(t *testing.T) {
			r := newRig(t, p.setup)
			p.enter(r)
			ok, err := r.Cancel(context.Background())
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			if s := r.State(); s.Doing != agent.DoingNothing || s.Asking != 0 {
				t.Errorf("state %+v", s)
			}
			if e := r.ended(); e.Outcome != agent.OutcomeCancelled {
				t.Errorf("ended %s %s", e.Outcome, e.Error)
			}
			requests, size := len(r.all(agent.KindRequest)), fileSize(t, r.path)
			if p.release != nil {
				p.release()
			}
			if ok, err := r.Cancel(context.Background()); ok || err != nil {
				t.Errorf("cancelled twice: %v, %v", ok, err)
			}
			if err := r.Close(); err != nil { // returns when nothing runs any more
				t.Error(err)
			}
			r.srv.Close() // waits for what is under way
			if n := r.tried(); n > requests || len(r.all(agent.KindRequest)) != requests {
				t.Errorf("%d requests after it was cancelled, %d before", n, requests)
			}
			if n := fileSize(t, r.path); n != size {
				t.Errorf("%d bytes after it was cancelled, %d before", n, size)
			}
			r.cancelLeftovers()
			r.cfg.Engine.Policy.Summarizer = nil
			r.open()
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
			if p.release != nil {
				go p.release()
			}
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
	t.Parallel()
	s := newSlow()
	r := newRig(t, func(r *rig) {
		r.cfg.Engine.Policy.Summarizer, r.cfg.Background = s, -1
		r.cfg.Tools = []tool.Tool{reader(100)}
		small(12_000)(r)
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
	t.Parallel()
	stubborn, release := newStubborn()
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{stubborn} })
	r.srv.Add(call("a", "stubborn"), modeltest.Text("ok"))
	r.send("go")
	r.until("call", running("stubborn"))
	if _, err := r.Cancel(context.Background()); err != nil {
		t.Fatal(err)
	}
	release()
	r.say("go on")
	if e := r.ended(); e.Outcome != agent.OutcomeDone {
		t.Errorf("ended %s %s", e.Outcome, e.Error)
	}
	if got := strings.Join(r.texts(), "\n"); !strings.Contains(got, "interrupted") || strings.Contains(got, "late") {
		t.Errorf("the context is\n%s", got)
	}
	r.fine()
}
