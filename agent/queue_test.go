package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/summary"
)

// gate is a tool that waits until it is let go.
func gate() (*fake, chan struct{}) {
	open := make(chan struct{})
	return &fake{name: "wait", kind: tool.Other, do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		select {
		case <-open:
			return tool.Text("waited"), nil
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}}, open
}

func running(name string) func(agent.Event) bool {
	return func(e agent.Event) bool { return e.Kind == agent.KindToolStart && e.Tool.Name == name }
}

func TestQueueIsDeliveredBetweenResultAndRequest(t *testing.T) {
	t.Parallel()
	wait, open := gate()
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{wait} })
	r.srv.Add(call("a", "wait"), modeltest.Text("I see."), modeltest.Text("Later."))
	r.send("begin")
	r.until("call", running("wait"))
	r.send("and this")
	if _, err := r.Send(context.Background(), agent.Input{Text: "at the end", When: agent.WhenDone}); err != nil {
		t.Fatal(err)
	}
	if n := len(r.Queue()); n != 2 {
		t.Errorf("%d wait, want 2", n)
	}
	close(open)
	r.wait()
	r.wantTexts("user: begin", "assistant: <wait>", "toolResult: waited", "user: and this", "assistant: I see.", "user: at the end", "assistant: Later.")
	if n := len(r.Queue()); n != 0 {
		t.Errorf("%d wait, want none", n)
	}
	if _, err := os.Stat(clew.QueueFile(r.path)); !os.IsNotExist(err) {
		t.Errorf("the file of the queue is still there: %v", err)
	}
	r.fine()
}

// slow is a summarizer that waits until it is let go, as one does that asks a model.
type slow struct {
	begun chan struct{}
	open  chan error // nil: go on; else fail
}

func newSlow() *slow { return &slow{begun: make(chan struct{}, 100), open: make(chan error)} }

func (s *slow) Name() string { return "slow" }
func (s *slow) Costly() bool { return true }
func (s *slow) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	s.begun <- struct{}{}
	select {
	case err := <-s.open:
		if err != nil {
			return summary.Output{}, err
		}
	case <-ctx.Done():
		return summary.Output{}, ctx.Err()
	}
	out, err := summary.Deterministic{}.Summarize(ctx, in)
	out.Summarizer = s.Name()
	return out, err
}

// TestPi111AndD74TypedDuringAPass: what is sent while a summary is made keeps its order,
// whatever becomes of the summary, and is delivered (pi 30), exactly once (D-72).
func TestPi111AndD74TypedDuringAPass(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"success", "failure", "cancel"} { // Send that waited for the pass would hang
		t.Run(how, func(t *testing.T) {
			s := newSlow()
			r := filled(t, 6, func(r *rig) {
				small(12_000)(r)
				r.cfg.Engine.Policy.Summarizer = s
				r.cfg.Background = -1
			})
			done := make(chan error, 1)
			go func() {
				_, err := r.Compact(context.Background(), agent.CompactRequest{Instructions: "keep names"})
				done <- err
			}()
			<-s.begun
			var want []string
			for i := range 5 {
				in := agent.Input{Text: fmt.Sprint("typed ", i)}
				if i%2 == 1 {
					in.When = agent.WhenDone
				}
				if _, err := r.Send(context.Background(), in); err != nil {
					t.Fatal(err)
				}
				want = append(want, in.Text)
			}
			r.srv.Add(modeltest.Text("All five."))
			switch how {
			case "success":
				s.open <- nil
			case "failure":
				s.open <- errors.New("no")
			case "cancel":
				if _, err := r.Cancel(context.Background()); err != nil {
					t.Fatal(err)
				}
				if n := len(r.Queue()); n != 5 || !r.State().Held {
					t.Errorf("%d wait, held %v", n, r.State().Held)
				}
				if err := r.Continue(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			err := <-done
			if (err == nil) != (how != "cancel") && how != "failure" {
				t.Errorf("the pass: %v", err)
			}
			r.wait()
			got := r.users()
			if got = got[1:]; !slices.Equal(got, want) {
				t.Errorf("the user has said %q, want %q", got, want)
			}
			r.fine()
		})
	}
}

// TestD72AcceptedMeansInTheLogOnce: what was accepted outlives the program.
func TestD72AcceptedMeansInTheLogOnce(t *testing.T) {
	t.Parallel()
	wait, _ := gate()
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{wait} })
	r.srv.Add(call("a", "wait"))
	r.send("begin")
	r.until("call", running("wait"))
	r.send("one more")
	r.send("and another")
	r.reopen()
	if s := r.State(); s.Queue != 2 || !s.Held || s.Doing != agent.DoingNothing {
		t.Errorf("after a restart: %+v", s)
	}
	r.srv.Add(modeltest.Text("Yes."))
	if err := r.Continue(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.wait()
	if got := r.users(); !slices.Equal(got, []string{"begin", "one more", "and another"}) {
		t.Errorf("the user has said %q", got)
	}
	r.fine()
}

func TestTakeBack(t *testing.T) {
	t.Parallel()
	wait, open := gate()
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{wait} })
	r.srv.Add(call("a", "wait"), modeltest.Text("ok"))
	r.send("begin")
	r.until("call", running("wait"))
	q := r.send("not this")
	back, err := r.TakeBack(q.ID)
	if err != nil || len(back) != 1 || back[0].Text != "not this" {
		t.Errorf("%v, %v", back, err)
	}
	if _, err := r.TakeBack(q.ID); !errors.Is(err, agent.ErrNotQueued) {
		t.Errorf("a second time: %v", err)
	}
	close(open)
	r.wait()
	if got := r.users(); !slices.Equal(got, []string{"begin"}) {
		t.Errorf("the user has said %q", got)
	}
	r.fine()
}

// TestPi51PromptsFromManySides: each is said once.
func TestPi51PromptsFromManySides(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for range 100 {
		r.srv.Add(modeltest.Text("ok"))
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 4 {
				if _, err := r.Send(context.Background(), agent.Input{Text: fmt.Sprintf("%d.%d", i, k)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r.wait()
	got := r.users()
	if len(got) != 32 {
		t.Errorf("%d messages, want 32: %q", len(got), got)
	}
	next := map[string]int{}
	for _, s := range got {
		who, k, _ := strings.Cut(s, ".")
		if k != fmt.Sprint(next[who]) {
			t.Errorf("%s came when %d was next", s, next[who])
		}
		next[who]++
	}
	for _, v := range r.srv.Violations() {
		t.Error(v)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for _, in := range []agent.Input{{}, {Text: "x", When: "soon"}, {Images: []agent.Image{{MIMEType: "text/plain", Data: []byte("x")}}}} {
		if _, err := r.Send(context.Background(), in); err == nil {
			t.Errorf("%+v was accepted", in)
		}
	}
	if err := r.Answer("nosuch", agent.Reply{Allow: true}); !errors.Is(err, agent.ErrNotAsked) {
		t.Errorf("an answer to nothing: %v", err)
	}
}

// TestD72CrashBetweenLogAndQueue: what the log has already is not said again.
func TestD72CrashBetweenLogAndQueue(t *testing.T) {
	t.Parallel()
	wait, _ := gate()
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{wait} })
	r.srv.Add(call("a", "wait"))
	r.send("begin")
	r.until("call", running("wait"))
	r.send("one more")
	before, err := os.ReadFile(clew.QueueFile(r.path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Cancel(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.srv.Add(modeltest.Text("Yes."), modeltest.Text("Yes."))
	if err := r.Continue(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// As after a crash that came before the queue was written.
	if err := os.WriteFile(clew.QueueFile(r.path), before, 0o600); err != nil {
		t.Fatal(err)
	}
	r.open()
	if err := r.Continue(context.Background()); err != nil {
		t.Fatal(err)
	}
	r.wait()
	if got := r.users(); !slices.Equal(got, []string{"begin", "one more"}) {
		t.Errorf("the user has said %q", got)
	}
	if n := len(r.Queue()); n != 0 {
		t.Errorf("%d wait", n)
	}
}
