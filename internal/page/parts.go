package page

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// part is a piece of what an entry says. Its kind says which of the other fields
// count; page.html has them all.
type part struct {
	Kind   string
	Class  string
	Name   string // of a call or an argument
	Text   string
	Code   string // where a whole output was
	HTML   template.HTML
	Usage  *message.Usage
	Ref    *ref
	Image  template.URL
	Edit   string // the number of the edit that this is of
	Hidden bool
	Open   bool
	Parts  []part
}

func pre(s string) part { return part{Kind: "pre", Text: s} }

func paragraph(class, s string) part { return part{Kind: "p", Class: class, Text: s} }

// folded is what is open only when the reader asks for it.
func folded(class, summary string, parts ...part) part {
	return part{Kind: "fold", Class: class, Text: summary, Parts: parts}
}

// parts is what an entry says.
func (d *document) parts(i int, e *session.Entry, m *message.Message) []part {
	switch {
	case e.Type == session.TypeCompaction:
		c, _ := e.Compaction()
		return d.compaction(i, c.Summary, c.TokensBefore, c.SystemMessage)
	case e.Type == session.TypeBranchSummary:
		b, _ := e.BranchSummary()
		return d.branch(b.Summary, b.FromID)
	case m != nil:
		return append(d.message(i, m), answer(m)...)
	}
	why := "This record is of a type that clew does not know; the model sees nothing of it."
	if e.Type == session.TypeMessage {
		why = "This message can't be read; the model sees nothing of it."
	}
	return []part{paragraph("", why), folded("more", "The record", pre(string(e.Raw())))}
}

func (d *document) message(i int, m *message.Message) []part {
	switch m.Role {
	case message.RoleBashExecution:
		return shell(m)
	case message.RoleToolResult:
		return result(m)
	case message.RoleSystem:
		return []part{system(m)}
	case message.RoleCompactionSummary:
		return d.compaction(i, m.Summary, m.TokensBefore, nil)
	case message.RoleBranchSummary:
		return d.branch(m.Summary, m.FromID)
	default:
	}
	if m.Role == message.RoleUser && !m.UserWords() || m.Role == message.RoleCustom && !m.Display {
		return []part{folded("injected", line(m.Text()), blocks(m.Content, m.Role)...)}
	}
	return blocks(m.Content, m.Role)
}

// answer is how an answer ended and what it cost.
func answer(m *message.Message) (parts []part) {
	ended := map[message.StopReason]string{
		message.StopError: "Failed", message.StopAborted: "Cancelled", message.StopLength: "Cut off: the answer was too long",
	}[m.StopReason]
	if ended != "" {
		if m.ErrorMessage != "" {
			ended += ": " + m.ErrorMessage
		}
		parts = append(parts, paragraph("bad", ended))
	}
	if u := m.Usage; u != nil && (u.Total() > 0 || u.Cost > 0) {
		parts = append(parts, part{Kind: "usage", Usage: u})
	}
	return parts
}

func (d *document) compaction(i int, summary string, tokens int64, sys *message.Message) []part {
	head := part{Kind: "compaction", Ref: d.ref(d.kept(i))}
	if tokens > 0 {
		head.Text = number(tokens)
	}
	parts := []part{head}
	if sys != nil {
		parts = append(parts, folded("more", "System text at this place", system(sys)))
	}
	return append(parts, folded("more", "Summary", prose(summary)))
}

func (d *document) branch(summary, from string) []part {
	head := part{Kind: "branch"}
	if at, ok := d.byID[from]; ok {
		if from == "" || !d.Nodes[at].shown() {
			at = d.tree.Above[at]
		}
		head.Ref = d.ref(at)
	}
	return []part{head, folded("more", "Summary of that branch", prose(summary))}
}

func shell(m *message.Message) []part {
	ended := ""
	switch {
	case m.Cancelled:
		ended = "cancelled"
	case m.ExitCode != nil && *m.ExitCode != 0:
		ended = "exit code " + strconv.Itoa(*m.ExitCode)
	}
	parts := []part{{Kind: "command", Text: m.Command}, output(m.Output, "Output", ended)}
	if m.Truncated {
		parts = append(parts, part{Kind: "p", Class: "usage", Text: "The output was cut", Code: m.FullOutputPath})
	}
	return parts
}

func result(m *message.Message) (parts []part) {
	if diff := jsonx.StringAt(m.Details, "diff"); diff != "" {
		change := folded("diff", "Change", part{Kind: "diff", Text: diff})
		change.Open = true
		parts = append(parts, change)
	}
	ended := ""
	if m.IsError {
		ended = "failed"
	}
	var texts []string
	var rest []message.Block
	for _, b := range m.Content {
		if b.Type == message.BlockText {
			texts = append(texts, b.Text)
		} else {
			rest = append(rest, b)
		}
	}
	parts = append(parts, output(strings.Join(texts, "\n"), cmp.Or(line(m.ToolName), "a tool"), ended))
	parts = append(parts, blocks(rest, m.Role)...)
	if whole, ok := session.SpilledOf(m); ok {
		parts = append(parts, paragraph("usage", "This is an excerpt. The whole, "+size(whole.Size)+", is stored beside the session."))
	}
	return parts
}

// output is what a tool or a command printed, folded.
func output(s, name, ended string) part {
	class, head := "output", name
	if ended != "" {
		class, head = "output bad", name+", "+ended
	}
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return paragraph(class, head+": nothing")
	}
	if n := strings.Count(s, "\n") + 1; n > 1 {
		head += ", " + count(n, "line")
	}
	return folded(class, head+": "+line(s), pre(s))
}

func system(m *message.Message) part {
	var parts []part
	if t := m.Text(); t != "" {
		parts = append(parts, pre(t))
	}
	title := func(s string) part { return part{Kind: "title", Text: s} }
	for _, s := range m.Sections {
		parts = append(parts, title(line(s.Name)), pre(cmp.Or(s.Text, "(taken away)")))
	}
	if m.ToolsAdded != nil {
		parts = append(parts, title("Tools added"), pre(indent(m.ToolsAdded)))
	}
	if m.ToolsRemoved != nil {
		parts = append(parts, title("Tools removed"), pre(indent(m.ToolsRemoved)))
	}
	return folded("more", cmp.Or(line(m.Text()), "System text"), parts...)
}

// blocks is the content of a message of a role.
func blocks(list []message.Block, role message.Role) (parts []part) {
	for i := range list {
		b := &list[i]
		switch {
		case b.Type == message.BlockText && strings.TrimSpace(b.Text) == "":
		case b.Type == message.BlockText && role == message.RoleAssistant:
			parts = append(parts, prose(b.Text))
		case b.Type == message.BlockText && role == message.RoleToolResult:
			parts = append(parts, pre(b.Text))
		case b.Type == message.BlockText: // the user's words, letter for letter
			parts = append(parts, part{Kind: "said", Text: b.Text})
		case b.Type == message.BlockThinking && b.Text != "":
			parts = append(parts, folded("thinking", "Thinking: "+line(b.Text), part{Kind: "said", Text: b.Text}))
		case b.Type == message.BlockThinking:
			if b.Redacted || b.Signature != "" {
				parts = append(parts, paragraph("usage", "Thinking that the provider withheld"))
			}
		case b.Type == message.BlockToolCall:
			parts = append(parts, call(b))
		case b.Type == message.BlockImage:
			parts = append(parts, image(b))
		default:
			parts = append(parts, folded("more", "A block of the type "+line(string(b.Type)), pre(indent(b.JSON()))))
		}
	}
	return parts
}

// call is a call: the tool and the telling argument, and all arguments folded. Texts
// stand as they are, so that a file or a script can be read.
func call(b *message.Block) part {
	c := part{Kind: "call", Name: line(b.Name)}
	_, subject := message.Subject(b.Arguments)
	c.Text = line(subject)
	switch {
	case jsonx.IsNull(b.Arguments):
		c.Parts = []part{paragraph("", "No arguments")}
	case !jsonx.IsObject(b.Arguments):
		c.Parts = []part{pre(indent(b.Arguments))}
	default:
		args := part{Kind: "arguments"}
		jsonx.Members(b.Arguments, func(key, val []byte) bool {
			s, ok := jsonx.String(val)
			if !ok {
				s = indent(val)
			}
			args.Parts = append(args.Parts, part{Name: string(key), Text: s})
			return true
		})
		c.Parts = []part{args}
	}
	return c
}

// indent makes JSON readable. What is nested too deep for that stays as it is.
func indent(val []byte) string {
	const deep = 100
	var b bytes.Buffer
	if _, err := jsonx.ScanAt(val, 0, jsonx.MaxDepth-deep); err != nil || json.Indent(&b, val, "", "  ") != nil {
		return string(val)
	}
	return b.String()
}

// shownImages are the types of images that a page shows: none that can hold a script
// or ask for something.
var shownImages = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

func image(b *message.Block) part {
	bytes := size(int64(base64.StdEncoding.DecodedLen(len(b.Data))))
	if !slices.Contains(shownImages, b.MIMEType) || b.Data == "" || !only(b.Data, "+/=") {
		return paragraph("usage", "An image that is not shown ("+line(b.MIMEType)+", "+bytes+")")
	}
	return part{Kind: "image", Text: bytes, Image: template.URL("data:" + b.MIMEType + ";base64," + b.Data)}
}

// diffLine is a line of a change of a file: with a tag where it begins with a plus or
// a minus, or says where the change is.
type diffLine struct{ Tag, Text string }

func diffLines(diff string) (out []diffLine) {
	kind := text.DiffLines()
	for l := range strings.Lines(text.Visible(diff)) {
		out = append(out, diffLine{map[byte]string{'+': "ins", '-': "del", '@': "i", 'f': "i"}[kind(l)], l})
	}
	return out
}
