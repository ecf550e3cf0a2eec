package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/clew-dev/clew/session"
)

// Offsets implements session.Located.
func (f *File) Offsets(ctx context.Context) (offsets []int64, err error) {
	err = f.locked(ctx, "read", func() error {
		if err := f.x.all(ctx); err != nil {
			return err
		}
		for _, r := range f.x.records() {
			offsets = append(offsets, f.original(r.off))
		}
		return nil
	})
	return offsets, err
}

var _ session.Located = (*File)(nil)

// Verify reads the whole file and returns every problem of it with its line:
// those of session.Verify, and what is unusual about the lines themselves.
func (f *File) Verify(ctx context.Context) ([]session.Problem, error) {
	problems, err := session.Verify(ctx, f)
	if err != nil {
		return nil, err
	}
	err = f.locked(ctx, "read", func() error {
		if f.version < session.Version {
			problems = append(problems, session.NewProblem("old-version", 0, "", "the file is of format version %d", f.version))
		}
		if f.open && !slices.ContainsFunc(problems, func(p session.Problem) bool { return p.Code == "torn-tail" || p.Code == "part-pass" }) {
			problems = append(problems, session.NewProblem("no-final-newline", max(f.original(f.end)-1, 0), "", "the last record has no line break"))
		}
		crlf, n, err := numberLines(ctx, f.src, f.size, problems, func(p *session.Problem) (int64, *int) { return p.Offset, &p.Line })
		if n > 0 {
			crlf.What = fmt.Sprintf("lines that end with CR and LF; there are %d, this is the first", n)
			problems = append(problems, crlf)
		}
		return err
	})
	slices.SortStableFunc(problems, session.ByOffset)
	return problems, err
}

// numberLines sorts items by their offsets, which at gives, and sets the lines that they
// are on, from 1. It counts the lines that end with CR and LF; crlf is where the first is.
func numberLines[T any](
	ctx context.Context, r io.ReaderAt, size int64, items []T, at func(*T) (off int64, line *int),
) (crlf session.Problem, crlfs int, err error) {
	slices.SortStableFunc(items, func(a, b T) int {
		x, _ := at(&a)
		y, _ := at(&b)
		return cmp.Compare(x, y)
	})
	n := 1
	number := func(end int64) {
		for ; len(items) > 0; items = items[1:] {
			off, line := at(&items[0])
			if off > end {
				return
			}
			*line = n
		}
	}
	err = forward(r, 0, size, func(line []byte, off int64, ended bool) error {
		number(off + int64(len(line)))
		if !ended {
			return nil
		}
		if bytes.HasSuffix(line, []byte("\r")) {
			if crlfs++; crlfs == 1 {
				crlf = session.NewProblem("crlf", off, "", "")
				crlf.Line = n
			}
		}
		n++
		return ctx.Err()
	})
	number(math.MaxInt64)
	return crlf, crlfs, err
}
