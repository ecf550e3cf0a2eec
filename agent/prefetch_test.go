package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/model/modeltest"
)

// soft has an agent just over its soft threshold, with a summary being prefetched.
func soft(t *testing.T, change func(*rig)) (*rig, *slow) {
	t.Helper()
	s := newSlow()
	r := filled(t, 6, func(r *rig) {
		small(12_000)(r)
		r.cfg.Engine.Policy.Summarizer = s
		r.cfg.Background = 0.6
		if change != nil {
			change(r)
		}
	})
	if r.passes() != 0 {
		t.Fatal("a pass was made already")
	}
	select {
	case <-s.begun:
	case <-time.After(10 * time.Second):
		t.Fatalf("no summary was begun; state %+v", r.State())
	}
	return r, s
}

func (r *rig) untilPrepared() {
	r.t.Helper()
	r.until("prepared summary", func(e agent.Event) bool { return e.Kind == agent.KindState && e.State.Prepared })
}

// TestPrefetchedSummaryIsUsed: the pass that is due takes the summary that lies ready, and what came
// since then stays word for word. Nobody lets the summarizer go a second time, so a
// pass that asked it would hang.
func TestPrefetchedSummaryIsUsed(t *testing.T) {
	t.Parallel()
	r, s := soft(t, nil)
	r.srv.Add(modeltest.Text(words(6_000)))
	r.say("said while it is made") // nothing waits for it
	s.open <- nil
	r.untilPrepared()
	r.srv.Add(modeltest.Text(words(6_000)), modeltest.Text("ok"))
	r.say("more")
	r.say("and more")
	if r.passes() != 1 {
		t.Fatalf("%d passes, want 1; %+v", r.passes(), r.State())
	}
	end := r.all(agent.KindCompactionEnd)
	if got := end[len(end)-1].Compaction; got.Summarizer != "slow" || got.Reason != compact.Threshold || !strings.Contains(got.Summary, "## ") {
		t.Errorf("%+v", got)
	}
	got := r.users()
	if len(got) != 4 {
		t.Errorf("the user has said %q", got)
	}
	if s := r.State(); s.Prepared || s.Tokens > s.Threshold {
		t.Errorf("%+v", s)
	}
	r.fine()
}

// TestD76StaleSummaryIsNotUsed: after an undo, a move or an edit it is made of something
// that is not there any more.
func TestD76StaleSummaryIsNotUsed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, how := range []string{"branch while it is made", "branch when it is ready"} {
		t.Run(how, func(t *testing.T) {
			r, s := soft(t, nil)
			if how == "branch when it is ready" {
				s.open <- nil
				r.untilPrepared()
			}
			path, err := r.Path(ctx)
			if err != nil {
				t.Fatal(err)
			}
			target := ""
			for _, e := range path {
				if e.Message != nil && e.Message.Role == "assistant" {
					target = e.ID
				}
				if len(path) > 4 && target != "" && e.ID == path[len(path)-5].ID {
					break
				}
			}
			if _, err := r.Navigate(ctx, target, clew.BranchOptions{}); err != nil {
				t.Fatal(err)
			}
			if r.State().Prepared {
				t.Error("it still lies ready")
			}
			go func() {
				for {
					select {
					case s.open <- nil:
					case <-t.Context().Done():
						return
					}
				}
			}()
			for range 5 {
				r.srv.Add(modeltest.Text(words(4_000)))
				r.say("more")
			}
			if r.passes() == 0 {
				t.Errorf("no pass\n%s", r.log())
			}
			select {
			case <-s.begun:
			default:
				t.Error("no other summary was made")
			}
			for _, v := range r.srv.Violations() {
				t.Error(v)
			}
		})
	}
}

// TestPrefetchIsStopped: closing waits for nothing.
func TestPrefetchIsStopped(t *testing.T) {
	t.Parallel()
	r, _ := soft(t, nil)
	if err := r.Close(); err != nil { // nobody lets the summarizer go, so waiting for it would never end
		t.Fatal(err)
	}
}

// TestIdle: a context over the soft threshold is compacted when nothing happens.
func TestIdle(t *testing.T) {
	t.Parallel()
	r := filled(t, 6, func(r *rig) {
		small(12_000)(r)
		r.cfg.Background = 0.6
		r.cfg.Idle, r.cfg.Sleep = time.Nanosecond, nil
		r.cfg.Tools = []tool.Tool{reader(100)}
	})
	r.until("pass", func(e agent.Event) bool { return e.Kind == agent.KindCompactionEnd && e.Compaction.Done })
	r.wait()
	r.srv.Add(modeltest.Text("ok"))
	r.say("good morning")
	r.fine()
}
