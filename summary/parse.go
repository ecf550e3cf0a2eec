package summary

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// Parse reads a document that a template rendered. Parse(t.Render(d)) gives
// d.Canonical() for every template t. ok is false for text with anything but a given
// text before the first heading, or a heading that no template has; then it is better
// kept as it is.
func Parse(text string) (d Document, ok bool) {
	p := parser{doc: &d, own: true}
	if m := givenHead().FindStringSubmatch(text); m != nil {
		given, rest, _ := strings.Cut(text, "\n</given>")
		if d.Given, ok = givenForm(m[1]).Unwrap(given + "\n</given>"); !ok {
			return Document{}, false
		}
		d.GivenBy, text = m[1], strings.TrimPrefix(rest, "\n")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if !p.ownLine(line) {
			return Document{}, false
		}
	}
	p.end()
	return d.Canonical(), ok || p.headings > 0
}

// Read reads a summary that a model wrote, whatever its form: headings of any level, in
// bold or before a colon, of any template or in other common words; lists with any mark;
// paragraphs. What has no heading goes to the story, or to the sources where the template
// has no story. Left out are what only code writes (files, quotes), drafts in tags, and
// text before the first heading. headings says how many were known; without one all
// text counts.
func (t *Template) Read(answer string) (d Document, headings int) {
	p := parser{doc: &d, rest: t.part(kindStory).kind}
	p.kind = p.rest
	for line := range strings.SplitSeq(unfence(undraft(answer)), "\n") {
		p.line(strings.TrimSpace(line))
	}
	p.end()
	return d.Canonical(), p.headings
}

// parser reads a document line by line.
type parser struct {
	doc      *Document
	own      bool // a template rendered it
	kind     kind // of the part that is open
	headings int

	// Of our own documents.
	section string   // the second-level heading
	block   []string // quoted lines being read
	quote   *Quote   // the quote being read; its fields are complete up to block
	head    Line     // an item that lines below it may make a source
	nested  bool     // there are such lines

	// Of others.
	rest      kind   // for what has no heading
	level     int    // of the heading that is known
	under     string // a heading that is not known, said before what stands under it
	paragraph []string
	code      bool
	before    int // bytes before the first heading
}

// maxGreeting is how many bytes before the first heading are a greeting, and no part of
// the summary.
const maxGreeting = 300

var (
	handleAtEnd = text.Pattern(`^(.*) \[#([^\[\],#\s]*)(, replaced)?\]$`)
	quoteHead   = text.Pattern(`^\[#([^\[\],#\s]*)\](?: ([A-Za-z]+))?$`)
	leftOut     = text.Pattern(`^\[([0-9,]{1,24}) bytes left out\]$`)
	moreFiles   = text.Pattern(`^\(([0-9,]{1,12}) more\)$`)
	givenHead   = text.Pattern(`^<given by="([^"\n]*)">\n`)
	headingMark = text.Pattern(`^(#{1,6})\s+(.+)$`)
	boldHeading = text.Pattern(`^(?:[0-9]{1,3}[.)]\s+)?(?:\*\*|__)([^*_]{1,60})(?:\*\*|__):?$`)
	leadIn      = text.Pattern(`^(?:[-*+]\s+)?(?:[0-9]{1,3}[.)]\s+)?(\*\*|__)?([\pL &]{2,40})(?::(?:\*\*|__)?|(?:\*\*|__):)(?:\s+(.*))?$`)
	listMark    = text.Pattern(`^(?:[-*+•‣–]|[0-9]{1,9}[.)])\s+`)
	taskMark    = text.Pattern(`^(?:\[([ xX])\]|([✅✓✔☑☐]))\s*`)
	ruleLine    = text.Pattern(`^[-*_=|: ]{3,}$`)
)

// ownLine reads a line of our own document.
func (p *parser) ownLine(line string) (ok bool) {
	trimmed := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "> ") || line == ">":
		p.block = append(p.block, strings.TrimPrefix(line[1:], " "))
		return p.kind == kindEarlier || p.quote != nil
	case strings.HasPrefix(line, "## "):
		p.end()
		p.section = line
		p.kind, ok = headingKinds()[line]
		p.headings++
		return ok
	case strings.HasPrefix(line, "### "):
		p.end()
		p.kind = headingKinds()[p.section+"\n"+line]
		return p.kind != kindNone
	case strings.HasPrefix(line, "# "):
		return false
	case trimmed == "":
		p.endBlock()
	case p.doc.lines(p.kind) != nil:
		p.item(line, trimmed)
	case p.doc.files(p.kind) != nil:
		return p.file(trimmed)
	case p.doc.quotes(p.kind) != nil:
		return p.quoteLine(line)
	case p.kind == kindNote && p.doc.Note == "":
		p.doc.Note = oneLine(strings.TrimPrefix(line, bullet))
	default:
		return false
	}
	return true
}

// item reads a line of a part that is made of lines. What stands below an item is from it.
func (p *parser) item(line, trimmed string) {
	below, nested := strings.CutPrefix(line, nestedMark)
	if out := p.doc.lines(p.kind); nested && p.head.Text != "" && (p.kind == kindContext || p.kind == kindStory) {
		if !p.nested {
			*out, p.nested = (*out)[:len(*out)-1], true
		}
		*out = append(*out, Line{Text: below, Ref: p.head.Ref, From: p.head.Text})
		return
	}
	p.head, p.nested = Line{}, false
	if l := p.add(trimmed[len(listMark().FindString(trimmed)):]); strings.HasPrefix(line, bullet) {
		p.head = l
	}
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
		p.endBlock()
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
	p.endBlock()
	q := p.doc.quotes(p.kind)
	*q = append(*q, Quote{Ref: m[1], Role: m[2]})
	p.quote = &(*q)[len(*q)-1]
	return true
}

// endBlock stores a block that has ended.
func (p *parser) endBlock() {
	switch text := strings.Join(p.block, "\n"); {
	case p.block == nil:
	case p.kind == kindEarlier:
		p.doc.Earlier = text
	default:
		*p.quote.last() = text
	}
	p.block = nil
}

// line reads a line of a document in any form.
func (p *parser) line(s string) {
	switch {
	case strings.HasPrefix(s, "```"):
		p.end()
		p.code = !p.code
	case p.code:
		p.add(s)
	case s == "" || ruleLine().MatchString(s):
		p.end()
	case p.heading(s):
	case listMark().MatchString(s):
		p.end()
		p.add(s[len(listMark().FindString(s)):])
	case taskMark().MatchString(s) || strings.HasPrefix(s, ">"):
		p.end()
		p.add(strings.TrimSpace(strings.TrimLeft(s, ">")))
	default:
		p.paragraph = append(p.paragraph, s)
	}
}

// heading reads a line that is a heading, or begins with the name of one.
func (p *parser) heading(s string) bool {
	if m := headingMark().FindStringSubmatch(s); m != nil {
		p.open(len(m[1]), m[2])
		return true
	}
	if m := boldHeading().FindStringSubmatch(s); m != nil {
		p.open(len("######")+1, m[1])
		return true
	}
	m := leadIn().FindStringSubmatch(s)
	if m == nil || listMark().MatchString(s) && m[1] == "" {
		return false
	}
	if _, known := headingKinds()[plainName(m[2])]; !known {
		return false
	}
	p.open(len("######")+2, m[2])
	if m[3] != "" {
		p.line(m[3])
	}
	return true
}

func (p *parser) open(level int, name string) {
	p.end()
	k, known := headingKinds()[plainName(name)]
	switch {
	case known:
		if p.headings == 0 && p.before < maxGreeting {
			*p.doc = Document{}
		}
		p.headings++
		p.kind, p.level, p.under = k, level, ""
		if p.doc.lines(k) == nil && k != kindNone {
			p.kind = kindNone
		}
		if k == kindStory || k == kindContext && p.rest == kindStory {
			p.kind = p.rest
		}
	case level > p.level && p.level > 0:
		p.under = strings.Trim(name, "#*_: ")
	default:
		p.kind, p.level, p.under = p.rest, 0, strings.Trim(name, "#*_: ")
	}
}

// end ends a paragraph, or a part.
func (p *parser) end() {
	if said := strings.Join(p.paragraph, " "); said != "" {
		p.paragraph = nil
		p.add(said)
	}
	p.endBlock()
	p.quote, p.head, p.nested = nil, Line{}, false
}

// add adds a statement to the part that is open, and returns it.
func (p *parser) add(s string) (l Line) {
	k := p.kind
	tasks := k == kindDone || k == kindInProgress
	if m := taskMark().FindStringSubmatch(s); m != nil && (tasks || !p.own) {
		if s = s[len(m[0]):]; tasks {
			k = kindDone
			if m[1] == " " || m[2] == "☐" {
				k = kindInProgress
			}
		}
	}
	out := p.doc.lines(k)
	l = parseLine(s)
	if out == nil || l.Text == "" || !p.own && isNothing(l.Text) {
		return Line{}
	}
	if p.headings == 0 {
		p.before += len(l.Text)
	}
	if p.under != "" {
		l.Text = p.under + ": " + l.Text
	}
	*out = append(*out, l)
	return l
}

// isNothing tells what models write into a part that stays empty.
func isNothing(s string) bool {
	nothing := []string{"", "none", "na", "nothing", "none so far", "none yet", "not applicable"}
	return slices.Contains(nothing, plainName(strings.Trim(s, "().")))
}

// headingKinds tells what stands under a heading: as templates write it, with its marks, and
// in plain words, also those that models write for them. Documents of earlier versions had
// names worth spelling right in a section of their own.
var headingKinds = sync.OnceValue(func() map[string]kind {
	known := map[string]kind{"## Names": kindContext}
	for _, t := range Templates() {
		for _, p := range t.parts {
			if section := "## " + p.section; p.heading == "" {
				known[section], known[plainName(p.section)] = p.kind, p.kind
			} else {
				if _, ok := known[section]; !ok {
					known[section] = kindNone // all parts have headings of their own
				}
				known[section+"\n### "+p.heading], known[plainName(p.heading)] = p.kind, p.kind
			}
		}
	}
	for k, names := range map[kind]string{
		kindGoal:        "goals,objective,objectives,task,user request,user intent,primary request and intent,request,summary,overview",
		kindConstraints: "constraint,rule,preferences,requirements,instructions,user instructions,constraints and rules",
		kindDone:        "completed,finished,completed tasks,completed work,accomplishments,what was done,work done,changes,changes made",
		kindInProgress:  "progress,state,status,current state,current work,current task,current status,ongoing",
		kindBlocked:     "blockers,issues,problems,errors,errors and fixes,known issues,failures,open questions,debugging and issues",
		kindDecisions:   "decision,findings,key findings,results,decisions made,root cause,causes",
		kindNext:        "next step,todo,to do,todos,pending,remaining,remaining work,remaining tasks,open tasks",
		kindContext:     "notes,details,key points,technical details,important details,additional context,background,history,timeline",
		kindNone:        "files,code changes,relevant files,files changed,files modified,modified files,file changes,files read,user messages,all user messages",
	} {
		for name := range strings.SplitSeq(names, ",") {
			known[name] = k
		}
	}
	delete(known, "")
	delete(known, "## ")
	return known
})

// plainName is a heading without marks, numbers and case.
func plainName(s string) string {
	s = strings.ReplaceAll(strings.ToLower(s), "&", " and ")
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsLetter(c), c == ' ':
			return c
		case c == '-' || c == '_' || c == '/':
			return ' '
		}
		return -1
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// undraft takes away what a model thought aloud before its answer, and a tag around it.
func undraft(s string) string {
	for _, tag := range []string{"think", "thinking", "analysis", "reasoning", "scratchpad"} {
		for {
			before, rest, ok := strings.Cut(s, "<"+tag+">")
			draft, after, closed := strings.Cut(rest, "</"+tag+">")
			if !ok || !closed || strings.TrimSpace(before) != "" || draft == "" {
				break
			}
			s = after
		}
	}
	if _, rest, ok := strings.Cut(s, "<summary>"); ok {
		s, _, _ = strings.Cut(rest, "</summary>")
	}
	return s
}

// unfence takes away a fence around the whole answer, and what was said before it.
func unfence(s string) string {
	before, rest, ok := strings.Cut(s, "```")
	if !ok || strings.Count(s, "```") != 2 || strings.Contains(before, "\n#") || strings.HasPrefix(before, "#") {
		return s
	}
	_, body, _ := strings.Cut(rest, "\n")
	body, after, _ := strings.Cut(body, "```")
	if strings.TrimSpace(after) != "" || !strings.Contains(body, "#") {
		return s
	}
	return body
}
