package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// described is an entry in words.
type described struct {
	Kind string // one word: what it is
	Text string // one line: what it says
	// Tail is the end of the line that is to be seen where not all fits: the calls
	// of an answer.
	Tail string
	// Ref is the entry that it is about, "" when there is none; Text does not
	// name it.
	Ref string
}

// maxText is how much of a line of text is kept, in columns.
const maxText = 300

// What edits without new content say.
const (
	editOmits   = "omitted"
	editNothing = "without effect"
)

// describe puts an entry into words.
func describe(e *session.Entry) described {
	d := describeType(e)
	d.Kind = printable(d.Kind)
	d.Text, d.Tail = cut(d.Text, maxText), cut(d.Tail, maxText)
	return d
}

// of is the line of the entry with an id.
func (d described) of(id string) string { return short(id, maxID) + "  " + d.Kind + "  " + d.line() }

// line is Text and Tail.
func (d described) line() string { return joinWords(d.Text, d.Tail) }

func joinWords(text, tail string) string {
	if text == "" || tail == "" {
		return text + tail
	}
	return text + " " + tail
}

// fit shortens text and tail to n columns together. Neither takes more than half
// of them while the other needs the room.
func fit(text, tail string, n int) string {
	have := textWidth(tail)
	if text == "" || tail == "" || textWidth(text)+1+have <= n {
		return cut(joinWords(text, tail), n)
	}
	head := cut(text, max(n-1-have, n/2))
	return joinWords(head, cut(tail, n-1-textWidth(head)))
}

func describeType(e *session.Entry) described {
	switch e.Type {
	case session.TypeMessage:
		m, err := e.Message()
		if err != nil {
			return described{Kind: "message", Text: "can't be read: " + headline(err.Error())}
		}
		text, tail := messageLine(m)
		return described{Kind: kindOf(m.Role), Text: text, Tail: tail}
	case session.TypeCustomMessage:
		m, _ := e.CustomMessage()
		text, tail := messageLine(m)
		return described{Kind: "custom", Text: text, Tail: tail}
	case session.TypeCompaction:
		c, _ := e.Compaction()
		text := number(c.TokensBefore) + " tokens before"
		if c.FirstKeptEntryID == e.ID || c.FirstKeptEntryID == "" {
			return described{Kind: "compaction", Text: text + ", keeps nothing: " + summaryLine(c.Summary)}
		}
		return described{Kind: "compaction", Text: text + ": " + summaryLine(c.Summary), Ref: c.FirstKeptEntryID}
	case session.TypeBranchSummary:
		b, _ := e.BranchSummary()
		return described{Kind: "branch", Text: summaryLine(b.Summary), Ref: b.FromID}
	case session.TypeContextEdit:
		c, _ := e.ContextEdit()
		switch {
		case c.Omit:
			return described{Kind: "edit", Text: editOmits, Ref: c.TargetID}
		case c.Content == nil:
			return described{Kind: "edit", Text: editNothing, Ref: c.TargetID}
		}
		return described{Kind: "edit", Text: "now: " + joinWords(contentLine(message.ParseContent(c.Content))), Ref: c.TargetID}
	case session.TypeCustom:
		return describeCustom(e)
	case session.TypeLabel:
		l, _ := e.Label()
		if l.Label == "" {
			return described{Kind: "label", Text: "taken away", Ref: l.TargetID}
		}
		return described{Kind: "label", Text: headline(l.Label), Ref: l.TargetID}
	case session.TypeModelChange:
		m, _ := e.ModelChange()
		return described{Kind: "model", Text: headline(m.Provider + "/" + m.ID)}
	case session.TypeThinkingLevel:
		level, _ := e.ThinkingLevel()
		return described{Kind: "thinking", Text: headline(level)}
	case session.TypeSessionInfo:
		name, _ := e.SessionName()
		return described{Kind: "name", Text: headline(name)}
	case session.TypeUsage:
		u := e.UsageReport()
		kind, _ := jsonx.String(e.Field("kind"))
		return described{Kind: "usage", Text: headline(kind) + " " + number(u.Total()) + " tokens"}
	}
	if e.Type == "" {
		return described{Kind: "unknown", Text: "a record without a type"}
	}
	return described{Kind: string(e.Type), Text: "a record of a type that this clew does not know"}
}

func describeCustom(e *session.Entry) described {
	c, _ := e.Custom()
	switch c.CustomType {
	case session.CustomPass:
		p, ok := e.Pass()
		if !ok {
			return described{Kind: "pass", Text: "can't be read"}
		}
		what := count(p.Lines, "entry", "entries")
		if n := len(p.Edits); n > 0 {
			what = count(n, "edit")
			if p.Lines > n {
				what += " and " + count(p.Lines-n, "more entry", "more entries")
			}
		}
		if p.Reason != "" {
			what += " (" + headline(p.Reason) + ")"
		}
		return described{Kind: "pass", Text: what}
	case session.CustomLeaf:
		reason, _ := jsonx.String(jsonx.Get(c.Data, "reason"))
		from, _ := jsonx.String(jsonx.Get(c.Data, "from"))
		if reason == "" {
			reason = "moved here"
		}
		return described{Kind: "leaf", Text: headline(reason), Ref: from}
	}
	return described{Kind: "custom", Text: headline(c.CustomType)}
}

// kinds are the words for roles, where these are not their names.
var kinds = map[message.Role]string{
	message.RoleToolResult: "result", message.RoleBashExecution: "shell",
	message.RoleBranchSummary: "branch", message.RoleCompactionSummary: "summary",
}

// kindOf is the word for a role.
func kindOf(r message.Role) string { return cmp.Or(kinds[r], string(r)) }

// messageLine says what a message says in one line; tail is the calls of an answer.
func messageLine(m *message.Message) (text, tail string) {
	switch m.Role {
	case message.RoleBashExecution:
		return shellLine(m), ""
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		text = summaryLine(m.Summary)
	case message.RoleToolResult:
		return resultLine(m), ""
	case message.RoleCustom:
		text, tail = contentLine(m.Content)
		if m.CustomType != "" {
			text = headline(m.CustomType) + ": " + text
		}
	case message.RoleSystem:
		text = systemLine(m)
	case message.RoleAssistant:
		text, tail = contentLine(m.Content)
		switch m.StopReason {
		case message.StopError, message.StopAborted, message.StopLength:
			text = strings.TrimSuffix("["+string(m.StopReason)+"] "+text, " ")
			if m.ErrorMessage != "" {
				tail = joinWords(tail, headline(m.ErrorMessage))
			}
		default:
		}
	default:
		text, tail = contentLine(m.Content)
	}
	if text == "" && tail == "" {
		text = "(empty)"
	}
	return text, tail
}

func shellLine(m *message.Message) string {
	line := "$ " + headline(m.Command)
	switch {
	case m.Cancelled:
		line += " (cancelled)"
	case m.ExitCode != nil && *m.ExitCode != 0:
		line += fmt.Sprintf(" (exit code %d)", *m.ExitCode)
	}
	if m.ExcludeFromContext {
		line += " (not in the context)"
	}
	return line
}

func resultLine(m *message.Message) string {
	line := headline(m.ToolName)
	if m.IsError {
		line += " failed"
	}
	text := joinWords(contentLine(m.Content))
	if text == "" {
		return line + ": nothing"
	}
	if n := len(m.Text()); n > 10_000 {
		line += " (" + size(int64(n)) + ")"
	}
	return line + ": " + text
}

func systemLine(m *message.Message) string {
	added, removed := 0, 0
	jsonx.Elements(m.ToolsAdded, func([]byte) bool { added++; return true })
	jsonx.Elements(m.ToolsRemoved, func([]byte) bool { removed++; return true })
	parts := []string{count(len(m.Sections), "section"), count(added, "tool") + " added", count(removed, "tool") + " removed"}
	parts = slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(p, "0 ") })
	if text := headline(m.Text()); text != "" {
		parts = slices.Insert(parts, 0, text)
	}
	return strings.Join(parts, ", ")
}

// contentLine is the first line of the text of blocks, or of the thinking when
// there is nothing else; tail is the calls, and the images that are among them.
func contentLine(blocks []message.Block) (text, tail string) {
	thinking := ""
	var calls []string
	images, others := 0, 0
	for i := range blocks {
		b := &blocks[i]
		switch b.Type {
		case message.BlockText:
			if text == "" {
				text = headline(b.Text)
			}
		case message.BlockThinking:
			if thinking == "" {
				thinking = headline(b.Text)
			}
		case message.BlockToolCall:
			calls = append(calls, callLine(b))
		case message.BlockImage:
			images++
		default:
			others++
		}
	}
	if text == "" && len(calls) == 0 && thinking != "" {
		text = "(thinking) " + thinking
	}
	if images > 0 {
		calls = append(calls, "["+count(images, "image")+"]")
	}
	if others > 0 {
		calls = append(calls, "["+count(others, "other block")+"]")
	}
	return text, strings.Join(calls, " ")
}

// callLine is a call with the argument that says most: which file or which
// command it is about.
func callLine(b *message.Block) string {
	const most = 48
	name, arg := recall.About(b.Arguments)
	if recall.IsPath(name) {
		arg = cutLeft(headline(arg), most) // the end of a path says more than its beginning
	} else {
		arg = cut(headline(withoutCd(arg)), most)
	}
	return headline(b.Name) + "(" + arg + ")"
}

// withoutCd takes off what many models begin every command with.
func withoutCd(command string) string {
	if dir, rest, ok := strings.Cut(command, " && "); ok && strings.HasPrefix(dir, "cd ") && rest != "" {
		return rest
	}
	return command
}

// summaryLine is the first line of a summary that is no heading.
func summaryLine(s string) string {
	lines := 0
	for line := range strings.Lines(s) {
		if text := headline(line); text != "" && !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "<") {
			return text
		}
		if lines++; lines == 40 {
			break
		}
	}
	return headline(s)
}
