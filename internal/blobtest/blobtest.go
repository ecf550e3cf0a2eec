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
	// New makes an empty store with a quota in bytes; 0 is none.
	New func(t testing.TB, quota int64) blob.Store
	// Reopen opens what s stored anew. It is nil for a store that ends with its
	// process.
	Reopen func(t testing.TB, s blob.Store, quota int64) blob.Store
	// Damage changes stored content behind the back of the store. It is nil
	// where that can't be done.
	Damage func(t testing.TB, s blob.Store, id blob.ID)
}

// Run runs the suite.
func Run(t *testing.T, sub Subject) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, sub Subject)
	}{
		{"RoundTrip", testRoundTrip},
		{"SameContentOnce", testSameContentOnce},
		{"NotFound", testNotFound},
		{"Delete", testDelete},
		{"List", testList},
		{"Quota", testQuota},
		{"QuotaAndSameContent", testQuotaSame},
		{"QuotaEndsReading", testQuotaEndsReading},
		{"BadSource", testBadSource},
		{"Cancel", testCancel},
		{"Damage", testDamage},
		{"RemoveAll", testRemoveAll},
		{"Concurrent", testConcurrent},
		{"ConcurrentSame", testConcurrentSame},
		{"ConcurrentQuota", testConcurrentQuota},
		{"RandomOperations", testRandom},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, sub)
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

func put(t testing.TB, s blob.Store, p []byte) blob.ID {
	t.Helper()
	id, err := s.Put(ctx, bytes.NewReader(p))
	if err != nil {
		t.Fatalf("put %d bytes: %v", len(p), err)
	}
	if want := blob.ID(sha256.Sum256(p)); id != want {
		t.Fatalf("put %d bytes: the address is %v, want %v", len(p), id, want)
	}
	return id
}

func get(t testing.TB, s blob.Store, id blob.ID) []byte {
	t.Helper()
	r, err := s.Open(ctx, id)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	p, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	return p
}

// has checks that a store has p, whole, in every way of asking.
func has(t testing.TB, s blob.Store, p []byte) {
	t.Helper()
	id := blob.IDOf(p)
	if !bytes.Equal(get(t, s, id), p) {
		t.Fatalf("%v has other bytes than were stored", id)
	}
	info, err := s.Stat(ctx, id)
	if err != nil || info.ID != id || info.Size != int64(len(p)) || info.Stored.IsZero() {
		t.Fatalf("stat of %d bytes: %+v, %v", len(p), info, err)
	}
}

// hasNot checks that a store has no content of id.
func hasNot(t testing.TB, s blob.Store, id blob.ID) {
	t.Helper()
	if r, err := s.Open(ctx, id); !errors.Is(err, blob.ErrNotFound) {
		t.Fatalf("open what is not there: %v, %v", r, err)
	}
	if info, err := s.Stat(ctx, id); !errors.Is(err, blob.ErrNotFound) {
		t.Fatalf("stat of what is not there: %+v, %v", info, err)
	}
}

// list returns the addresses and the sum of the sizes, and checks the order.
func list(t testing.TB, s blob.Store) (ids []blob.ID, size int64) {
	t.Helper()
	for info, err := range s.List(ctx) {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		if n := len(ids); n > 0 && bytes.Compare(ids[n-1][:], info.ID[:]) >= 0 {
			t.Fatalf("list: %v after %v", info.ID, ids[n-1])
		}
		ids, size = append(ids, info.ID), size+info.Size
	}
	return ids, size
}

func isEmpty(t testing.TB, s blob.Store) {
	t.Helper()
	if ids, _ := list(t, s); len(ids) > 0 {
		t.Fatalf("the store should be empty and has %v", ids)
	}
}

// isError checks that err is of the rich type, names an operation and is kind.
func isError(t testing.TB, err error, kind error, inline bool) {
	t.Helper()
	var rich *blob.Error
	switch {
	case !errors.As(err, &rich) || rich.Op == "":
		t.Fatalf("error %v is no *blob.Error with an operation", err)
	case !errors.Is(err, kind):
		t.Fatalf("error %v, want %v", err, kind)
	case blob.KeepInline(err) != inline:
		t.Fatalf("error %v: KeepInline is %v", err, !inline)
	}
}
