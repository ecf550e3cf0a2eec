package summary

import (
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// leastPlain is the least share of a document that is plain words and the marks of
// its structure: a list of identifiers is no summary. Measured without handles.
const leastPlain = 0.37

// plainShare returns the share of a text, white space aside, that is letters of
// plain words or the marks at the beginning of lines.
func plainShare(s string) float64 {
	plain, all := 0, 0
	for line := range strings.SplitSeq(s, "\n") {
		if m := handleAtEnd().FindStringSubmatch(line); m != nil {
			line = m[1]
		}
		body := strings.TrimLeft(line, " #>-")
		marks := len(strings.ReplaceAll(line[:len(line)-len(body)], " ", ""))
		plain += marks
		all += marks
		at := 0
		for id := range text.Identifiers(body) {
			plain += wordLetters(body[at:max(at, id.At)])
			at = max(at, id.At+len(id.Text))
		}
		plain += wordLetters(body[at:])
		for _, r := range body {
			if !unicode.IsSpace(r) {
				all++
			}
		}
	}
	if all == 0 {
		return 1
	}
	return float64(plain) / float64(all)
}

// wordLetters counts the letters of words of two letters and more.
func wordLetters(s string) int {
	n, run := 0, 0
	for _, r := range s {
		switch {
		case text.Wide(r):
			n++
		case unicode.IsLetter(r):
			run++
			continue
		}
		if run > 1 {
			n += run
		}
		run = 0
	}
	if run > 1 {
		n += run
	}
	return n
}

// plain returns which part of a line is plain words.
func (l *factLine) plain() float64 {
	n := 0
	for _, sp := range l.spots {
		if sp.id < 0 {
			n += int(sp.to) - int(sp.from)
		}
	}
	return min(float64(n)/float64(max(len(l.text), 1)), 1)
}
