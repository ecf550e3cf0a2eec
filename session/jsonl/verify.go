package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"io"
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
		src := f.src
		if f.f != nil {
			src = f.f
		}
		offsets := make([]int64, len(problems))
		for i, p := range problems {
			offsets[i] = p.Offset
		}
		lines, crlf, err := survey(ctx, src, f.size, offsets)
		for i, n := range lines {
			problems[i].Line = n
		}
		if crlf.n > 0 {
			p := session.NewProblem("crlf", crlf.off, "", "lines that end with CR and LF; there are %d, this is the first", crlf.n)
			p.Line = crlf.line
			problems = append(problems, p)
		}
		return err
	})
	slices.SortStableFunc(problems, session.ByOffset)
	return problems, err
}

// crlfs are lines that end with CR and LF.
type crlfs struct {
	n    int
	off  int64 // of the first
	line int
}

// survey walks over the lines of a file. It returns on which lines, from 1, offsets
// are, and which lines end with CR and LF.
func survey(ctx context.Context, r io.ReaderAt, size int64, offsets []int64) (lines []int, crlf crlfs, err error) {
	order := make([]int, len(offsets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(offsets[a], offsets[b]) })
	lines = make([]int, len(offsets))
	n := 1
	err = forward(r, 0, size, func(line []byte, off int64, ended bool) error {
		for len(order) > 0 && offsets[order[0]] <= off+int64(len(line)) {
			lines[order[0]], order = n, order[1:]
		}
		if ended && bytes.HasSuffix(line, []byte("\r")) {
			if crlf.n++; crlf.n == 1 {
				crlf.off, crlf.line = off, n
			}
		}
		if ended {
			n++
		}
		return ctx.Err()
	})
	for _, i := range order {
		lines[i] = n
	}
	return lines, crlf, err
}
