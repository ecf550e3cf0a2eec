package summary

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// piece is something that may stand in the document. The sections offer theirs
// in order of importance; what fits is put back into the order of the log.
type piece struct {
	kind  kind
	line  Line
	path  string // of a file list
	quote *Quote
	order int // place among the pieces of its kind
}

// add puts the piece into the document.
func (p piece) add(d *Document) {
	switch {
	case p.quote != nil:
		q := d.quotes(p.kind)
		*q = append(*q, *p.quote)
	case p.path != "":
		f := d.files(p.kind)
		f.Paths = append(f.Paths, p.path)
	case p.kind == kindEarlier:
		d.Earlier = p.line.Text
	case p.kind == kindNote:
		d.Note = p.line.Text
	default:
		l := d.lines(p.kind)
		*l = append(*l, p.line)
	}
}

// texts returns what the piece says.
func (p piece) texts() []string {
	if p.quote != nil {
		out := []string{p.quote.Text}
		for _, g := range p.quote.Gaps {
			out = append(out, g.Text)
		}
		return out
	}
	return []string{p.line.Text, p.line.From, p.path}
}

// body returns how the piece is written when it stands alone.
func (p piece) body() string {
	var d Document
	p.add(&d)
	var b strings.Builder
	d.write(&b, p.kind)
	return b.String()
}

// repeats reports whether the piece is one of those that sections may offer
// twice.
func (p piece) repeats() bool {
	switch p.kind {
	case kindDone, kindInProgress, kindBlocked, kindDecisions, kindNext, kindContext:
		return true
	default:
		return false
	}
}

// assemble makes a document of pieces. offered counts the paths that each file
// list could have.
func assemble(pieces []piece, offered map[kind]int) Document {
	sorted := slices.Clone(pieces)
	slices.SortStableFunc(sorted, func(a, b piece) int {
		if a.kind != b.kind {
			return int(a.kind) - int(b.kind)
		}
		return a.order - b.order
	})
	var d Document
	for _, p := range sorted {
		p.add(&d)
	}
	for k, n := range offered {
		if f := d.files(k); f != nil {
			slices.Sort(f.Paths)
			// A list of which nothing fits is left out, with its heading.
			if len(f.Paths) > 0 {
				f.More = n - len(f.Paths)
			}
		}
	}
	d.Context = group(d.Context)
	return d
}

// group joins sentences of one message into one line, and puts lines with the
// same source together where the first of them stands.
func group(lines []Line) []Line {
	var out []Line
	at := map[string]int{}
	var groups [][]Line
	sources := map[string]bool{}
	for _, l := range lines {
		sources[l.From] = true
	}
	for _, l := range lines {
		if l.From == "" {
			if isCommand(l.Text) && sources[clipName(l.Text, maxSource)] {
				continue // its output stands under it
			}
			n := len(groups)
			if n > 0 {
				if prev := &groups[n-1][0]; prev.From == "" && prev.Ref == l.Ref && l.Ref != "" &&
					joins(prev.Text) && joins(l.Text) && len(prev.Text)+len(l.Text) < maxJoined {
					prev.Text += between(prev.Text) + l.Text
					continue
				}
			}
			groups = append(groups, []Line{l})
			continue
		}
		source := l.From
		if source == codeSource {
			source += "\x00" + l.Ref
		}
		k, ok := at[source]
		if !ok {
			k = len(groups)
			at[source] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], l)
	}
	for _, g := range groups {
		// The handle of a group is that of its latest line.
		for i := range g {
			g[i].Ref = g[len(g)-1].Ref
		}
		out = append(out, g...)
	}
	return out
}

// maxJoined bounds a line that is made of several sentences, in bytes.
const maxJoined = 360

// commandMark stands before a command line.
const commandMark = "$ "

// isCommand reports whether a line is a command line as excerpts show it.
func isCommand(s string) bool { return strings.HasPrefix(s, commandMark) }

// joins reports whether a statement may stand in one line with others.
func joins(s string) bool { return !isCommand(s) && !text.TableRow(s) }

// between separates two statements on one line: items of a list have no full stop.
func between(before string) string {
	for _, end := range []string{".", "!", "?", ":", "。", "！", "？", text.Ellipsis} {
		if strings.HasSuffix(strings.TrimRight(before, "*_`)\""), end) {
			return " "
		}
	}
	return " · "
}
