package main

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// columns measures text as terminals do, whatever the locale is.
var columns = &runewidth.Condition{EastAsianWidth: false, StrictEmojiNeutral: true}

// textWidth returns how many columns s takes.
func textWidth(s string) int {
	if ascii(s) {
		return len(s)
	}
	return columns.StringWidth(s)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// cut shortens s to at most n columns, with an ellipsis where something is missing.
func cut(s string, n int) string {
	switch {
	case n <= 0:
		return ""
	case len(s) <= n && ascii(s):
		return s
	case ascii(s):
		return s[:n-1] + "…"
	}
	return columns.Truncate(s, n, "…")
}

// pad fills s with spaces to n columns.
func pad(s string, n int) string {
	if w := textWidth(s); w < n {
		return s + strings.Repeat(" ", n-w)
	}
	return s
}

// headBytes is how much of a text is looked at for its headline.
const headBytes = 4096

// headline returns the first line of a text that says something, as one line
// that is safe to print: control characters and direction marks, with which a
// text could rewrite the screen, are gone, and white space is single spaces.
func headline(s string) string {
	return printable(firstLine(strings.TrimLeftFunc(s, unicode.IsSpace)))
}

func firstLine(s string) string {
	if len(s) > headBytes {
		s = s[:headBytes]
	}
	if k := strings.IndexAny(s, "\r\n"); k >= 0 {
		s = s[:k]
	}
	return s
}

// printable makes a text one line that is safe to print.
func printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	space := false
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u2028' || r == '\u2029' {
			if space {
				return -1
			}
			space = true
			return ' '
		}
		if unsafe(r) {
			return -1
		}
		space = false
		return r
	}, s), " ")
}

// unsafe reports whether a character does something to a terminal other than
// appearing in it.
func unsafe(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\uFEFF', r >= '\u202A' && r <= '\u202E', r >= '\u2066' && r <= '\u2069', r == '\u200E', r == '\u200F':
		return true
	}
	return false
}

// printableText is printable for a text of several lines: its line breaks and
// tabs stay.
func printableText(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unsafe(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// shortest returns how many characters of each id tell them apart, at least
// least. Ids that are equal are not told apart.
func shortest(ids []string, least int) int {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	n := least
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		if a == b {
			continue
		}
		k := 0
		for k < len(a) && k < len(b) && a[k] == b[k] {
			k++
		}
		n = max(n, k+1)
	}
	return min(n, maxID)
}

// maxID is how much of an id is shown at most: a UUID is shown whole.
const maxID = 36

// short returns the first n characters of an id, safe to print.
func short(id string, n int) string {
	if len(id) > n {
		id = id[:n]
	}
	return printable(id)
}
