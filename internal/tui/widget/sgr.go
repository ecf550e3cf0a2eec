package widget

import "strings"

// styleOnly removes from what a renderer made everything that is neither text, a
// line end nor a style: links, and characters that the text spelled as entities.
func styleOnly(s string) string {
	var b strings.Builder
	for s != "" {
		k := strings.IndexByte(s, '\x1b')
		if k < 0 {
			k = len(s)
		}
		b.WriteString(Sanitize(s[:k]))
		s = s[k:]
		if n := styleAt(s); n > 0 {
			b.WriteString(s[:n])
			s = s[n:]
		} else if s != "" {
			s = s[1+sequence(s[1:], '\x1b'):]
		}
	}
	return b.String()
}

// unstyled returns s without its styles. Other sequences stay.
func unstyled(s string) string {
	var b strings.Builder
	for s != "" {
		if n := styleAt(s); n > 0 {
			s = s[n:]
			continue
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

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
