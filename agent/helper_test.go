package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/modeltest"
)

const modelName = "claude-sonnet-4-5"

// rig is an agent with a server that speaks Anthropic's format.
type rig struct {
	*agent.Agent
	t    testing.TB
	srv  *modeltest.Server
	path string
	cfg  agent.Config
	// asked, if not nil, is called before each request.
	asked func(*rig)

	mu     sync.Mutex
	events []agent.Event
	more   chan struct{}
}

// newRig starts an agent on a new session file. change may change its settings.
func newRig(t testing.TB, change func(*rig)) *rig {
	t.Helper()
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "s.jsonl"), more: make(chan struct{}, 1)}
	r.srv = modeltest.Start(modeltest.Config{StablePrefix: true})
	t.Cleanup(r.srv.Close)
	guard, err := permission.New(permission.Config{Mode: permission.ModeAll, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r.cfg = agent.Config{
		Open: func(ctx context.Context, c clew.Config) (*clew.Session, error) {
			return clew.Open(ctx, r.path, c)
		},
		File: r.path, Guard: guard, Events: r.take,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	r.cfg.Engine.Hooks = append(r.cfg.Engine.Hooks, clew.Hooks{OnEvent: func(_ context.Context, e clew.Event) {
		if e.Kind == clew.EventPassEnd && len(e.Entries) > 0 || e.Kind == clew.EventBranch {
			r.srv.NewConversation()
		}
	}})
	r.cfg.Model = r.model(modelName)
	if change != nil {
		change(r)
	}
	r.open()
	return r
}

// model is one of the server's.
func (r *rig) model(name string) model.Model {
	r.t.Helper()
	at := r.srv.Endpoint(name)
	at.Transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{Attempts: 1}})
	m, err := anthropic.New(anthropic.Config{Endpoint: at})
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

func (r *rig) open() {
	r.t.Helper()
	a, err := agent.New(context.Background(), r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Agent = a
	r.t.Cleanup(func() {
		if err := a.Close(); err != nil {
			r.t.Error(err)
		}
	})
}

// reopen closes the agent and starts another one on the file.
func (r *rig) reopen() {
	r.t.Helper()
	if err := r.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.open()
}

func (r *rig) take(e agent.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// say sends a text and waits until all is done.
func (r *rig) say(text string) {
	r.t.Helper()
	r.send(text)
	r.wait()
}

func (r *rig) send(text string) agent.Queued {
	r.t.Helper()
	q, err := r.Send(context.Background(), agent.Input{Text: text})
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

func (r *rig) wait() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := r.Wait(ctx); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for an event.
func (r *rig) until(what string, ok func(agent.Event) bool) agent.Event {
	r.t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		r.mu.Lock()
		events := slices.Clone(r.events)
		r.mu.Unlock()
		for _, e := range events { // ok may ask the agent, which waits for take
			if ok(e) {
				return e
			}
		}
		select {
		case <-r.more:
		case <-limit:
			r.t.Fatalf("no %s; the events were\n%s", what, r.log())
		}
	}
}

// all returns the events of a kind so far.
func (r *rig) all(kind agent.Kind) (out []agent.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

func (r *rig) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, e := range r.events {
		if e.Kind != agent.KindState && e.Kind != agent.KindDelta {
			data, _ := json.Marshal(e)
			fmt.Fprintf(&b, "%.300s\n", data)
		}
	}
	return b.String()
}

// ended returns how the last turn ended, once all events have come.
func (r *rig) ended() agent.Event {
	r.t.Helper()
	starts := func() int { return len(r.all(agent.KindTurnStart)) }
	var ends []agent.Event
	waittest.Until(r.t, "a turn to end", func() bool {
		ends = r.all(agent.KindTurnEnd)
		return len(ends) > 0 && len(ends) == starts()
	})
	return ends[len(ends)-1]
}

// fine fails the test when the server has seen a request that it would not take.
func (r *rig) fine() {
	r.t.Helper()
	for _, v := range r.srv.Violations() {
		r.t.Error(v)
	}
	if n := r.srv.Left(); n > 0 {
		r.t.Errorf("%d answers were not asked for", n)
	}
}

// texts are the messages of the context, as "role: text".
func (r *rig) texts() []string {
	r.t.Helper()
	items, err := r.Session().Context(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, it := range items {
		m := it.Message
		text := m.Text()
		if m.Summary != "" {
			text = "(summary)"
		}
		for _, c := range m.ToolCalls() {
			text += "<" + c.Name + ">"
		}
		if len(text) > 200 {
			text = text[:200]
		}
		out = append(out, string(m.Role)+": "+text)
	}
	return out
}

func (r *rig) wantTexts(want ...string) {
	r.t.Helper()
	if got := r.texts(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.t.Errorf("the context is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// users are the texts of the user that the path has, whatever has become of them.
func (r *rig) users() (out []string) {
	r.t.Helper()
	path, err := r.Path(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range path {
		if s.Message != nil && s.Message.UserWords() {
			out = append(out, s.Message.Text())
		}
	}
	return out
}

// fake is a tool that does what a test wants.
type fake struct {
	name   string
	kind   tool.Kind
	ran    atomic.Int32
	do     func(ctx context.Context, c tool.Call) (tool.Result, error)
	effect tool.Effect
}

func (f *fake) Spec() model.Tool {
	return model.Tool{Name: f.name, Description: "a tool", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func (f *fake) Effect(json.RawMessage) (tool.Effect, error) {
	e := f.effect
	e.Kind = f.kind
	e.Line = f.name
	return e, nil
}

func (f *fake) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	f.ran.Add(1)
	if f.do == nil {
		return tool.Text("done"), nil
	}
	return f.do(ctx, c)
}

// reader is a tool that returns n bytes of words.
func reader(n int) *fake {
	return &fake{name: "read", kind: tool.Read, do: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Text(words(n)), nil
	}}
}

// words is a text of about n bytes.
func words(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "line %d says something about part %d\n", i, i*7919%1000)
	}
	return b.String()
}

func call(id, name string) modeltest.Reply { return modeltest.Answer(modeltest.Call(id, name, "{}")) }

// spoken is a call after a long text, which only a summary takes out of the context.
func spoken(id, name string) modeltest.Reply {
	return modeltest.Answer(message.TextBlock(words(4_000)), modeltest.Call(id, name, "{}"))
}

// small makes the window small.
func small(window int64) func(*rig) {
	return func(r *rig) { r.cfg.Engine.Policy.Window = window; r.cfg.Engine.Policy.Reserve = compact.Percent(20) }
}
