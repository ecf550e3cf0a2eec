package ledger

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// scriptCalls reads the calls of tools in a script as Codex lets its model write
// them: tools.exec_command({cmd: "ls"}). It knows literals and the names of
// string constants; a call with anything else in its arguments has no arguments.
func scriptCalls(src, entry string) []call {
	if !strings.Contains(src, "tools.") {
		return nil
	}
	consts := map[string]string{}
	var calls []call
	for i := 0; i < len(src); {
		switch rest := src[i:]; {
		case rest[0] == '"' || rest[0] == '\'' || rest[0] == '`':
			_, n, _ := jsString(rest)
			i += n
		case strings.HasPrefix(rest, "//"):
			if k := strings.IndexByte(rest, '\n'); k >= 0 {
				i += k
			} else {
				i = len(src)
			}
		case strings.HasPrefix(rest, "const ") || strings.HasPrefix(rest, "let "):
			_, rest, _ = strings.Cut(rest, " ")
			name, value, ok := strings.Cut(rest, "=")
			if ok && len(name) < 80 {
				if s, _, ok := jsString(strings.TrimLeft(value, " \t\n")); ok {
					consts[strings.TrimSpace(name)] = s
				}
			}
			i += 4
		case strings.HasPrefix(rest, "tools."):
			i += len("tools.")
			name, after, ok := strings.Cut(src[i:], "(")
			if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r != '_' && (r < '0' || r > 'z') }) {
				continue
			}
			i += len(name) + 1
			v := jsReader{s: after, consts: consts}
			value, ok := v.value(0)
			if !ok {
				value = nil
			}
			if s, isString := value.(string); isString {
				value = map[string]any{"input": s} // a tool with one free argument
			}
			args, err := json.Marshal(value)
			if err != nil {
				args = nil
			}
			calls = append(calls, parseCall(name, args, entry))
		default:
			i++
		}
	}
	return calls
}

// jsReader reads a literal of JavaScript.
type jsReader struct {
	s      string
	consts map[string]string
}

func (r *jsReader) space() {
	r.s = strings.TrimLeft(r.s, " \t\r\n")
}

func (r *jsReader) take(c byte) bool {
	r.space()
	if r.s == "" || r.s[0] != c {
		return false
	}
	r.s = r.s[1:]
	return true
}

func (r *jsReader) value(depth int) (any, bool) {
	if r.space(); r.s == "" || depth > 20 {
		return nil, false
	}
	switch c := r.s[0]; c {
	case '"', '\'', '`':
		s, n, ok := jsString(r.s)
		r.s = r.s[n:]
		return s, ok
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	}
	word := r.word()
	switch word {
	case "":
		return nil, false
	case "true", "false":
		return word == "true", true
	case "null", "undefined":
		return nil, true
	}
	if s, ok := r.consts[word]; ok {
		return s, true
	}
	if allDigits(word) {
		return json.Number(strings.TrimLeft(word[:len(word)-1], "0") + word[len(word)-1:]), true
	}
	return nil, false
}

// word takes a name or a number.
func (r *jsReader) word() string {
	n := 0
	for n < len(r.s) && (r.s[n] == '_' || r.s[n] == '$' || r.s[n] == '.' || '0' <= r.s[n] && r.s[n] <= '9' || r.s[n]|0x20 >= 'a' && r.s[n]|0x20 <= 'z') {
		n++
	}
	w := r.s[:n]
	r.s = r.s[n:]
	return w
}

func (r *jsReader) object(depth int) (any, bool) {
	m := map[string]any{}
	for r.take('{'); !r.take('}'); r.take(',') {
		r.space()
		var name string
		if r.s != "" && (r.s[0] == '"' || r.s[0] == '\'') {
			s, n, _ := jsString(r.s)
			name, r.s = s, r.s[n:]
		} else {
			name = r.word()
		}
		if name == "" {
			return nil, false
		}
		if !r.take(':') {
			if s, ok := r.consts[name]; ok { // {cmd}
				m[name] = s
				continue
			}
			return nil, false
		}
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		m[name] = v
	}
	return m, true
}

func (r *jsReader) array(depth int) (any, bool) {
	list := []any{}
	for r.take('['); !r.take(']'); r.take(',') {
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// jsString reads the string that s begins with, and returns its length in the
// source. A template with something to compute in it is no literal.
func jsString(s string) (value string, n int, ok bool) {
	if s == "" || s[0] != '"' && s[0] != '\'' && s[0] != '`' {
		return "", 0, false
	}
	ok = true
	var b strings.Builder
	for i := 1; i < len(s); {
		switch c := s[i]; {
		case c == s[0]:
			return b.String(), i + 1, ok
		case c == '\\' && i+1 < len(s):
			i += jsEscape(&b, s[i:])
			continue
		case c == '$' && s[0] == '`' && strings.HasPrefix(s[i:], "${"):
			ok = false
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String(), len(s), false
}

// jsEscape writes what an escape stands for and returns its length.
func jsEscape(b *strings.Builder, s string) int {
	digits := 0
	switch s[1] {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'u':
		digits = 4
	case 'x':
		digits = 2
	case '\n':
	default:
		_, size := utf8.DecodeRuneInString(s[1:])
		b.WriteString(s[1 : 1+size])
		return 1 + size
	}
	if digits > 0 {
		code := rune(0)
		for i := range digits {
			if 2+i >= len(s) {
				return len(s)
			}
			code = code<<4 | rune(hexDigit(s[2+i]))
		}
		b.WriteRune(code)
	}
	return 2 + digits
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 0
}
