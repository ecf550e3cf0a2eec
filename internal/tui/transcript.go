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

// item is a part of the transcript.
type item struct {
	*widget.Block
	entry string   // the entry it is of; "" for a note of the program
	call  string   // the tool call it is of
	after string   // of a note: the entry behind which it stands
	fresh bool     // of a note: it is about what is going on now
	pass  []string // of a note that tells of a pass: the entries that it has written
	said  string   // what plain has printed of it

	name string // of a call that streams in: its tool
	size int    // in bytes, of its arguments
}

// transcript is what is shown of the conversation, and which part of it is on the
// screen. Only what is on the screen is ever drawn.
type transcript struct {
	theme *widget.Theme
	width int

	items []*item
	live  []*item          // of the answer that streams in, behind items
	calls map[string]*item // tool calls by their ids
	more  bool             // there is something before it that was not read

	openTools, openThinking bool

	scrolled bool // the user has moved up: the end is not followed
	top, off int  // where the screen begins while scrolled: an item, a line of it
	below    int  // items that have come since
}

func newTranscript(theme *widget.Theme) *transcript {
	return &transcript{theme: theme, width: 80, calls: map[string]*item{}}
}

func (t *transcript) len() int { return len(t.items) + len(t.live) }

func (t *transcript) at(i int) *item {
	if i < len(t.items) {
		return t.items[i]
	}
	return t.live[i-len(t.items)]
}

// add puts an item at the end of what is complete.
func (t *transcript) add(it *item) *item {
	t.dress(it)
	t.items = append(t.items, it)
	if it.call != "" {
		t.calls[it.call] = it
	}
	if t.scrolled {
		t.below++
	}
	t.trim()
	return it
}

// tight reports whether two blocks stand together without an empty line.
func tight(before, now widget.BlockKind) bool {
	return before == now && (now == widget.BlockTool || now == widget.BlockNotice) ||
		before == widget.BlockThinking && now == widget.BlockTool
}

// dress gives an item the fold that is wanted.
func (t *transcript) dress(it *item) {
	switch it.Kind {
	case widget.BlockTool, widget.BlockCompaction, widget.BlockBranch, widget.BlockUser:
		it.Open = t.openTools
	case widget.BlockThinking:
		it.Open = t.openThinking
	default:
	}
}

// mostKept is how many items are kept for showing. The session has all of it.
const mostKept = 8_000

// trim drops the oldest items where there are too many.
func (t *transcript) trim() {
	n := len(t.items) - mostKept
	if n < mostKept/10 {
		return // so that not each new item makes the list anew
	}
	t.items, t.more = slices.Clone(t.items[n:]), true
	if t.top -= n; t.top < 0 {
		t.top, t.off = 0, 0
	}
}

// lastEntry is the id of the last entry that is shown.
func (t *transcript) lastEntry() string {
	for _, it := range slices.Backward(t.items) {
		if it.entry != "" {
			return it.entry
		}
	}
	return ""
}

// note adds something that the program says.
func (t *transcript) note(kind widget.BlockKind, title, text string) *item {
	return t.add(&item{Block: widget.NewBlock(kind, title, text), after: t.lastEntry(), fresh: true})
}

// clear takes away all that is shown.
func (t *transcript) clear() {
	t.items, t.live, t.more, t.calls = nil, nil, false, map[string]*item{}
	t.end()
}

// fixNotes marks the notes as done with: from now on they stay where they are.
func (t *transcript) fixNotes() {
	for _, it := range t.items {
		it.fresh = false
	}
}

// rebuild replaces what is shown by what an agent's path says. Notes stay behind
// the entry that they stood behind; those of what was left behind go, but for the newest, and
// of those that tell of a pass the ones to be kept stay.
func (t *transcript) rebuild(items []*item, keep func(pass []string) bool) {
	anchor, off := "", t.off // what the screen begins with
	for i := t.top; t.scrolled && i < len(t.items) && anchor == ""; i++ {
		anchor = t.items[i].entry
	}
	last := map[string]int{} // of an entry: its last item
	for i, it := range items {
		last[it.entry] = i
	}
	behind := map[int][]*item{}
	for _, it := range t.items {
		if it.entry != "" || it.pass != nil && !keep(it.pass) {
			continue
		}
		i, ok := last[it.after]
		switch {
		case ok:
		case it.after == "" && !it.fresh:
			i = -1
		case it.fresh:
			i, it.fresh = len(items)-1, false
			if i >= 0 {
				it.after = items[i].entry
			}
		default:
			continue
		}
		behind[i] = append(behind[i], it)
	}
	t.clear()
	for i := -1; i < len(items); i++ {
		if i >= 0 {
			t.add(items[i])
		}
		for _, n := range behind[i] {
			open := n.Open
			t.add(n).Open = open
		}
	}
	if i := slices.IndexFunc(t.items, func(it *item) bool { return it.entry == anchor }); anchor != "" && i >= 0 {
		t.scrolled, t.top, t.off = true, i, min(off, max(len(t.lines(i))-1, 0))
	}
}

// fold folds or unfolds all tool calls and summaries, and thinking.
func (t *transcript) fold(tools, thinking bool) {
	t.openTools, t.openThinking = tools, thinking
	for i := range t.len() {
		t.dress(t.at(i))
	}
}

// lines draws an item, with the empty line before it.
func (t *transcript) lines(i int) []string {
	lines := t.at(i).Lines(t.theme, t.width)
	switch {
	case i == 0 && t.more:
		head := t.theme.Paint(t.theme.Dim, widget.Cut("- earlier parts are read when you go up; /recall finds them, /export writes all", t.width))
		return append([]string{head, ""}, lines...)
	case i == 0 || len(lines) == 0 || tight(t.at(i-1).Kind, t.at(i).Kind):
		return lines
	}
	return append([]string{""}, lines...)
}

// view draws height lines.
func (t *transcript) view(height int) []string {
	if height <= 0 {
		return nil
	}
	if t.scrolled {
		var out []string
		off := t.off
		for i := t.top; i < t.len(); i++ {
			l := t.lines(i)
			out = append(out, l[min(off, len(l)):]...)
			off = 0
			if len(out) > height {
				return out[:height]
			}
		}
		t.end() // what is left does not fill the screen
	}
	var out []string
	for i := t.len() - 1; i >= 0 && len(out) < height; i-- {
		out = append(slices.Clone(t.lines(i)), out...)
	}
	return out[max(len(out)-height, 0):]
}

// end follows the end again.
func (t *transcript) end() { t.scrolled, t.top, t.off, t.below = false, 0, 0, 0 }

// home goes to the beginning.
func (t *transcript) home() {
	if t.len() > 0 {
		t.scrolled, t.top, t.off = true, 0, 0
	}
}

// scroll moves by lines, up where n is below 0; height is that of the screen.
func (t *transcript) scroll(n, height int) {
	if t.len() == 0 || n > 0 && !t.scrolled {
		return
	}
	if !t.scrolled { // begin where the screen begins now
		t.top, t.off = t.len()-1, 0
		for rows := 0; ; t.top-- {
			rows += len(t.lines(t.top))
			if rows >= height || t.top == 0 {
				t.off = max(rows-height, 0)
				break
			}
		}
		if t.top == 0 && t.off == 0 {
			return // all is on the screen
		}
		t.scrolled = true
	}
	t.off += n
	for t.off < 0 && t.top > 0 {
		t.top--
		t.off += len(t.lines(t.top))
	}
	t.off = max(t.off, 0)
	for t.top < t.len()-1 && t.off >= len(t.lines(t.top)) {
		t.off -= len(t.lines(t.top))
		t.top++
	}
}

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
