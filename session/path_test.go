package session_test

import (
	"context"
	"fmt"
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
	const n = 200_000
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
