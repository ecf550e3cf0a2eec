package recall

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// Text returns what a message says, as text. This is what is searched and paged.
//
// A message of a single text is that text. Other texts and blocks are joined by line breaks:
// reasoning after a line [thinking], a call as a line [call NAME] and a line for each argument.
// An image is a line that says so. A shell run is its command after "$ ", then its output.
func Text(m *message.Message) string {
	switch m.Role {
	case message.RoleBashExecution:
		return "$ " + m.Command + "\n" + m.Output
	case message.RoleCompactionSummary, message.RoleBranchSummary:
		return m.Summary
	default:
	}
	var t []string
	for i := range m.Content {
		switch b := &m.Content[i]; b.Type {
		case message.BlockText:
			t = append(t, b.Text)
		case message.BlockThinking:
			t = append(t, "[thinking]", b.Text)
		case message.BlockToolCall:
			t = append(append(t, callMark+b.Name+"]"), arguments(b.Arguments)...)
		case message.BlockImage:
			t = append(t, fmt.Sprintf("[image %s, %d bytes]", b.MIMEType, len(b.Data)*3/4))
		default:
			t = append(t, string(b.JSON()))
		}
	}
	for _, s := range m.Sections {
		t = append(t, "[section "+s.Name+"]", s.Text)
	}
	for _, more := range [][2]string{
		{"[tools added]", string(m.ToolsAdded)}, {"[tools removed]", string(m.ToolsRemoved)}, {"[error]", m.ErrorMessage},
	} {
		if more[1] != "" {
			t = append(t, more[:]...)
		}
	}
	return strings.Join(t, "\n")
}

// callMark is what the line of a call begins with, before its name.
const callMark = "[call "

// arguments returns a line for each argument of a call, and more for a text of several lines.
func arguments(args []byte) (t []string) {
	if args != nil && !jsonx.IsObject(args) {
		return []string{string(args)}
	}
	jsonx.Members(args, func(key, val []byte) bool {
		s, ok := jsonx.String(val)
		switch {
		case !ok:
			s = " " + string(val)
		case strings.Contains(s, "\n"):
			s = "\n" + s
		default:
			s = " " + s
		}
		t = append(t, string(key)+":"+s)
		return true
	})
	return t
}

// Page is a part of a text. The pages of a text, each beginning where the one before ended, make up the text.
type Page struct {
	Text    string `json:"text"`
	Offset  int    `json:"offset"`            // where it begins, in characters
	Next    int    `json:"next,omitempty"`    // where the next page begins; 0 when this is the last
	Total   int    `json:"total"`             // characters of the text
	Line    int    `json:"line"`              // the line that it begins in, from 1
	Lines   int    `json:"lines"`             // lines of the text
	Outline []Mark `json:"outline,omitempty"` // lines that lie before and after the page
}

// Mark is a line of a text.
type Mark struct {
	Line   int    `json:"line"`   // from 1
	Offset int    `json:"offset"` // where it begins, in characters
	Text   string `json:"text"`   // its beginning
	lead   bool   // it begins a paragraph
}

// Pager takes a page from a text that comes in pieces. Offset is where it begins and Most how
// long it may be, in code points; Most below 1 means all of the rest. A byte that is not UTF-8
// counts as one. An Offset behind the end gives an empty page, one below 0 counts as 0.
type Pager struct {
	Offset, Most int

	out   []byte
	seen  int  // characters of all pieces so far
	lines int  // line ends so far
	line  int  // the line that the page begins in
	inner bool // the text so far ends inside a line
	marks []Mark
}

const (
	maxMarks   = 20_000 // lines that are looked at for the outline
	maxMark    = 100
	maxOutline = 6 // lines of an outline before the page, and after it
)

// outline returns some lines at even distances, of those that begin a paragraph if there are such.
func (p *Pager) outline(from, to int) (some []Mark) {
	list := slices.DeleteFunc(slices.Clone(p.marks), func(m Mark) bool { return m.Offset < from || m.Offset >= to })
	leads := slices.DeleteFunc(slices.Clone(list), func(m Mark) bool { return !m.lead })
	if len(leads) > 1 {
		list = leads
	}
	n := min(len(list), maxOutline)
	for i := range n {
		some = append(some, list[i*len(list)/n])
	}
	return some
}

// Add takes the next piece and reports whether some of it is on the page. A piece must not end inside a character.
func (p *Pager) Add(piece string) bool {
	shown, start := len(p.out), max(p.Offset, 0)
	blank := true // the line before
	for line := range strings.Lines(piece) {
		n := utf8.RuneCountInString(line)
		if !p.inner {
			blank = p.mark(line, blank)
		}
		if p.seen+n > start {
			p.line = cmp.Or(p.line, p.lines+1)
			from, to := max(start-p.seen, 0), n
			if p.Most > 0 && p.Most < n-(start-p.seen) {
				to = start - p.seen + p.Most
			}
			if from < to {
				p.out = append(p.out, line[byteAt(line, from):byteAt(line, to)]...)
			}
		}
		p.seen += n
		if p.inner = !strings.HasSuffix(line, "\n"); !p.inner {
			p.lines++
		}
	}
	return len(p.out) > shown
}

// byteAt returns where the character with a number begins.
func byteAt(s string, number int) int {
	for i := range s {
		if number--; number < 0 {
			return i
		}
	}
	return len(s)
}

// mark notes a line and reports whether it is blank. after says that the one before it was.
func (p *Pager) mark(line string, after bool) (blank bool) {
	short := text.Line(text.Clip(line[:min(len(line), 4*maxMark)], maxMark))
	if short == "" {
		return true
	}
	if lead := line[0] != ' ' && line[0] != '\t' && (after || line[0] == '#'); len(p.marks) < maxMarks {
		p.marks = append(p.marks, Mark{p.lines + 1, p.seen, strings.Clone(short), lead}) // short may keep all of the text
	}
	return false
}

// Page returns the page. Call it after the last Add.
func (p *Pager) Page() Page {
	page := Page{Offset: min(max(p.Offset, 0), p.seen), Total: p.seen, Line: max(p.line, 1), Lines: p.lines}
	if p.inner {
		page.Lines++
	}
	if end := page.Offset + utf8.RuneCount(p.out); end < p.seen {
		page.Next = end
	}
	page.Text = string(p.out)
	page.Outline = p.outline(0, page.Offset)
	if page.Next > 0 {
		page.Outline = append(page.Outline, p.outline(page.Next, p.seen)...)
	}
	return page
}

// Frame says what lies before and after a page, and how to go on. offset asks for one, as --offset %d does.
func (p *Page) Frame(offset string) (before, after string) {
	var marks [2]string
	for _, m := range p.Outline {
		side := &marks[0]
		if m.Offset >= p.Offset {
			side = &marks[1]
		}
		if *side == "" {
			*side = "; lines of that:\n"
		}
		*side += fmt.Sprintf("  line %d, "+offset+": %s\n", m.Line, m.Offset, m.Text)
	}
	if p.Offset > 0 {
		before = fmt.Sprintf("[%d characters before this%s]\n", p.Offset, marks[0])
	}
	if p.Next > 0 {
		after = fmt.Sprintf("\n[cut: %d characters follow, "+offset+" goes on%s]\n", p.Total-p.Next, p.Next, marks[1])
	}
	return before, after
}

// ToolName is the name of the tool.
const ToolName = "recall"

// Tool describes the tool with which an agent recalls what left its context.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parameters"` // JSON Schema of the arguments
}

// AgentTool returns the tool. Session.RecallTool of package clew answers its calls.
func AgentTool() Tool {
	return Tool{
		Name: ToolName,
		Description: "Read again what is no longer in the conversation, word for word. " +
			`{"id": "1a2b3c4d"} reads handles such as [#1a2b3c4d], a call with its results; add "around": "panic" for a part. ` +
			`{"from": "1a2b", "to": "5e6f"} lists what happened. {"query": "exit code", "tool": "bash", "path": "src/"} searches; ` +
			`"quoted words" stand together. Entries with all words come first; words that no entry has are named.`,
		Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "id": {"type": "string", "description": "Handles, or a range a..b."},
    "around": {"type": "string", "description": "With id: words to begin near."},
    "near": {"type": "integer", "minimum": 1, "description": "With id: one line for each of so many entries before and after."},
    "from": {"type": "string"},
    "to": {"type": "string"},
    "query": {"type": "string"},
    "offset": {"type": "integer", "minimum": 0, "description": "Where to go on: characters for id, else entries."},
    "limit": {"type": "integer", "minimum": 1, "description": "Characters (default 8000), hits (10) or lines (50)."},
    "raw": {"type": "boolean", "description": "With id: the stored JSON."},
    "role": {"type": "string", "enum": ["user", "assistant", "toolResult", "bashExecution", "custom", "system", "branchSummary", "compactionSummary"]},
    "tool": {"type": "string"},
    "path": {"type": "string", "description": "Beginning of a path."},
    "since": {"type": "string"},
    "until": {"type": "string"},
    "left": {"type": "boolean", "description": "Only what left the context."},
    "all": {"type": "boolean", "description": "Every branch, those that were left too: may not hold any more."}
  }
}`),
	}
}

// resultMark begins every answer of the tool. The rest of the first line names the entry, so
// that an excerpt of an answer still says where the words come from.
const resultMark = "[recalled "

// ResultLine returns the first line of an answer of the tool.
func ResultLine(what string) string { return resultMark + what + "]\n" }

// IsResult reports whether a message is an answer of the tool, whose words a search must not find twice.
func IsResult(m *message.Message) bool {
	return m.Role == message.RoleToolResult && IsTool(m.ToolName) && strings.HasPrefix(m.Text(), resultMark)
}

// IsTool reports whether a tool of this name is the recall tool. A server may put something before ToolName.
func IsTool(name string) bool { return strings.HasSuffix(strings.ToLower(name), ToolName) }
