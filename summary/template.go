package summary

import (
	"fmt"
	"strconv"
	"strings"
)

// Template says how a document is written: which sections, in which order,
// under which headings. Headings are the same in every language. A heading
// means the same in every template, so Parse needs not be told which one was
// used.
type Template struct {
	name     string
	sections []section
}

// section is a second-level heading and what stands below it. With more than
// one part, each has a third-level heading.
type section struct {
	heading string
	parts   []part
}

type part struct {
	heading string // third level; "" in a section of one part
	kind    kind
}

// kind names a part of a Document.
type kind int

const (
	kindNone kind = iota
	kindGoal
	kindConstraints
	kindDone
	kindInProgress
	kindBlocked
	kindDecisions
	kindNext
	kindStory
	kindContext
	kindModified
	kindCreated
	kindDeleted
	kindShell
	kindScratch
	kindRead
	kindQuotes
	kindPins
	kindEarlier
	kindNote
)

// Name returns the name of the template, as in settings and flags.
func (t *Template) Name() string { return t.name }

// The templates. All hold the same parts under other headings; where one has no
// place for the story, it stands with the sources.
var (
	// Briefing is the default: what an agent has to know to go on, then the sources.
	Briefing = &Template{"briefing", append([]section{
		single("Goal", kindGoal),
		single("Rules", kindConstraints),
		{"State", []part{
			{"Done", kindDone},
			{"In Progress", kindInProgress},
			{"Failing", kindBlocked},
			{"Next", kindNext},
		}},
		single("Decisions", kindDecisions),
		single("Story", kindStory),
		files("Files"),
		single("Sources", kindContext),
	}, ending...)}

	// Structured is pi's: Goal, Constraints & Preferences, Progress, Key
	// Decisions, Next Steps, Critical Context, Files.
	Structured = &Template{"structured", append([]section{
		single("Goal", kindGoal),
		single("Constraints & Preferences", kindConstraints),
		{"Progress", []part{
			{"Done", kindDone},
			{"In Progress", kindInProgress},
			{"Blocked", kindBlocked},
		}},
		single("Key Decisions", kindDecisions),
		single("Next Steps", kindNext),
		single("Critical Context", kindContext),
		files("Files"),
	}, ending...)}

	// Technical has eight sections: Technical Context, Project Overview, Code
	// Changes, Debugging & Issues, Current Status, Pending Tasks, User
	// Preferences, Key Decisions.
	Technical = &Template{"technical", append([]section{
		single("Technical Context", kindContext),
		single("Project Overview", kindGoal),
		files("Code Changes"),
		single("Debugging & Issues", kindBlocked),
		{"Current Status", []part{
			{"Done", kindDone},
			{"In Progress", kindInProgress},
		}},
		single("Pending Tasks", kindNext),
		single("User Preferences", kindConstraints),
		single("Key Decisions", kindDecisions),
	}, ending...)}

	// Brief has Summary, Key Points and Files.
	Brief = &Template{"brief", append([]section{
		{"Summary", []part{
			{"Goal", kindGoal},
			{"Done", kindDone},
			{"In Progress", kindInProgress},
			{"Blocked", kindBlocked},
			{"Next Steps", kindNext},
		}},
		{"Key Points", []part{
			{"Constraints & Preferences", kindConstraints},
			{"Key Decisions", kindDecisions},
			{"Critical Context", kindContext},
		}},
		files("Files"),
	}, ending...)}

	// Notes has Goal, Constraints & Preferences, Progress, Key Results, Files,
	// Snippets and Open Questions.
	Notes = &Template{"notes", append([]section{
		single("Goal", kindGoal),
		single("Constraints & Preferences", kindConstraints),
		{"Progress", []part{
			{"Done", kindDone},
			{"In Progress", kindInProgress},
		}},
		single("Key Results", kindDecisions),
		files("Files"),
		single("Snippets", kindContext),
		{"Open Questions", []part{
			{"Blocked", kindBlocked},
			{"Next Steps", kindNext},
		}},
	}, ending...)}
)

// ending stands at the end of every template.
var ending = []section{
	single("User Messages", kindQuotes),
	single("Pinned", kindPins),
	single("Earlier Summary", kindEarlier),
	single("Recall", kindNote),
}

func single(heading string, k kind) section { return section{heading, []part{{"", k}}} }

func files(heading string) section {
	return section{heading, []part{
		{"Modified", kindModified},
		{"Created", kindCreated},
		{"Deleted", kindDeleted},
		{"Written by Commands", kindShell},
		{"Created as Scratch", kindScratch},
		{"Read", kindRead},
	}}
}

// Templates returns all templates, the default first.
func Templates() []*Template { return []*Template{Briefing, Structured, Technical, Brief, Notes} }

// FindTemplate returns the template with the name; "" is the default. The error
// names those that exist.
func FindTemplate(name string) (*Template, error) {
	if name == "" {
		return Briefing, nil
	}
	var names []string
	for _, t := range Templates() {
		if t.name == name {
			return t, nil
		}
		names = append(names, t.name)
	}
	return nil, fmt.Errorf("no summary template %q: there are %s", name, strings.Join(names, ", "))
}

// Form says how to fill in the template, for whoever writes a summary: its headings, and
// what belongs under each. What code adds is left out.
func (t *Template) Form() string {
	var heads, says strings.Builder
	seen := map[kind]bool{}
	for _, s := range t.sections {
		open := false
		for _, p := range s.parts {
			meaning := meanings[p.kind]
			if meaning == "" || p.kind == kindContext && t.shown(kindStory) == kindStory {
				continue
			}
			if !open {
				heads.WriteString("## " + s.heading + "\n")
				open = true
			}
			name := s.heading
			if p.heading != "" {
				heads.WriteString("### " + p.heading + "\n")
				name = p.heading
			}
			if !seen[p.kind] {
				seen[p.kind] = true
				says.WriteString(name + ": " + meaning + "\n")
			}
		}
	}
	return heads.String() + "\n" + says.String()
}

// meanings say what belongs into a part.
var meanings = map[kind]string{
	kindGoal:        "what the user wants, as it stands now, and the task that it belongs to.",
	kindConstraints: "rules the user gave that still hold, in the user's words.",
	kindDone:        "what is finished, with what shows it: a check that passed, a commit, the user's yes.",
	kindInProgress:  "what was begun and is not finished.",
	kindBlocked:     "what fails or is in the way, and why.",
	kindNext:        "what is to be done, in order.",
	kindDecisions:   "what was decided and still stands, with the reason; causes that were found.",
	kindStory:       "for each request of the user, newest at length and older ones shorter: what was asked, what was changed in which file, what was tried and failed, how the checks ended.",
	kindContext:     "values, places, findings and errors that are needed again.",
}

// shown is the part in which pieces of a kind stand in this template.
func (t *Template) shown(k kind) kind {
	if k != kindStory {
		return k
	}
	for _, s := range t.sections {
		for _, p := range s.parts {
			if p.kind == k {
				return k
			}
		}
	}
	return kindContext
}

// lookup finds sections by their heading in all templates. Documents of earlier versions
// had names worth spelling right in a section of their own.
func lookup(heading string) []section {
	if heading == "Names" {
		return []section{single(heading, kindContext)}
	}
	var found []section
	for _, t := range Templates() {
		for _, s := range t.sections {
			if s.heading == heading {
				found = append(found, s)
			}
		}
	}
	return found
}

// Render writes the document as Markdown. Empty sections are left out. Every
// statement is a list item on one line and every quoted line begins with ">",
// so no text can pass for a heading or end its section.
func (t *Template) Render(d Document) string {
	d = d.Canonical()
	if t.shown(kindStory) != kindStory {
		d.Context, d.Story = append(d.Story, d.Context...), nil
	}
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
	case kindStory:
		return &d.Story
	case kindContext:
		return &d.Context
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
	case kindScratch:
		return &d.Files.Scratch
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

// noteMark stands between a path and what changed in the file.
const noteMark = " — "

func writeFiles(b *strings.Builder, f FileList) {
	for i := 0; i < len(f.Paths); {
		n := f.folder(i)
		switch note := f.note(i); {
		case n > 1:
			dir := f.Paths[i][:strings.LastIndexByte(f.Paths[i], '/')+1]
			b.WriteString(bullet + dir + "{")
			for k := range n {
				if k > 0 {
					b.WriteByte(',')
				}
				b.WriteString(f.Paths[i+k][len(dir):])
			}
			b.WriteString("}\n")
		case note != "":
			b.WriteString(bullet + quotePath(f.Paths[i]) + noteMark + note + "\n")
		default:
			b.WriteString(bullet + quotePath(f.Paths[i]) + "\n")
		}
		i += max(n, 1)
	}
	if f.More > 0 {
		b.WriteString("(" + grouped(f.More) + " more)\n")
	}
}

// maxFolder is how long a line with several files of a folder may get, in bytes.
const maxFolder = 160

// folder returns how many paths from the i-th on stand in one line, as dir/{a,b}: those
// of the same folder that nothing is said about.
func (f *FileList) folder(i int) int {
	dir := f.Paths[i][:strings.LastIndexByte(f.Paths[i], '/')+1]
	size := len(dir)
	n := 0
	for i+n < len(f.Paths) {
		p := f.Paths[i+n]
		name, ok := strings.CutPrefix(p, dir)
		if size += len(name) + 1; dir == "" || !ok || name == "" || strings.ContainsAny(name, "/, ") || quotePath(p) != p || f.note(i+n) != "" || size > maxFolder {
			break
		}
		n++
	}
	return n
}

// quotePath returns a path as it stands in a list: as it is unless it would be
// read back as another.
func quotePath(p string) string {
	if p != oneLine(p) || strings.HasPrefix(p, `"`) || strings.Contains(p+" ", noteMark) || strings.ContainsAny(p, "{}") {
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
