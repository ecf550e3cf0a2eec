package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/clew-dev/clew/internal/jsonx"
)

// lineReader gives the lines of a stream, one in memory at a time.
type lineReader struct {
	r    *bufio.Reader
	line int // number of the line given last, from 1
	max  int
}

// newLineReader reads lines of up to opt.MaxBytes. The buffer is as large as what is
// known of the source; skipped lines stood before it.
func newLineReader(r io.Reader, opt ReadOptions, known, skipped int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, min(known, 64<<10)), max: int(opt.MaxBytes), line: skipped}
}

var errLongLine = errors.New("the line is too long")

// next returns the next line that is not blank, without what surrounds it: the
// line end, white space, and the NULs that a crash of the machine leaves. The
// bytes are the caller's. The error is io.EOF at the end, errLongLine for a line
// that was passed over, or the reader's.
func (l *lineReader) next() ([]byte, error) {
	for {
		raw, err := l.read()
		if err != nil {
			return nil, err
		}
		if raw = bytes.Trim(raw, blank); len(raw) > 0 {
			return raw, nil
		}
	}
}

func (l *lineReader) read() ([]byte, error) {
	var out []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if len(part) > 0 && !long {
			if len(out)+len(part) > l.max {
				out, long = nil, true
			} else {
				out = append(out, part...)
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(out) > 0 || long):
		case err != nil:
			return nil, err
		}
		l.line++
		if long {
			return nil, errLongLine
		}
		return out, nil
	}
}

// objects calls fn with each object of a stream of JSON lines. What is none is
// counted in the report, and where a line holds a whole object behind a torn one,
// that is read.
func (s *source) objects(fn func(line int, obj value) error) error {
	for {
		raw, err := s.lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errLongLine):
			s.report.add(Damaged, "long-line", s.lines.line, "", "lines that are longer than is read")
			continue
		case err != nil:
			return err
		}
		found := false
		for len(raw) > 0 {
			end, err := jsonx.Scan(raw, 0)
			if err != nil {
				break
			}
			if raw[0] == '{' {
				found = true
				if err := fn(s.lines.line, raw[:end:end]); err != nil {
					return err
				}
			}
			raw = bytes.TrimLeft(raw[end:], " \t\r,\x00")
		}
		if found && len(raw) == 0 {
			continue
		}
		s.report.add(Damaged, "bad-line", s.lines.line, "", "lines that are not one JSON object")
		if at := bytes.LastIndex(raw, []byte(`{"`)); at > 0 {
			if obj := lastObject(raw); obj != nil {
				if err := fn(s.lines.line, obj); err != nil {
					return err
				}
			}
		}
	}
}

// lastObject returns an object that stands at the end of a torn line and has a
// type or a role, as the records of all line formats do.
func lastObject(raw []byte) value {
	from := len(raw)
	for range 64 {
		at := bytes.LastIndex(raw[:from], []byte(`{"`))
		if at <= 0 {
			return nil
		}
		if end, err := jsonx.Scan(raw, at); err == nil && end == len(raw) {
			if v := value(raw[at:end]); v.has("type") && (v.has("timestamp") || v.has("payload") || v.has("id")) {
				return v
			}
		}
		from = at
	}
	return nil
}
