package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
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
	if start > 0 && !unicode.IsSpace(lastRune(s[:start])) {
		if k := strings.IndexFunc(s[start:limit], unicode.IsSpace); k >= 0 {
			return s[start+k:]
		}
	}
	return s[start:]
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

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// longest is how far boundary looks for the beginning of a character. Text with
// longer runs of combining marks is cut inside them.
const longest = 64

// boundary reports whether s may be cut at byte i. It knows the parts of
// Unicode's extended grapheme clusters (UAX #29) that occur in practice: combining
// marks, variation selectors, joined and coloured emoji, flags, Hangul
// syllables in parts, and CR LF.
func boundary(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return true
	}
	if !utf8.RuneStart(s[i]) {
		// In text that is not UTF-8 a byte may stand alone.
		for k := i - 1; k >= 0 && k > i-utf8.UTFMax; k-- {
			if utf8.RuneStart(s[k]) {
				_, size := utf8.DecodeRuneInString(s[k:])
				return k+size <= i
			}
		}
		return true
	}
	if s[i] < utf8.RuneSelf && s[i-1] < utf8.RuneSelf {
		return s[i] != '\n' || s[i-1] != '\r'
	}
	next, _ := utf8.DecodeRuneInString(s[i:])
	if extends(next) {
		return marksBefore(s, i) >= longest
	}
	prev := lastRune(s[:i])
	switch {
	case prev == zwj && next >= 0x2000:
		return false
	case regional(prev) && regional(next):
		n := 0
		for rest := s[:i]; n < longest; n++ {
			r, size := utf8.DecodeLastRuneInString(rest)
			if !regional(r) {
				break
			}
			rest = rest[:len(rest)-size]
		}
		return n%2 == 0
	}
	return !hangul(prev, next)
}

const zwj = '\u200d'

func extends(r rune) bool {
	if r < 0x300 {
		return false
	}
	return r == zwj || unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) ||
		0x1f3fb <= r && r <= 0x1f3ff || // skin tones
		0xe0020 <= r && r <= 0xe007f // tags of flags
}

func marksBefore(s string, i int) int {
	n := 0
	for n < longest && i > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		if !extends(r) {
			break
		}
		i -= size
		n++
	}
	return n
}

func regional(r rune) bool { return 0x1f1e6 <= r && r <= 0x1f1ff }

// hangul reports whether two runes are parts of one Hangul syllable.
func hangul(prev, next rune) bool {
	lead := 0x1100 <= prev && prev <= 0x115f
	vowel := func(r rune) bool { return 0x1160 <= r && r <= 0x11a7 }
	tail := func(r rune) bool { return 0x11a8 <= r && r <= 0x11ff }
	whole := 0xac00 <= prev && prev <= 0xd7a3
	switch {
	case vowel(next):
		return lead || vowel(prev) || whole && (prev-0xac00)%28 == 0
	case tail(next):
		return vowel(prev) || tail(prev) || whole
	case 0x1100 <= next && next <= 0x115f || 0xac00 <= next && next <= 0xd7a3:
		return lead
	}
	return false
}
