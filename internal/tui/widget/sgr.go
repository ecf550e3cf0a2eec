package widget

import "strings"

// styleAt returns the length of the style that s begins with, ESC [ 1;31 m; 0
// for none.
func styleAt(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// trimStyled removes the spaces at the end of a line, also those between styles,
// and makes the line end without a style.
func trimStyled(l string) string {
	if !strings.Contains(l, "\x1b") {
		return strings.TrimRight(l, " ")
	}
	end := 0 // behind the last character that is not a space
	for i := 0; i < len(l); {
		if n := styleAt(l[i:]); n > 0 {
			i += n
			continue
		}
		if l[i] != ' ' {
			end = i + 1
		}
		i++
	}
	if end == len(l) || end == 0 {
		return l[:end]
	}
	return l[:end] + "\x1b[m"
}
