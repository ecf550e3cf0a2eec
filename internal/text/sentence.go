package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences splits prose into its sentences, without the space around them. A
// line end always ends a sentence; a full stop, question or exclamation mark
// does when a space and no lower-case letter follow; their full-width forms
// always do.
func Sentences(s string) []string {
	var out []string
	add := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	from, inCode := 0, false
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch r {
		case '\n', '\r', '\u2028', '\u2029':
		case '。', '！', '？':
			i = len(s) - len(strings.TrimLeft(s[i:], "。！？”’）)」』\"'"))
		case '`':
			end := strings.IndexAny(s[i:], "`\n\r")
			inCode = !inCode && end >= 0 && s[i+end] == '`'
			continue
		case '.', '!', '?':
			if inCode || !sentenceEnd(s[from:i], s[i:]) {
				continue
			}
			for i < len(s) && s[i] != ' ' {
				i++
			}
		default:
			continue
		}
		add(s[from:i])
		from = i
	}
	add(s[from:])
	return out
}

// sentenceEnd reports whether the mark that ends before is the end of a
// sentence that after goes on from.
func sentenceEnd(before, after string) bool {
	after = strings.TrimLeft(after, `"')*_`+"`")
	if after == "" {
		return true
	}
	if after[0] != ' ' && after[0] != '\t' {
		return false
	}
	word := before[strings.LastIndexAny(before, " \t\n")+1:]
	if AllDigits(strings.TrimRight(word, ".)")) {
		return false // "1. first"
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(after, " \t"))
	return !unicode.IsLower(next)
}
