package token

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/clew-dev/clew/internal/jsonx"
)

// rawJSON implements texter.
func (h *heuristic) rawJSON(raw []byte) millis {
	if bytes.IndexByte(raw, '\n') < 0 && !bytes.Contains(raw, []byte(`\u`)) {
		// Written on one line: at most single blanks are between the parts.
		return h.text(unsafe.String(unsafe.SliceData(raw), len(raw)))
	}
	var n millis
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '"':
			end := stringEnd(raw, i)
			n += h.quoted(raw[i:end])
			i = end
		default:
			n += millis(h.bytes[c])
			i++
		}
	}
	return n
}

// stringEnd returns the index after the string that begins at raw[i].
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(raw)
}

// quoted weighs a JSON string with its quotes.
func (h *heuristic) quoted(raw []byte) (n millis) {
	for len(raw) > 0 {
		k := bytes.Index(raw, []byte(`\u`))
		if k < 0 {
			break
		}
		if k > 0 && escapedAt(raw, k) {
			// A backslash that is itself escaped, before the letter u.
			n += h.text(view(raw[:k+2]))
			raw = raw[k+2:]
			continue
		}
		n += h.text(view(raw[:k]))
		w, size := h.escape(raw[k:])
		n += w
		raw = raw[k+size:]
	}
	return n + h.text(view(raw))
}

// escapedAt reports whether an odd number of backslashes stands before raw[k].
func escapedAt(raw []byte, k int) bool {
	n := 0
	for k > n && raw[k-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// escape weighs the character that raw begins with, spelled \uXXXX or as a pair
// of those, and returns how many bytes that takes.
func (h *heuristic) escape(raw []byte) (n millis, size int) {
	r, size := escaped(raw)
	if r < 0 {
		return h.sum(view(raw[:size])), size
	}
	var buf [utf8.UTFMax]byte
	return h.sum(view(buf[:utf8.EncodeRune(buf[:], r)])), size
}

// escaped returns the character that raw begins with, spelled \uXXXX or as a pair
// of those, and how many bytes that takes; -1 when it is misspelled.
func escaped(raw []byte) (r rune, size int) {
	size = min(6, len(raw))
	r = hex4(raw[2:])
	if utf16.IsSurrogate(r) && len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(raw[8:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, size
}

// hex4 returns the number that four hexadecimal digits spell, or -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case digit(c):
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

// view returns the bytes as a string without copying them.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// isNonEmptyArray reports an array with at least one element.
func isNonEmptyArray(raw []byte) bool {
	some := false
	jsonx.Elements(raw, func([]byte) bool {
		some = true
		return false
	})
	return some
}
