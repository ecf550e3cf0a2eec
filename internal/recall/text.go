package recall

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Text returns what a message says, as text. This is what is searched and paged.
//
// A message of a single text is that text and nothing else. Other texts and blocks are
// joined by line breaks: reasoning follows a line [thinking], a call a line [call NAME]
// with its arguments as lines "name: value", where strings are not written as JSON. An
// image is a line that says so; its data is only in the JSON of the message. A shell run
// is its command after "$ ", then its output.
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
	t.blocks(m.Content)
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
func BlocksText(blocks []message.Block) string {
	if len(blocks) == 1 && blocks[0].Type == message.BlockText {
		return blocks[0].Text
	}
	var t lines
	t.blocks(blocks)
	return strings.Join(t, "\n")
}

// lines are joined by line breaks.
type lines []string

func (t *lines) add(texts ...string) { *t = append(*t, texts...) }

func (t *lines) blocks(blocks []message.Block) {
	for i := range blocks {
		b := &blocks[i]
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
}

// Pager takes a page from a text that comes in pieces, so that all of it need never be
// in memory at once. Set Offset and Most before the first Add. Offset is where the page
// begins and Most how long it may be, both in characters; Most below 1 means all of the
// rest. Characters are code points; a byte that is not UTF-8 counts as one. An Offset
// behind the end gives an empty page, one below 0 counts as 0.
type Pager struct {
	Offset, Most int

	out  []byte
	seen int // characters of all pieces so far
}

// Add takes the next piece and reports whether some of it is on the page. A piece must
// not end inside a character.
func (p *Pager) Add(piece string) bool {
	from, to := len(piece), len(piece)
	for i := range piece {
		at := p.seen - max(p.Offset, 0) // the place of the character on the page
		if at == 0 || at > 0 && i == 0 {
			from = i
		}
		if p.Most > 0 && at >= p.Most {
			to = min(to, i)
		}
		p.seen++
	}
	p.out = append(p.out, piece[from:to]...)
	return from < to
}

// Page returns the page. Call it after the last Add.
func (p *Pager) Page() Page {
	page := Page{Text: string(p.out), Offset: min(max(p.Offset, 0), p.seen), Total: p.seen}
	if end := page.Offset + utf8.RuneCount(p.out); end < p.seen {
		page.Next = end
	}
	return page
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
			"Summaries and notes name what they stand for by handles such as [#1a2b3c4d]: give one as id. " +
			"When there is no handle, give words as query, such as a name, a path or an error; \"quoted words\" must stand together. " +
			"Long results come in pages: the first line says which offset comes next.",
		Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "id": {"type": "string", "description": "Handle of one entry (1a2b3c4d), or of a range along the conversation (1a2b3c4d..5e6f7081)."},
    "query": {"type": "string", "description": "Words to search for, best match first."},
    "offset": {"type": "integer", "minimum": 0, "description": "Where to go on: characters for id, hits for query."},
    "limit": {"type": "integer", "minimum": 1, "description": "At most so many characters (default 8000) or hits (default 10)."},
    "raw": {"type": "boolean", "description": "With id: the stored JSON of the message instead of its text."},
    "role": {"type": "string", "enum": ["user", "assistant", "toolResult", "bashExecution", "custom", "system", "branchSummary", "compactionSummary"], "description": "With query: only messages of this role."},
    "tool": {"type": "string", "description": "With query: only calls and results of this tool."},
    "path": {"type": "string", "description": "With query: only calls and results about paths that begin so."},
    "left": {"type": "boolean", "description": "With query: only what left the context."},
    "all": {"type": "boolean", "description": "With query: every branch, those that were left too. What was said there may not hold any more."}
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
