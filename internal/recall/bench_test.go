package recall_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/session"
)

// sized is a generated session of about 1 MB times n, with the shape of agent
// sessions: most of it tool output.
func sized(tb testing.TB, n int) (store *session.Memory, bytes int64) {
	tb.Helper()
	var all []*session.Entry
	for seed := uint64(1); bytes < int64(n)<<20; seed++ {
		_, part := generated(tb, seed, sessiongen.Options{
			Entries: 300, WellFormed: true, UserBytes: 1500, AnswerBytes: 3000, ResultBytes: 12_000,
			Odds: sessiongen.Odds{Branch: -1, Root: -1, Image: -1},
		})
		for _, e := range part {
			parent := e.ParentID
			if parent == "" && len(all) > 0 {
				parent = all[len(all)-1].ID
			}
			e = e.Attached(parent)
			bytes += int64(len(e.Raw()))
			all = append(all, e)
		}
	}
	return session.NewMemory(session.Header{ID: "s", Version: session.Version}, all...), bytes
}

var sizes = []int{1, 10, 100}

// BenchmarkBuild makes an index; it says how much memory it takes for each byte
// of the session.
func BenchmarkBuild(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("%dMB", n), func(b *testing.B) {
			store, size := sized(b, n)
			var before, after runtime.MemStats
			b.SetBytes(size)
			var x *recall.Index
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				x = recall.New(store, nil)
				if err := x.Update(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/float64(size), "heap-bytes/byte")
			runtime.KeepAlive(store)
			runtime.KeepAlive(x)
		})
	}
}

// BenchmarkSearch asks a question of three words, one of which is in most entries,
// and one in quotes.
func BenchmarkSearch(b *testing.B) {
	for _, n := range sizes {
		store, _ := sized(b, n)
		x := recall.New(store, nil)
		if err := x.Update(context.Background()); err != nil {
			b.Fatal(err)
		}
		for _, q := range []string{"the config test", `"the config"`, "nowhere_to_be_found"} {
			b.Run(fmt.Sprintf("%dMB/%s", n, strings.ReplaceAll(q, " ", "_")), func(b *testing.B) {
				for b.Loop() {
					if _, err := x.Search(context.Background(), recall.Query{Text: q}, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkUpdate adds one entry to an index.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("%dMB", n), func(b *testing.B) {
			store, _ := sized(b, n)
			x := recall.New(store, nil)
			if err := x.Update(context.Background()); err != nil {
				b.Fatal(err)
			}
			k := 0
			for b.Loop() {
				k++
				e, err := session.ParseEntry(fmt.Appendf(nil, `{"type":"message","id":"new%d","parentId":null,"message":{"role":"user","content":"word %d"}}`, k, k))
				if err == nil {
					err = store.Append(context.Background(), []*session.Entry{e}, session.AppendOptions{})
				}
				if err == nil {
					err = x.Update(context.Background())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
