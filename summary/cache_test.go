package summary_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// With a cache, warm, cold or full of other things, at any cut and budget, the
// summary is the one without it.
func TestCacheChangesNothing(t *testing.T) {
	t.Parallel()
	shared := summary.NewCache() // of several sessions: not meant so, but harmless
	points := 0
	for seed := range cases(10) {
		r := rand.New(rand.NewPCG(seed, 21))
		items := chat(r, 60, fmt.Sprint(seed)).Items()
		own := &summary.Cache{}
		for _, c := range summary.Checkpoints(items, cwd) {
			points++
			own.Warm(items[:c.After], cwd, "")
		}
		for range 4 {
			cut := 1 + r.IntN(len(items))
			in := summary.Input{Items: items[:cut], Kept: items[cut:], Cwd: cwd, Budget: int64(200 + r.IntN(4000)), ClipLast: true}
			if r.IntN(4) == 0 {
				in.Instructions = "keep what is said of parseEntry and the store"
			}
			want := summarize(t, in)
			for _, cache := range []*summary.Cache{own, shared} {
				in.Cache = cache
				if got := summarize(t, in); got.Text != want.Text || !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, cut %d: with a cache it is\n%s\nwithout\n%s", seed, cut, got.Text, want.Text)
				}
			}
		}
	}
	if points < 20 && !testing.Short() {
		t.Errorf("only %d checkpoints", points)
	}
}

// The same result may belong to another call: an edit can change what was asked.
func TestCacheKnowsTheCall(t *testing.T) {
	rewrite := func(file string) summary.Input {
		conv := testchat.New()
		conv.User("rewrite one of the files")
		for _, f := range []string{"a.go", "b.go"} {
			conv.Call("read", testchat.Args("path", f), "func read_"+f[:1]+" reads the old_entries of "+f)
		}
		conv.Call("write", testchat.Args("path", file, "content", "func newReader writes the entries"), "ok")
		return summary.Input{Items: conv.Items(), Budget: 165}
	}
	cache := summary.NewCache()
	for _, f := range []string{"a.go", "b.go"} {
		in := rewrite(f)
		want := summarize(t, in).Text
		in.Cache = cache
		if got := summarize(t, in).Text; got != want || strings.Contains(got, "old_entries of "+f) || !strings.Contains(got, "old_entries") {
			t.Errorf("%s was rewritten:\n%s\nwithout a cache:\n%s", f, got, want)
		}
	}
}

func TestCacheFromSeveralGoroutines(t *testing.T) {
	t.Parallel()
	items := chat(rand.New(rand.NewPCG(3, 22)), 40).Items()
	cache := summary.NewCache()
	want := summarize(t, summary.Input{Items: items, Cwd: cwd, Budget: 1500, ClipLast: true}).Text
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			cache.Warm(items[:len(items)/2], cwd, "")
			if got := summarize(t, summary.Input{Items: items, Cwd: cwd, Budget: 1500, ClipLast: true, Cache: cache}).Text; got != want {
				t.Errorf("another summary:\n%s", got)
			}
		})
	}
	wg.Wait()
}

func TestCheckpoints(t *testing.T) {
	conv := testchat.New()
	conv.User("fix the parser")                                          // 1
	conv.Bash("go test ./...", "--- FAIL: TestA\nFAIL\tx\t0.1s")         // 3
	conv.Call("edit", `{"path":"a.go","oldText":"","newText":""}`, "ok") // 5
	conv.Bash("go test ./...", "ok  \tx\t0.1s")                          // 7: check
	conv.Bash("git commit -am 'Fix the parser'", "[main 1507f8b] Fix the parser")
	conv.User("is it done?")
	conv.Call("TodoWrite", `{"todos":[{"content":"a","status":"pending"}]}`, "ok")
	conv.Call("TodoWrite", `{"todos":[{"content":"a","status":"completed"}]}`, "ok") // 14: todos
	conv.User("完成了，谢谢")                                                              // 15: user
	conv.User("that does not look done to me")
	conv.User("还没完成")
	var got []string
	for _, c := range summary.Checkpoints(conv.Items(), "") {
		got = append(got, fmt.Sprint(c.After, " ", c.Why))
	}
	want := []string{
		"7 " + string(ledger.BoundaryCheck), "9 " + string(ledger.BoundaryCommit), "14 " + string(ledger.BoundaryTodos), "15 " + string(ledger.BoundaryUser),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a compaction costs when everything up to the last checkpoint was looked at
// ahead, and what trying another cut costs.
func BenchmarkCache(b *testing.B) {
	items := chat(rand.New(rand.NewPCG(1, 1)), 2000).Items()
	facts := ledger.Read(items, ledger.Options{Cwd: cwd})
	run := func(name string, cache func() *summary.Cache, items []session.Item) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				c := cache()
				b.StartTimer()
				summarize(b, summary.Input{Items: items, Cwd: cwd, Budget: 4000, Ledger: &facts, ClipLast: true, Cache: c})
			}
		})
	}
	last := 0
	for _, c := range summary.Checkpoints(items, cwd) {
		last = c.After
	}
	warm := summary.NewCache()
	warm.Warm(items, cwd, "")
	run("none", func() *summary.Cache { return nil }, items)
	run("checkpoint", func() *summary.Cache {
		c := summary.NewCache()
		c.Warm(items[:last], cwd, "")
		return c
	}, items)
	run("another cut", func() *summary.Cache { return warm }, items[:len(items)*3/4])
}
