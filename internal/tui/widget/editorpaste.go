package widget

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// pastes are texts that are not shown in the editor: too large, or with tabs, which an
// editor can't keep. A marker stands for each.
type pastes struct {
	next int
	all  map[string]string // by their markers
}

var pasteMarker = text.Pattern(`\[paste \d+: \d+ (?:lines|characters)\]`)

// A foldLimit says which texts are too large to be shown.
type foldLimit struct{ lines, runes int }

var (
	foldPaste = foldLimit{10, 2_000}
	foldOffer = foldLimit{200, 20_000} // the user may want to change it
)

// fold returns s as it can be typed, or the marker that stands for it.
func (p *pastes) fold(s string, limit foldLimit) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, "\ufffd"))
	lines := 1 + strings.Count(strings.TrimSuffix(s, "\n"), "\n")
	runes := utf8.RuneCountInString(s)
	if lines <= limit.lines && runes <= limit.runes && !strings.Contains(s, "\t") {
		return typable(s)
	}
	p.next++
	marker := fmt.Sprintf("[paste %d: %d lines]", p.next, lines)
	if lines <= limit.lines && runes > limit.runes || lines == 1 {
		marker = fmt.Sprintf("[paste %d: %d characters]", p.next, runes)
	}
	p.all[marker] = seen(s, "\n\t")
	return marker
}

// expand puts the texts in place of their markers. What looks like a marker in a
// text that was pasted stays.
func (p *pastes) expand(s string) string {
	return pasteMarker().ReplaceAllStringFunc(s, func(marker string) string {
		if text, ok := p.all[marker]; ok {
			return text
		}
		return marker
	})
}

// markersIn returns where markers stand in s, in bytes: each begins at the first number and
// ends before the second.
func (p *pastes) markersIn(s string) [][]int {
	return slices.DeleteFunc(pasteMarker().FindAllStringIndex(s, -1), func(at []int) bool {
		_, ok := p.all[s[at[0]:at[1]]]
		return !ok
	})
}
