package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// mostQueued is how many of the messages that wait are shown.
const mostQueued = 3

// smallScreen is the height from which on a question and the editor have room beside
// each other.
const smallScreen = 16

// View implements tea.Model.
func (u *ui) View() tea.View {
	lines, cursor := u.screen()
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = !u.cfg.NoAltScreen
	v.MouseMode = tea.MouseModeCellMotion
	v.Cursor = cursor
	v.WindowTitle = "clew"
	if name := widget.OneLine(u.state.Name); name != "" {
		v.WindowTitle = "clew: " + widget.Cut(name, 60)
	}
	return v
}

// screen draws everything: exactly as many lines as the terminal has. The cursor is nil where it
// is not on the screen.
func (u *ui) screen() (out []string, cursor *tea.Cursor) {
	below := u.below()
	if n := len(u.over); n > 0 {
		o := u.over[n-1]
		height := max(u.height-len(below), 1)
		o.SetSize(u.width, height)
		lines := o.Lines()
		out = filled(lines[:min(len(lines), height)], height)
		if typed, ok := o.view.(interface{ Cursor() *tea.Cursor }); ok {
			cursor = typed.Cursor()
		}
	} else {
		ed := u.editor()
		height := u.height - len(below) - len(ed)
		out = append(filled(u.log.view(height), height), ed...)
		if !u.answering() {
			cursor = u.ed.Cursor()
			cursor.Y += len(out) - len(u.ed.Lines()) // it is below all else
		}
	}
	out = append(out, below...)
	above := max(len(out)-u.height, 0) // a tiny screen: the end matters most
	if cursor != nil {
		cursor.Y -= above
		if cursor.X < 0 || cursor.Y < 0 || cursor.X >= u.width || cursor.Y >= u.height {
			cursor = nil
		}
	}
	return out[above:], cursor
}

// filled has empty lines below others, up to a height.
func filled(lines []string, height int) []string {
	return append(lines, make([]string, max(height-len(lines), 0))...)
}

// editor is what stands between the transcript and the line at the bottom: what goes on,
// what waits, a question, the editor.
func (u *ui) editor() []string {
	t := u.theme
	var out []string
	if u.log.scrolled && u.log.below > 0 {
		out = append(out, t.Paint(t.Accent, widget.Cut("↓ "+strconv.Itoa(u.log.below)+" new below; End or Ctrl+End goes there", u.width)))
	}
	if u.log.scrolled && u.lastError != "" {
		out = append(out, t.Paint(t.Error, widget.Cut("! "+u.lastError, u.width)))
	}
	out = append(out, u.todoLines()...)
	out = append(out, u.queueLines()...)
	if u.cfg.Clock().Sub(u.quitAt) < twice {
		out = append(out, t.Paint(t.Warning, widget.Cut("Ctrl+C again leaves clew", u.width)))
	}
	d := u.dialog()
	if d == nil {
		if p := u.progress(); p != "" {
			out = append(out, p)
		}
		return append(out, u.ed.Lines()...)
	}
	if n := len(u.jobs); n > 0 {
		out = append(out, t.Paint(t.Accent, widget.Cut(u.jobs[n-1].what+" waits until this is answered", u.width)))
	}
	ed := u.ed.Lines()
	small := u.height < smallScreen
	if u.answering() && small {
		ed = nil // what is asked must be seen
	}
	if !u.answering() {
		ed = append([]string{t.Paint(t.Warning, widget.Cut("Esc goes to the question; you are typing", u.width))}, ed...)
	}
	room := u.height - len(out) - len(ed) - 1
	if !small {
		room -= min(u.height/6, 8) // of the transcript
	}
	if small && !u.answering() { // its keys mean nothing now: what it is about comes first
		d.SetSize(u.width, u.height+smallScreen)
		lines := d.Lines()
		return append(append(out, lines[:min(max(room, 1), len(lines))]...), ed...)
	}
	d.SetSize(u.width, max(room, 4))
	out = append(out, d.Lines()...)
	return append(out, ed...)
}

func (u *ui) transcriptHeight() int { return max(u.height-len(u.editor())-len(u.below()), 1) }

// mostTodos is how many lines the list of what is to be done takes.
const mostTodos = 6

// todoLines show the list that the model keeps, until all of it is done: what is under way
// and what comes after it first.
func (u *ui) todoLines() []string {
	t := u.theme
	first := slices.IndexFunc(u.todos, func(d tool.Todo) bool { return d.Status != tool.TodoCompleted })
	if first < 0 || u.height < smallScreen {
		return nil
	}
	first = max(min(first-1, len(u.todos)-mostTodos), 0)
	marks := map[tool.TodoStatus]string{tool.TodoPending: "☐ ", tool.TodoInProgress: "▸ ", tool.TodoCompleted: "✓ "}
	styles := map[tool.TodoStatus]widget.Style{tool.TodoPending: t.Text, tool.TodoInProgress: t.Match, tool.TodoCompleted: t.Dim}
	var out []string
	for _, d := range u.todos[first:min(first+mostTodos, len(u.todos))] {
		out = append(out, t.Paint(styles[d.Status], widget.Cut("  "+marks[d.Status]+widget.OneLine(d.Content), u.width)))
	}
	if n := len(u.todos) - first - len(out); n > 0 {
		out = append(out, t.Paint(t.Dim, widget.Cut("  and "+strconv.Itoa(n)+" more to do", u.width)))
	}
	return out
}

// queueLines show messages waiting to be sent.
func (u *ui) queueLines() []string {
	t := u.theme
	var out []string
	n := len(u.queue)
	for i, q := range u.queue {
		if i == mostQueued && n > mostQueued+1 {
			out = append(out, t.Paint(t.Dim, widget.Cut(fmt.Sprintf("  and %d more; /queue shows all", n-i), u.width)))
			break
		}
		when := "next: "
		switch {
		case u.state.Held:
			when = "held: "
		case q.When == agent.WhenDone:
			when = "after: "
		}
		out = append(out, t.Paint(t.Dim, widget.Cut("  "+when+widget.OneLine(q.Text), u.width)))
	}
	if n > 0 && u.state.Held {
		out = append(out, t.Paint(t.Warning, widget.Cut("  held until your next message or /continue; Alt+Up takes it back", u.width)))
	}
	return out
}

// spinner are the pictures of the progress.
var spinner = map[bool][]string{true: {"|", "/", "-", `\`}, false: {"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}}

// progress says what goes on and since when; "" for nothing.
func (u *ui) progress() string {
	if !u.busy() {
		return ""
	}
	what, since := u.doing()
	t, now := u.theme, u.cfg.Clock()
	frames := spinner[t.Mode == widget.ModeNone]
	turn := frames[int(now.Sub(since)/tick)%len(frames)]
	if now.Before(since) {
		turn = frames[0]
	}
	line := t.Paint(t.Accent, turn+" "+what)
	return widget.Cut(line+t.Paint(t.Dim, fmt.Sprintf(" · %s · Esc cancels", elapsed(now.Sub(since)))), u.width)
}

// doing says what goes on: what the user waits for first.
func (u *ui) doing() (what string, since time.Time) {
	now := u.cfg.Clock()
	if n := len(u.jobs); n > 0 {
		j := u.jobs[n-1]
		return j.what, j.since
	}
	switch {
	case u.cancelled:
		return "cancelling", u.doingSince
	case u.retry != nil:
		left := max(u.retryAt.Sub(now), 0).Round(time.Second)
		of := ""
		if u.retry.Of > 0 {
			of = fmt.Sprintf(" of %d", u.retry.Of)
		}
		return fmt.Sprintf("trying again in %s (%d%s): %s", left, u.retry.Attempt, of, widget.Cut(widget.OneLine(u.retry.Error), max(u.width-50, 10))), cmp.Or(u.turnSince, u.doingSince)
	case u.state.Doing == agent.DoingCompaction:
		return "compacting " + text.Tokens(u.state.Tokens) + " tokens", u.doingSince
	case u.state.Doing == agent.DoingTurn:
		return "working", cmp.Or(u.turnSince, u.doingSince)
	case u.state.Doing == agent.DoingShell:
		return "running a command", u.doingSince
	}
	return string(u.state.Doing), u.doingSince
}

func elapsed(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	if d < time.Minute {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	return fmt.Sprintf("%d:%02d", int(d/time.Minute), int(d%time.Minute/time.Second))
}

// below is the line at the bottom, with a sign above it where something waits that is
// not on the screen.
func (u *ui) below() []string {
	t := u.theme
	meter := meterLine(t, &u.state, u.width)
	if len(u.over) == 0 {
		return []string{meter}
	}
	var out []string
	if n := len(u.asks); n > 0 {
		out = append(out, t.Paint(t.Warning, widget.Cut("! "+countedThat(n, "question", "wait")+"; leave this with Esc to answer", u.width)))
	} else if p := u.progress(); p != "" {
		out = append(out, p)
	}
	return append(out, meter)
}
