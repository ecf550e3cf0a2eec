package measure

import (
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
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

// bare are the headings below which no statements are asked for: what was quoted, and
// lists.
var bare = text.Words(`Sources Files Names Recall Pinned User Messages Critical Context Technical Code Changes Snippets Modified Created Deleted Read Written by Commands as Scratch`)

// minStatement is how many plain words a statement has that names nothing.
const minStatement = 3

var codeSpan = text.Pattern("`[^`]*`")

// Junk returns the share of a text's lines that are no statement: one has three plain
// words, or names something and says a word about it. What is quoted with ">", headings, lists of files and
// the sources, which stand as they were, do not count. ok is false for a text without
// any other line.
func Junk(s string) Measured {
	all, junk := 0, 0
	skip := false
	for line := range strings.SplitSeq(s, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || strings.HasPrefix(trimmed, ">") || strings.HasPrefix(trimmed, "[#") || strings.HasPrefix(trimmed, "<"):
			continue
		case strings.HasPrefix(trimmed, "#"):
			skip = true
			for w := range strings.FieldsFuncSeq(trimmed, func(r rune) bool { return !unicode.IsLetter(r) }) {
				skip = skip && bare()[w]
			}
			continue
		case skip:
			continue
		}
		all++
		item := listMark().ReplaceAllString(trimmed, "")
		words, named := 0, strings.Contains(item, "`")
		for range Identifiers(item) {
			named = true
			break
		}
		plainWords(codeSpan().ReplaceAllString(item, " "), func(string) { words++ })
		if words < minStatement && (!named || words == 0) {
			junk++
		}
	}
	return share(junk, all)
}
