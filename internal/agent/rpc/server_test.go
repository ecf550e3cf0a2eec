package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/model/modeltest"
)

// A line that is no request is answered, and nothing else happens.
func TestBadLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{}, modeltest.Text("Still here."))
	r.ask("state", nil)
	file := r.host.Agent().State().File
	was, events := string(read(t, file)), len(r.all())
	for _, line := range []string{
		"", "nonsense", `{"id":900,"method":"send","params":{"text":"x"}`, `{"method":"send","params":{"text":"x"}}`,
		`{"id":901,"method":"sned","params":{"text":"x"}}`, `{"id":902,"method":"send","params":{"text":"x","whenn":"done"}}`,
		`{"id":903,"method":"send","params":{"text":""}}`, `{"id":904,"method":"send","params":{"text":"x","when":"never"}}`,
		`{"id":905,"method":"close","params":{"now":true}}`, `{"id":906,"method":"wait","params":{"x":1}}`,
		"\x00\x01", strings.Repeat("[", 100_000), `{"id":907,"method":"compact","params":{"preview":"yes"}}`,
	} {
		if _, err := io.WriteString(r.raw, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	r.ask("state", nil)
	if now := string(read(t, file)); now != was {
		t.Error("the session was changed")
	}
	if got := r.all()[events:]; len(got) > 0 {
		t.Errorf("something happened: %s", kinds(got))
	}
	r.ask("send", p{"text": "are you there?"})
	r.ask("wait", nil)
}

// What is answered to lines that no client would write.
func TestAnswersToRawLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	var out strings.Builder
	srv := rpc.NewServer(&out)
	in := strings.NewReader(strings.Join([]string{
		`nonsense`, `{"id":"a","method":"state"}`, `{"id":2,"method":"stat"}`, `{"id":3,"method":"close"}`, `{"id":4,"method":"state"}`,
	}, "\n") + "\n")
	if err := srv.Serve(t.Context(), r.host, in); err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{}
	for line := range strings.Lines(out.String()) {
		var a struct {
			ID     json.RawMessage
			Result json.RawMessage
			Error  *rpc.Error
			Hello  json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if a.Hello != nil {
			continue
		}
		answers[string(a.ID)] = string(a.Result)
		if a.Error != nil {
			answers[string(a.ID)] = a.Error.Code
		}
	}
	if answers["null"] != "bad_line" || answers["2"] != "unknown_method" || answers["3"] != "{}" || !strings.Contains(answers[`"a"`], `"doing":"idle"`) || len(answers) != 4 {
		t.Errorf("%v", answers)
	}
	// The end of the input in the middle of a line.
	out.Reset()
	if err := rpc.NewServer(&out).Serve(t.Context(), r.host, strings.NewReader(`{"id":1,"method":"new"}`)); err != nil || !strings.Contains(out.String(), "the last line has no end") {
		t.Errorf("%v: %s", err, &out)
	}
	// Nobody reads any more.
	broken := rpc.NewServer(brokenWriter{})
	endless, stop := io.Pipe()
	defer stop.Close()
	if err := broken.Serve(t.Context(), r.host, endless); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := rpc.NewServer(io.Discard).Serve(ctx, r.host, endless); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, net.ErrClosed }

// TestPi51PromptsFromEightGoroutines: nothing is lost, said twice or out of the order of
// who said it, while others ask for all kinds of things.
func TestPi51PromptsFromEightGoroutines(t *testing.T) {
	t.Parallel()
	const each = 6
	var replies []modeltest.Reply
	for i := range 8*each + 1 {
		replies = append(replies, modeltest.Text(fmt.Sprintf("Answer %d.", i)))
	}
	r := newRig(t, options{}, replies...)
	var senders, askers sync.WaitGroup
	stop := make(chan struct{})
	for _, name := range []string{"state", "path", "tree", "queue", "explain", "context", "files", "models", "totals"} {
		askers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := r.Call(t.Context(), name, nil, nil); err != nil {
					t.Errorf("%s: %v", name, err)
					return
				}
			}
		})
	}
	ids := make([][]string, 8)
	for g := range 8 {
		senders.Go(func() {
			for i := range each {
				var q struct{ ID string }
				when := []string{"next", "done"}[i/3] // what waits for the end stays behind what does not
				if err := r.Call(t.Context(), "send", p{"text": fmt.Sprintf("%d says %d", g, i), "when": when}, &q); err != nil {
					t.Errorf("%d %d: %v", g, i, err)
				}
				ids[g] = append(ids[g], q.ID)
			}
		})
	}
	senders.Wait()
	r.ask("wait", nil)
	close(stop)
	askers.Wait()
	got := as[pathOf](r, "path", nil)
	at := map[string]int{}
	for i, e := range got.Entries {
		if e.Message == nil || e.Message.Role != "user" {
			continue
		}
		if _, twice := at[e.ID]; twice {
			t.Errorf("%s stands twice", e.ID)
		}
		at[e.ID] = i
	}
	if len(at) != 8*each {
		t.Errorf("%d messages, want %d", len(at), 8*each)
	}
	for g, own := range ids {
		for i, id := range own {
			where, ok := at[id]
			if !ok || got.Entries[where].Message.Text() != fmt.Sprintf("%d says %d", g, i) {
				t.Errorf("message %d of %d is not where its id says", i, g)
			}
			if i > 0 && where < at[own[i-1]] {
				t.Errorf("message %d of %d comes before the one before", i, g)
			}
		}
	}
	grammar(t, r.all())
}

// Messages that are sent without waiting for answers stay in order.
func TestSendsInOrder(t *testing.T) {
	t.Parallel()
	// On a slow machine there are more turns than two.
	r := newRig(t, options{}, modeltest.Text("slow").With(modeltest.Faults{Delay: 50 * time.Millisecond}))
	for range 50 {
		r.models.Add(modeltest.Text("Some of them."))
	}
	var want []string
	for i := range 50 {
		text := fmt.Sprintf("message %d", i)
		want = append(want, "user: "+text)
		if _, err := fmt.Fprintf(r.raw, `{"id":"own %d","method":"send","params":{"text":%q}}`+"\n", i, text); err != nil {
			t.Fatal(err)
		}
	}
	r.until("the last one", func(e agent.Event) bool {
		return e.Kind == agent.KindEntry && e.Entry.Message.Text() == "message 49"
	})
	r.ask("wait", nil)
	got := slices.DeleteFunc(as[pathOf](r, "path", nil).texts(), func(s string) bool { return !strings.HasPrefix(s, "user") })
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The end of the input ends everything, and what was sent waits for the next run.
func TestEndOfInput(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{}, modeltest.Text("never").With(modeltest.Faults{Delay: time.Hour}))
	r.ask("send", p{"text": "first"})
	r.kind(agent.KindRequest)
	r.ask("send", p{"text": "second"})
	waited := make(chan error, 1)
	go func() { waited <- r.Call(context.WithoutCancel(t.Context()), "wait", nil, nil) }()
	if err := r.Close(); err != nil { // the model never answers
		t.Fatal(err)
	}
	if err := <-waited; err == nil {
		t.Error("somebody who waited was told that all is done")
	}
	if err := r.Call(t.Context(), "state", nil, nil); !errors.Is(err, agent.ErrEnded) {
		t.Errorf("%v", err)
	}
	file := r.host.Agent().State().File
	if text := string(read(t, file+".queue")); !strings.Contains(text, "second") {
		t.Errorf("the queue is %s", text)
	}
	grammar(t, r.all())
}

// A session that was left is not acted upon.
func TestEventsOfOneSessionOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{}, modeltest.Text("One."), modeltest.Text("Two."))
	r.ask("send", p{"text": "first"})
	r.ask("wait", nil)
	first := as[agent.State](r, "state", nil)
	r.ask("new", nil)
	n := len(r.all())
	second := as[agent.State](r, "state", nil)
	r.ask("send", p{"text": "second"})
	r.ask("wait", nil)
	for _, e := range r.all()[n:] {
		if e.Kind == agent.KindClosed || e.State != nil && e.State.Session == first.Session {
			t.Errorf("an event of the session before: %s %+v", e.Kind, e.State)
		}
	}
	if got := as[pathOf](r, "path", nil).texts(); !slices.Equal(got, []string{"user: second", "assistant: Two."}) || second.Session == first.Session {
		t.Errorf("%q", got)
	}
}

// TestAnswersComeAfterTheirEvents: what a request has changed was told when it is answered.
func TestAnswersComeAfterTheirEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	for i := range 100 {
		mode := []permission.Mode{permission.ModePlan, permission.ModeEdits}[i%2]
		r.ask("set_mode", p{"mode": mode})
		events := r.all()
		at := slices.IndexFunc(events, func(e agent.Event) bool { return e.Kind == agent.KindState && e.State.Mode == mode && e.Seq > int64(i) })
		if at < 0 || events[len(events)-1].Kind != agent.KindState || events[len(events)-1].State.Mode != mode {
			t.Fatalf("time %d: of %d events none says %s, or it is not the last", i, len(events), mode)
		}
	}
}
