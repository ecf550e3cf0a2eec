package jsonl

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
)

// errHeaderless is what a session without its header looks like.
var errHeaderless = errors.New("a session whose first line, the header, is missing")

// maxSniff is how much of a file that is no session is looked at, in bytes.
const maxSniff = 256 << 10

// foreign says what a file that is no session looks like, or "".
func foreign(r io.ReaderAt, size int64) (string, error) {
	data := make([]byte, min(size, maxSniff))
	if err := readFull(r, data, 0); err != nil {
		return "", err
	}
	data = bytes.TrimPrefix(data, bom)
	data = data[jsonx.Space(data, 0):]
	switch {
	case len(data) == 0:
		return "an empty page", nil
	case binary(data, int64(len(data)) < size):
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
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			break
		}
		if _, err := jsonx.Scan(data[:end], 0); err != nil {
			break
		}
		data = data[end+1:]
		data = data[jsonx.Space(data, 0):]
	}
	return "", nil
}

// keysOf returns the members of the object at the beginning of data as far as
// they can be read. A member that the end of the data cuts off has no value.
func keysOf(data []byte) map[string][]byte {
	keys := map[string][]byte{}
	if !jsonx.IsObject(data) {
		return keys
	}
	for i := jsonx.Space(data, 1); i < len(data) && data[i] == '"'; {
		end, err := jsonx.Scan(data, i)
		if err != nil {
			break
		}
		key, _ := jsonx.String(data[i:end])
		keys[key] = nil
		if i = jsonx.Space(data, end); i >= len(data) || data[i] != ':' {
			break
		}
		i = jsonx.Space(data, i+1)
		if end, err = jsonx.Scan(data, i); err != nil {
			break
		}
		keys[key] = data[i:end]
		if i = jsonx.Space(data, end); i >= len(data) || data[i] != ',' {
			break
		}
		i = jsonx.Space(data, i+1)
	}
	return keys
}

// foreignObject names the program that writes records with these keys.
func foreignObject(keys map[string][]byte) string {
	has := func(names ...string) bool {
		for _, n := range names {
			if _, ok := keys[n]; !ok {
				return false
			}
		}
		return true
	}
	is := func(key, val string) bool {
		s, ok := jsonx.String(keys[key])
		return ok && s == val
	}
	typ, _ := jsonx.String(keys["type"])
	switch {
	case strings.Contains(typ, ".") && has("id", "timestamp", "data"):
		return "a GitHub Copilot CLI session"
	case has("v", "kind") && is("kind", "header"):
		return "a session of pi's next format, version 4"
	case has("leafUuid"), has("parentUuid", "uuid"), has("sessionId", "uuid"),
		is("type", "file-history-snapshot"), is("type", "queue-operation"):
		return "a Claude Code session"
	case has("timestamp", "type", "payload"), has("timestamp", "instructions", "git"):
		return "a Codex session"
	case has("sessionId", "projectHash"):
		return "a Gemini CLI session"
	case has("trajectory_format"), has("info", "messages"):
		return "a trajectory of mini-swe-agent"
	case has("trajectory"), has("history", "info", "environment"):
		return "a trajectory of SWE-agent"
	case has("instance_id", "history"), has("instance_id", "test_result"):
		return "an output of OpenHands"
	case has("messages"):
		return "a list of chat messages"
	case has("type", "id", "parentId"):
		return errHeaderless.Error()
	case has("role", "content"):
		return "chat messages, one a line"
	}
	return ""
}

func foreignList(data []byte) string {
	var first []byte
	jsonx.Elements(data, func(val []byte) bool {
		first = val
		return false
	})
	keys := keysOf(first)
	switch {
	case keys["role"] != nil && keys["parts"] != nil:
		return "a conversation of Gemini CLI"
	case keys["role"] != nil:
		return "a list of chat messages"
	}
	return "a JSON list"
}

// binary reports whether data is no text. cut says that more follows, so that
// a character may be cut in two at the end.
func binary(data []byte, cut bool) bool {
	if bytes.IndexByte(data, 0) >= 0 {
		return true
	}
	odd := 0
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 && (!cut || i < len(data)-utf8.UTFMax) {
			odd++
		}
		i += n
	}
	return odd > len(data)/64 // a few are damage or another encoding
}
