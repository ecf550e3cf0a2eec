package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// writer makes items of messages.
type writer struct {
	put  func(*item) *item
	call func(id string) *item // the item of a call, nil for none
}

// message puts what a message says.
func (w writer) message(id string, m *message.Message, fate compact.Fate) {
	block := func(kind widget.BlockKind, title, text string) *item {
		return w.put(&item{Block: widget.NewBlock(kind, title, text), entry: id})
	}
	switch m.Role {
	case message.RoleUser:
		text := m.Text() + images(m)
		if m.UserWords() {
			block(widget.BlockUser, "", text)
		} else {
			block(widget.BlockNotice, "", "told the model: "+text)
		}
	case message.RoleAssistant:
		w.answer(id, m, fate, block)
	case message.RoleToolResult:
		w.result(id, m)
	case message.RoleBashExecution:
		title := "! " + m.Command
		if m.ExcludeFromContext {
			title = "!! " + m.Command + " (not shown to the model)"
		}
		it := block(widget.BlockTool, title, m.Output)
		switch {
		case m.Cancelled:
			it.SetStatus(widget.StatusCancelled)
		case m.ExitCode != nil && *m.ExitCode != 0:
			it.SetTitle(fmt.Sprintf("%s: exit code %d", title, *m.ExitCode))
			it.SetStatus(widget.StatusFailed)
		default:
			it.SetStatus(widget.StatusDone)
		}
	case message.RoleBranchSummary:
		block(widget.BlockBranch, "of what was left", m.Summary)
	case message.RoleCompactionSummary:
		block(widget.BlockCompaction, widget.Tokens(m.TokensBefore)+" tokens before it; the summary stands for what is above", m.Summary)
	case message.RoleCustom:
		if m.Display {
			block(widget.BlockNotice, "", m.Text())
		}
	default:
	}
}

// answer puts what a model said.
func (w writer) answer(id string, m *message.Message, fate compact.Fate, block func(widget.BlockKind, string, string) *item) {
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockThinking:
			if strings.TrimSpace(b.Text) != "" {
				block(widget.BlockThinking, "", b.Text)
			}
		case message.BlockText:
			if strings.TrimSpace(b.Text) != "" {
				block(widget.BlockAssistant, "", b.Text)
			}
		case message.BlockToolCall:
			it := w.put(&item{Block: widget.NewBlock(widget.BlockTool, callTitle(b.Name, b.Arguments), ""), entry: id, call: b.ID})
			it.SetStatus(widget.StatusWaiting)
		default:
		}
	}
	switch {
	case m.StopReason == message.StopAborted:
		block(widget.BlockNotice, "", aborted)
	case m.StopReason == message.StopError && fate.Fate == compact.FateExcluded:
		block(widget.BlockNotice, "", "an attempt failed: "+m.ErrorMessage)
	case m.StopReason == message.StopError:
		block(widget.BlockError, "", m.ErrorMessage)
	}
}

// result puts a result into the item of its call.
func (w writer) result(id string, m *message.Message) {
	it := w.call(m.ToolCallID)
	if it == nil { // its call is not shown any more
		it = w.put(&item{Block: widget.NewBlock(widget.BlockTool, m.ToolName, ""), entry: id, call: m.ToolCallID})
	}
	it.SetText(m.Text() + images(m))
	var d tool.Details
	if json.Unmarshal(m.Details, &d) == nil && d.Diff != "" && !m.IsError {
		it.SetDiff(d.Diff)
	}
	it.SetStatus(status(m.IsError, d.Outcome))
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

// pathItems makes the items of a path, and returns those of calls without a result.
// boxes are what is known of the passes that this program has seen; pending says that
// the calls may still get one.
func pathItems(path []agent.Shown, boxes []*box, pending bool) (out []*item, open map[string]*item) {
	calls := map[string]*item{}
	w := writer{call: func(id string) *item { return calls[id] }}
	w.put = func(it *item) *item {
		out = append(out, it)
		if it.call != "" {
			calls[it.call] = it
		}
		return it
	}
	open = map[string]*item{}
	alive := map[string]bool{} // entries that have an effect on this path
	for _, s := range path {
		alive[s.ID] = true
		if s.Fate.By != "" {
			alive[s.Fate.By] = true
		}
	}
	boxes = slices.DeleteFunc(slices.Clone(boxes), func(b *box) bool {
		return !slices.ContainsFunc(b.entries, func(id string) bool { return alive[id] })
	})
	placed := map[*box]bool{}
	model := ""
	for _, s := range path {
		switch s.Type {
		case session.TypeModelChange:
			if model != "" && model != s.Model {
				w.put(&item{Block: widget.NewBlock(widget.BlockNotice, "", "model "+s.Model), entry: s.ID})
			}
			model = s.Model
		case session.TypeCompaction:
			at := slices.IndexFunc(boxes, func(b *box) bool { return slices.Contains(b.entries, s.ID) })
			if at < 0 {
				w.message(s.ID, s.Message, s.Fate)
				break
			}
			placed[boxes[at]] = true
			w.put(boxes[at].item(s.ID, s.Message.Summary))
		default:
			if s.Message != nil {
				w.message(s.ID, s.Message, s.Fate)
			}
		}
		for _, b := range boxes { // those of passes without a summary
			if b.after == s.ID && !b.compaction(path) {
				placed[b] = true
				w.put(b.item(boxEntry, ""))
			}
		}
	}
	for _, b := range boxes {
		if !placed[b] && !b.compaction(path) {
			w.put(b.item(boxEntry, ""))
		}
	}
	for id, it := range calls {
		open[id] = it
	}
	for _, s := range path {
		if s.Message != nil && s.Message.Role == message.RoleToolResult {
			delete(open, s.Message.ToolCallID)
		}
	}
	if !pending {
		for _, it := range open {
			it.SetStatus(widget.StatusCancelled)
		}
	}
	return out, open
}

// boxEntry stands for the entry of the box of a pass that wrote no compaction.
const boxEntry = "box"

// box is what the events said of a pass.
type box struct {
	entries []string
	title   string
	summary string
	after   string // the entry behind which it was made
	// omission says that the user took messages out of the context.
	omission bool
}

// compaction reports whether one of its entries is a compaction of the path.
func (b *box) compaction(path []agent.Shown) bool {
	return slices.ContainsFunc(path, func(s agent.Shown) bool {
		return s.Type == session.TypeCompaction && slices.Contains(b.entries, s.ID)
	})
}

func (b *box) item(entry, summary string) *item {
	if summary == "" {
		summary = b.summary
	}
	if b.omission {
		return &item{Block: widget.NewBlock(widget.BlockNotice, "", "omitted: "+b.title), entry: entry}
	}
	return &item{Block: widget.NewBlock(widget.BlockCompaction, b.title, summary), entry: entry}
}

// newBox makes the box of a pass that was done.
func newBox(c *agent.Compaction, after string) *box {
	return &box{entries: c.Entries, title: boxTitle(c), summary: c.Summary, after: after, omission: c.Reason == compact.Omission}
}

// boxTitle says what a pass did: "48.2k → 21k tokens; /undo takes it back (offload
// 12.1k, summarize 15k, by anthropic/haiku, $0.02)". What matters most comes first: a narrow screen cuts it.
func boxTitle(c *agent.Compaction) string {
	s := widget.Tokens(c.Before) + " → " + widget.Tokens(c.After) + " tokens; /undo takes it back"
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
		parts = append(parts, r.Name+" "+widget.Tokens(r.Freed))
	}
	return strings.Join(parts, ", ")
}
