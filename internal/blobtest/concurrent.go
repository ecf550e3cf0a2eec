package blobtest

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/clew-dev/clew/blob"
)

// Several goroutines store, read, list and delete. What each has stored alone is
// there until it deletes it itself.
func testConcurrent(t *testing.T, sub Subject) {
	s := sub.New(t, 0)
	shared := data(99, 3000)
	put(t, s, shared)
	var wg sync.WaitGroup
	for g := range uint64(6) {
		wg.Go(func() {
			for i := range uint64(12) {
				mine := data(1000*g+i, 100+int(i)*37)
				if _, err := s.Put(ctx, bytes.NewReader(mine)); err != nil {
					t.Errorf("put: %v", err)
					return
				}
				if _, err := s.Put(ctx, bytes.NewReader(shared)); err != nil {
					t.Errorf("put what is there: %v", err)
				}
				for _, p := range [][]byte{mine, shared} {
					r, err := s.Open(ctx, blob.IDOf(p))
					if err != nil {
						t.Errorf("open: %v", err)
						return
					}
					if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, p) {
						t.Errorf("%d bytes of %d, %v", len(got), len(p), err)
					}
					_ = r.Close() // it was only read
				}
				for _, err := range s.List(ctx) {
					if err != nil {
						t.Errorf("list: %v", err)
					}
				}
				if i%2 == 0 {
					if err := s.Delete(ctx, blob.IDOf(mine)); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	for g := range uint64(6) {
		for i := range uint64(12) {
			if p := data(1000*g+i, 100+int(i)*37); i%2 == 0 {
				hasNot(t, s, blob.IDOf(p))
			} else {
				has(t, s, p)
			}
		}
	}
	if ids, _ := list(t, s); len(ids) != 6*6+1 {
		t.Errorf("%d are listed", len(ids))
	}
}

// The same content from several goroutines fits where it fits once.
func testConcurrentSame(t *testing.T, sub Subject) {
	s := sub.New(t, 2*chunk)
	p := data(1, 2*chunk)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if id, err := s.Put(ctx, bytes.NewReader(p)); err != nil || id != blob.IDOf(p) {
				t.Errorf("%v, %v", id, err)
			}
		})
	}
	wg.Wait()
	has(t, s, p)
	if ids, _ := list(t, s); len(ids) != 1 {
		t.Errorf("%v are listed", ids)
	}
}

// Of contents that don't all fit, as many get in as fit, and no more.
func testConcurrentQuota(t *testing.T, sub Subject) {
	s := sub.New(t, 3*1000+999)
	var wg sync.WaitGroup
	var stored atomic.Int32
	for g := range uint64(8) {
		wg.Go(func() {
			switch _, err := s.Put(ctx, bytes.NewReader(data(g, 1000))); {
			case err == nil:
				stored.Add(1)
			case !errors.Is(err, blob.ErrFull):
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	if ids, size := list(t, s); stored.Load() != 3 || len(ids) != 3 || size != 3000 {
		t.Errorf("%d got in, %d of %d bytes are there", stored.Load(), len(ids), size)
	}
}
