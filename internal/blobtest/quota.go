package blobtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/clew-dev/clew/blob"
)

// refused puts p, which must not fit, and checks what is said about it.
func refused(t testing.TB, s blob.Store, p []byte, want blob.QuotaError) {
	t.Helper()
	before, _ := list(t, s)
	id, err := s.Put(ctx, bytes.NewReader(p))
	if !id.IsZero() {
		t.Errorf("the address is %v", id)
	}
	isError(t, err, blob.ErrFull, true)
	var quota *blob.QuotaError
	if !errors.As(err, &quota) || *quota != want {
		t.Errorf("error %v, want %v", err, &want)
	}
	for _, n := range []int64{want.Quota, want.Used, want.Size} {
		if !strings.Contains(err.Error(), fmt.Sprint(n)) {
			t.Errorf("%q does not say %d", err, n)
		}
	}
	if after, _ := list(t, s); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("there was %v and is %v", before, after)
	}
}

func testQuota(t *testing.T, sub Subject) {
	s := sub.New(t, 1000)
	refused(t, s, data(1, 1001), blob.QuotaError{Quota: 1000, Size: 1001})
	put(t, s, data(2, 600))
	refused(t, s, data(3, 401), blob.QuotaError{Quota: 1000, Used: 600, Size: 401})
	put(t, s, data(4, 400))
	put(t, s, nil)
	refused(t, s, data(5, 1), blob.QuotaError{Quota: 1000, Used: 1000, Size: 1})
	if err := s.Delete(ctx, blob.IDOf(data(2, 600))); err != nil {
		t.Fatal(err)
	}
	refused(t, s, data(6, 601), blob.QuotaError{Quota: 1000, Used: 400, Size: 601})
	put(t, s, data(7, 600))
	has(t, s, data(4, 400))
	if sub.Reopen != nil {
		s = sub.Reopen(t, s, 1000)
		refused(t, s, data(8, 2), blob.QuotaError{Quota: 1000, Used: 1000, Size: 2})
		s = sub.Reopen(t, s, 500) // less than there is
		refused(t, s, data(8, 2), blob.QuotaError{Quota: 500, Used: 1000, Size: 2})
		has(t, s, data(4, 400))
		s = sub.Reopen(t, s, 1002)
		put(t, s, data(8, 2))
	}
}

// What is there already takes no more room.
func testQuotaSame(t *testing.T, sub Subject) {
	s := sub.New(t, 3*chunk)
	p := data(1, 2*chunk)
	put(t, s, p)
	put(t, s, p)
	put(t, s, data(2, chunk))
	put(t, s, p)
	has(t, s, p)
	refused(t, s, data(3, 2*chunk), blob.QuotaError{Quota: 3 * chunk, Used: 3 * chunk, Size: 2 * chunk})
}

// What is larger than the quota is not read to its end: it may have none.
func testQuotaEndsReading(t *testing.T, sub Subject) {
	s := sub.New(t, 1000)
	_, err := s.Put(ctx, endless{})
	isError(t, err, blob.ErrFull, true)
	var quota *blob.QuotaError
	if !errors.As(err, &quota) || !quota.AtLeast || quota.Size <= 1000 || quota.Size > 10<<20 {
		t.Errorf("error %v", err)
	}
	isEmpty(t, s)
	_, err = s.Put(ctx, io.LimitReader(endless{}, 1000))
	if err != nil {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
