package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/clew-dev/clew/blob"
)

const chunk = 64 << 10

func testRoundTrip(t *testing.T, sub Subject) {
	s := sub.New(t)
	var all [][]byte
	for i, n := range []int{0, 1, 1000, chunk - 1, chunk, chunk + 1, 3*chunk + 7} {
		p := data(uint64(i), n)
		all = append(all, p)
		put(t, s, p)
		has(t, s, p)
	}
	text := []byte(strings.Repeat("from a slow reader\x00\r\n", 500))
	all = append(all, text)
	for _, slow := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader, iotest.DataErrReader} {
		id, err := s.Put(ctx, slow(bytes.NewReader(text)))
		if err != nil || id != blob.IDOf(text) {
			t.Fatalf("%v, %v", id, err)
		}
	}
	if ids, _ := list(t, s); len(ids) != len(all) {
		t.Errorf("%d are listed of %d", len(ids), len(all))
	}
	if sub.Reopen != nil {
		s = sub.Reopen(t, s)
	}
	for _, p := range all {
		has(t, s, p)
	}
	r, err := s.Open(ctx, blob.IDOf(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if n, err := r.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("reading after Close: %d, %v", n, err)
	}
}

func testSameContentOnce(t *testing.T, sub Subject) {
	s := sub.New(t)
	p := data(1, 5000)
	before, err := s.Stat(ctx, put(t, s, p))
	put(t, s, p)
	after, err2 := s.Stat(ctx, put(t, s, p))
	if err != nil || err2 != nil || after.Stored.Before(before.Stored) {
		t.Errorf("stored %v, %v, then %v, %v", before.Stored, err, after.Stored, err2)
	}
	if ids, size := list(t, s); len(ids) != 1 || size != 5000 {
		t.Errorf("%v of %d bytes", ids, size)
	}
	has(t, s, p)
}

func testDelete(t *testing.T, sub Subject) {
	s := sub.New(t)
	for range 2 {
		for _, id := range []blob.ID{{}, blob.IDOf(data(2, 3)), blob.IDOf(nil)} {
			hasNot(t, s, id)
			if err := s.Delete(ctx, id); err != nil {
				t.Errorf("deleting what is not there: %v", err)
			}
		}
		put(t, s, data(1, 3))
	}
	_, err := s.Open(ctx, blob.ID{})
	isError(t, err, blob.ErrNotFound)
	for range 2 {
		if err := s.Delete(ctx, blob.IDOf(data(1, 3))); err != nil {
			t.Fatal(err)
		}
		hasNot(t, s, blob.IDOf(data(1, 3)))
	}
	put(t, s, data(1, 3))
	has(t, s, data(1, 3))
}

func testList(t *testing.T, sub Subject) {
	s := sub.New(t)
	isEmpty(t, s)
	const n = 40
	var want []blob.ID
	for i := range n {
		want = append(want, put(t, s, data(uint64(i), 10+i)))
	}
	slices.SortFunc(want, func(a, b blob.ID) int { return bytes.Compare(a[:], b[:]) })
	ids, size := list(t, s)
	if !slices.Equal(ids, want) || size != n*10+n*(n-1)/2 {
		t.Errorf("%d of %d bytes", len(ids), size)
	}
	for i := range 2 { // a consumer may stop, or delete
		for info, err := range s.List(ctx) {
			if err == nil && i == 1 {
				err = s.Delete(ctx, info.ID)
			}
			if err != nil || i == 0 && info.ID != ids[0] {
				t.Fatal(info, err)
			}
			if i == 0 {
				break
			}
		}
	}
	isEmpty(t, s)
}

func testBadSource(t *testing.T, sub Subject) {
	s := sub.New(t)
	broken := errors.New("the pipe is broken")
	for _, c := range []struct {
		name string
		r    io.Reader
		is   error
	}{
		{"none", nil, blob.ErrSource},
		{"fails at once", iotest.ErrReader(broken), broken},
		{"fails later", io.MultiReader(bytes.NewReader(data(1, 2*chunk)), iotest.ErrReader(broken)), broken},
		{"fails with its last bytes", readerFunc(func(p []byte) (int, error) { return copy(p, "last words"), broken }), broken},
		{"ends too early", io.MultiReader(strings.NewReader("x"), iotest.ErrReader(io.ErrUnexpectedEOF)), io.ErrUnexpectedEOF},
		{"never gives anything", readerFunc(func([]byte) (int, error) { return 0, nil }), io.ErrNoProgress},
		{"counts wrong", readerFunc(func([]byte) (int, error) { return chunk * 100, nil }), blob.ErrSource},
		{"counts backwards", readerFunc(func([]byte) (int, error) { return -1, nil }), blob.ErrSource},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, err := s.Put(ctx, c.r)
			isError(t, err, blob.ErrSource)
			isError(t, err, c.is)
			if !id.IsZero() {
				t.Errorf("the address is %v", id)
			}
			isEmpty(t, s)
		})
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func testCancel(t *testing.T, sub Subject) {
	s := sub.New(t)
	p := data(1, 3*chunk)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := s.Put(gone, bytes.NewReader(p))
	isError(t, err, context.Canceled)
	isEmpty(t, s)

	during, cancel := context.WithCancel(ctx)
	_, err = s.Put(during, io.MultiReader(bytes.NewReader(p), readerFunc(func([]byte) (int, error) { cancel(); return 0, io.EOF }), bytes.NewReader(p)))
	isError(t, err, context.Canceled)
	isEmpty(t, s)

	id := put(t, s, p)
	_, openErr := s.Open(gone, id)
	_, statErr := s.Stat(gone, id)
	errs := []error{openErr, statErr, s.Delete(gone, id)}
	for _, err := range s.List(gone) {
		errs = append(errs, err)
	}
	for i, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", []string{"open", "stat", "delete", "list", "list"}[i], err)
		}
	}
	has(t, s, p)

	reading, cancel := context.WithCancel(ctx)
	r, err := s.Open(reading, id)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadFull(r, make([]byte, chunk)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("read: %d, %v", n, err)
	}
}

func testDamage(t *testing.T, sub Subject) {
	if sub.Damage == nil {
		t.Skip("this store can't be damaged")
	}
	s := sub.New(t)
	p, other := data(1, 2*chunk+9), data(2, 50)
	id := put(t, s, p)
	put(t, s, other)
	sub.Damage(t, s, id)
	r, err := s.Open(ctx, id)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		_ = r.Close() // it was only read
	}
	isError(t, err, blob.ErrCorrupt)
	has(t, s, other)
	put(t, s, p)
	has(t, s, p)
}

// A store may have a method that removes everything.
func testRemoveAll(t *testing.T, sub Subject) {
	s := sub.New(t)
	all, ok := s.(interface{ RemoveAll(context.Context) error })
	if !ok {
		t.Skip("this store removes one content at a time")
	}
	for range 2 {
		if err := all.RemoveAll(ctx); err != nil {
			t.Fatal(err)
		}
		isEmpty(t, s)
		hasNot(t, s, blob.IDOf(data(1, 100)))
		for i := range uint64(10) {
			put(t, s, data(i, 100))
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := all.RemoveAll(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("remove all: %v", err)
	}
	has(t, s, data(1, 100))
}

// Several goroutines store, read, list and delete. What each has stored alone is there until it deletes it itself.
func testConcurrent(t *testing.T, sub Subject) {
	s := sub.New(t)
	shared := data(99, 3000)
	put(t, s, shared)
	var wg sync.WaitGroup
	for g := range uint64(6) {
		wg.Go(func() {
			for i := range uint64(12) {
				mine := data(1000*g+i, 100+int(i)*37)
				put(t, s, mine)
				put(t, s, shared)
				has(t, s, mine)
				has(t, s, shared)
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

// Random operations give what they give with a map.
func testRandom(t *testing.T, sub Subject) {
	happened := map[string]int{}
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := sub.New(t)
		model := map[blob.ID][]byte{}
		for range 60 {
			p := data(rng.Uint64N(8), int(rng.Uint64N(4))*500)
			id := blob.IDOf(p)
			_, there := model[id]
			switch op := rng.IntN(20); {
			case op < 10:
				put(t, s, p)
				model[id] = p
				happened[map[bool]string{true: "same", false: "stored"}[there]]++
			case op < 12:
				_, err := s.Put(ctx, io.MultiReader(bytes.NewReader(p), iotest.ErrReader(errors.New("broken"))))
				isError(t, err, blob.ErrSource)
			case op < 15:
				if err := s.Delete(ctx, id); err != nil {
					t.Fatal(err)
				}
				delete(model, id)
				if there {
					happened["deleted"]++
				}
			case op < 16 && sub.Reopen != nil:
				s = sub.Reopen(t, s)
				happened["reopened"]++
			case there:
				has(t, s, p)
			default:
				hasNot(t, s, id)
			}
			if ids, _ := list(t, s); len(ids) != len(model) {
				t.Fatalf("seed %d: %d are there, want %d", seed, len(ids), len(model))
			}
		}
		for _, p := range model {
			has(t, s, p)
		}
	}
	t.Logf("what happened: %v", happened)
	if min(happened["stored"], happened["same"], happened["deleted"]) < 5 {
		t.Error("that tests little")
	}
}
