package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
)

// maxPreface is how much of a file is searched for its header, in bytes.
const maxPreface = 1 << 20

// maxHeader is how long a header may be, in bytes.
const maxHeader = 16 << 20

type foundHeader struct {
	header   session.Header
	line     int64 // where its line begins
	end      int64 // where the record after it may begin
	problems []session.Problem
}

// What ends the search for a header.
var (
	errStop    = errors.New("stop")
	errDamaged = errors.New("damaged header")
)

// errHeader is wrapped where the rest of the file may still be a session.
var errHeader = errors.New("its first line, the header, is damaged")

// findHeader looks for the first record. Bytes before it that are no JSON are
// passed over, as pi does; a first record of another kind means that the file
// is no session.
func findHeader(r io.ReaderAt, size int64) (h foundHeader, err error) {
	var failed error
	bad := 0 // bytes before the header that are no record
	err = forward(r, 0, min(size, maxHeader), func(line []byte, off int64, ended bool) error {
		if off == 0 && bytes.HasPrefix(line, bom) {
			h.problems = append(h.problems, problemBOM())
			line, off = line[len(bom):], int64(len(bom))
		}
		if off > maxPreface {
			return errStop
		}
		for _, p := range cutLine(line, ended) {
			switch {
			case p.kind == pieceBad && bytes.HasPrefix(p.data, []byte(`{"type":"session"`)):
				failed = fmt.Errorf("%w any more: %w", session.ErrNotSession, errHeader)
				return errDamaged
			case p.kind == pieceBad:
				bad += len(p.data)
				continue
			case jsonx.IsNull(p.data):
				continue
			}
			if h.header, failed = session.ParseHeader(p.data); failed != nil {
				return errStop
			}
			if bad > 0 {
				h.problems = append(h.problems, problemBeforeHeader(0, bad))
			}
			h.line = off
			h.end = off + int64(p.off+len(p.data))
			if rest := jsonx.Space(line, p.off+len(p.data)); rest == len(line) {
				h.end = off + int64(len(line))
				if ended {
					h.end++
				}
			}
			return errStop
		}
		return nil
	})
	switch {
	case errors.Is(err, errDamaged):
		return h, failed
	case err != nil && !errors.Is(err, errStop):
		return h, err
	case failed == nil && h.header.ID != "":
		return h, nil
	}
	what, err := foreign(r, size)
	switch {
	case err != nil:
		return h, err
	case what == errHeaderless.Error():
		failed = fmt.Errorf("%w: it looks like %w", session.ErrNotSession, errHeaderless)
	case what != "":
		failed = fmt.Errorf("%w: it looks like %s", session.ErrNotSession, what)
	case failed == nil:
		failed = fmt.Errorf("%w: there is no header in it", session.ErrNotSession)
	}
	return h, failed
}
