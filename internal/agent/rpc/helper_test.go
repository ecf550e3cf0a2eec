package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/model/modeltest"
)

// rig is a client that talks with a server, which has a whole chat behind it, with a
// server of models.
type rig struct {
	*agent.Client
	t      testing.TB
	models *modeltest.Server
	host   *chat.Host
	dir    string
	served chan error
	raw    io.Writer // lines of one's own go here

	mu     sync.Mutex
	events []agent.Event
	more   *sync.Cond
}

const modelName = "anthropic/claude-sonnet-4-5"

// options change a rig.
type options struct {
	settings string // of the user
	change   func(*chat.Config)
	models   modeltest.Config
}

func newRig(t testing.TB, o options, replies ...modeltest.Reply) *rig {
	t.Helper()
	root := t.TempDir()
	r := &rig{t: t, models: modeltest.Start(o.models, replies...), dir: filepath.Join(root, "project"), served: make(chan error, 1)}
	r.more = sync.NewCond(&r.mu)
	t.Cleanup(r.models.Close)
	write(t, filepath.Join(r.dir, "notes.txt"), "remember the milk\n")
	if o.settings == "" {
		o.settings = `{}`
	}
	user := filepath.Join(root, "config", "settings.json")
	write(t, user, strings.ReplaceAll(o.settings, "$URL", r.models.URL))
	cfg := chat.Config{
		Dir: r.dir, Interactive: true, UserFile: user, Home: home.Home{Dir: filepath.Join(root, "data")},
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "KEY=" + modeltest.Key},
		Flags:   map[string]string{"model": modelName}, BaseURL: r.models.URL, KeyEnv: "KEY",
	}
	if o.change != nil {
		o.change(&cfg)
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	srv := rpc.NewServer(toClient)
	cfg.Events = srv.Event
	r.raw = toServer
	r.Client = agent.NewClient(fromServer, toServer, agent.ClientConfig{Events: r.take})
	var err error
	if r.host, err = chat.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	go func() {
		err := srv.Serve(context.WithoutCancel(t.Context()), r.host, fromClient)
		if cerr := errors.Join(r.host.Close(), srv.Flush()); err == nil {
			err = cerr
		}
		_ = toClient.Close()
		_ = fromClient.Close()
		r.served <- err
	}()
	t.Cleanup(func() {
		_ = r.Close()
		select {
		case err := <-r.served:
			if err != nil {
				t.Errorf("the server: %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the server does not end")
		}
		if bad := r.models.Violations(); len(bad) > 0 {
			t.Errorf("requests that are not valid: %v", bad)
		}
	})
	return r
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) take(e agent.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	r.more.Broadcast()
}

// all are the events so far.
func (r *rig) all() []agent.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// until waits for an event.
func (r *rig) until(what string, is func(agent.Event) bool) agent.Event {
	r.t.Helper()
	late := false
	stop := time.AfterFunc(2*time.Minute, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		late = true
		r.more.Broadcast()
	})
	defer stop.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 0; ; {
		for ; i < len(r.events); i++ {
			if is(r.events[i]) {
				return r.events[i]
			}
		}
		if late {
			r.t.Fatalf("there is no event that says: %s; there are %s", what, kinds(r.events))
		}
		r.more.Wait()
	}
}

func (r *rig) kind(k agent.Kind) agent.Event {
	r.t.Helper()
	return r.until(string(k), func(e agent.Event) bool { return e.Kind == k })
}

func kinds(events []agent.Event) string {
	var out []string
	for _, e := range events {
		out = append(out, string(e.Kind))
	}
	return strings.Join(out, " ")
}

// ask calls a method that must not fail.
func (r *rig) ask(name string, params any) json.RawMessage {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	var raw json.RawMessage
	if err := r.Call(ctx, name, params, &raw); err != nil {
		r.t.Fatalf("%s %v: %v; %s", name, params, err, kinds(r.all()))
	}
	return raw
}

// as is ask with a result of a type.
func as[T any](r *rig, name string, params any) (out T) {
	r.t.Helper()
	raw := r.ask(name, params)
	if err := json.Unmarshal(raw, &out); err != nil {
		r.t.Fatalf("%s: %s: %v", name, raw, err)
	}
	return out
}

// refused calls a method that must fail with a code.
func (r *rig) refused(code, name string, params any) {
	r.t.Helper()
	r.hinted(code, "", name, params)
}

// hinted is refused with a hint.
func (r *rig) hinted(code, hint, name string, params any) {
	r.t.Helper()
	err := r.Call(r.t.Context(), name, params, nil)
	var e *rpc.Error
	if !errors.As(err, &e) || e.Code != code || e.Message == "" || hint != "" && e.Hint != hint {
		r.t.Fatalf("%s %v: %v, want %s", name, params, err, code)
	}
}

type p = map[string]any
