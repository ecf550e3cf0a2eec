package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/wire"
)

// Template says how a document is written: which sections, in which order, under which
// headings. A heading means the same in every template and language, so Parse needs not
// be told which one was used.
type Template struct {
	name  string
	parts []part
	says  map[kind]string // what belongs into a part, where it is not as in meanings
}

// part is a part of a document under a second-level heading, and a third-level one where
// there are several below that.
type part struct {
	section, heading string
	kind             kind
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
	kindSeen
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
	kindGiven
)

// Name returns the name of the template, as in settings and flags.
func (t *Template) Name() string { return t.name }

// The templates. All hold the same parts under other headings; where one has no
// place for the story and for what was seen, they stand with the sources.
var (
	// Briefing is the default: what an agent has to know to go on, then the sources.
	Briefing = newTemplate("briefing", "Files", nil, []part{
		{"Goal", "", kindGoal},
		{"Rules", "", kindConstraints},
		{"State", "Done", kindDone},
		{"State", "In Progress", kindInProgress},
		{"State", "Failing", kindBlocked},
		{"State", "Next", kindNext},
		{"State", "Last Seen", kindSeen},
		{"Decisions", "", kindDecisions},
		{"Story", "", kindStory},
	}, part{"Sources", "", kindContext})

	// Structured is pi's.
	Structured = newTemplate("structured", "Files", nil, []part{
		{"Goal", "", kindGoal},
		{"Constraints & Preferences", "", kindConstraints},
		{"Progress", "Done", kindDone},
		{"Progress", "In Progress", kindInProgress},
		{"Progress", "Blocked", kindBlocked},
		{"Key Decisions", "", kindDecisions},
		{"Next Steps", "", kindNext},
		{"Critical Context", "", kindContext},
	})

	// Technical has the changes before the state.
	Technical = newTemplate("technical", "Code Changes", map[kind]string{
		kindContext:     "the environment that is worked in: languages, tools, frameworks, settings; values and places that are needed again.",
		kindGoal:        "what the project is for and what belongs to it, how its parts hang together, and what the user wants of it now.",
		kindBlocked:     "what went wrong, its cause, what solved it, and what is still in the way.",
		kindDone:        "what was finished last, what shows it, and how the code stands.",
		kindNext:        "what is to be done next, the most urgent first; known faults that somebody has to look at.",
		kindConstraints: "how the user wants code, formats and the work itself to be, in the user's words.",
		kindDecisions:   "technical decisions that stand, each with its reason.",
	}, []part{
		{"Technical Context", "", kindContext},
		{"Project Overview", "", kindGoal},
	},
		part{"Debugging & Issues", "", kindBlocked},
		part{"Current Status", "Done", kindDone}, part{"Current Status", "In Progress", kindInProgress},
		part{"Pending Tasks", "", kindNext},
		part{"User Preferences", "", kindConstraints},
		part{"Key Decisions", "", kindDecisions},
	)

	// Brief has Summary, Key Points and Files.
	Brief = newTemplate("brief", "Files", map[kind]string{
		kindGoal:      "an overview of what the conversation is about and where it stands, in sentences that would fill one or two paragraphs.",
		kindDecisions: "important decisions and what was done, each with its reason.",
		kindContext:   "technical details that matter, and questions that are open.",
	}, []part{
		{"Summary", "Goal", kindGoal},
		{"Summary", "Done", kindDone},
		{"Summary", "In Progress", kindInProgress},
		{"Summary", "Blocked", kindBlocked},
		{"Summary", "Next Steps", kindNext},
		{"Key Points", "Constraints & Preferences", kindConstraints},
		{"Key Points", "Key Decisions", kindDecisions},
		{"Key Points", "Critical Context", kindContext},
	})

	// Notes ends with what is open.
	Notes = newTemplate("notes", "Files", map[kind]string{
		kindDecisions: "results that matter, and what was decided on the way.",
		kindContext:   "three to six short excerpts, letter by letter: code, commands, numbers, errors.",
		kindBlocked:   "questions that nobody has answered yet, and what is in the way.",
	}, []part{
		{"Goal", "", kindGoal},
		{"Constraints & Preferences", "", kindConstraints},
		{"Progress", "Done", kindDone},
		{"Progress", "In Progress", kindInProgress},
		{"Key Results", "", kindDecisions},
	},
		part{"Snippets", "", kindContext},
		part{"Open Questions", "Blocked", kindBlocked}, part{"Open Questions", "Next Steps", kindNext},
	)
)

// newTemplate makes a template of what stands before the files and after them. Every
// template has the same end.
func newTemplate(name, files string, says map[kind]string, before []part, after ...part) *Template {
	return &Template{name: name, says: says, parts: slices.Concat([]part{{"", "", kindGiven}}, before, []part{
		{files, "Modified", kindModified},
		{files, "Created", kindCreated},
		{files, "Deleted", kindDeleted},
		{files, "Written by Commands", kindShell},
		{files, "Created as Scratch", kindScratch},
		{files, "Read", kindRead},
	}, after, []part{
		{"User Messages", "", kindQuotes},
		{"Pinned", "", kindPins},
		{"Earlier Summary", "", kindEarlier},
		{"Recall", "", kindNote},
	})}
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
	open := ""
	for _, p := range t.parts {
		meaning := cmp.Or(t.says[p.kind], meanings[p.kind])
		if meaning == "" || p.kind == kindContext && t.part(kindStory).kind == kindStory {
			continue
		}
		open = p.open(&heads, open)
		says.WriteString(cmp.Or(p.heading, p.section) + ": " + meaning + "\n")
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
	kindStory: "for each request of the user, newest at length and older ones shorter: what was asked, what was changed " +
		"in which file, what was tried and failed, how the checks ended.",
	kindContext: "values, places, findings and errors that are needed again.",
}

// open writes the headings of a part. The section that is open has its own already.
func (p *part) open(b *strings.Builder, open string) string {
	if p.section != open && p.section != "" {
		b.WriteString("## " + p.section + "\n")
	}
	if p.heading != "" {
		b.WriteString("### " + p.heading + "\n")
	}
	return p.section
}

// part returns the part in which pieces of a kind stand in this template.
func (t *Template) part(k kind) part {
	for _, p := range t.parts {
		if p.kind == k {
			return p
		}
	}
	return t.part(kindContext) // no template but the first has the story and what was seen
}

// Render writes the document as Markdown. Empty sections are left out. Every
// statement is a list item on one line and every quoted line begins with ">",
// so no text can pass for a heading or end its section.
func (t *Template) Render(d Document) string {
	d = d.Canonical()
	if t.part(kindStory).kind != kindStory {
		d.Context, d.Seen, d.Story = slices.Concat(d.Seen, d.Story, d.Context), nil, nil
	}
	var b strings.Builder
	open := ""
	for _, p := range t.parts {
		if d.empty(p.kind) {
			continue
		}
		if b.Len() > 0 && open != p.section {
			b.WriteByte('\n')
		}
		open = p.open(&b, open)
		d.write(&b, p.kind)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines returns the part of kind k where it is one of lines, else nil.
func (d *Document) lines(k kind) *[]Line {
	return nth(k, kindGoal, &d.Goal, &d.Constraints, &d.Done, &d.InProgress, &d.Blocked, &d.Decisions, &d.Next, &d.Seen, &d.Story, &d.Context)
}

func (d *Document) files(k kind) *FileList {
	f := &d.Files
	return nth(k, kindModified, &f.Modified, &f.Created, &f.Deleted, &f.Shell, &f.Scratch, &f.Read)
}

func (d *Document) quotes(k kind) *[]Quote { return nth(k, kindQuotes, &d.Quotes, &d.Pins) }

// nth returns the part of kind k out of those of the kinds from first on.
func nth[T any](k, first kind, parts ...*T) *T {
	if k < first || int(k-first) >= len(parts) {
		return nil
	}
	return parts[k-first]
}

func (d *Document) empty(k kind) bool {
	if lines := d.lines(k); lines != nil {
		return len(*lines) == 0
	} else if f := d.files(k); f != nil {
		return len(f.Paths) == 0 && f.More == 0
	} else if q := d.quotes(k); q != nil {
		return len(*q) == 0
	}
	text := nth(k, kindEarlier, &d.Earlier, &d.Note, &d.Given)
	return text != nil && *text == ""
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
	} else if k == kindGiven {
		b.WriteString(givenForm(d.GivenBy).Wrap(d.Given) + "\n")
	} else {
		b.WriteString(bullet + d.Note + "\n")
	}
}

// givenForm is how a text stands that was given: in a tag, for its headings are its own.
func givenForm(by string) wire.Form {
	return wire.Form{Open: "<given by=\"" + by + "\">\n", Close: "\n</given>"}
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
		dir, names := f.folder(i)
		if len(names) > 1 {
			b.WriteString(bullet + dir + "{" + strings.Join(names, ",") + "}\n")
			i += len(names)
			continue
		}
		b.WriteString(bullet + quotePath(f.Paths[i]))
		if note := f.note(i); note != "" {
			b.WriteString(noteMark + note)
		}
		b.WriteByte('\n')
		i++
	}
	if f.More > 0 {
		b.WriteString("(" + grouped(f.More) + " more)\n")
	}
}

const (
	maxFolder  = 160 // bytes of the names of a line with several files
	longFolder = 24  // bytes of a folder that is worth naming once for the folders below it
)

// folder returns the paths from the i-th on that stand in one line, as dir/{a,b/c}: those below a folder that
// nothing is said about. Of the folders that hold the first one it takes the one that saves most.
func (f *FileList) folder(i int) (dir string, names []string) {
	saved := 0
	for at := strings.LastIndexByte(f.Paths[i], '/') + 1; at > 1; at = strings.LastIndexByte(f.Paths[i][:at-1], '/') + 1 {
		below := f.below(i, f.Paths[i][:at])
		deep := slices.ContainsFunc(below, func(name string) bool { return strings.Contains(name, "/") })
		if save := (len(below) - 1) * at; save > saved && (!deep || at > longFolder) {
			dir, names, saved = f.Paths[i][:at], below, save
		}
	}
	return dir, names
}

// below returns the names of the paths from the i-th on that fit in one line below a folder.
func (f *FileList) below(i int, dir string) (names []string) {
	size := 0
	for k, p := range f.Paths[i:] {
		name, ok := strings.CutPrefix(p, dir)
		if size += len(name) + 1; !ok || name == "" || strings.ContainsAny(name, ", ") || quotePath(p) != p || f.note(i+k) != "" || size > maxFolder {
			break
		}
		names = append(names, name)
	}
	return names
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
func grouped(n int) string { return text.Digits(n, ",") }

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
