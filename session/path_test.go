package session_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/clew-dev/clew/session"
)

// counted counts the entries that are asked for.
type counted struct {
	session.Store
	reads int
}

func (c *counted) Get(ctx context.Context, id string) (*session.Entry, error) {
	c.reads++
	return c.Store.Get(ctx, id)
}

func (c *counted) Parent(ctx context.Context, e *session.Entry) (*session.Entry, error) {
	c.reads++
	return c.Store.Parent(ctx, e)
}

// chain is a line of n messages, e0 to the leaf, and then what is given.
func chain(t testing.TB, n int, more ...string) *counted {
	t.Helper()
	var entries []*session.Entry
	parent := "null"
	add := func(raw string) {
		entries = append(entries, parse(t, fmt.Sprintf(raw, len(entries), parent)))
		parent = fmt.Sprintf(`"e%d"`, len(entries)-1)
	}
	for range n {
		add(`{"type":"message","id":"e%d","parentId":%s,"message":{"role":"user","content":"x"}}`)
	}
	for _, raw := range more {
		add(raw)
	}
	return &counted{Store: session.NewMemory(session.Header{}, entries...)}
}

// The context is read back to the first kept entry and no further.
func TestContextReadsWhatItNeeds(t *testing.T) {
	ctx := context.Background()
	const msg = `{"type":"message","id":"e%d","parentId":%s,"message":{"role":"user","content":"y"}}`
	for _, c := range []struct {
		kept         string
		reads, items int
	}{
		{`"e90"`, 12, 12},                // e90 to e99, the compaction, one after it
		{`"e100"`, 2, 2},                 // the compaction itself: nothing before it
		{`null`, 2, 2},                   // no first kept entry at all
		{`"elsewhere"`, 1 + 102, 2},      // only the whole path shows that it is not on it
		{`"e0","x":1`, 102, 1 + 100 + 1}, // everything
	} {
		s := chain(t, 100, `{"type":"compaction","id":"e%d","parentId":%s,"summary":"s","firstKeptEntryId":`+c.kept+`}`, msg)
		got, err := session.ContextAt(ctx, s, "e101")
		if err != nil {
			t.Fatal(err)
		}
		if s.reads != c.reads || len(got.Items) != c.items {
			t.Errorf("first kept %s: %d reads for %d messages, want %d for %d", c.kept, s.reads, len(got.Items), c.reads, c.items)
		}
	}
}

// Paths of any depth cost one look at each entry.
func TestDefect099_DeepChainIsLinear(t *testing.T) {
	ctx := context.Background()
	n := 200_000
	if testing.Short() {
		n = 40_000
	}
	s := chain(t, n)
	leaf := fmt.Sprint("e", n-1)
	path, err := session.Path(ctx, s, leaf)
	if err != nil || len(path) != n || s.reads != n+1 {
		t.Errorf("path of %d entries in %d reads (%v)", len(path), s.reads, err)
	}
	s.reads = 0
	if _, _, err := session.Settings(ctx, s, leaf); err != nil || s.reads != n+1 {
		t.Errorf("settings in %d reads (%v)", s.reads, err)
	}
}

// A circle ends, and soon.
func TestCyclesEndSoon(t *testing.T) {
	for _, n := range []int{1, 2, 3, 17, 1000} {
		s := chain(t, n)
		// The first of them hangs under the last: a circle of n.
		var entries []*session.Entry
		for e, err := range s.All(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if e.ID == "e0" {
				e = parse(t, fmt.Sprintf(`{"type":"message","id":"e0","parentId":"e%d","message":{"role":"user","content":"x"}}`, n-1))
			}
			entries = append(entries, e)
		}
		s = &counted{Store: session.NewMemory(session.Header{}, entries...)}
		path, err := session.Path(context.Background(), s, "e0")
		if err != nil || len(path) != n || s.reads != n+1 {
			t.Errorf("circle of %d: path of %d in %d reads (%v)", n, len(path), s.reads, err)
		}
		s.reads = 0
		if _, _, err := session.Settings(context.Background(), s, "e0"); err != nil || s.reads > 4*n+4 {
			t.Errorf("circle of %d: settings in %d reads (%v)", n, s.reads, err)
		}
	}
}

func TestPathHeedsCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := chain(t, 10)
	cancel()
	if _, err := session.Path(ctx, s, "e9"); err == nil {
		t.Error("no error")
	}
}

// What walks a path meets each entry once, also where parents form a cycle: the cost
// grows with the length of the path. (Issue 11, defect 1.7.)
func TestWalksOfACycleMeetEachEntryOnce(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{1, 2, 1000, 10_000} {
		c := &counted{Store: ring(t, n)}
		leaf := strconv.Itoa(n - 1)
		for name, walk := range map[string]func() error{
			"Path":        func() error { _, err := session.Path(ctx, c, leaf); return err },
			"ContextPath": func() error { _, err := session.ContextPath(ctx, c, leaf, "nowhere"); return err },
			"ModelAt":     func() error { _, err := session.ModelAt(ctx, c, leaf); return err },
			"Settings":    func() error { _, _, err := session.Settings(ctx, c, leaf); return err },
		} {
			c.reads = 0
			if err := walk(); err != nil || c.reads > n+1 {
				t.Errorf("%s of a cycle of %d entries reads %d entries, error %v", name, n, c.reads, err)
			}
		}
	}
}

// ring is a session of n entries whose first hangs under the last.
func ring(tb testing.TB, n int) session.Store {
	tb.Helper()
	entries := make([]*session.Entry, n)
	for i := range entries {
		e, err := session.ParseEntry(fmt.Appendf(nil, `{"type":"message","id":"%d","parentId":"%d","message":{"role":"user","content":"x"}}`, i, (i+n-1)%n))
		if err != nil {
			tb.Fatal(err)
		}
		entries[i] = e
	}
	return session.NewMemory(session.Header{ID: "s"}, entries...)
}

// BenchmarkCycle reads the context and the settings of a cycle: the time per entry
// is the same at every size.
func BenchmarkCycle(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, leaf := ring(b, n), strconv.Itoa(n-1)
			for b.Loop() {
				if _, err := session.ContextAt(ctx, s, leaf); err != nil {
					b.Fatal(err)
				}
				if _, _, err := session.Settings(ctx, s, leaf); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
		})
	}
}
