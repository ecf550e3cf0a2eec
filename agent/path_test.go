package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// TestPagesAreThePath: page by page, from the end, one reads the path, with the fates that the whole path gives. Some
// of the sessions are damaged.
func TestPagesAreThePath(t *testing.T) {
	ctx, pages, summarized, seeds := context.Background(), 0, 0, 40
	if testing.Short() {
		seeds = 10
	}
	for seed := range uint64(seeds) {
		data := sessiongen.Generate(seed, sessiongen.Options{Entries: 60}).Bytes()
		if seed%3 == 0 {
			data, _ = sessiongen.Damage(seed, data)
		}
		path := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := newBenchAgent(path)
		if err != nil {
			continue // not every damage leaves a session
		}
		whole, err := a.Path(ctx)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := a.Session().Log().Path(ctx)
		if err != nil {
			t.Fatal(err)
		}
		fates := map[string]compact.Fate{}
		for _, f := range compact.Fates(entries) {
			fates[f.Entry] = f
		}
		for _, s := range whole {
			if s.Fate != fates[s.ID] {
				t.Errorf("seed %d: the fate of %s is %v, want %v", seed, s.ID, s.Fate, fates[s.ID])
			}
			if s.Fate.Fate == compact.FateSummarized {
				summarized++
			}
		}
		for _, n := range []int{1, 7, len(whole), len(whole) + 1} {
			var got []agent.Shown
			for end := ""; len(got) <= len(whole); pages++ {
				page, before, err := a.PathPage(ctx, end, n)
				if err != nil {
					t.Fatal(err)
				}
				got = append(page, got...)
				if end = before; end == "" {
					break
				}
			}
			got = got[max(len(got)-len(whole), 0):] // parents that form a cycle have no first page
			if len(whole) > 0 && !reflect.DeepEqual(got, whole) {
				t.Errorf("seed %d: pages of %d give %d of the path, which has %d", seed, n, len(got), len(whole))
			}
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d pages, %d summarized", pages, summarized)
	if pages < 500*seeds/40 || summarized < 100*seeds/40 {
		t.Error("the sessions hold too little")
	}
}

// BenchmarkPathPage opens a session and reads the end of its path, as a screen does that goes on with it, behind
// histories of several lengths and with the same context: the cost is the same.
func BenchmarkPathPage(b *testing.B) {
	ctx := context.Background()
	for _, times := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%dx", times), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "s.jsonl")
			s, err := clew.Open(ctx, path, clew.Config{SyncLate: true})
			if err != nil {
				b.Fatal(err)
			}
			var drafts []session.Draft
			for i := range 200 * times {
				drafts = append(drafts, session.Message(message.User(fmt.Sprint(i, words(400)), time.Unix(0, 0))))
			}
			drafts = append(drafts, session.NewCompaction(session.Compaction{Summary: "## Goal\n- to measure"}), session.NewCustom("clew.prompt", []byte(`{}`)))
			if _, err := s.Log().Append(ctx, drafts...); err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			var opened, read time.Duration
			for b.Loop() {
				start := time.Now()
				a := benchAgent(b, path)
				opened += time.Since(start)
				start = time.Now()
				page, before, err := a.PathPage(ctx, "", 100)
				read += time.Since(start)
				if err != nil || len(page) != 100 || before == "" {
					b.Fatal(len(page), before, err)
				}
				if err := a.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(opened.Microseconds())/float64(b.N), "µs/open")
			b.ReportMetric(float64(read.Microseconds())/float64(b.N), "µs/page")
		})
	}
}
