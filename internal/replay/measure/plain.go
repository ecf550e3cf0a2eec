package measure

import (
	"strings"
	"unicode"
)

// PlainShare returns which part of a text is plain words and structure, from 0 to
// 1: letters of words of at least two letters that belong to no identifier, and the
// marks that begin headings and list items, of all that is no white space. The gate
// is at MinPlainShare: a list of identifiers is no summary. It is 1 for no text.
func PlainShare(text string) float64 {
	plain, all := 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		p, n := plainOf(line)
		plain, all = plain+p, all+n
	}
	if all == 0 {
		return 1
	}
	return float64(plain) / float64(all)
}

// MinPlainShare is the least PlainShare of a text that passes for a summary.
const MinPlainShare = .35

func plainOf(line string) (plain, all int) {
	for _, r := range line {
		if !unicode.IsSpace(r) {
			all++
		}
	}
	body := strings.TrimLeft(line, " \t")
	mark := len(body) - len(strings.TrimLeft(body, "#>-*"))
	if mark > 0 && mark < len(body) && body[mark] == ' ' {
		plain += mark
		body = body[mark:]
	}
	at := 0
	for id := range Identifiers(body) {
		plain += lettersOf(body[at:max(at, id.From)])
		at = max(at, id.To)
	}
	return plain + lettersOf(body[at:]), all
}

func lettersOf(s string) int {
	total, run := 0, 0
	flush := func() {
		if run >= 2 {
			total += run
		}
		run = 0
	}
	for _, r := range s {
		switch {
		case unspaced(r):
			total++
		case unicode.IsLetter(r) || unicode.Is(unicode.Mn, r):
			run++
		default:
			flush()
		}
	}
	flush()
	return total
}
