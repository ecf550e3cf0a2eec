// Package blobtest is the one suite that every blob.Store passes.
//
//	func TestStore(t *testing.T) {
//		blobtest.Run(t, blobtest.Subject{
//			New: func(t testing.TB) blob.Store { return mystore.New(t.TempDir()) },
//		})
//	}
//
// Run it under the race detector too.
package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/clew-dev/clew/blob"
)

// Subject is one kind of store.
type Subject struct {
	New    func(t testing.TB) blob.Store                // makes an empty store
	Reopen func(t testing.TB, s blob.Store) blob.Store  // opens its content in a new one; nil where that cannot be
	Damage func(t testing.TB, s blob.Store, id blob.ID) // changes content without the store; nil where that is impossible
}

// Run runs the suite.
func Run(t *testing.T, sub Subject) {
	for name, test := range map[string]func(t *testing.T, sub Subject){
		"RoundTrip":        testRoundTrip,
		"SameContentOnce":  testSameContentOnce,
		"Delete":           testDelete,
		"List":             testList,
		"BadSource":        testBadSource,
		"Cancel":           testCancel,
		"Damage":           testDamage,
		"RemoveAll":        testRemoveAll,
		"Concurrent":       testConcurrent,
		"RandomOperations": testRandom,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, sub)
		})
	}
}

var ctx = context.Background()

// data returns n bytes that differ from those of other seeds.
func data(seed uint64, n int) []byte {
	p := make([]byte, n)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})).Read(p) // it never fails
	return p
}

// The helpers may be called from several goroutines, so none ends the test.

func put(t testing.TB, s blob.Store, p []byte) blob.ID {
	t.Helper()
	id, err := s.Put(ctx, bytes.NewReader(p))
	if want := blob.ID(sha256.Sum256(p)); err != nil || id != want {
		t.Errorf("put %d bytes: %v, %v, want %v", len(p), id, err, want)
	}
	return id
}

// has checks that a store has p, whole, in every way of asking.
func has(t testing.TB, s blob.Store, p []byte) {
	t.Helper()
	id := blob.IDOf(p)
	var got []byte
	r, err := s.Open(ctx, id)
	if err == nil {
		got, err = io.ReadAll(r)
		err = errors.Join(err, r.Close())
	}
	if err != nil || !bytes.Equal(got, p) {
		t.Errorf("%v has %d bytes of %d, %v", id, len(got), len(p), err)
	}
	info, err := s.Stat(ctx, id)
	if err != nil || info.ID != id || info.Size != int64(len(p)) || info.Stored.IsZero() {
		t.Errorf("stat of %d bytes: %+v, %v", len(p), info, err)
	}
}

func hasNot(t testing.TB, s blob.Store, id blob.ID) {
	t.Helper()
	if r, err := s.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("open what is not there: %v, %v", r, err)
	}
	if info, err := s.Stat(ctx, id); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("stat of what is not there: %+v, %v", info, err)
	}
}

// list returns the addresses and the sum of the sizes, and checks the order.
func list(t testing.TB, s blob.Store) (ids []blob.ID, size int64) {
	t.Helper()
	for info, err := range s.List(ctx) {
		if err != nil {
			t.Errorf("list: %v", err)
		}
		if n := len(ids); n > 0 && bytes.Compare(ids[n-1][:], info.ID[:]) >= 0 {
			t.Errorf("list: %v after %v", info.ID, ids[n-1])
		}
		ids, size = append(ids, info.ID), size+info.Size
	}
	return ids, size
}

func isEmpty(t testing.TB, s blob.Store) {
	t.Helper()
	if ids, _ := list(t, s); len(ids) > 0 {
		t.Errorf("the store should be empty and has %v", ids)
	}
}

// isError checks that err is a *blob.Error with an operation, is kind, and does not ask to keep the content inline.
func isError(t testing.TB, err error, kind error) {
	t.Helper()
	var rich *blob.Error
	if !errors.As(err, &rich) || rich.Op == "" || !errors.Is(err, kind) || blob.KeepInline(err) {
		t.Errorf("error %v, want a *blob.Error with an operation that is %v; KeepInline is %v", err, kind, blob.KeepInline(err))
	}
}
