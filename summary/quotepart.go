package summary

import (
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
)

// quotePart is a stretch of a message: a sentence with the space after it, a line
// of something pasted, or what an earlier summary left out.
type quotePart struct {
	text    string
	omitted int // bytes, of what is not at hand
	worth   int
	taken   bool
}

// The worth of a part.
const (
	partPasted   = iota // code, tables, output
	partSentence        // anything else
	partRule            // a sentence that binds later work
)

// quoteParts splits a quote. Together the parts are the quote.
func quoteParts(q Quote) []quotePart {
	out := textParts(q.Text)
	for _, g := range q.Gaps {
		out = append(out, quotePart{omitted: g.Omitted, worth: partPasted - 1})
		out = append(out, textParts(g.Text)...)
	}
	return out
}

func textParts(s string) []quotePart {
	var out []quotePart
	fence := ""
	for line := range strings.SplitAfterSeq(s, "\n") {
		t := strings.TrimSpace(line)
		mark := ""
		if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			mark = t[:3]
		}
		switch {
		case fence != "":
			out[len(out)-1].text += line
			if mark == fence {
				fence = ""
			}
		case mark != "":
			out = append(out, quotePart{text: line, worth: partPasted})
			fence = mark
		case t == "" && len(out) > 0:
			out[len(out)-1].text += line
		case pasted(line):
			out = append(out, quotePart{text: line, worth: partPasted})
		default:
			out = append(out, sentenceParts(line)...)
		}
	}
	return out
}

// pasted reports whether a line is more likely copied from somewhere than typed.
func pasted(line string) bool {
	t := strings.TrimSpace(line)
	if t == "" || text.TableRow(t) {
		return true
	}
	if (line[0] == ' ' || line[0] == '\t') && text.ListMark(line) == "" {
		return true
	}
	return unreadable(t) && len(t) > 40
}

// sentenceParts splits a line into its sentences, each with what follows it.
func sentenceParts(line string) []quotePart {
	var out []quotePart
	rest := line
	for _, s := range text.Sentences(line) {
		k := strings.Index(rest, s)
		if k < 0 {
			break
		}
		end := k + len(s)
		for end < len(rest) && (rest[end] == ' ' || rest[end] == '\t') {
			end++
		}
		worth := partSentence
		if ledger.Binding(s) {
			worth = partRule
		}
		out = append(out, quotePart{text: rest[:end], worth: worth})
		rest = rest[end:]
	}
	if rest != "" {
		if len(out) == 0 {
			return []quotePart{{text: rest, worth: partSentence}}
		}
		out[len(out)-1].text += rest
	}
	return out
}

func redacted(s string) string { return redact.Text(s) }
