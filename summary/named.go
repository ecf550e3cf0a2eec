package summary

import (
	"path"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// named offers the sentences of what a request names and the agent then read: a plan, an
// issue, a page. Those that bind come first, then the rest in order; the latest document first.
// Of documents that tell agents how to work it offers what binds.
func (d *digest) named() (out []piece) {
	seen := map[string]bool{} // sources, for the last reading counts
	for _, t := range slices.Backward(d.turns) {
		names := namesIn(text.Head(t.ask.Text, longMessage) + " " + request(t.ask))
		var rules, rest []piece
		for at := t.to - 1; at >= t.from; at-- {
			m := &d.msgs[at]
			if m.Role != message.RoleToolResult || m.IsError || m.call == nil || m.from == "" || seen[m.from] {
				continue
			}
			asked := names.in(m, d.in.Cwd)
			if !asked && !instructs().MatchString(m.op.Path+" "+m.op.Command) {
				continue
			}
			doc := text.Statements(text.OutsideFences(m.document(d.in.Cwd)))
			if !isDocument(doc) {
				continue
			}
			seen[m.from] = true
			for seq, s := range doc {
				s = clipName(oneLine(s), maxSaid)
				if len(s) < minLine || unreadable(s) || forbidden(s) {
					continue
				}
				p := piece{
					kind: kindContext, line: Line{Text: s, Ref: m.ref, From: m.from}, order: order(at, seq),
					ids: d.idsIn(s), sure: withWords, worth: 1,
				}
				if ledger.Binding(s) || obliges.MatchString(s) {
					rules = append(rules, p)
				} else if asked {
					rest = append(rest, p)
				}
			}
		}
		out = append(append(out, rules...), rest...)
	}
	return out
}

// instructs matches the name of a document that tells agents how to work.
var instructs = text.Pattern(`\b(?:SKILL|AGENTS|CLAUDE|GEMINI|CONTRIBUTING|copilot-instructions)\.md\b`)

// requestNames are what a request names: files, pages and numbers of issues as they are
// written, and its words, of which the name of a file may be made.
type requestNames struct {
	exact []string
	words map[string]bool
}

func namesIn(request string) (n requestNames) {
	for id := range text.Identifiers(request) {
		switch id.Class {
		case text.URL, text.Path, text.File, text.Ref:
			name := strings.TrimPrefix(path.Base(id.Text), "#")
			if ext := path.Ext(name); len(name) > 1 && (ext == "" || documentTypes()[ext] || id.Class == text.URL) {
				n.exact = append(n.exact, name)
			}
		default:
		}
	}
	n.words = map[string]bool{}
	for _, w := range nameWords(request) {
		n.words[w] = true
	}
	return n
}

// nameWords splits a text into words and numbers as names of files are made of them.
func nameWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !letterOrDigit(r) })
}

// in reports whether a result shows what the request names.
func (names requestNames) in(m *msg, cwd string) bool {
	p := m.op.Path
	if m.op.Kind == ledger.OpShell {
		p = m.op.Command
		if !shows().MatchString(p) {
			return false
		}
	} else if m.op.Kind != ledger.OpRead {
		argumentTexts(m.call.Arguments, func(_, s string) { p += " " + text.Head(s, 2000) })
	}
	if slices.ContainsFunc(names.exact, func(name string) bool { return holdsName(p, name) }) {
		return true
	}
	if m.op.Kind != ledger.OpRead {
		return false
	}
	name := path.Base(p)
	title, _, _ := strings.Cut(strings.TrimLeft(m.document(cwd), "\n# "), "\n")
	return documentTypes()[path.Ext(p)] && (names.both(strings.TrimSuffix(name, path.Ext(name))) >= 2 || names.both(title) >= 2)
}

// both counts the words of a name or a title that the request has as well.
func (names requestNames) both(title string) (n int) {
	words := nameWords(title)
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		if names.words[w] && !stopWords()[w] {
			n++
		}
	}
	return n
}

// shows matches a command line that prints a document.
var shows = text.Pattern(`^(?:cd [^;&]+(?:&&|;) *)?(?:cat|sed -n|head|tail|nl|gh (?:issue|pr) view|glab (?:issue|mr) view|curl) `)

// document returns what a result shows, as Markdown.
func (m *msg) document(cwd string) string {
	var b strings.Builder
	for line := range unwrapped(bare(prose(redact.Text(ledger.Output(m.Text()))), cwd)) {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// holdsName reports whether a name stands in a text and is no part of a longer one.
func holdsName(s, name string) bool {
	for end := 0; ; {
		at := strings.Index(s[end:], name) + end
		if at < end {
			return false
		}
		end = at + len(name)
		if (at == 0 || !letterOrDigit(rune(s[at-1]))) && (end == len(s) || !letterOrDigit(rune(s[end]))) {
			return true
		}
	}
}

// documentTypes are the extensions of documents.
var documentTypes = text.Words(`.md .mdx .txt .rst .adoc .org`)

// isDocument reports whether statements are sentences more than code or data.
func isDocument(statements []string) bool {
	sentences := 0
	for _, s := range statements {
		if plainWords(s, 3) == 3 && !strings.ContainsAny(s, "{};") {
			sentences++
		}
	}
	return sentences >= 2 && sentences*3 >= len(statements)
}

// longString matches a long string of JSON, in a line of which the end may be cut off.
var longString = text.Pattern(`"(?:[^"\\]|\\.){80,}"`)

// prose returns a result with the texts in long lines of JSON as lines of their own: the body
// of an issue, the text of a page.
func prose(s string) string {
	if !strings.Contains(s, `\n`) {
		return s
	}
	var b strings.Builder
	for line := range strings.SplitSeq(s, "\n") {
		long := 0
		if t := strings.TrimLeft(line, " \t"); len(t) > maxLine && strings.IndexByte(`{["`, t[0]) >= 0 {
			for _, quoted := range longString().FindAllString(line, 40) {
				if said, ok := jsonx.String([]byte(quoted)); ok && strings.Count(said, " ") > 8 {
					b.WriteString(said + "\n")
					long += len(quoted)
				}
			}
		}
		if long*2 < len(line) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
