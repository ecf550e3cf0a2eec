package summary

import (
	"strconv"
	"strings"
)

// Render writes the document as Markdown. Empty sections are left out. Every
// statement is a list item on one line and every quoted line begins with ">",
// so no text can pass for a heading or end its section.
func (t *Template) Render(d Document) string {
	d = d.Canonical()
	var b strings.Builder
	for _, s := range t.sections {
		open := false
		for _, p := range s.parts {
			if d.empty(p.kind) {
				continue
			}
			if !open {
				if b.Len() > 0 {
					b.WriteByte('\n')
				}
				b.WriteString("## " + s.heading + "\n")
				open = true
			}
			if p.heading != "" {
				b.WriteString("### " + p.heading + "\n")
			}
			d.write(&b, p.kind)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines returns the part of kind k where it is one of lines, else nil.
func (d *Document) lines(k kind) *[]Line {
	switch k {
	case kindGoal:
		return &d.Goal
	case kindConstraints:
		return &d.Constraints
	case kindDone:
		return &d.Done
	case kindInProgress:
		return &d.InProgress
	case kindBlocked:
		return &d.Blocked
	case kindDecisions:
		return &d.Decisions
	case kindNext:
		return &d.Next
	case kindContext:
		return &d.Context
	case kindNames:
		return &d.Names
	default:
		return nil
	}
}

func (d *Document) files(k kind) *FileList {
	switch k {
	case kindModified:
		return &d.Files.Modified
	case kindCreated:
		return &d.Files.Created
	case kindDeleted:
		return &d.Files.Deleted
	case kindRead:
		return &d.Files.Read
	case kindShell:
		return &d.Files.Shell
	default:
		return nil
	}
}

func (d *Document) quotes(k kind) *[]Quote {
	switch k {
	case kindQuotes:
		return &d.Quotes
	case kindPins:
		return &d.Pins
	default:
		return nil
	}
}

func (d *Document) empty(k kind) bool {
	if lines := d.lines(k); lines != nil {
		return len(*lines) == 0
	}
	if f := d.files(k); f != nil {
		return len(f.Paths) == 0 && f.More == 0
	}
	if q := d.quotes(k); q != nil {
		return len(*q) == 0
	}
	if k == kindEarlier {
		return d.Earlier == ""
	}
	return d.Note == ""
}

func (d *Document) write(b *strings.Builder, k kind) {
	if lines := d.lines(k); lines != nil {
		writeLines(b, k, *lines)
	} else if f := d.files(k); f != nil {
		writeFiles(b, *f)
	} else if q := d.quotes(k); q != nil {
		for i, quote := range *q {
			if i > 0 {
				b.WriteByte('\n')
			}
			writeQuote(b, quote)
		}
	} else if k == kindEarlier {
		writeBlock(b, d.Earlier)
	} else {
		b.WriteString(bullet + d.Note + "\n")
	}
}

// What stands before the text of a line.
const (
	bullet     = "- "
	doneMark   = "- [x] "
	openMark   = "- [ ] "
	nestedMark = "  - "
)

func linePrefix(k kind, i int) string {
	switch k {
	case kindDone:
		return doneMark
	case kindInProgress:
		return openMark
	case kindNext:
		return strconv.Itoa(i+1) + ". "
	default:
		return bullet
	}
}

func writeLines(b *strings.Builder, k kind, lines []Line) {
	for i, l := range lines {
		if l.From == "" {
			b.WriteString(linePrefix(k, i) + l.Text + handle(l) + "\n")
			continue
		}
		if i == 0 || lines[i-1].From != l.From || lines[i-1].Ref != l.Ref {
			b.WriteString(bullet + l.From + handle(Line{Text: l.From, Ref: l.Ref}) + "\n")
		}
		b.WriteString(nestedMark + l.Text + "\n")
	}
}

// handle is what stands after the text of a line: the recall handle and the
// mark of a replaced statement. A text that ends like a handle gets an empty
// one, so that the last one is always ours.
func handle(l Line) string {
	switch {
	case l.Replaced:
		return " [#" + l.Ref + replacedMark + "]"
	case l.Ref != "" || endsLikeHandle(l.Text):
		return " [#" + l.Ref + "]"
	}
	return ""
}

const replacedMark = ", replaced"

func endsLikeHandle(text string) bool {
	return text == "[#]" || handleAtEnd().MatchString(" "+text)
}

func writeFiles(b *strings.Builder, f FileList) {
	for _, p := range f.Paths {
		b.WriteString(bullet + quotePath(p) + "\n")
	}
	if f.More > 0 {
		b.WriteString("(" + grouped(f.More) + " more)\n")
	}
}

// quotePath returns a path as it stands in a list: as it is unless it would be
// read back as another.
func quotePath(p string) string {
	if p != oneLine(p) || strings.HasPrefix(p, `"`) {
		return strconv.Quote(p)
	}
	return p
}

func writeQuote(b *strings.Builder, q Quote) {
	b.WriteString("[#" + q.Ref + "]")
	if q.Role != "" {
		b.WriteString(" " + q.Role)
	}
	b.WriteByte('\n')
	writeBlock(b, q.Text)
	for _, g := range q.Gaps {
		b.WriteString("[" + grouped(g.Omitted) + " bytes left out]\n")
		writeBlock(b, g.Text)
	}
}

// grouped writes a number with commas. Without them a number of four digits or
// more could be taken for one of the log.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for k := len(s) - 3; k > 0; k -= 3 {
		s = s[:k] + "," + s[k:]
	}
	return s
}

// writeBlock writes text as a block quote. Whatever it holds, it can be read
// back byte for byte.
func writeBlock(b *strings.Builder, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			b.WriteString(">\n")
		} else {
			b.WriteString("> " + line + "\n")
		}
	}
}
