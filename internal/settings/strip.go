package settings

import "bytes"

// plain makes JSON of JSON with comments and trailing commas: both become blanks, so
// that everything else keeps its place. What is no JSON for other reasons stays so.
//
// It is small enough to be ours: what a library for this adds is to write such files
// again with the comments in place, which clew does not do.
func plain(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1 // the latest comma, as long as only blanks came after it
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			i = stringEnd(out, i)
			continue
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blankComment(out, i)
			continue
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
		i++
	}
	return out
}

// stringEnd returns the index behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// blankComment makes the comment at i blank and returns the index behind it. A comment
// that does not end is left as it is, and is no JSON.
func blankComment(b []byte, i int) int {
	end := len(b)
	if b[i+1] == '/' {
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			end = i + n
		}
	} else {
		n := bytes.Index(b[i+2:], []byte("*/"))
		if n < 0 {
			return len(b)
		}
		end = i + 2 + n + 2
	}
	for k := i; k < end; k++ {
		if b[k] != '\n' {
			b[k] = ' '
		}
	}
	return end
}
