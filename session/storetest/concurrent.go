package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

const (
	writers = 8
	batches = 20
)

// parallel runs fn in n goroutines, and reports their errors.
func (s *subject) parallel(n int, fn func(w int) error) {
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() {
			if err := fn(w); err != nil {
				s.Errorf("goroutine %d: %v", w, err)
			}
		})
	}
	wg.Wait()
}

// Batches of several goroutines never mix, and each goroutine's stand in the order in which it appended them.
func testConcurrentAppends(s *subject) {
	s.parallel(writers, func(w int) error {
		parent := ""
		for b := range batches {
			var batch []*session.Entry
			for k := range 1 + (w+b)%3 {
				e := s.entry(fmt.Sprintf("w%d-%d-%d", w, b, k), parent, strings.Repeat("x", 10*w))
				batch, parent = append(batch, e), e.ID
			}
			if err := s.Append(s.Context(), batch, session.AppendOptions{NoSync: b%2 == 0}); err != nil {
				return err
			}
		}
		return nil
	})
	for range 2 {
		next := map[int]int{}
		rest, writing := 0, -1
		n := 0
		for _, raw := range s.all() {
			e := s.parse(raw)
			var w, b, k int
			if _, err := fmt.Sscanf(e.ID, "w%d-%d-%d", &w, &b, &k); err != nil {
				s.Fatalf("%s: %v", e.ID, err)
			}
			if rest > 0 && (w != writing || k == 0) {
				s.Fatalf("%s stands inside a batch of writer %d", e.ID, writing)
			}
			if k == 0 {
				if b != next[w] {
					s.Fatalf("%s comes where batch %d is expected", e.ID, next[w])
				}
				next[w]++
				writing, rest = w, 1+(w+b)%3
			}
			rest--
			n++
		}
		if want := writers * batches * 2; n < want-writers || n > want+writers {
			s.Errorf("%d entries, want about %d", n, want)
		}
		for w := range writers {
			if next[w] != batches {
				s.Errorf("writer %d has %d batches, want %d", w, next[w], batches)
			}
		}
		s.again()
	}
}

// With IfLast, several goroutines make one chain.
func testConcurrentIfLast(s *subject) {
	s.add(s.entry("root", "", "x"))
	s.parallel(writers, func(w int) error {
		for b := 0; b < batches/2; {
			last, err := s.Last(s.Context())
			if err != nil {
				return err
			}
			e := s.entry(fmt.Sprintf("w%d-%d", w, b), last.ID, "x")
			err = s.Append(s.Context(), []*session.Entry{e}, session.AppendOptions{NoSync: true, IfLast: last.ID})
			switch {
			case err == nil:
				b++
			case !errors.Is(err, session.ErrConflict):
				return err
			}
		}
		return nil
	})
	s.again()
	last, err := s.Last(s.Context())
	s.check(err)
	if got, want := len(strings.Fields(s.path(last.ID))), 1+writers*batches/2; got != want {
		s.Errorf("the path has %d entries, want %d: the chain has forked", got, want)
	}
}

// Reading goes on while the log grows.
func testConcurrentReads(s *subject) {
	s.add(s.entry("e0", "", "x"))
	s.again()
	done := make(chan struct{})
	s.parallel(5, func(w int) error {
		if w == 0 {
			defer close(done)
			for n := 1; n <= 60; n++ {
				e := s.entry(fmt.Sprint("e", n), fmt.Sprint("e", n-1), "x")
				if err := s.Append(s.Context(), []*session.Entry{e}, session.AppendOptions{NoSync: true}); err != nil {
					return err
				}
			}
			return nil
		}
		for {
			select {
			case <-done:
				return nil
			default:
			}
			if err := s.readOnce(); err != nil {
				return err
			}
		}
	})
}

// readOnce reads a log of which each entry hangs under the one before it.
func (s *subject) readOnce() error {
	last, err := s.Last(s.Context())
	if err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscanf(last.ID, "e%d", &n); err != nil {
		return err
	}
	p, err := session.Path(s.Context(), s.Store, last.ID)
	if err == nil && len(p) != n+1 {
		err = fmt.Errorf("the path of %s has %d entries", last.ID, len(p))
	}
	if err != nil {
		return err
	}
	count := 0
	for _, err := range s.All(s.Context()) {
		if err != nil {
			return err
		}
		count++
	}
	if count < n+1 {
		return fmt.Errorf("there are %d entries in all after %s was there", count, last.ID)
	}
	s.Problems()
	_ = s.Header()
	_, err = s.Refresh(s.Context())
	return err
}

// A Log used by several goroutines loses nothing.
func testConcurrentLog(s *subject) {
	log := s.log()
	at := time.UnixMilli(1_700_000_000_000)
	s.parallel(writers, func(w int) error {
		for b := range batches / 2 {
			if _, err := log.AppendNoSync(s.Context(), session.Message(message.User(fmt.Sprint(w, "-", b), at))); err != nil {
				return err
			}
			if _, err := log.Context(s.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	want := writers * batches / 2
	if got := len(strings.Fields(s.view(log))); got != want {
		s.Errorf("%d messages in the context, want %d", got, want)
	}
	s.again()
	if got := len(strings.Fields(s.view(s.log()))); got != want {
		s.Errorf("%d messages after reopening, want %d", got, want)
	}
}
