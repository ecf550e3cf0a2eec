package summary

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// Canonical returns the document as Parse gives it back after Render: each line
// on one line, without space around it or control characters in it, empty ones
// left out; handles that cannot be written left out. Quotes and the earlier
// summary stay byte for byte.
func (d Document) Canonical() Document {
	d.Goal = canonicalLines(d.Goal, kindGoal)
	d.Constraints = canonicalLines(d.Constraints, kindConstraints)
	d.Done = canonicalLines(d.Done, kindDone)
	d.InProgress = canonicalLines(d.InProgress, kindInProgress)
	d.Blocked = canonicalLines(d.Blocked, kindBlocked)
	d.Decisions = canonicalLines(d.Decisions, kindDecisions)
	d.Next = canonicalLines(d.Next, kindNext)
	d.Context = canonicalLines(d.Context, kindContext)
	d.Names = canonicalLines(d.Names, kindNames)
	d.Files = Files{
		Modified: canonicalFiles(d.Files.Modified),
		Created:  canonicalFiles(d.Files.Created),
		Deleted:  canonicalFiles(d.Files.Deleted),
		Read:     canonicalFiles(d.Files.Read),
		Shell:    canonicalFiles(d.Files.Shell),
	}
	d.Quotes = canonicalQuotes(d.Quotes, false)
	d.Pins = canonicalQuotes(d.Pins, true)
	d.Note = oneLine(d.Note)
	return d
}

func canonicalLines(in []Line, k kind) []Line {
	var out []Line
	for _, l := range in {
		l.Text = oneLine(l.Text)
		if l.Text == "" {
			continue
		}
		l.Ref = writableRef(l.Ref)
		if k == kindContext {
			l.From = oneLine(l.From)
			if l.From != "" {
				l.Replaced = false
			}
		} else {
			l.From = ""
		}
		out = append(out, l)
	}
	return out
}

func canonicalFiles(in FileList) FileList {
	out := FileList{More: min(max(in.More, 0), 999_999_999)}
	for _, p := range in.Paths {
		if p != "" {
			out.Paths = append(out.Paths, p)
		}
	}
	return out
}

func canonicalQuotes(in []Quote, roles bool) []Quote {
	var out []Quote
	for _, q := range in {
		q.Ref = writableRef(q.Ref)
		if !roles || !roleWord().MatchString(q.Role) {
			q.Role = ""
		}
		var gaps []Gap
		for _, g := range q.Gaps {
			g.Omitted = min(g.Omitted, 1<<53)
			switch {
			case g.Omitted > 0:
				gaps = append(gaps, g)
			case len(gaps) > 0:
				gaps[len(gaps)-1].Text += g.Text
			default:
				q.Text += g.Text
			}
		}
		q.Gaps = gaps
		out = append(out, q)
	}
	return out
}

var roleWord = text.Pattern(`^[A-Za-z]+$`)

// oneLine makes text fit for one line of a document.
func oneLine(s string) string {
	if !plainLine(s) {
		s = strings.Map(func(r rune) rune {
			if lineBreak(r) || unicode.IsControl(r) {
				return ' '
			}
			return r
		}, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return strings.TrimSpace(s)
}

func plainLine(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if lineBreak(r) || unicode.IsControl(r) {
			return false
		}
	}
	return true
}

func lineBreak(r rune) bool { return r == '\u2028' || r == '\u2029' }

// writableRef returns ref, or "" where it holds what would end a handle early.
func writableRef(ref string) string {
	if !utf8.ValidString(ref) || strings.ContainsFunc(ref, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("[],#", r)
	}) {
		return ""
	}
	return ref
}
