package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// Document is a summary in parts. Lines are single lines of text; Canonical
// brings a document to the form that Parse gives back.
type Document struct {
	// Given is a text that a hook or a caller wrote, as it was written, and GivenBy who that
	// was. It stands first, in every template.
	Given, GivenBy string

	Goal        []Line // the first request, and the current one
	Constraints []Line // what the user wants kept to
	Done        []Line
	InProgress  []Line
	Blocked     []Line // failing checks and open errors
	Decisions   []Line
	Next        []Line // numbered in the order given
	Seen        []Line // what commands printed last of how things stand outside of the files
	Story       []Line // what was reported and done, by request: From is the request
	Context     []Line // lines of the log as they stood; From is what they are from

	Files Files

	// Quotes are messages of the user, word for word, oldest first.
	Quotes []Quote
	// Pins are other messages that stand here word for word because they are pinned.
	Pins []Quote
	// Earlier is the text of an earlier summary that is not in our form.
	Earlier string
	// Note says how to get back what is not here. One line.
	Note string
}

// Line is one statement.
type Line struct {
	Text string
	// Ref is the id of the entry it comes from, or the beginning of it: the
	// recall handle. "" when there is none.
	Ref string
	// Replaced marks a statement that a later one replaced.
	Replaced bool
	// From names what the text is an excerpt of: a path, a command, a request. Lines
	// of Document.Story and Document.Context that follow each other with the same From
	// and Ref are shown together; elsewhere it is not shown.
	From string
}

// Quote is a message word for word.
type Quote struct {
	Ref  string // recall handle, as in Line
	Role string // "" for the user
	// Text is the message, or its beginning where there are Gaps.
	Text string
	// Gaps are what was left out, and what follows each.
	Gaps []Gap
}

// Gap is a part of a message that a quote leaves out, and the part after it.
type Gap struct {
	Omitted int // bytes left out, at least 1
	Text    string
}

// Whole reports whether the quote is the whole message.
func (q Quote) Whole() bool { return len(q.Gaps) == 0 }

// Bytes returns how long the message is, and how much of it the quote shows.
func (q Quote) Bytes() (whole, shown int) {
	for _, s := range q.texts() {
		shown += len(s)
	}
	whole = shown
	for _, g := range q.Gaps {
		whole += g.Omitted
	}
	return whole, shown
}

func (q Quote) texts() []string {
	out := []string{q.Text}
	for _, g := range q.Gaps {
		out = append(out, g.Text)
	}
	return out
}

// last returns the last part of a quote.
func (q *Quote) last() *string {
	if n := len(q.Gaps); n > 0 {
		return &q.Gaps[n-1].Text
	}
	return &q.Text
}

// Files are file lists. More counts what a list left out.
type Files struct {
	Modified, Created, Deleted, Read FileList
	// Shell are files that shell commands seem to have written.
	Shell FileList
	// Scratch are files for the moment, outside of the project.
	Scratch FileList
}

// FileList is a list of paths.
type FileList struct {
	Paths []string
	// Notes says of each path what changed in the file, "" for nothing. It is nil, or
	// as long as Paths.
	Notes []string
	More  int
}

func (f *FileList) add(path, note string) {
	f.Paths, f.Notes = append(f.Paths, path), append(f.Notes, note)
}

func (f *FileList) note(i int) string {
	if i < len(f.Notes) {
		return f.Notes[i]
	}
	return ""
}

// Canonical returns the document as Parse gives it back after Render: each line on one
// line, without space around it or control characters in it; what is empty and handles
// that cannot be written are left out. Quotes and the earlier summary stay byte for byte.
func (d Document) Canonical() Document {
	for k := kindGoal; k < kindEarlier; k++ {
		if lines := d.lines(k); lines != nil {
			*lines = canonicalLines(*lines, k)
		} else if f := d.files(k); f != nil {
			*f = canonicalFiles(*f)
		} else if q := d.quotes(k); q != nil {
			*q = canonicalQuotes(*q, k)
		}
	}
	d.Note, d.GivenBy = oneLine(d.Note), strings.ReplaceAll(oneLine(d.GivenBy), `"`, "'")
	if d.Given == "" {
		d.GivenBy = ""
	}
	return d
}

// Unfold takes the text that was given apart: into the parts of the document where it has
// their headings, else into Earlier. What code added comes after it.
func (d Document) Unfold() Document {
	if d.Given == "" {
		return d
	}
	u, ok := Parse(d.Given)
	if !ok {
		u.Earlier = d.Given
	}
	for k := kindGoal; k <= kindContext; k++ {
		*u.lines(k) = append(*u.lines(k), *d.lines(k)...)
	}
	u.Files, u.Quotes, u.Pins, u.Note = d.Files, d.Quotes, d.Pins, d.Note
	return u.Unfold()
}

func canonicalLines(in []Line, k kind) []Line {
	var out []Line
	for _, l := range in {
		if l.Text = oneLine(l.Text); l.Text == "" {
			continue
		}
		l.Ref = writableRef(l.Ref)
		if k != kindContext && k != kindStory {
			l.From = ""
		} else if l.From = oneLine(l.From); l.From != "" {
			l.Replaced = false
		}
		out = append(out, l)
	}
	return out
}

func canonicalFiles(in FileList) FileList {
	out := FileList{More: min(max(in.More, 0), 999_999_999)}
	noted := false
	for i, p := range in.Paths {
		if p != "" {
			note := oneLine(in.note(i))
			out.add(p, note)
			noted = noted || note != ""
		}
	}
	if !noted {
		out.Notes = nil
	}
	return out
}

func canonicalQuotes(in []Quote, k kind) []Quote {
	var out []Quote
	for _, q := range in {
		q.Ref = writableRef(q.Ref)
		if k != kindPins || !roleWord().MatchString(q.Role) {
			q.Role = ""
		}
		gaps := q.Gaps
		q.Gaps = nil
		for _, g := range gaps {
			if g.Omitted > 0 {
				q.Gaps = append(q.Gaps, Gap{Omitted: min(g.Omitted, 1<<53)})
			}
			*q.last() += g.Text
		}
		out = append(out, q)
	}
	return out
}

var roleWord = text.Pattern(`^[A-Za-z]+$`)

// oneLine makes text fit for one line of a document.
func oneLine(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, breaksLine) {
		s = strings.Map(func(r rune) rune {
			if breaksLine(r) {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return strings.TrimSpace(s)
}

func breaksLine(r rune) bool { return r == '\u2028' || r == '\u2029' || unicode.IsControl(r) }

// writableRef returns ref, or "" where it holds what would end a handle early.
func writableRef(ref string) string {
	if !utf8.ValidString(ref) || strings.ContainsFunc(ref, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("[],#", r)
	}) {
		return ""
	}
	return ref
}

// The word lists say which sentences are worth a section. They decide only what
// is taken from the log, never what it says.
var (
	// doneWord marks a statement that something is finished.
	doneWord = text.NewWording(`done|fixed|implemented|added|created|removed|updated|renamed|moved|refactored|replaced|committed|pushed|merged|released|completed?|finished|resolved|works|working|pass(?:es|ed|ing)?|clean|green|migrated|extracted|wrote|written`,
		`完成|已修复|已添加|修复了|通过|搞定|完了|修正しました|追加しました|완료`)

	planIntro = text.Pattern(`(?i)\b(?:next steps?|remaining|todo|to do|plan|steps|what'?s left|still to do|follow-?ups?)\b[^.]*:?\**\s*$|(?:接下来|下一步|待办|计划)[^。]*[:：]?\s*$`)
)

// announcesPlan reports whether a line stands above what is to be done, not above what of it was.
func announcesPlan(line string) bool {
	return planIntro().MatchString(line) && !doneWord.MatchString(line)
}

// stopWords say nothing about what a line is about.
var stopWords = text.Words(text.CommonWords + `new old get gets got see set put off may might per via too yet off own
	his her him she once few much many well made makes need needs until upon while without within across above
	below between down cannot since every another around already`)

// leadsOver reports whether a statement only announces what comes after it.
func leadsOver(s string) bool {
	s = strings.TrimRight(s, "*_` ")
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")
}

// earlier offers the text of a summary that is not in our form, cut at a line to
// at most limit tokens. What is cut off may come back as excerpts.
func (d *digest) earlier(limit int64, b *builder) []piece {
	t := d.foreign
	if t == "" {
		t, limit = d.prev.Earlier, limit/2
	}
	if t == "" {
		return nil
	}
	if b.p.tokens(t) > limit {
		t = cutLines(t, largest(0, len(t), func(n int) bool { return b.p.tokens(cutLines(t, n)) <= limit }))
		if t == "" {
			return nil
		}
	}
	return []piece{{kind: kindEarlier, line: Line{Text: t}}}
}

// cutLines returns the first whole lines of s within n bytes, and a mark.
func cutLines(s string, n int) string {
	if n >= len(s) {
		return s
	}
	k := strings.LastIndexByte(s[:n], '\n')
	if k <= 0 {
		return ""
	}
	return strings.TrimRight(s[:k], "\n") + "\n" + text.Ellipsis
}
