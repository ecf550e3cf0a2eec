package jsonl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
)

const (
	maxPreface = 1 << 20   // how much of a file is searched for its header, in bytes
	maxHeader  = 16 << 20  // how long a header may be, in bytes
	maxSniff   = 256 << 10 // how much of a file that is no session is looked at, in bytes
)

type foundHeader struct {
	header   session.Header
	line     int64 // where its line begins
	end      int64 // where the record after it may begin
	problems []session.Problem
}

var (
	errStop   = errors.New("stop")                                   // ends a search
	errHeader = errors.New("its first line, the header, is damaged") // the rest may still be a session
)

// findHeader looks for the first record. Bytes before it that are no JSON are passed over, as pi does; a first
// record of another kind means that the file is no session.
func findHeader(ctx context.Context, r io.ReaderAt, size int64) (h foundHeader, err error) {
	var failed error
	bad := 0 // bytes before the header that are no record
	err = scan(ctx, r, 0, min(size, maxHeader), func(l *scanned) error {
		if l.bom {
			h.problems = append(h.problems, session.NewProblem("bom", 0, "", "a byte order mark at the beginning"))
		}
		if l.off > maxPreface {
			return errStop
		}
		for _, p := range l.pieces {
			switch {
			case p.kind == pieceBad && bytes.HasPrefix(p.data, []byte(`{"type":"session"`)):
				failed = fmt.Errorf("%w any more: %w", session.ErrNotSession, errHeader)
				return errStop
			case p.kind == pieceBad:
				bad += len(p.data)
				continue
			case jsonx.IsNull(p.data):
				continue
			}
			h.header, failed = session.ParseHeader(bytes.Clone(p.data))
			if failed == nil && bad > 0 {
				h.problems = append(h.problems, session.NewProblem("before-header", 0, "", "%d bytes before the header that are no record", bad))
			}
			h.line = l.off
			if l.bom {
				h.line += int64(len(bom))
			}
			end := p.off + len(p.data)
			if jsonx.Space(l.data, end) == len(l.data) {
				if end = len(l.data); l.ended {
					end++
				}
			}
			h.end = l.off + int64(end)
			return errStop
		}
		return nil
	})
	switch {
	case errors.Is(failed, errHeader):
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
	case what != "":
		failed = fmt.Errorf("%w: it looks like %w", session.ErrNotSession, what)
	case failed == nil:
		failed = fmt.Errorf("%w: there is no header in it", session.ErrNotSession)
	}
	return h, failed
}

type look string

func (l look) Error() string { return string(l) }

const errHeaderless look = "a session whose first line, the header, is missing"

func foreign(r io.ReaderAt, size int64) (look, error) {
	data := make([]byte, min(size, maxSniff))
	if err := readFull(r, data, 0); err != nil {
		return "", err
	}
	data = bytes.TrimPrefix(data, bom)
	data = data[jsonx.Space(data, 0):]
	switch {
	case len(data) == 0:
		return "an empty page", nil
	case binary(data):
		return "a binary file", nil
	case data[0] == '[':
		return foreignList(data), nil
	case data[0] != '{':
		if _, err := jsonx.Scan(data, 0); err == nil {
			return "a JSON value, but no record", nil
		}
		return "text, not JSON", nil
	}
	// One JSON value on many lines, of which only the beginning may be here, or
	// a file of JSON lines, of which the first ones are often special.
	for range 64 {
		if what := foreignObject(keysOf(data)); what != "" {
			return what, nil
		}
		line, rest, more := bytes.Cut(data, []byte("\n"))
		if _, err := jsonx.Scan(line, 0); !more || err != nil {
			break
		}
		data = rest[jsonx.Space(rest, 0):]
	}
	return "", nil
}

// keysOf returns the members of the object at the beginning of data as far as
// they can be read. A member that the end of the data cuts off has no value.
func keysOf(data []byte) map[string][]byte {
	keys := map[string][]byte{}
	_, _ = jsonx.ScanObject(data, 0, func(key []byte, at int) (int, error) {
		keys[string(key)] = nil
		end, err := jsonx.Scan(data, at)
		if err == nil {
			keys[string(key)] = data[at:end]
		}
		return end, err
	})
	return keys
}

type sign struct {
	keys  string // members that a record has, with spaces between
	types string // or what its type is
	what  look
}

// signs are looked at in this order; the last ones have less to tell them by.
var signs = []sign{
	{"leafUuid", "", "a Claude Code session"},
	{"parentUuid uuid", "", "a Claude Code session"},
	{"sessionId uuid", "", "a Claude Code session"},
	{"", "file-history-snapshot", "a Claude Code session"},
	{"", "queue-operation", "a Claude Code session"},
	{"timestamp type payload", "", "a Codex session"},
	{"timestamp instructions git", "", "a Codex session"},
	{"sessionId projectHash", "", "a Gemini CLI session"},
	{"trajectory_format", "", "a trajectory of mini-swe-agent"},
	{"info messages", "", "a trajectory of mini-swe-agent"},
	{"trajectory", "", "a trajectory of SWE-agent"},
	{"history info environment", "", "a trajectory of SWE-agent"},
	{"instance_id history", "", "an output of OpenHands"},
	{"instance_id test_result", "", "an output of OpenHands"},
	{"messages", "", "a list of chat messages"},
	{"type id parentId", "", errHeaderless},
	{"role content", "", "chat messages, one a line"},
}

func foreignObject(keys map[string][]byte) look {
	typ, _ := jsonx.String(keys["type"])
	if kind, _ := jsonx.String(keys["kind"]); kind == "header" && keys["v"] != nil {
		return "a session of pi's next format, version 4"
	}
	if strings.Contains(typ, ".") && keys["id"] != nil && keys["timestamp"] != nil && keys["data"] != nil {
		return "a GitHub Copilot CLI session"
	}
	for _, s := range signs {
		lacks := func(key string) bool { _, ok := keys[key]; return !ok }
		if s.types != "" && s.types == typ || s.keys != "" && !slices.ContainsFunc(strings.Fields(s.keys), lacks) {
			return s.what
		}
	}
	return ""
}

func foreignList(data []byte) look {
	var keys map[string][]byte
	jsonx.Elements(data, func(val []byte) bool { keys = keysOf(val); return false })
	switch {
	case keys["role"] != nil && keys["parts"] != nil:
		return "a conversation of Gemini CLI"
	case keys["role"] != nil:
		return "a list of chat messages"
	}
	return "a JSON list"
}

// binary reports whether data is no text. A little that is not UTF-8 is damage or another encoding.
func binary(data []byte) bool {
	return bytes.IndexByte(data, 0) >= 0 || len(data)-len(bytes.ToValidUTF8(data, nil)) > len(data)/64
}
