package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/clew-dev/clew/blob"
)

const chunk = 64 << 10

func testRoundTrip(t *testing.T, sub Subject) {
	s := sub.New(t, 0)
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
		s = sub.Reopen(t, s, 0)
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
	s := sub.New(t, 0)
	p := data(1, 5000)
	id := put(t, s, p)
	before, err := s.Stat(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		put(t, s, p)
	}
	after, err := s.Stat(ctx, id)
	if err != nil || after.Stored.Before(before.Stored) {
		t.Errorf("stored %v, then %v, %v", before.Stored, after.Stored, err)
	}
	if ids, size := list(t, s); len(ids) != 1 || size != 5000 {
		t.Errorf("%v of %d bytes", ids, size)
	}
	has(t, s, p)
}

func testNotFound(t *testing.T, sub Subject) {
	s := sub.New(t, 0)
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
	isError(t, err, blob.ErrNotFound, false)
}

func testDelete(t *testing.T, sub Subject) {
	s := sub.New(t, 0)
	a, b := data(1, 100), data(2, 100)
	put(t, s, a)
	put(t, s, b)
	for range 2 {
		if err := s.Delete(ctx, blob.IDOf(a)); err != nil {
			t.Fatal(err)
		}
		hasNot(t, s, blob.IDOf(a))
		has(t, s, b)
	}
	put(t, s, a)
	has(t, s, a)
}

func testList(t *testing.T, sub Subject) {
	s := sub.New(t, 0)
	isEmpty(t, s)
	const n = 40
	want := map[blob.ID]bool{}
	for i := range n {
		want[put(t, s, data(uint64(i), 10+i))] = true
	}
	ids, size := list(t, s)
	if len(ids) != n || size != n*10+n*(n-1)/2 {
		t.Errorf("%d of %d bytes", len(ids), size)
	}
	for _, id := range ids {
		delete(want, id)
	}
	if len(want) != 0 {
		t.Errorf("not listed: %v", want)
	}
	i := 0
	for info, err := range s.List(ctx) { // a consumer may stop
		if i++; i == 3 || err != nil || info.ID != ids[i-1] {
			break
		}
	}
	if i != 3 {
		t.Errorf("listing again gives something else at %d", i)
	}
	for info, err := range s.List(ctx) { // and delete
		if err == nil {
			err = s.Delete(ctx, info.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	isEmpty(t, s)
}

func testBadSource(t *testing.T, sub Subject) {
	s := sub.New(t, 0)
	broken := errors.New("the pipe is broken")
	for _, c := range []struct {
		name string
		r    io.Reader
		is   error
	}{
		{"none", nil, blob.ErrSource},
		{"fails at once", iotest.ErrReader(broken), broken},
		{"fails later", io.MultiReader(bytes.NewReader(data(1, 2*chunk)), iotest.ErrReader(broken)), broken},
		{"fails with its last bytes", &lastGasp{broken}, broken},
		{"ends too early", io.MultiReader(strings.NewReader("x"), iotest.ErrReader(io.ErrUnexpectedEOF)), io.ErrUnexpectedEOF},
		{"never gives anything", silent{}, io.ErrNoProgress},
		{"counts wrong", liar(chunk * 100), blob.ErrSource},
		{"counts backwards", liar(-1), blob.ErrSource},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, err := s.Put(ctx, c.r)
			isError(t, err, blob.ErrSource, false)
			isError(t, err, c.is, false)
			if !id.IsZero() {
				t.Errorf("the address is %v", id)
			}
			isEmpty(t, s)
		})
	}
}

type lastGasp struct{ err error }

func (r *lastGasp) Read(p []byte) (int, error) { return copy(p, "last words"), r.err }

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

type liar int

func (n liar) Read([]byte) (int, error) { return int(n), nil }

func testCancel(t *testing.T, sub Subject) {
	s := sub.New(t, 0)
	p := data(1, 3*chunk)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := s.Put(gone, bytes.NewReader(p))
	isError(t, err, context.Canceled, false)
	isEmpty(t, s)

	during, cancel := context.WithCancel(ctx)
	_, err = s.Put(during, io.MultiReader(bytes.NewReader(p), call(cancel), bytes.NewReader(p)))
	isError(t, err, context.Canceled, false)
	isEmpty(t, s)

	id := put(t, s, p)
	if _, err := s.Open(gone, id); !errors.Is(err, context.Canceled) {
		t.Errorf("open: %v", err)
	}
	if _, err := s.Stat(gone, id); !errors.Is(err, context.Canceled) {
		t.Errorf("stat: %v", err)
	}
	if err := s.Delete(gone, id); !errors.Is(err, context.Canceled) {
		t.Errorf("delete: %v", err)
	}
	for info, err := range s.List(gone) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("list: %+v, %v", info, err)
		}
	}
	if err := blob.RemoveAll(gone, s); !errors.Is(err, context.Canceled) {
		t.Errorf("remove all: %v", err)
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

// call is a reader that calls a function and is at its end.
type call func()

func (f call) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

func testDamage(t *testing.T, sub Subject) {
	if sub.Damage == nil {
		t.Skip("this store can't be damaged")
	}
	s := sub.New(t, 0)
	p, other := data(1, 2*chunk+9), data(2, 50)
	id := put(t, s, p)
	put(t, s, other)
	sub.Damage(t, s, id)
	r, err := s.Open(ctx, id)
	if err == nil {
		_, err = io.Copy(io.Discard, r)
		_ = r.Close() // it was only read
	}
	isError(t, err, blob.ErrCorrupt, false)
	has(t, s, other)
	put(t, s, p)
	has(t, s, p)
}

func testRemoveAll(t *testing.T, sub Subject) {
	s := sub.New(t, 1000)
	if err := blob.RemoveAll(ctx, s); err != nil {
		t.Fatalf("of nothing: %v", err)
	}
	for i := range uint64(10) {
		put(t, s, data(i, 100))
	}
	for range 2 {
		if err := blob.RemoveAll(ctx, s); err != nil {
			t.Fatal(err)
		}
		isEmpty(t, s)
		hasNot(t, s, blob.IDOf(data(1, 100)))
	}
	put(t, s, data(1, 1000))
	has(t, s, data(1, 1000))
}
