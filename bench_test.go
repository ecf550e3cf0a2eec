package clew_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/wire"
)

// longPath returns the entries of a generated session that is one path.
func longPath(tb testing.TB, entries int) []*session.Entry {
	tb.Helper()
	ctx := context.Background()
	gen := sessiongen.Generate(5, sessiongen.Options{
		Entries: entries, WellFormed: true, UserBytes: 3000, AnswerBytes: 3000, ResultBytes: 12_000,
		Odds: sessiongen.Odds{Compact: -1, Branch: -1, Root: -1, Edit: -1, Image: -1},
	})
	f, err := jsonl.Read(ctx, "generated", bytes.NewReader(gen.Bytes()))
	if err != nil {
		tb.Fatal(err)
	}
	last, err := f.Last(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	path, err := session.Path(ctx, f, last.ID)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// ratio runs fn, after prepare, whose time does not count, and in turns with it one
// JSON scan of the path's bytes: json.Valid of every entry. It reports how many
// of them fn took, and how many of our own scanner's, which is several times as
// fast. All are done in the same run, so that a busy machine slows all.
func ratio(b *testing.B, path []*session.Entry, prepare, fn func()) {
	size := 0
	for _, e := range path {
		size += len(e.Raw())
	}
	var own, valid, scan time.Duration
	for b.Loop() {
		start := time.Now()
		for _, e := range path {
			if !json.Valid(e.Raw()) {
				b.Fatal("no JSON")
			}
		}
		valid += time.Since(start)
		start = time.Now()
		for _, e := range path {
			if _, err := jsonx.Scan(e.Raw(), 0); err != nil {
				b.Fatal(err)
			}
		}
		scan += time.Since(start)
		if prepare != nil {
			prepare()
		}
		start = time.Now()
		fn()
		own += time.Since(start)
	}
	b.ReportMetric(float64(own)/float64(b.N), "ns/own")
	b.ReportMetric(float64(own)/float64(valid), "own/scan")
	b.ReportMetric(float64(own)/float64(scan), "own/ownscan")
	b.ReportMetric(float64(size)/1e6, "MB")
}

var benchSizes = []int{100, 1000, 10_000}

// A window in which every path of the benchmarks fits.
const hugeWindow = 100_000_000

func benchSession(b *testing.B, path []*session.Entry) *clew.Session {
	b.Helper()
	cfg := clew.Config{Policy: compact.Policy{Window: hugeWindow}, Provider: "anthropic", Model: "claude-opus-4-5"}
	s, err := clew.OpenStore(context.Background(), session.NewMemory(session.Header{ID: "bench"}, path...), cfg)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.CloseOpenCalls(context.Background()); err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkPrepare is the request loop: an answer with a call and its result are
// appended, and nothing needs to be done.
func BenchmarkPrepare(b *testing.B) {
	ctx := context.Background()
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := longPath(b, n)
			s := benchSession(b, path)
			if _, err := s.Prepare(ctx); err != nil {
				b.Fatal(err)
			}
			at := time.Unix(0, 0)
			k := 0
			ratio(b, path, nil, func() {
				k++
				id := fmt.Sprint("call", k)
				if _, err := s.Append(
					ctx,
					message.Assistant(at, message.ToolCallBlock(id, "read", []byte(`{"path":"a.go"}`))),
					message.ToolResult(id, "read", "package a", false, at),
				); err != nil {
					b.Fatal(err)
				}
				p, err := s.Prepare(ctx)
				if err != nil || p.Plan.Act {
					b.Fatal(err, p.Plan.Why)
				}
			})
		})
	}
}

// BenchmarkTinyMessages is a pass over very many messages that say hardly anything, and
// Explain before it: near linear in their number.
func BenchmarkTinyMessages(b *testing.B) {
	ctx := context.Background()
	at := time.Unix(0, 0)
	for _, n := range []int{1000, 10_000, 100_000} {
		drafts := make([]session.Draft, n)
		for i := range drafts {
			m := message.User(fmt.Sprint("do ", i), at)
			if i%2 == 1 {
				m = message.Assistant(at, message.TextBlock(fmt.Sprint("done ", i)))
			}
			drafts[i] = session.Message(m)
		}
		for _, op := range []string{"explain", "prepare"} {
			b.Run(fmt.Sprint(op, "/", n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					s, err := clew.New(clew.Config{Policy: compact.Policy{Window: 8_000}})
					if err != nil {
						b.Fatal(err)
					}
					if _, err := s.Log().Append(ctx, drafts...); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					if op == "explain" {
						_, err = s.Explain(ctx)
					} else {
						_, err = s.Prepare(ctx)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/message")
			})
		}
	}
}

// BenchmarkClip is one answer with very many results that are all too large together.
func BenchmarkClip(b *testing.B) {
	ctx := context.Background()
	at := time.Unix(0, 0)
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := clew.New(clew.Config{Policy: compact.Policy{Window: int64(n) * 800}})
			if err != nil {
				b.Fatal(err)
			}
			var calls []message.Block
			drafts := []session.Draft{session.Message(message.User("read all", at)), {}}
			for i := range n {
				id := fmt.Sprint("c", i)
				calls = append(calls, message.ToolCallBlock(id, "read", []byte(`{}`)))
				drafts = append(drafts, session.Message(message.ToolResult(id, "read", strings.Repeat("a line of the file\n", 500), false, at)))
			}
			drafts[1] = session.Message(message.Assistant(at, calls...))
			if _, err := s.Log().Append(ctx, drafts...); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := s.Compact(ctx, clew.CompactOptions{DryRun: true, Keep: compact.Tokens(1_000)}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/message")
		})
	}
}

// BenchmarkTurn is one turn, append, prepare and render, in session files of different
// lengths whose context is the same: what lies before the compaction costs nothing. The
// sizes take turns in one run, and the metric compares the largest with the smallest.
func BenchmarkTurn(b *testing.B) {
	ctx := context.Background()
	at := time.Unix(0, 0)
	sizes := []int{1000, 10_000, 100_000}
	sessions := make([]*clew.Session, len(sizes))
	for i, n := range sizes {
		cfg := clew.Config{Provider: "anthropic", Model: "claude-opus-4-5", SyncLate: true}
		s, err := clew.Open(ctx, filepath.Join(b.TempDir(), "s.jsonl"), cfg)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		var drafts []session.Draft
		for k := range n {
			drafts = append(drafts, session.Message(message.User(fmt.Sprint("message ", k), at)))
		}
		drafts = append(drafts, session.NewCompaction(session.Compaction{Summary: "## Goal\n- to measure"}))
		if _, err := s.Log().Append(ctx, drafts...); err != nil {
			b.Fatal(err)
		}
		sessions[i] = s
	}
	spent := make([]time.Duration, len(sizes))
	k := 0
	for b.Loop() {
		k++
		for i, s := range sessions {
			start := time.Now()
			id := fmt.Sprint("call", k)
			answer := message.Assistant(at, message.ToolCallBlock(id, "read", []byte(`{"path":"a.go"}`)))
			if _, err := s.Append(ctx, answer, message.ToolResult(id, "read", "package a", false, at)); err != nil {
				b.Fatal(err)
			}
			p, err := s.Prepare(ctx)
			if err != nil {
				b.Fatal(err)
			}
			if _, _, err := p.Render(wire.Anthropic); err != nil {
				b.Fatal(err)
			}
			spent[i] += time.Since(start)
		}
	}
	b.ReportMetric(float64(spent[len(spent)-1])/float64(spent[0]), "large/small")
}

// BenchmarkFirstPrepare is the first Prepare after opening: all entries are read
// and parsed already, nothing else is known of them.
func BenchmarkFirstPrepare(b *testing.B) {
	ctx := context.Background()
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			path := longPath(b, n)
			for _, e := range path {
				if e.Type == session.TypeMessage {
					if _, err := e.Message(); err != nil {
						b.Fatal(err)
					}
				}
			}
			var s *clew.Session
			ratio(b, path, func() { s = benchSession(b, path) }, func() {
				p, err := s.Prepare(ctx)
				if err != nil || p.Plan.Act {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkPlan is compact.Make from scratch, without what a Session keeps.
func BenchmarkPlan(b *testing.B) {
	ctx := context.Background()
	setup := &compact.Setup{Model: session.Model{Provider: "anthropic", ID: "claude-opus-4-5"}, Uncalibrated: true}
	for _, kind := range []struct {
		name   string
		policy func(tokens int64) compact.Policy
	}{
		{"nothing", func(int64) compact.Policy { return compact.Policy{Window: hugeWindow} }},
		{"edits", func(n int64) compact.Policy {
			return compact.Policy{Window: n + n/2, Reserve: compact.Tokens(0), Trigger: compact.Tokens(n), Target: compact.Tokens(n - n/200)}
		}},
		{"summary", func(n int64) compact.Policy { return compact.Policy{Window: n} }},
	} {
		for _, n := range benchSizes {
			b.Run(fmt.Sprint(kind.name, "/", n), func(b *testing.B) {
				path := longPath(b, n)
				store, leaf := session.NewMemory(session.Header{ID: "s"}, path...), path[len(path)-1].ID
				snap, err := compact.Load(ctx, store, leaf, setup)
				if err != nil {
					b.Fatal(err)
				}
				policy := kind.policy(snap.Reading.Tokens)
				var plan *compact.Plan
				ratio(b, path, nil, func() {
					if snap, err = compact.Load(ctx, store, leaf, setup); err == nil {
						plan, err = compact.Make(ctx, snap, compact.Request{Policy: &policy})
					}
					if err != nil || plan.Act == (kind.name == "nothing") {
						b.Fatal(err, plan)
					}
				})
				b.Log(plan.Why, plan.Stages)
			})
		}
	}
}
