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

var errStop = errors.New("stop")

// findHeader looks for the first record. Bytes before it that are no JSON are
// passed over, as pi does; a first record of another kind means that the file
// is no session.
func findHeader(r io.ReaderAt, size int64) (h foundHeader, err error) {
	var failed error
	bad := int64(0)
	err = forward(r, 0, min(size, maxHeader), func(line []byte, off int64, _ bool) error {
		if off == 0 && bytes.HasPrefix(line, bom) {
			h.problems = append(h.problems, problemBOM())
			line, off = line[len(bom):], int64(len(bom))
		}
		if off > maxPreface {
			return errStop
		}
		for _, p := range cutLine(line) {
			if p.kind == pieceBad {
				if bad == 0 && damagedHeader(p.data) {
					failed = fmt.Errorf("%w: its first line is damaged", session.ErrNotSession)
					return errStop
				}
				if bad == 0 {
					failed = fmt.Errorf("%w: %w", session.ErrNotSession, p.err)
				}
				bad += int64(len(p.data))
				continue
			}
			if p.kind == pieceStray && jsonx.IsNull(p.data) {
				continue
			}
			head, err := session.ParseHeader(p.data)
			if err != nil {
				failed = err
				if what := foreign(p.data); what != "" {
					failed = fmt.Errorf("%w: it looks like %s", session.ErrNotSession, what)
				}
				return errStop
			}
			if bad > 0 {
				h.problems = append(h.problems, problemBeforeHeader(0, int(bad)))
			}
			failed = nil
			h.header = head
			h.line = off
			h.end = off + int64(p.off+len(p.data))
			rest := jsonx.Space(line, p.off+len(p.data))
			if rest == len(line) {
				h.end = off + int64(len(line)) + 1
			}
			return errStop
		}
		return nil
	})
	if err != nil && err != errStop {
		return h, err
	}
	if failed != nil {
		return h, failed
	}
	if h.header.ID == "" {
		return h, fmt.Errorf("%w: no record in it", session.ErrNotSession)
	}
	h.end = min(h.end, max(size, h.end-1))
	return h, nil
}

// damagedHeader reports whether bytes that are no JSON were meant as a header.
func damagedHeader(data []byte) bool {
	return bytes.HasPrefix(data, []byte(`{"type":"session"`))
}

// foreign names the program that wrote a record of another format.
func foreign(val []byte) string {
	if jsonx.IsArray(val) {
		return "a list of chat messages"
	}
	keys := map[string]bool{}
	jsonx.Members(val, func(k, _ []byte) bool { keys[string(k)] = true; return true })
	switch {
	case keys["sessionId"] || keys["leafUuid"]:
		return "a Claude Code session"
	case keys["payload"] && keys["type"] && keys["timestamp"]:
		return "a Codex session"
	case keys["trajectory"] || keys["trajectory_format"]:
		return "an agent trajectory"
	case keys["messages"]:
		return "a list of chat messages"
	case keys["type"] && keys["id"] && keys["parentId"]:
		return "a session file whose first line, the header, is missing"
	}
	return ""
}
