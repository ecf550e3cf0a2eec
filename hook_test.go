package clew_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// fullSession is a session whose next Prepare makes a pass.
func fullSession(t *testing.T, cfg clew.Config) *clew.Session {
	t.Helper()
	cfg.Policy.Window = 8_000
	return grown(t, cfg, 14)
}

func TestBeforeCompactCancels(t *testing.T) {
	asked := 0
	hook := clew.Hooks{BeforeCompact: func(_ context.Context, e clew.BeforeCompactEvent) (clew.Decision, error) {
		asked++
		if e.Reason != compact.Threshold || e.Before.Tokens <= e.Budget.Limit || e.Why == "" {
			t.Errorf("event %+v", e)
		}
		return clew.Decision{Cancel: true, Why: "the demo is on"}, nil
	}}
	never := clew.Hooks{BeforeCompact: func(context.Context, clew.BeforeCompactEvent) (clew.Decision, error) {
		t.Error("asked after a hook that stopped the pass")
		return clew.Decision{}, nil
	}}
	s := fullSession(t, clew.Config{Hooks: []clew.Hooks{hook, never}})
	before := logged(t, s.Log().Store())
	p := prepare(t, s)
	if p.Plan.Act || !strings.Contains(p.Plan.Why, "the demo is on") || len(p.Entries) != 0 || asked != 1 {
		t.Errorf("plan %+v, asked %d times", p.Plan, asked)
	}
	if logged(t, s.Log().Store()) != before {
		t.Error("something was written")
	}
}

func TestBeforeCompactReplacesTheSummary(t *testing.T) {
	give := "Everything is fine. The port is 8377."
	var told clew.Event
	cfg := clew.Config{Hooks: []clew.Hooks{
		{BeforeCompact: func(_ context.Context, e clew.BeforeCompactEvent) (clew.Decision, error) {
			for _, it := range e.Context() {
				it.Message.Content = nil // a copy
			}
			return clew.Decision{Summary: give}, nil
		}},
		{AfterCompact: func(_ context.Context, e clew.Event) (clew.Decision, error) {
			told = e
			e.Plan.Stages[0].Freed = -1
			e.Entries[0] = "changed"
			return clew.Decision{}, nil
		}},
	}}
	s := fullSession(t, cfg)
	p := prepare(t, s)
	if p.Plan.Summary == nil || !strings.Contains(p.Plan.Summary.Text, give) || p.Plan.Summary.Summarizer != "hook" {
		t.Fatalf("summary %+v", p.Plan.Summary)
	}
	if !strings.Contains(shown(p.Messages), "The port is 8377.") || !strings.Contains(shown(p.Messages), "request 13") {
		t.Error("the summary or the user's last words are not in the context")
	}
	if len(p.Plan.Summary.Document.Quotes) == 0 || !strings.Contains(p.Plan.Summary.Text, "request 0") {
		t.Error("I11: the user's words are not in the summary")
	}
	if told.Plan == nil || !told.Plan.Act || p.Plan.Stages[0].Freed < 0 || p.Entries[0] == "changed" || len(p.Warnings) != 0 {
		t.Errorf("told %+v; ours %+v, warnings %v", told.Plan, p.Plan.Stages, p.Warnings)
	}
	for _, m := range p.Messages {
		if m.Role == message.RoleUser && len(m.Content) == 0 {
			t.Error("a hook emptied a message of the log")
		}
	}

	give = strings.Repeat("far too long ", 10_000)
	p = prepare(t, fullSession(t, cfg))
	if len(p.Warnings) == 0 || !p.Plan.Act || p.Plan.Summary.Summarizer != "deterministic" {
		t.Errorf("warnings %v, plan %+v", p.Warnings, p.Plan)
	}
}

func TestBeforeCompactEditsInstructions(t *testing.T) {
	var got []string
	add := func(word string) clew.Hooks {
		return clew.Hooks{BeforeCompact: func(_ context.Context, e clew.BeforeCompactEvent) (clew.Decision, error) {
			return clew.Decision{Instructions: e.Instructions + word}, nil
		}}
	}
	cfg := clew.Config{Hooks: []clew.Hooks{add(" b"), add(" c")}}
	cfg.Policy.Instructions = "a"
	cfg.Policy.Summarizer = summarizerFunc(func(_ context.Context, in summary.Input) error {
		got = append(got, in.Instructions)
		return nil
	})
	prepare(t, fullSession(t, cfg))
	if len(got) == 0 || got[0] != "a b c" {
		t.Errorf("instructions %q", got)
	}
}

func TestHooksThatFail(t *testing.T) {
	boom := errors.New("boom")
	var s *clew.Session
	var inside error
	s = fullSession(t, clew.Config{Hooks: []clew.Hooks{
		{BeforeCompact: func(context.Context, clew.BeforeCompactEvent) (clew.Decision, error) { panic("oh no") }},
		{BeforeCompact: func(context.Context, clew.BeforeCompactEvent) (clew.Decision, error) {
			return clew.Decision{Cancel: true}, boom // no answer
		}},
		{AfterCompact: func(ctx context.Context, _ clew.Event) (clew.Decision, error) {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // or it would wait for itself
			defer cancel()
			_, inside = s.Prepare(ctx)
			panic(boom)
		}},
	}})
	p := prepare(t, s)
	if !p.Plan.Act || len(p.Entries) == 0 || len(p.Warnings) != 3 {
		t.Fatalf("plan %+v, warnings %v", p.Plan, p.Warnings)
	}
	if !errors.Is(inside, clew.ErrBusy) {
		t.Errorf("called from a hook: %v", inside)
	}
	for i, want := range []clew.HookError{
		{Point: "BeforeCompact", Hook: 0, Panic: true}, {Point: "BeforeCompact", Hook: 1}, {Point: "AfterCompact", Hook: 2, Panic: true},
	} {
		var got *clew.HookError
		if !errors.As(p.Warnings[i], &got) || got.Point != want.Point || got.Hook != want.Hook || got.Panic != want.Panic {
			t.Errorf("warning %d: %v", i, p.Warnings[i])
		}
	}
	if !errors.Is(p.Warnings[1], boom) || !errors.Is(p.Warnings[2], boom) || !strings.Contains(p.Warnings[0].Error(), "oh no") {
		t.Errorf("warnings %v", p.Warnings)
	}
	prepare(t, s) // and the session goes on
}

func TestCancelledPass(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var told error
	cfg := clew.Config{Hooks: []clew.Hooks{
		{CompactFailed: func(ctx context.Context, e clew.Event) error {
			told = e.Err
			if ctx.Err() != nil || !e.Aborted || e.Attempt != 1 {
				t.Errorf("the hook got a context that is done, or %+v", e)
			}
			panic("and this")
		}},
	}}
	cfg.Policy.Summarizer = summarizerFunc(func(ctx context.Context, _ summary.Input) error { cancel(); return ctx.Err() })
	s := fullSession(t, cfg)
	before, context0 := logged(t, s.Log().Store()), contextOf(t, s.Log().Store())
	_, err := s.Prepare(ctx)
	var hook *clew.HookError
	if !errors.Is(err, context.Canceled) || !errors.Is(told, context.Canceled) || !errors.As(err, &hook) {
		t.Errorf("prepare: %v; told %v", err, told)
	}
	if logged(t, s.Log().Store()) != before || contextOf(t, s.Log().Store()) != context0 {
		t.Error("I9: a cancelled pass changed something")
	}
	if _, err := s.Append(ctx, message.User("x", start)); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
}

func TestAnotherWriterMeanwhile(t *testing.T) {
	for _, always := range []bool{false, true} {
		var s *clew.Session
		wrote := 0
		cfg := clew.Config{}
		cfg.Policy.Summarizer = summarizerFunc(func(ctx context.Context, _ summary.Input) error {
			if wrote > 0 && !always {
				return nil
			}
			wrote++
			last, err := s.Log().Store().Last(ctx)
			if err != nil {
				return err
			}
			other, err := session.ParseEntry(last.Raw())
			if err != nil {
				return err
			}
			return s.Log().Store().Append(ctx, []*session.Entry{other.WithIdentity(strings.Repeat("f", 10)+string(rune('a'+wrote)), last.ID)}, session.AppendOptions{})
		})
		s = fullSession(t, cfg)
		p, err := s.Prepare(context.Background())
		if always {
			if !errors.Is(err, clew.ErrConflict) {
				t.Errorf("another program writes all the time: %v", err)
			}
			continue
		}
		if err != nil || !p.Plan.Act || len(p.Entries) == 0 {
			t.Errorf("another program wrote once: %v %+v", err, p)
		}
	}
}
