package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Ellipsis marks a cut.
const Ellipsis = "…"

// Clip returns s when it has at most n runes, else its beginning and an
// ellipsis, together at most n runes. The cut is at white space where there is
// some in the last third, and never inside a character that is made of several
// runes. n below 1 gives "".
func Clip(s string, n int) string {
	if n < 1 {
		return ""
	}
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	end := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return strings.TrimRightFunc(s[:wordEnd(s, end)], unicode.IsSpace) + Ellipsis
}

// Head returns the beginning of s, at most n bytes, cut as Clip does, without a
// mark and with the white space kept.
func Head(s string, n int) string {
	if n >= len(s) {
		return s
	}
	return s[:wordEnd(s, max(n, 0))]
}

// Tail returns the end of s, at most n bytes. It starts at a line, a word or a
// character, whichever comes first in the first third.
func Tail(s string, n int) string {
	if n >= len(s) {
		return s
	}
	start := len(s) - max(n, 0)
	for start < len(s) && !boundary(s, start) {
		start++
	}
	limit := start + (len(s)-start)/3
	if k := strings.IndexByte(s[start:limit], '\n'); k >= 0 {
		return s[start+k+1:]
	}
	if before, _ := utf8.DecodeLastRuneInString(s[:start]); start > 0 && !unicode.IsSpace(before) {
		if k := strings.IndexFunc(s[start:limit], unicode.IsSpace); k >= 0 {
			return s[start+k:]
		}
	}
	return s[start:]
}

// Ends returns the beginning and the end of a text that is longer than both, on lines of
// their own.
func Ends(s string, head, tail int) string {
	if len(s) <= head+tail {
		return s
	}
	return Head(s, head) + "\n" + Tail(s, tail)
}

// wordEnd returns where to cut s so that at most end bytes remain.
func wordEnd(s string, end int) int {
	for end > 0 && !boundary(s, end) {
		end--
	}
	if r, _ := utf8.DecodeRuneInString(s[end:]); unicode.IsSpace(r) {
		return end
	}
	if k := strings.LastIndexFunc(s[:end], unicode.IsSpace); k >= end-end/3 {
		return k
	}
	return end
}

// boundary reports whether s may be cut at byte i: between two characters as people
// count them (extended grapheme clusters, UAX #29). A character of more than 256 bytes,
// such as a letter under hundreds of combining marks, may be cut inside.
func boundary(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return true
	}
	ascii := func(k int) bool { return s[k] < utf8.RuneSelf }
	if ascii(i) && ascii(i-1) {
		return s[i] != '\n' || s[i-1] != '\r'
	}
	// A character begins for certain between two bytes of ASCII.
	const look = 256
	from := i - 1
	for from > 0 && i-from < look && (!ascii(from) || !ascii(from-1)) {
		from--
	}
	certain := from == 0 || i-from < look
	for from < i && !utf8.RuneStart(s[from]) {
		from++
	}
	for it := graphemes.FromString(s[from:min(len(s), i+look)]); it.Next(); {
		if at := from + it.End(); at >= i {
			return at == i || !certain && it.Start() == 0 && utf8.RuneStart(s[i])
		}
	}
	return true
}
