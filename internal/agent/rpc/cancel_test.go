package rpc_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
)

// TestD75Pi48Pi49CancelInEachPhase: when cancel has answered, nothing is under way, and
// nothing is written or asked afterwards; the session goes on.
func TestD75Pi48Pi49CancelInEachPhase(t *testing.T) {
	t.Parallel()
	never := modeltest.Text("never").With(modeltest.Faults{Delay: time.Hour})
	slowly := modeltest.Text(strings.Repeat("word ", 400)).With(modeltest.Faults{Pause: 50 * time.Millisecond, Chunk: 16})
	call := func(name, arguments string) modeltest.Reply {
		return modeltest.Answer(modeltest.Call("c1", name, arguments))
	}
	state := func(d agent.Doing) func(*rig) {
		return func(r *rig) {
			r.until(string(d), func(e agent.Event) bool { return e.Kind == agent.KindState && e.State.Doing == d })
		}
	}
	kind := func(k agent.Kind) func(*rig) { return func(r *rig) { r.kind(k) } }
	for _, c := range []struct {
		name    string
		said    int // turns before
		replies []modeltest.Reply
		method  string
		params  any
		begun   func(*rig)
	}{
		{"request", 0, []modeltest.Reply{never}, "send", p{"text": "x"}, kind(agent.KindRequest)},
		{"stream", 0, []modeltest.Reply{slowly}, "send", p{"text": "x"}, kind(agent.KindDelta)},
		{"retry", 0, []modeltest.Reply{modeltest.RateLimited(40 * time.Second)}, "send", p{"text": "x"}, kind(agent.KindRetry)},
		{"tool", 0, []modeltest.Reply{call("bash", `{"command":"sleep 60"}`)}, "send", p{"text": "x"}, kind(agent.KindToolStart)},
		{"question", 0, []modeltest.Reply{call("write", `{"path":"a","content":"b"}`)}, "send", p{"text": "x"}, kind(agent.KindAsk)},
		{"compaction", 3, []modeltest.Reply{never}, "compact", nil, state(agent.DoingCompaction)},
		{"compaction in a turn", 3, []modeltest.Reply{never}, "send", p{"text": strings.Repeat("and the writer ", 2000)}, kind(agent.KindCompactionStart)},
		{"move", 3, []modeltest.Reply{never}, "navigate", p{"start": true, "summarize": true}, state(agent.DoingMove)},
		{"shell", 0, nil, "shell", p{"command": "sleep 60"}, state(agent.DoingShell)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var replies []modeltest.Reply
			for i := range c.said {
				replies = append(replies, long(i))
			}
			o := options{settings: `{"summarizer.model": "same", "window": 32000, "agent.background": 0, "permissions": {"allow": ["bash(sleep *)"]}}`}
			here := modeltest.Text("Here I am.")
			r := newRig(t, o, append(append(replies, c.replies...), here)...)
			for range c.said {
				r.ask("send", p{"text": "go on"})
				r.ask("wait", nil)
			}
			r.mu.Lock()
			r.events = nil
			r.mu.Unlock()
			ended := make(chan error, 1)
			go func() { ended <- r.Call(t.Context(), c.method, c.params, nil) }()
			c.begun(r)
			waittest.Until(t, "the model to be asked", func() bool { return r.models.Left() <= 1 })
			if did := as[struct{ Cancelled bool }](r, "cancel", nil); !did.Cancelled {
				t.Errorf("there was nothing to cancel; %s", kinds(r.all()))
			}
			if s := as[agentState](r, "state", nil); s.Doing != agent.DoingNothing || s.Asking != 0 {
				t.Errorf("it is %s with %d questions", s.Doing, s.Asking)
			}
			if err := <-ended; c.method != "send" && c.method != "shell" {
				if e := (*rpc.Error)(nil); !errors.As(err, &e) || e.Code != rpc.CodeCancelled {
					t.Errorf("%s: %v", c.method, err)
				}
			}
			file := r.host.Agent().State().File
			was := read(t, file)
			if r.models.Left() != 1 {
				t.Error("a request was made after cancel had answered")
			}
			if s := as[agentState](r, "state", nil); s.Doing != agent.DoingNothing {
				t.Errorf("it is %s again", s.Doing)
			}

			// It goes on with the next message.
			r.models.Add(here, here) // a summary may be due, and is refused: it is none
			r.ask("send", p{"text": "are you there?"})
			r.ask("wait", nil)
			if next, _, _ := strings.Cut(strings.TrimPrefix(string(read(t, file)), string(was)), "\n"); !strings.Contains(next, "are you there?") {
				t.Errorf("after cancel had answered, this was written: %.300s", next)
			}
			got := as[pathOf](r, "path", nil)
			if c.said == 0 && !slices.Contains(got.texts(), "assistant: Here I am.") {
				t.Errorf("%q", got.texts())
			}
			grammar(t, r.all())
		})
	}
}

// agentState is agent.State as JSON has it.
type agentState = agent.State

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What is queued stays, in order, and waits until something is sent or continue is asked.
func TestCancelKeepsTheQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{}, modeltest.Text("never").With(modeltest.Faults{Delay: time.Hour}), modeltest.Text("Both."))
	r.ask("send", p{"text": "first"})
	r.kind(agent.KindRequest)
	waittest.Until(t, "the request to take its reply", func() bool { return r.models.Left() <= 1 })
	r.ask("send", p{"text": "second"})
	r.ask("send", p{"text": "third", "when": "done"})
	r.ask("cancel", nil)
	if s := r.host.Agent().State(); s.Queue != 2 || !s.Held || s.Doing != agent.DoingNothing {
		t.Errorf("%+v", s)
	}
	r.ask("continue", nil)
	r.ask("wait", nil)
	got := as[pathOf](r, "path", nil).texts()
	got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, string(message.RoleAssistant)) })
	if !slices.Equal(got, []string{"user: first", "user: second", "user: third"}) {
		t.Errorf("%q", got)
	}
}
