package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns the events of a stream as "name|data".
func readAll(t testing.TB, r io.Reader) (out []string) {
	t.Helper()
	if err := ReadEvents(r, 0, func(e ServerEvent) error {
		out = append(out, e.Name+"|"+string(e.Data))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReadEvents(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"data: a\n\n", "|a"},
		{"event: x\ndata: a\n\n", "x|a"},
		{"data:a\n\ndata: b\n\n", "|a;|b"},
		{"data: a\ndata: b\n\n", "|a\nb"},
		{"data\n\n", "|"},
		{"data:  two blanks\n\n", "| two blanks"},
		{": comment\n\ndata: a\n: comment\nid: 7\nretry: 10\nunknown: y\n\n", "|a"},
		{"event: only a name\n\ndata: a\n\n", "|a"},
		{"\xef\xbb\xbfdata: a\n\n", "|a"},
		{"data: \xef\xbb\xbfa\n\n", "|\xef\xbb\xbfa"},
		{"data: a\r\n\r\ndata: b\r\rdata: c\n\n", "|a;|b;|c"},
		{"data: [DONE]", ""},                // half a line never counts
		{"data: [DONE]\n", "|[DONE]"},       // a whole one does, without the empty line
		{"data: a\n\ndata: b\nda", "|a;|b"}, // the torn line does not hide the whole one
		{"", ""},
		{"\n\n\n", ""},
	} {
		if got := strings.Join(readAll(t, strings.NewReader(c.in)), ";"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

// A stream reads the same however it is cut into pieces.
func TestReadEventsInPieces(t *testing.T) {
	var in strings.Builder
	var want []string
	for i := range 50 {
		nl := []string{"\n", "\r\n", "\r"}[i%3]
		data := strings.Repeat("x世", i*37%200)
		fmt.Fprintf(&in, "event: e%d%sdata: %s%s%s", i, nl, data, nl, nl)
		want = append(want, fmt.Sprintf("e%d|%s", i, data))
	}
	for _, r := range []io.Reader{
		strings.NewReader(in.String()), iotest.OneByteReader(strings.NewReader(in.String())),
		iotest.HalfReader(strings.NewReader(in.String())), iotest.DataErrReader(strings.NewReader(in.String())),
	} {
		if got := readAll(t, r); !slices.Equal(got, want) {
			t.Fatalf("got %q", got)
		}
	}
}

func TestReadEventsLimit(t *testing.T) {
	huge := "data: " + strings.Repeat("x", 1_000_000) + "\n\n"
	n := 0
	if err := ReadEvents(strings.NewReader(huge), 0, func(e ServerEvent) error { n = len(e.Data); return nil }); err != nil || n != 1_000_000 {
		t.Fatalf("a long line: %d bytes, %v", n, err)
	}
	for _, in := range []string{huge, strings.Repeat("data: x\n", 200_000)} { // one line, many lines
		if err := ReadEvents(strings.NewReader(in), 100_000, func(ServerEvent) error { return nil }); !errors.Is(err, errEventSize) {
			t.Errorf("an event above the limit: %v", err)
		}
	}
}

// What an event holds is its own: strings that are views of it live on.
func TestReadEventsGivesCopies(t *testing.T) {
	var first []byte
	if err := ReadEvents(strings.NewReader("data: first\n\ndata: other\n\n"), 0, func(e ServerEvent) error {
		if first == nil {
			first = e.Data
		}
		return nil
	}); err != nil || string(first) != "first" {
		t.Errorf("%q, %v", first, err)
	}
}

func TestReadEventsErrors(t *testing.T) {
	boom := errors.New("boom")
	if err := ReadEvents(iotest.ErrReader(boom), 0, nil); !errors.Is(err, boom) {
		t.Error(err)
	}
	if err := ReadEvents(strings.NewReader("data: a\n\n"), 0, func(ServerEvent) error { return boom }); !errors.Is(err, boom) {
		t.Error(err)
	}
}

// FuzzReadEvents: any stream gives the same events whole and byte by byte, and no
// event is longer than the stream.
func FuzzReadEvents(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: x\r\n\r\n: c\n\ndata: y"))
	f.Add([]byte("\xef\xbb\xbfdata\r\rdata:\n\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole := readAll(t, bytes.NewReader(in))
		pieces := readAll(t, iotest.OneByteReader(bytes.NewReader(in)))
		if !slices.Equal(whole, pieces) {
			t.Fatalf("whole %q, in pieces %q", whole, pieces)
		}
		n := 0
		for _, e := range whole {
			n += len(e)
		}
		if n > len(in)+len(whole) {
			t.Fatalf("%d bytes out of %d", n, len(in))
		}
	})
}
