package wire

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Form is how a summary stands in the context: in which role, and between which texts. It
// is stored with the summary, so that it survives the preset that chose it.
type Form struct {
	Role  message.Role // RoleUser or RoleAssistant
	Open  string
	Close string
}

// The forms of summaries that have none stored with them.
var (
	compactionForm = Form{
		message.RoleUser,
		"What was said before this point was compacted. This is the summary of it:\n\n<summary>\n",
		"\n</summary>",
	}
	branchForm = Form{
		message.RoleUser,
		"The conversation went down another branch and came back here. This is the summary of that branch:\n\n<summary>\n",
		"\n</summary>",
	}
	systemForm = Form{message.RoleUser, "<system-update>\n", "\n</system-update>"}
)

// SummaryForm returns the form in which a branch or compaction summary is sent:
// the one in its details, else the default.
func SummaryForm(m *message.Message) Form {
	def := compactionForm
	if m.Role == message.RoleBranchSummary {
		def = branchForm
	}
	stored := jsonx.Get(jsonx.Get(m.Details, "clew"), "form")
	open, okOpen := jsonx.String(jsonx.Get(stored, "open"))
	shut, okClose := jsonx.String(jsonx.Get(stored, "close"))
	if !okOpen && !okClose {
		return def
	}
	f := Form{message.RoleUser, open, shut}
	if jsonx.StringAt(stored, "role") == string(message.RoleAssistant) {
		f.Role = message.RoleAssistant
	}
	return f
}

// JSON returns the form as it is stored in details.clew.form.
func (f Form) JSON() []byte {
	var o jsonx.Object
	o.Str("role", string(f.Role))
	o.Str("open", f.Open)
	o.Str("close", f.Close)
	return o.Bytes()
}

// Wrap returns text between Open and Close. Where the text spells what would end the wrapper,
// a backslash is put after the first character of it, which Unwrap takes away.
func (f Form) Wrap(text string) string {
	for _, mark := range f.marks() {
		text = mark.escape(text)
	}
	return f.Open + text + f.Close
}

// Unwrap returns the text that Wrap was given; ok is false when wrapped is not
// of this form.
func (f Form) Unwrap(wrapped string) (text string, ok bool) {
	text, ok = strings.CutPrefix(wrapped, f.Open)
	if ok {
		text, ok = strings.CutSuffix(text, f.Close)
	}
	if !ok {
		return "", false
	}
	marks := f.marks()
	for i := len(marks) - 1; i >= 0; i-- {
		text = marks[i].unescape(text)
	}
	return text, true
}

// mark is what would end a wrapper. In the rest of a tag, white space may stand anywhere and
// case does not matter, as readers of tags have it.
type mark struct {
	first string // one character
	rest  string
	tag   bool
	slash byte // what is put between them: a backslash, or another where the mark has one
}

func newMark(needle string, tag bool) mark {
	_, n := utf8.DecodeRuneInString(needle)
	m := mark{first: needle[:n], rest: needle[n:], tag: tag}
	for _, m.slash = range []byte(`\~^|%`) {
		if strings.IndexByte(needle, m.slash) < 0 {
			break
		}
	}
	return m
}

var closingTags = regexp.MustCompile(`</[\w-]+`)

// marks returns what a text in the form must not spell: the closing tags in
// Close, or Close itself where there are none.
func (f Form) marks() []mark {
	var out []mark
	for _, tag := range closingTags.FindAllString(f.Close, -1) {
		out = append(out, newMark(tag, true))
	}
	if needle := strings.TrimSpace(f.Close); len(out) == 0 && needle != "" {
		out = append(out, newMark(needle, false))
	}
	return out
}

// escape puts one more backslash after the first character of each spelling of
// the mark, with or without backslashes already there: so it can be undone.
func (k mark) escape(s string) string {
	var b strings.Builder
	from := 0
	for i := 0; ; {
		at := strings.Index(s[i:], k.first)
		if at < 0 {
			break
		}
		i += at + len(k.first)
		if n := k.slashes(s[i:]); follows(k, s[i+n:]) {
			b.WriteString(s[from:i])
			b.WriteByte(k.slash)
			from = i
		}
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// unescape works from the end, so that what follows a character is what stood
// there when it was escaped.
func (k mark) unescape(s string) string {
	out := make([]byte, len(s))
	w := len(s)
	for end := len(s); ; {
		at := strings.LastIndex(s[:end], k.first)
		tail := s[:end]
		if at >= 0 {
			tail = s[at+len(k.first) : end]
		}
		w -= len(tail)
		copy(out[w:], tail)
		if at < 0 {
			return string(out[w:])
		}
		if n := k.slashes(tail); n > 0 && follows(k, out[w+n:]) {
			w++
		}
		w -= len(k.first)
		copy(out[w:], k.first)
		end = at
	}
}

func (k mark) slashes(s string) int {
	n := 0
	for n < len(s) && s[n] == k.slash {
		n++
	}
	return n
}

// follows reports whether s starts with the rest of the mark.
func follows[T string | []byte](k mark, s T) bool {
	i := 0
	for j := range len(k.rest) {
		for k.tag && i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
			i++
		}
		if i >= len(s) || (s[i] != k.rest[j] && (!k.tag || unicode.ToLower(rune(s[i])) != unicode.ToLower(rune(k.rest[j])))) {
			return false
		}
		i++
	}
	return true
}
