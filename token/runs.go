package token

import "strings"

const (
	// runMin is how long a run of letters, digits and the signs of base64 must
	// be to be looked at as one. Paths and identifiers are shorter; a digest in
	// hexadecimal has 64.
	runMin = 64
	// runProbe is how many bytes are looked at together. Any runMin bytes in a
	// row hold runProbe that begin where a probe begins.
	runProbe = runMin / 2
)

// random64 reports the characters of base64 in both its alphabets, which hold
// those of hexadecimal.
func random64(c byte) bool {
	const low = 1<<'+' | 1<<'-' | 1<<'/' | 0x3FF<<'0'
	const high = 0x3FFFFFF<<('A'-64) | 0x3FFFFFF<<('a'-64) | 1<<('_'-64)
	switch c >> 6 {
	case 0:
		return uint64(low)>>c&1 != 0
	case 1:
		return uint64(high)>>(c-64)&1 != 0
	}
	return false
}

// runAround returns the bounds of the run around s[i], which does not begin
// before from.
func runAround(s string, i, from int) (start, end int) {
	start, end = i, i+1
	for start > from && random64(s[start-1]) {
		start--
	}
	for end < len(s) && random64(s[end]) {
		end++
	}
	return start, end
}

// isHex reports digits and letters a to f, of one case and both kinds.
func isHex(s string) bool {
	digits, lower, upper := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case digit(c):
			digits++
		case 'a' <= c && c <= 'f':
			lower++
		case 'A' <= c && c <= 'F':
			upper++
		default:
			return false
		}
	}
	return digits > 0 && (lower > 0) != (upper > 0)
}

// isBase64 reports text that changes between capitals, small letters, digits and
// signs as often as random data does. Of runMin characters of base64, 40 differ
// in kind from the one before, give or take 4; of the longest paths and
// CamelCase names, fewer than 20.
func isBase64(s string) bool {
	const changesMin = 26
	changes, digits := 0, 0
	kind := -1
	for i := range len(s) {
		k := 3
		switch c := s[i]; {
		case digit(c):
			k = 0
			digits++
		case 'a' <= c && c <= 'z':
			k = 1
		case 'A' <= c && c <= 'Z':
			k = 2
		}
		if k != kind {
			changes++
			kind = k
		}
	}
	return changes >= changesMin && digits > 0
}

// endsDataURL reports text that leads up to the data of a data URL, which is
// data however it looks: the bitmap of a blank picture is a row of As.
func endsDataURL(s string) bool {
	return strings.HasSuffix(s, ";base64,")
}
