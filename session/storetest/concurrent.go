package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

const (
	writers = 8
	batches = 20
)

// Batches of several goroutines never mix, and each goroutine's stand in the
// order in which it appended them.
func testConcurrentAppends(t *testing.T, sub Subject) {
	s := open(t, sub)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			parent := ""
			for b := range batches {
				var batch []*session.Entry
				for k := range 1 + (w+b)%3 {
					e := entry(t, fmt.Sprintf("w%d-%d-%d", w, b, k), parent, strings.Repeat("x", 10*w))
					batch, parent = append(batch, e), e.ID
				}
				if err := s.Append(context.Background(), batch, session.AppendOptions{NoSync: b%2 == 0}); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	wg.Wait()
	for range 2 {
		next := map[int]int{}
		rest, writing := 0, -1
		n := 0
		for _, raw := range all(t, s) {
			e, err := session.ParseEntry([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			var w, b, k int
			if _, err := fmt.Sscanf(e.ID, "w%d-%d-%d", &w, &b, &k); err != nil {
				t.Fatalf("%s: %v", e.ID, err)
			}
			if rest > 0 && (w != writing || k == 0) {
				t.Fatalf("%s stands inside a batch of writer %d", e.ID, writing)
			}
			if k == 0 {
				if b != next[w] {
					t.Fatalf("%s comes where batch %d is expected", e.ID, next[w])
				}
				next[w]++
				writing, rest = w, 1+(w+b)%3
			}
			rest--
			n++
		}
		if want := writers * batches * 2; n < want-writers || n > want+writers {
			t.Errorf("%d entries, want about %d", n, want)
		}
		for w := range writers {
			if next[w] != batches {
				t.Errorf("writer %d has %d batches, want %d", w, next[w], batches)
			}
		}
		s = again(t, sub, s)
	}
}

// With IfLast, several goroutines make one chain.
func testConcurrentIfLast(t *testing.T, sub Subject) {
	ctx := context.Background()
	s := open(t, sub)
	add(t, s, entry(t, "root", "", "x"))
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for b := 0; b < batches/2; {
				last, err := s.Last(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				e := entry(t, fmt.Sprintf("w%d-%d", w, b), last.ID, "x")
				err = s.Append(ctx, []*session.Entry{e}, session.AppendOptions{NoSync: true, IfLast: last.ID})
				switch {
				case err == nil:
					b++
				case !errors.Is(err, session.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	s = again(t, sub, s)
	last, err := s.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(strings.Fields(path(t, s, last.ID))), 1+writers*batches/2; got != want {
		t.Errorf("the path has %d entries, want %d: the chain has forked", got, want)
	}
}

// Reading goes on while the log grows.
func testConcurrentReads(t *testing.T, sub Subject) {
	ctx := context.Background()
	s := open(t, sub)
	add(t, s, entry(t, "e0", "", "x"))
	s = again(t, sub, s)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				last, err := s.Last(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				var n int
				if _, err := fmt.Sscanf(last.ID, "e%d", &n); err != nil {
					t.Error(err)
					return
				}
				p, err := session.Path(ctx, s, last.ID)
				if err != nil || len(p) != n+1 {
					t.Errorf("the path of %s has %d entries (%v)", last.ID, len(p), err)
					return
				}
				count := 0
				for _, err := range s.All(ctx) {
					if err != nil {
						t.Error(err)
						return
					}
					count++
				}
				if count < n+1 {
					t.Errorf("All gives %d entries after %s was there", count, last.ID)
				}
				if _, err := s.Refresh(ctx); err != nil {
					t.Error(err)
				}
				s.Problems()
				_ = s.Header()
			}
		})
	}
	for n := 1; n <= 60; n++ {
		err := s.Append(ctx, []*session.Entry{entry(t, fmt.Sprint("e", n), fmt.Sprint("e", n-1), "x")}, session.AppendOptions{NoSync: true})
		if err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}

// A Log used by several goroutines loses nothing.
func testConcurrentLog(t *testing.T, sub Subject) {
	ctx := context.Background()
	s := open(t, sub)
	log := newLog(t, s)
	at := time.UnixMilli(1_700_000_000_000)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for b := range batches / 2 {
				if _, err := log.AppendNoSync(ctx, session.Message(message.User(fmt.Sprint(w, "-", b), at))); err != nil {
					t.Error(err)
				}
				if _, err := log.Context(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want := writers * batches / 2
	if got := len(strings.Fields(view(t, log))); got != want {
		t.Errorf("%d messages in the context, want %d", got, want)
	}
	if got := len(strings.Fields(view(t, newLog(t, again(t, sub, s))))); got != want {
		t.Errorf("%d messages after reopening, want %d", got, want)
	}
}
