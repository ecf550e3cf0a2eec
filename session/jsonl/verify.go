package jsonl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/clew-dev/clew/session"
)

// Offsets implements session.Located.
func (f *File) Offsets(ctx context.Context) ([]int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	if err := f.x.all(ctx); err != nil {
		return nil, f.wrap("read", err)
	}
	offsets := make([]int64, 0, len(f.x.older)+len(f.x.newer))
	for r := range f.x.records() {
		offsets = append(offsets, f.original(r.off))
	}
	return offsets, nil
}

var _ session.Located = (*File)(nil)

// Verify reads the whole file and returns every problem of it with its line:
// those of session.Verify, and what is unusual about the lines themselves.
func (f *File) Verify(ctx context.Context) ([]session.Problem, error) {
	problems, err := session.Verify(ctx, f)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	if f.version < session.Version {
		problems = append(problems, problemOld(f.version))
	}
	src := f.src
	if f.f != nil {
		src = f.f
	}
	crlf, err := countCRLF(ctx, src, f.size)
	if err != nil {
		return nil, f.wrap("read", err)
	}
	if crlf.n > 0 {
		problems = append(problems, problemCRLF(crlf.first, crlf.n))
	}
	if f.open && !slices.ContainsFunc(problems, func(p session.Problem) bool { return p.Code == "torn-tail" || p.Code == "part-pass" }) {
		problems = append(problems, problemNoNewline(f.original(f.end)))
	}
	slices.SortStableFunc(problems, byOffset)
	if err := numberLines(ctx, src, problems); err != nil {
		return nil, f.wrap("read", err)
	}
	return problems, nil
}

func byOffset(a, b session.Problem) int {
	switch {
	case a.Offset < b.Offset:
		return -1
	case a.Offset > b.Offset:
		return 1
	}
	return 0
}

// chunks gives the bytes from 0 to size piece by piece.
func chunks(ctx context.Context, r io.ReaderAt, size int64, fn func(off int64, data []byte)) error {
	buf := make([]byte, 256<<10)
	for off := int64(0); off < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		data := buf[:min(int64(len(buf)), size-off)]
		if err := readFull(r, data, off); err != nil {
			return err
		}
		fn(off, data)
		off += int64(len(data))
	}
	return nil
}

type crlfs struct {
	n     int
	first int64 // where the first line that ends so begins
}

func countCRLF(ctx context.Context, r io.ReaderAt, size int64) (c crlfs, err error) {
	lineStart, last := int64(0), byte(0)
	err = chunks(ctx, r, size, func(off int64, data []byte) {
		if last == '\r' && data[0] == '\n' {
			c.n++
		}
		last = data[len(data)-1]
		n := bytes.Count(data, []byte("\r\n"))
		if c.n == 0 && n > 0 {
			k := bytes.Index(data, []byte("\r\n"))
			if p := bytes.LastIndexByte(data[:k], '\n'); p >= 0 {
				lineStart = off + int64(p) + 1
			}
			c.first = lineStart
		}
		c.n += n
		if p := bytes.LastIndexByte(data, '\n'); p >= 0 {
			lineStart = off + int64(p) + 1
		}
	})
	return c, err
}

// numberLines gives problems, in the order of their offsets, the number of the
// line they are on.
func numberLines(ctx context.Context, r io.ReaderAt, problems []session.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	next, line := 0, 1
	end := problems[len(problems)-1].Offset
	err := chunks(ctx, r, end, func(off int64, data []byte) {
		from := off
		for ; next < len(problems) && problems[next].Offset < off+int64(len(data)); next++ {
			line += bytes.Count(data[from-off:problems[next].Offset-off], []byte{'\n'})
			from = problems[next].Offset
			problems[next].Line = line
		}
		line += bytes.Count(data[from-off:], []byte{'\n'})
	})
	for ; next < len(problems); next++ {
		problems[next].Line = line
	}
	return err
}

func problemOld(v int) session.Problem {
	return session.Problem{
		Code: "old-version", Severity: session.SevInfo,
		What:    fmt.Sprintf("the file is of format version %d", v),
		Meaning: "it is read as version 3; the first append writes it as version 3 and keeps this one beside it",
	}
}

func problemCRLF(off int64, n int) session.Problem {
	return session.Problem{
		Code: "crlf", Severity: session.SevInfo, Offset: off,
		What:    fmt.Sprintf("lines that end with CR and LF; there are %d, this is the first", n),
		Meaning: "readers take the CR for white space",
	}
}

func problemNoNewline(off int64) session.Problem {
	return session.Problem{
		Code: "no-final-newline", Severity: session.SevInfo, Offset: max(off-1, 0),
		What:    "the last record has no line break",
		Meaning: "the next append writes it first",
	}
}
