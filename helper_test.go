package clew_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// fixed makes clock and ids depend on nothing but how often they are asked.
func fixed(cfg clew.Config) clew.Config {
	n, ticks := 0, 0
	cfg.NewID = func() string { n++; return fmt.Sprintf("%08x%08x", n*2654435761&0xffffffff, n) }
	cfg.Clock = func() time.Time { ticks++; return start.Add(time.Duration(ticks) * time.Second) }
	return cfg
}

func newSession(t *testing.T, cfg clew.Config) *clew.Session {
	t.Helper()
	s, err := clew.New(fixed(cfg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func add(t *testing.T, s *clew.Session, msgs ...*message.Message) []string {
	t.Helper()
	ids, err := s.Append(context.Background(), msgs...)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func prepare(t *testing.T, s *clew.Session) *clew.Prepared {
	t.Helper()
	p, err := s.Prepare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var words = strings.Fields("the parser reads config.go and fails with exit status 1 在 第二 行 remember never to touch schema_v2.sql 🙂 retry after 30s")

func text(r *rand.Rand, most int) string {
	var b strings.Builder
	for n := r.IntN(most) + 1; n > 0; n-- {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteByte(" \n"[r.IntN(12)/11])
	}
	return b.String()
}

// turn makes a user message, an answer with calls, their results, and an answer.
func turn(r *rand.Rand, k int) []*message.Message {
	at := start.Add(time.Duration(k) * time.Minute)
	calls := []message.Block{message.TextBlock(text(r, 30))}
	var results []*message.Message
	for n := r.IntN(3) + 1; n > 0; n-- {
		id := fmt.Sprintf("call_%d_%d", k, n)
		calls = append(calls, message.ToolCallBlock(id, "read", fmt.Appendf(nil, `{"path":"f%d.go"}`, r.IntN(9))))
		results = append(results, message.ToolResult(id, "read", text(r, 400), false, at))
	}
	msgs := []*message.Message{message.User(fmt.Sprintf("request %d: %s", k, text(r, 20)), at), message.Assistant(at, calls...)}
	r.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	msgs = append(msgs, results...)
	return append(msgs, message.Assistant(at, message.TextBlock(text(r, 30))))
}

// grown is a session of n turns.
func grown(t *testing.T, cfg clew.Config, n int) *clew.Session {
	t.Helper()
	s := newSession(t, cfg)
	r := rand.New(rand.NewPCG(7, 7))
	for k := range n {
		add(t, s, turn(r, k)...)
	}
	return s
}

func small(window int64) clew.Config { return clew.Config{Policy: compact.Policy{Window: window}} }

// shown is a context as text.
func shown(msgs []*message.Message) string {
	var b bytes.Buffer
	for _, m := range msgs {
		b.Write(m.JSON())
		b.WriteByte('\n')
	}
	return b.String()
}

// logged is the log as text.
func logged(t *testing.T, store session.Store) string {
	t.Helper()
	var b bytes.Buffer
	for e, err := range store.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		b.Write(e.Raw())
		b.WriteByte('\n')
	}
	return b.String()
}

// contextOf is the context at the newest entry, computed from the log alone.
func contextOf(t *testing.T, store session.Store) string {
	t.Helper()
	ctx := context.Background()
	last, err := store.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if last == nil {
		return ""
	}
	c, err := session.ContextAt(ctx, store, last.ID)
	if err != nil {
		t.Fatal(err)
	}
	var msgs []*message.Message
	for _, it := range c.Items {
		msgs = append(msgs, it.Message)
	}
	return shown(msgs)
}

func tempFile(t *testing.T) string { return filepath.Join(t.TempDir(), "s.jsonl") }

// summarizerFunc is a summarizer that does something first.
type summarizerFunc func(ctx context.Context, in summary.Input) error

func (f summarizerFunc) Name() string { return "test" }

func (f summarizerFunc) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	if err := f(ctx, in); err != nil {
		return summary.Output{}, err
	}
	return summary.Deterministic{}.Summarize(ctx, in)
}
