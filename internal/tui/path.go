package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// block puts something that an entry says at the end.
func (t *transcript) block(entry string, kind widget.BlockKind, title, text string) *item {
	return t.add(&item{Block: widget.NewBlock(kind, title, text), entry: entry})
}

// message puts what a message says.
func (t *transcript) message(id string, m *message.Message, fate compact.Fate) {
	switch m.Role {
	case message.RoleUser:
		if said := m.Text() + images(m); m.UserWords() {
			t.block(id, widget.BlockUser, "", said)
		} else {
			t.block(id, widget.BlockNotice, "", "told the model: "+said)
		}
	case message.RoleAssistant:
		t.answer(id, m, fate)
	case message.RoleToolResult:
		t.result(id, m)
	case message.RoleBashExecution:
		title := "! " + m.Command
		if m.ExcludeFromContext {
			title = "!! " + m.Command + " (not shown to the model)"
		}
		it := t.block(id, widget.BlockTool, title, m.Output)
		switch {
		case m.Cancelled:
			it.Status = widget.StatusCancelled
		case m.ExitCode != nil && *m.ExitCode != 0:
			it.Title = fmt.Sprintf("%s: exit code %d", title, *m.ExitCode)
			it.Status = widget.StatusFailed
		default:
			it.Status = widget.StatusDone
		}
	case message.RoleBranchSummary:
		t.block(id, widget.BlockBranch, "of what was left", m.Summary)
	case message.RoleCompactionSummary:
		t.block(id, widget.BlockCompaction, text.Tokens(m.TokensBefore)+" tokens before it; the summary stands for what is above", m.Summary)
	case message.RoleCustom:
		if m.Display {
			t.block(id, widget.BlockNotice, "", m.Text())
		}
	default:
	}
}

// answer puts what a model said.
func (t *transcript) answer(id string, m *message.Message, fate compact.Fate) {
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockThinking:
			if strings.TrimSpace(b.Text) != "" {
				t.block(id, widget.BlockThinking, "", b.Text)
			}
		case message.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				t.block(id, widget.BlockAssistant, "", b.Text)
			}
		case message.BlockToolCall:
			it := t.add(&item{Block: widget.NewBlock(widget.BlockTool, callTitle(b.Name, b.Arguments), ""), entry: id, call: b.ID})
			it.Status = widget.StatusWaiting
		default:
		}
	}
	switch {
	case m.StopReason == message.StopAborted:
		t.block(id, widget.BlockNotice, "", aborted)
	case m.StopReason == message.StopError && fate.Fate == compact.FateExcluded:
		t.block(id, widget.BlockNotice, "", "an attempt failed: "+m.ErrorMessage)
	case m.StopReason == message.StopError:
		t.block(id, widget.BlockError, "", m.ErrorMessage)
	}
}

// result puts a result into the item of its call.
func (t *transcript) result(id string, m *message.Message) {
	it := t.calls[m.ToolCallID]
	if it == nil { // its call is not shown any more
		it = t.block(id, widget.BlockTool, m.ToolName, "")
	}
	delete(t.calls, m.ToolCallID)
	it.Text = m.Text() + images(m)
	var d tool.Details
	if json.Unmarshal(m.Details, &d) == nil && d.Diff != "" && !m.IsError {
		it.Diff = d.Diff
	}
	it.Status = status(m.IsError, d.Outcome)
}

// aborted is what is said of an answer that was broken off.
const aborted = "cancelled"

func status(failed bool, outcome tool.Outcome) widget.Status {
	switch {
	case outcome == tool.Denied:
		return widget.StatusDenied
	case outcome == tool.Cancelled:
		return widget.StatusCancelled
	case failed:
		return widget.StatusFailed
	}
	return widget.StatusDone
}

// images names the images of a message, which a terminal does not show.
func images(m *message.Message) string {
	out := ""
	for _, b := range m.Content {
		if b.Type == message.BlockImage {
			out += "\n[image " + b.MIMEType + "]"
		}
	}
	return out
}

// callTitle says what a call does, as far as its arguments tell.
func callTitle(name string, arguments json.RawMessage) string {
	arg, subject := message.Subject(arguments)
	switch {
	case arg == "command":
		return name + ": " + subject
	case subject == "":
		subject = strings.TrimSpace(strings.TrimPrefix(string(arguments), "{}"))
	}
	return strings.TrimSpace(name + " " + subject)
}

// readPath makes the transcript of a path. passes are those that this program has seen;
// pending says that calls without a result may still get one.
func readPath(path []agent.Shown, passes []*agent.Compaction, pending bool) *transcript {
	t := newTranscript(nil)
	model := ""
	for _, s := range path {
		pass := slices.IndexFunc(passes, func(c *agent.Compaction) bool { return slices.Contains(c.Entries, s.ID) })
		switch {
		case s.Type == session.TypeModelChange:
			if model != "" && model != s.Model {
				t.block(s.ID, widget.BlockNotice, "", "model "+s.Model)
			}
			model = s.Model
		case pass >= 0 && s.Type == session.TypeCompaction:
			t.block(s.ID, widget.BlockCompaction, passTitle(passes[pass]), s.Message.Summary)
		case s.Message != nil:
			t.message(s.ID, s.Message, s.Fate)
		}
	}
	if !pending {
		for _, it := range t.calls {
			it.Status = widget.StatusCancelled
		}
	}
	return t
}

// passTitle says what a pass did: "48.2k → 21k tokens; /undo takes it back (offload
// 12.1k, summarize 15k, by anthropic/haiku, $0.02)". What matters most comes first: a narrow screen cuts it.
func passTitle(c *agent.Compaction) string {
	s := text.Tokens(c.Before) + " → " + text.Tokens(c.After) + " tokens; /undo takes it back"
	var more []string
	if r := stages(c.Stages); r != "" {
		more = append(more, r)
	}
	if c.Summarizer != "" {
		more = append(more, "by "+by(c.Summarizer))
	}
	if c.Cost > 0 {
		more = append(more, widget.Dollars(c.Cost))
	}
	if len(more) > 0 {
		s += " (" + strings.Join(more, ", ") + ")"
	}
	return s
}

// by names who made a summary.
func by(summarizer string) string {
	if summarizer == "user" {
		return "you"
	}
	return summarizer
}

func stages(list []compact.Stage) string {
	var parts []string
	for _, r := range list {
		parts = append(parts, r.Name+" "+text.Tokens(r.Freed))
	}
	return strings.Join(parts, ", ")
}
