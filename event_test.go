package clew_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/summary"
)

// recorder keeps what it is told.
type recorder struct{ events []clew.Event }

func (r *recorder) hooks() []clew.Hooks {
	return []clew.Hooks{{OnEvent: func(_ context.Context, e clew.Event) { r.events = append(r.events, e) }}}
}

func (r *recorder) kinds() []string {
	var out []string
	for _, e := range r.events {
		out = append(out, e.Kind)
	}
	return out
}

func TestEventsOfAPass(t *testing.T) {
	rec := &recorder{}
	s := fullSession(t, clew.Config{Hooks: rec.hooks(), Provider: "anthropic", Model: "claude-opus-4-6", System: "Be brief."})
	p := prepare(t, s)
	again := prepare(t, s)
	if again.Plan.Act || !slices.Equal(rec.kinds(), []string{clew.EventPassStart, clew.EventPassEnd}) {
		t.Fatalf("told %v", rec.kinds())
	}
	begin, end := rec.events[0], rec.events[1]
	if begin.Session == "" || begin.Attempt != 1 || begin.Duration != 0 || begin.Before.Tokens != p.Plan.Before.Tokens || begin.Why == "" {
		t.Errorf("start %+v", begin)
	}
	if end.Duration <= 0 || end.Time.Sub(begin.Time) != end.Duration || end.After.Tokens != p.Reading.Tokens || end.Summarizer != "deterministic" ||
		len(end.Plan.Stages) == 0 || !slices.Equal(end.Entries, p.Entries) || end.Usage != nil || end.Model.ID != "claude-opus-4-6" {
		t.Errorf("end %+v", end)
	}
	// The summary stands first, so nothing but the prompt is as before.
	if end.CacheKept <= 0 || end.CacheKept > 60 || end.CacheKept+end.CacheNew < end.After.Tokens*9/10 {
		t.Errorf("cache %d + %d of %d tokens", end.CacheKept, end.CacheNew, end.After.Tokens)
	}
	before := rec.events[1].Entries[0]
	end.Entries[0] = "changed"
	if p.Entries[0] != before {
		t.Error("the receiver can change the result")
	}
}

func TestEventsOfWhatWasNotDone(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rec := &recorder{}
	cfg := clew.Config{Hooks: append(rec.hooks(), clew.Hooks{BeforeCompact: func(context.Context, clew.BeforeCompactEvent) (clew.Decision, error) {
		return clew.Decision{Cancel: len(rec.events) == 1, Why: "not now"}, nil
	}})}
	cfg.Policy.Summarizer = summarizerFunc(func(ctx context.Context, _ summary.Input) error { cancel(); return ctx.Err() })
	s := fullSession(t, cfg)
	prepare(t, s)
	if _, err := s.Prepare(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	want := []string{clew.EventPassStart, clew.EventPassDeclined, clew.EventPassStart, clew.EventPassFailed}
	if !slices.Equal(rec.kinds(), want) {
		t.Fatalf("told %v", rec.kinds())
	}
	if e := rec.events[1]; !strings.Contains(e.Why, "not now") || e.After.Tokens != e.Before.Tokens {
		t.Errorf("declined %+v", e)
	}
	if e := rec.events[3]; !errors.Is(e.Err, context.Canceled) || e.Attempt != 2 || e.Duration <= 0 {
		t.Errorf("failed %+v", e)
	}

	rec.events = nil
	small := newSession(t, clew.Config{Hooks: rec.hooks()})
	add(t, small, message.User("hello", start))
	prepare(t, small)
	if len(rec.events) > 0 {
		t.Errorf("nothing was due, and %v was told", rec.kinds())
	}
	if _, err := small.Compact(context.Background(), clew.CompactOptions{}); err != nil || !slices.Equal(rec.kinds(), []string{clew.EventPassDeclined}) {
		t.Errorf("%v, told %v", err, rec.kinds())
	}
}

func TestEventOfABranch(t *testing.T) {
	rec := &recorder{}
	s := grown(t, clew.Config{Hooks: rec.hooks()}, 4)
	entries, err := s.Log().Path(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		if _, err := s.Branch(context.Background(), entries[1].ID, clew.BranchOptions{Summarize: true, DryRun: dry}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(rec.kinds(), []string{clew.EventBranch}) || rec.events[0].Summarizer != "deterministic" || rec.events[0].After.Tokens == 0 {
		t.Errorf("told %+v", rec.events)
	}
}

// A receiver that panics or calls the session does no harm.
func TestEventsReceiverIsIsolated(t *testing.T) {
	var s *clew.Session
	var inside error
	s = fullSession(t, clew.Config{Hooks: []clew.Hooks{{OnEvent: func(ctx context.Context, _ clew.Event) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, inside = s.Prepare(ctx)
		panic("oh no")
	}}}})
	p := prepare(t, s)
	var warned *clew.HookError
	if !p.Plan.Act || len(p.Warnings) != 2 || !errors.As(p.Warnings[0], &warned) || warned.Point != "OnEvent" || !warned.Panic || !errors.Is(inside, clew.ErrBusy) {
		t.Errorf("warnings %v, inside %v", p.Warnings, inside)
	}
}

// Events change nothing of what is written, but for the clock that they are told by.
func TestLogEvents(t *testing.T) {
	var b bytes.Buffer
	l := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "session" {
			return slog.Attr{}
		}
		return a
	}}))
	fail := clew.Hooks{BeforeCompact: func(context.Context, clew.BeforeCompactEvent) (clew.Decision, error) {
		return clew.Decision{}, errors.New("it is late")
	}}
	s := fullSession(t, clew.Config{Hooks: []clew.Hooks{fail, clew.LogEvents(l)}})
	prepare(t, s)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("logged\n%s", b.String())
	}
	for i, want := range []string{
		`level=DEBUG msg="clew: pass_start" reason=threshold attempt=1 why="the context of `, `level=INFO msg="clew: pass_end" reason=threshold attempt=1 `,
		`level=WARN msg="clew: warning" warning="hook 0 failed in BeforeCompact: it is late"`,
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d: %s", i, lines[i])
		}
	}
	if !strings.Contains(lines[1], " summarizer=deterministic ") || !strings.Contains(lines[1], " cacheNew=") || !strings.Contains(lines[1], " before=") || !strings.Contains(lines[1], " after=") || strings.Contains(b.String(), "request 0") {
		t.Errorf("logged\n%s", b.String())
	}
}

func ExampleLogEvents() {
	l := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "session" || a.Key == "duration" {
			return slog.Attr{} // they differ each time
		}
		return a
	}}))
	s, err := clew.New(clew.Config{Hooks: []clew.Hooks{clew.LogEvents(l)}})
	must(err)
	_, err = s.Compact(context.Background(), clew.CompactOptions{})
	must(err)
	// Output:
	// level=INFO msg="clew: pass_declined" reason=manual why="the context is empty" limit=183616
}
