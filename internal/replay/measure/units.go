package measure

import "unicode/utf8"

// CharsPerToken is the rule by which all texts are sized here, whatever the model
// and the policy: three UTF-16 units are a token.
const CharsPerToken = 3

// Units returns the length of a text in UTF-16 units, as JavaScript counts it. A
// byte that is not UTF-8 counts as one.
func Units(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			n++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		n++
		if r > 0xFFFF {
			n++
		}
		i += size
	}
	return n
}

// Tokens returns the size of a text in tokens, rounded up.
func Tokens(s string) int { return (Units(s) + CharsPerToken - 1) / CharsPerToken }

// CutUnits returns the longest beginning of s that has at most n UTF-16 units.
func CutUnits(s string, n int) string {
	for i, r := range s {
		n--
		if r > 0xFFFF {
			n--
		}
		if n < 0 {
			return s[:i]
		}
	}
	return s
}
