package widget

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// pastes are texts that are not shown in the editor: too large, or with tabs, which an
// editor can't keep. A marker stands for each.
type pastes struct {
	next int
	all  []paste
}

type paste struct{ marker, text string }

// A span is a part of a text, in bytes.
type span struct{ from, to int }

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
	p.all = append(p.all, paste{marker, seen(s, "\n\t")})
	return marker
}

// expand puts the texts in place of their markers. What looks like a marker in a
// text that was pasted stays.
func (p *pastes) expand(s string) string {
	if len(p.all) == 0 {
		return s
	}
	var pairs []string
	for _, x := range p.all {
		pairs = append(pairs, x.marker, x.text)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// markersIn returns where markers stand in s.
func (p *pastes) markersIn(s string) []span {
	if len(p.all) == 0 || !strings.Contains(s, "[paste ") {
		return nil
	}
	var out []span
	for _, x := range p.all {
		for at := 0; ; {
			k := strings.Index(s[at:], x.marker)
			if k < 0 {
				break
			}
			at += k + len(x.marker)
			out = append(out, span{at - len(x.marker), at})
		}
	}
	slices.SortFunc(out, func(a, b span) int { return a.from - b.from })
	return out
}
