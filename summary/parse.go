package summary

import (
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// Parse reads a document that a template rendered. Parse(t.Render(d)) gives
// d.Canonical() for every template t. It also reads what a model wrote under
// the same headings: other list marks, paragraphs. ok is false for text with
// anything but a given text before the first heading, or a heading that no template has; then
// it is better kept as it is.
func Parse(text string) (d Document, ok bool) {
	p := parser{doc: &d}
	if m := givenHead().FindStringSubmatch(text); m != nil {
		given, rest, _ := strings.Cut(text, "\n</given>")
		if d.Given, p.seen = givenForm(m[1]).Unwrap(given + "\n</given>"); !p.seen {
			return Document{}, false
		}
		d.GivenBy, text = m[1], strings.TrimPrefix(rest, "\n")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if !p.line(line) {
			return Document{}, false
		}
	}
	p.flush()
	return d.Canonical(), p.seen
}

type parser struct {
	doc   *Document
	parts []part // those the current second-level heading may stand for
	kind  kind
	seen  bool

	block   []string // quoted lines being read
	inBlock bool
	quote   *Quote // the quote being read; its fields are complete up to block
	from    string // source of nested lines
	fromRef string
	head    *Line // a line of the context part that may turn out to be a source
}

var (
	handleAtEnd = text.Pattern(`^(.*) \[#([^\[\],#\s]*)(, replaced)?\]$`)
	quoteHead   = text.Pattern(`^\[#([^\[\],#\s]*)\](?: ([A-Za-z]+))?$`)
	leftOut     = text.Pattern(`^\[([0-9,]{1,24}) bytes left out\]$`)
	moreFiles   = text.Pattern(`^\(([0-9,]{1,12}) more\)$`)
	givenHead   = text.Pattern(`^<given by="([^"\n]*)">\n`)
	numbered    = text.Pattern(`^[0-9]{1,9}[.)] `)
)

func (p *parser) line(line string) bool {
	if strings.HasPrefix(line, "> ") || line == ">" {
		return p.quoted(line)
	}
	switch {
	case strings.HasPrefix(line, "## "):
		p.flush()
		p.parts = lookup(line[3:])
		p.kind = p.under("")
		p.seen = true
		return p.parts != nil
	case strings.HasPrefix(line, "### "):
		p.flush()
		p.kind = p.under(line[4:])
		return p.kind != kindNone
	case strings.HasPrefix(line, "# "):
		return false
	}
	trimmed := strings.TrimSpace(line)
	if trimmed == "" {
		p.flushBlock()
		return true
	}
	switch {
	case p.kind == kindNone:
		return false
	case p.doc.lines(p.kind) != nil:
		p.text(line, trimmed)
		return true
	case p.doc.files(p.kind) != nil:
		return p.file(trimmed)
	case p.doc.quotes(p.kind) != nil:
		return p.quoteLine(line)
	case p.kind == kindNote && p.doc.Note == "":
		p.doc.Note = oneLine(strings.TrimPrefix(line, bullet))
		return true
	}
	return false
}

// under returns the part that a third-level heading stands for.
func (p *parser) under(heading string) kind {
	for _, part := range p.parts {
		if part.heading == heading {
			return part.kind
		}
	}
	return kindNone
}

// text reads a line of a part that is made of lines.
func (p *parser) text(line, trimmed string) {
	out := p.doc.lines(p.kind)
	if (p.kind == kindContext || p.kind == kindStory) && strings.HasPrefix(line, nestedMark) && p.nested(line) {
		return
	}
	p.head, p.from = nil, ""
	l := parseLine(stripMark(p.kind, trimmed))
	if l.Text == "" {
		return
	}
	*out = append(*out, l)
	if strings.HasPrefix(line, bullet) {
		p.head = &(*out)[len(*out)-1]
	}
}

// nested reads a line below a source. The line before the first of them was
// the source.
func (p *parser) nested(line string) bool {
	out := p.doc.lines(p.kind)
	if p.head != nil {
		p.from, p.fromRef = p.head.Text, p.head.Ref
		*out = (*out)[:len(*out)-1]
		p.head = nil
	}
	if p.from == "" {
		return false
	}
	text := oneLine(line[len(nestedMark):])
	if text != "" {
		*out = append(*out, Line{Text: text, Ref: p.fromRef, From: p.from})
	}
	return true
}

// stripMark takes away what stands before the text of a line.
func stripMark(k kind, s string) string {
	marks := []string{bullet, "* "}
	switch k {
	case kindDone, kindInProgress:
		marks = []string{doneMark, openMark, "- [X] ", "* [x] ", "* [ ] ", bullet, "* "}
	case kindNext:
		if m := numbered().FindString(s); m != "" {
			return s[len(m):]
		}
	default:
	}
	for _, mark := range marks {
		if rest, ok := strings.CutPrefix(s, mark); ok {
			return rest
		}
	}
	return s
}

func parseLine(s string) Line {
	l := Line{Text: oneLine(s)}
	if m := handleAtEnd().FindStringSubmatch(l.Text); m != nil {
		l = Line{Text: oneLine(m[1]), Ref: m[2], Replaced: m[3] != ""}
	}
	return l
}

func (p *parser) file(s string) bool {
	f := p.doc.files(p.kind)
	if m := moreFiles().FindStringSubmatch(s); m != nil {
		f.More, _ = strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		return true
	}
	path, ok := strings.CutPrefix(s, bullet)
	if !ok {
		return false
	}
	note := ""
	if strings.HasPrefix(path, `"`) {
		quoted, err := strconv.QuotedPrefix(path)
		note = path[len(quoted):]
		if path, _ = strconv.Unquote(quoted); err != nil || path == "" || note != "" && !strings.HasPrefix(note, noteMark) {
			return false
		}
		note = strings.TrimPrefix(note, noteMark)
	} else {
		path, note, _ = strings.Cut(path, noteMark)
		if dir, names, ok := strings.Cut(path, "{"); ok && strings.HasSuffix(names, "}") {
			for name := range strings.SplitSeq(strings.TrimSuffix(names, "}"), ",") {
				f.add(dir+name, "")
			}
			return true
		}
	}
	f.add(path, oneLine(note))
	return true
}

// quoteLine reads a line between blocks in a part made of quotes.
func (p *parser) quoteLine(line string) bool {
	if m := leftOut().FindStringSubmatch(line); m != nil {
		p.flushBlock()
		if p.quote == nil {
			return false
		}
		n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		p.quote.Gaps = append(p.quote.Gaps, Gap{Omitted: n})
		return n > 0
	}
	m := quoteHead().FindStringSubmatch(line)
	if m == nil {
		return false
	}
	p.flushBlock()
	q := p.doc.quotes(p.kind)
	*q = append(*q, Quote{Ref: m[1], Role: m[2]})
	p.quote = &(*q)[len(*q)-1]
	return true
}

func (p *parser) quoted(line string) bool {
	if p.kind != kindEarlier && (p.doc.quotes(p.kind) == nil || p.quote == nil) {
		return false
	}
	p.inBlock = true
	p.block = append(p.block, strings.TrimPrefix(line[1:], " "))
	return true
}

// flushBlock stores a block that has ended.
func (p *parser) flushBlock() {
	if !p.inBlock {
		return
	}
	text := strings.Join(p.block, "\n")
	if p.kind == kindEarlier {
		p.doc.Earlier = text
	} else {
		*p.quote.last() = text
	}
	p.block, p.inBlock = nil, false
}

// flush ends a part.
func (p *parser) flush() {
	p.flushBlock()
	p.quote, p.head, p.from, p.fromRef = nil, nil, "", ""
}
