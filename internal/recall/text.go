package recall

import (
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
	if len(m.Content) == 1 && m.Content[0].Type == message.BlockText && len(m.Sections) == 0 && m.ErrorMessage == "" &&
		m.ToolsAdded == nil && m.ToolsRemoved == nil {
		return m.Content[0].Text
	}
	var t lines
	for i := range m.Content {
		t.block(&m.Content[i])
	}
	for _, s := range m.Sections {
		t.add("[section "+s.Name+"]", s.Text)
	}
	if m.ToolsAdded != nil {
		t.add("[tools added]", string(m.ToolsAdded))
	}
	if m.ToolsRemoved != nil {
		t.add("[tools removed]", string(m.ToolsRemoved))
	}
	if m.ErrorMessage != "" {
		t.add("[error]", m.ErrorMessage)
	}
	return strings.Join(t, "\n")
}

// BlocksText is Text for content without a message.
func BlocksText(blocks []message.Block) string { return Text(&message.Message{Content: blocks}) }

// lines are joined by line breaks.
type lines []string

func (t *lines) add(texts ...string) { *t = append(*t, texts...) }

func (t *lines) block(b *message.Block) {
	switch b.Type {
	case message.BlockText:
		t.add(b.Text)
	case message.BlockThinking:
		t.add("[thinking]", b.Text)
	case message.BlockToolCall:
		t.add("[call " + b.Name + "]")
		t.arguments(b.Arguments)
	case message.BlockImage:
		t.add(fmt.Sprintf("[image %s, %d bytes]", b.MIMEType, len(b.Data)*3/4))
	default:
		t.add(string(b.JSON()))
	}
}

func (t *lines) arguments(args []byte) {
	if args == nil {
		return
	}
	if !jsonx.IsObject(args) {
		t.add(string(args))
		return
	}
	jsonx.Members(args, func(key, val []byte) bool {
		s, ok := jsonx.String(val)
		switch {
		case !ok:
			t.add(string(key) + ": " + string(val))
		case strings.Contains(s, "\n"):
			t.add(string(key)+":", s)
		default:
			t.add(string(key) + ": " + s)
		}
		return true
	})
}

// Page is a part of a text. The pages of a text, each beginning where the one before
// ended, make up the text.
type Page struct {
	Text   string `json:"text"`
	Offset int    `json:"offset"`         // where it begins, in characters
	Next   int    `json:"next,omitempty"` // where the next page begins; 0 when this is the last
	Total  int    `json:"total"`          // characters of the text
	Line   int    `json:"line"`           // the line that it begins in, from 1
	Lines  int    `json:"lines"`          // lines of the text
	// Outline are lines that lie before and after the page.
	Outline []Mark `json:"outline,omitempty"`
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

// outline returns some lines at even distances, of those that begin a paragraph if there are
// such.
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

// Add takes the next piece and reports whether some of it is on the page. A piece must
// not end inside a character.
func (p *Pager) Add(piece string) bool {
	from, to := len(piece), len(piece)
	blank := true // the line before
	for i, r := range piece {
		at := p.seen - max(p.Offset, 0) // the place of the character on the page
		if at == 0 || at > 0 && i == 0 {
			from = i
		}
		if at == 0 {
			p.line = p.lines + 1
		}
		if p.Most > 0 && at >= p.Most {
			to = min(to, i)
		}
		if !p.inner {
			blank = p.mark(piece[i:], blank)
		}
		p.seen++
		if p.inner = r != '\n'; !p.inner {
			p.lines++
		}
	}
	p.out = append(p.out, piece[from:to]...)
	return from < to
}

// mark notes a line that begins here and reports whether it is blank. after says that the
// one before it was.
func (p *Pager) mark(s string, after bool) (blank bool) {
	s, _, _ = strings.Cut(s[:min(len(s), 4*maxMark)], "\n")
	short := text.Line(text.Clip(s, maxMark))
	if short == "" {
		return true
	}
	if lead := s[0] != ' ' && s[0] != '\t' && (after || s[0] == '#'); len(p.marks) < maxMarks {
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

// Frame says what lies before and after a page, and how to go on. offset is how to ask for
// an offset, such as --offset %d.
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

// IsResult reports whether a message is an answer of the tool. Its words stand in the session
// already, and a search must not find them twice.
func IsResult(m *message.Message) bool {
	return m.Role == message.RoleToolResult && IsTool(m.ToolName) && strings.HasPrefix(m.Text(), resultMark)
}

// IsTool reports whether a tool of this name is the recall tool. A server may put something
// before ToolName.
func IsTool(name string) bool { return strings.HasSuffix(strings.ToLower(name), ToolName) }
