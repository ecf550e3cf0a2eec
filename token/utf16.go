package token

import (
	"unicode/utf8"
)

// utf16Len returns the length of a text in JavaScript: UTF-16 code units. Bytes
// that are not UTF-8 count as JavaScript decodes them, one U+FFFD for each
// longest beginning of a character (https://encoding.spec.whatwg.org/#utf-8-decoder).
func utf16Len(s string) (units int64) {
	if utf8.ValidString(s) {
		for i := range len(s) {
			c := s[i]
			if c&0xC0 != 0x80 {
				units++
			}
			if c >= 0xF0 {
				units++
			}
		}
		return units
	}
	for len(s) > 0 {
		if s[0] < utf8.RuneSelf {
			units++
			s = s[1:]
			continue
		}
		n, whole := sequence(s)
		units++
		if whole && n == 4 {
			units++
		}
		s = s[n:]
	}
	return units
}

// sequence returns how many bytes at the start of s, which is not ASCII, are one
// character (whole) or stand for one U+FFFD.
func sequence(s string) (n int, whole bool) {
	need := 0
	low, high := byte(0x80), byte(0xBF) // of the second byte
	switch c := s[0]; {
	case 0xC2 <= c && c <= 0xDF:
		need = 2
	case c == 0xE0:
		need, low = 3, 0xA0
	case c == 0xED:
		need, high = 3, 0x9F // no halves of surrogate pairs
	case 0xE1 <= c && c <= 0xEF:
		need = 3
	case c == 0xF0:
		need, low = 4, 0x90
	case 0xF1 <= c && c <= 0xF3:
		need = 4
	case c == 0xF4:
		need, high = 4, 0x8F
	default:
		return 1, false
	}
	for n = 1; n < need; n++ {
		if n >= len(s) || s[n] < low || s[n] > high {
			return n, false
		}
		low, high = 0x80, 0xBF
	}
	return need, true
}
