package recall

import (
	"unicode"
	"unicode/utf8"
)

// appendFolded appends a word in small letters, without underscores, and with
// full-width letters and digits as the ordinary ones.
func appendFolded(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			for _, r := range s[i:] {
				if r != '_' {
					dst = utf8.AppendRune(dst, fold(r))
				}
			}
			return dst
		case c >= 'A' && c <= 'Z':
			dst = append(dst, c+'a'-'A')
		case c != '_':
			dst = append(dst, c)
		}
	}
	return dst
}

// fold returns the form of a character in which its spellings meet.
func fold(r rune) rune {
	if r >= 0xFF01 && r <= 0xFF5E { // Halfwidth and Fullwidth Forms
		r -= 0xFF01 - '!'
	}
	return unicode.ToLower(r)
}

// isHash reports whether a folded word is hexadecimal digits as of a commit.
func isHash(b []byte) bool {
	digits, letters := 0, 0
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'f':
			letters++
		default:
			return false
		}
	}
	return len(b) >= minHash && digits > 0 && letters > 0
}

// stem takes the s of an English plural away: the S stemmer of D. Harman, "How
// effective is suffixing?", JASIS 42 (1991), with two endings more (sses, xes).
func stem(b []byte) []byte {
	n := len(b)
	if n < 4 || b[n-1] != 's' {
		return b
	}
	for _, c := range b {
		if c < 'a' || c > 'z' {
			return b
		}
	}
	switch at := b[n-2]; {
	case at == 's' || at == 'u':
		return b
	case at == 'e' && b[n-3] == 'i':
		if n > 4 && (b[n-4] == 'e' || b[n-4] == 'a') {
			return b
		}
		return append(b[:n-3], 'y')
	case at == 'e' && (b[n-3] == 'x' || b[n-3] == 's' && b[n-4] == 's'):
		return b[:n-2]
	case at == 'e' && (b[n-3] == 'a' || b[n-3] == 'e' || b[n-3] == 'o'):
		return b
	}
	return b[:n-1]
}
