package tui

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// Key is a key of the terminal and what it does, for the documentation.
type Key struct {
	Keys, Does string
	do         func(u *ui) bool // nil: done elsewhere; false: now it is for the editor
}

// Keys lists the keys.
func Keys() []Key {
	always := func(do func(u *ui)) func(*ui) bool { return func(u *ui) bool { do(u); return true } }
	return []Key{
		{"Enter", "send; while the agent works, before its next request", nil},
		{"Ctrl+F, Ctrl+Enter", "send when the agent would stop", func(u *ui) bool {
			if u.ed.Busy() {
				return false
			}
			u.toEditorWhen(tea.KeyPressMsg{Code: tea.KeyEnter}, agent.WhenDone)
			return true
		}},
		{"Alt+Enter, Ctrl+J", "begin a line", nil},
		{"Esc", "close what is open; cancel what is running", nil},
		{"Esc Esc", "on an empty editor: the tree", nil},
		{"Alt+Up", "take the last waiting message back into the editor", always((*ui).takeLast)},
		{"Ctrl+G", "go to the open question", always((*ui).goToWaiting)},
		{"Ctrl+O", "fold or unfold tool calls, summaries and thinking", always(func(u *ui) { u.log.fold(!u.log.openTools, !u.log.openTools) })},
		{"Ctrl+T", "fold or unfold thinking", always(func(u *ui) { u.log.fold(u.log.openTools, !u.log.openThinking) })},
		{"Shift+Tab", "change the mode: ask, edits, plan", func(u *ui) bool {
			if u.ed.Busy() {
				return false
			}
			u.cycleMode()
			return true
		}},
		{"PgUp, PgDn, wheel", "move in the transcript; Home and End on an empty editor", nil},
		{"Tab", "complete: /command, @file", nil},
		{"Up, Down, Ctrl+R", "earlier prompts; search them", nil},
		{"Ctrl+_, Ctrl+Y", "undo and redo typing", nil},
		{"Ctrl+C", "empty the editor; twice: leave. A draft is kept and offered the next time", always((*ui).interrupt)},
		{"Ctrl+D", "on an empty editor: leave", func(u *ui) bool {
			if u.ed.Empty() {
				u.quit()
			}
			return u.quitting
		}},
		{"Ctrl+L", "draw everything again", always(func(u *ui) { u.do(tea.ClearScreen) })},
		{"Ctrl+Z", "suspend clew; fg brings it back", always(func(u *ui) { u.do(tea.Suspend) })},
		{"!command", "run a command, and show it to the model; !!command does not show it", nil},
		{"//text", "send a text that begins with /", nil},
	}
}

const (
	twice    = 2 * time.Second        // within which Ctrl+C twice leaves
	twiceEsc = 700 * time.Millisecond // within which Escape twice opens the tree
)

// global are keys that mean the same while a question is answered.
var global = []string{"ctrl+c", "ctrl+g", "ctrl+l", "ctrl+o", "ctrl+z"}

// key does what a key means: to what is on top, then here, then to the editor.
func (u *ui) key(k tea.KeyPressMsg) {
	s := k.String()
	switch n := len(u.over); {
	case n > 0 && s == "ctrl+c":
		u.close(u.over[n-1])
	case n > 0:
		u.toOverlay(k)
	case u.answering() && !slices.Contains(global, s):
		switch out := u.dialog().Update(k).(type) {
		case widget.DoneMsg:
			u.dialog().Do(out.Value)
		case widget.IgnoredMsg:
			u.mainKey(k)
		}
	default:
		u.mainKey(k)
	}
}

func (u *ui) paste(p tea.PasteMsg) {
	u.quitAt = time.Time{}
	if len(u.over) > 0 {
		u.toOverlay(p)
		return
	}
	if u.answering() {
		u.dialog().Update(p) // a paste answers nothing
	}
	u.ed.Update(p)
}

func (u *ui) mainKey(k tea.KeyPressMsg) {
	s := k.String()
	if s != "ctrl+c" {
		u.quitAt = time.Time{} // what was typed since is not thrown away by one more
	}
	if s == "esc" {
		u.escape(k)
		return
	}
	u.escAt = time.Time{}
	for _, x := range Keys() {
		if x.do != nil && slices.Contains(strings.Split(strings.ToLower(x.Keys), ", "), s) && x.do(u) {
			return
		}
	}
	if !u.travel(s) {
		u.toEditor(k)
	}
}

// travel moves in the transcript, or in what was said before; false where a key does not.
func (u *ui) travel(key string) bool {
	page := func() int { return max(u.transcriptHeight()-2, 1) }
	switch {
	case key == "ctrl+r":
		u.searchHistory()
	case key == "pgup":
		u.scroll(-page())
	case key == "pgdown":
		u.scroll(page())
	case key == "shift+up":
		u.scroll(-1)
	case key == "shift+down":
		u.scroll(1)
	case key == "ctrl+home", key == "home" && u.ed.Empty():
		u.log.home()
		u.loadMore()
	case key == "ctrl+end", key == "end" && u.ed.Empty():
		u.log.end()
	default:
		return false
	}
	return true
}

// toEditor gives a message to the editor and sends what it says is to be sent.
func (u *ui) toEditor(msg tea.Msg) { u.toEditorWhen(msg, agent.WhenNext) }

func (u *ui) toEditorWhen(msg tea.Msg, when agent.When) {
	was := u.ed.Empty()
	if out, ok := u.ed.Update(msg).(widget.SendMsg); ok {
		u.input(out.Text, when)
	}
	if d := u.dialog(); d != nil && !was && u.ed.Empty() {
		d.Appear() // it takes keys again only now
	}
	if u.ed.Empty() {
		u.answerNow = false
	}
}

// escape leaves or cancels one thing, the nearest first.
func (u *ui) escape(k tea.KeyPressMsg) {
	switch {
	case u.ed.Busy():
		u.ed.Update(k)
	case u.dialog() != nil && !u.answering():
		u.goToWaiting()
	case u.busy():
		u.stop()
	case !u.ed.Empty():
		u.escAt = time.Time{}
	case u.cfg.Clock().Sub(u.escAt) < twiceEsc:
		u.escAt = time.Time{}
		u.input("/tree", agent.WhenNext)
	default:
		u.escAt = u.cfg.Clock()
	}
}

// stop cancels what the user waits for, or what the agent is doing.
func (u *ui) stop() {
	if n := len(u.jobs); n > 0 {
		u.jobs[n-1].cancel()
		return
	}
	u.cancel()
}

// cancel ends what the agent is doing.
func (u *ui) cancel() {
	if u.cancelled {
		return
	}
	u.cancelled = true
	a := u.cfg.Host.Agent()
	did := false
	u.run("", func(ctx context.Context) (err error) { did, err = a.Cancel(ctx); return err }, func(err error) {
		u.cancelled = false
		switch {
		case err != nil && !errors.Is(err, context.Canceled):
			u.fail("cancel", err)
		case err == nil && !did:
			u.note("nothing is running")
		}
	})
}

// interrupt empties the editor; a second time it leaves.
func (u *ui) interrupt() {
	now := u.cfg.Clock()
	if now.Sub(u.quitAt) < twice {
		u.ed.Offer(u.cleared) // it is kept as the draft
		u.quit()
		return
	}
	u.quitAt, u.cleared = now, u.ed.Text()
	u.ed.Clear() // the key Up brings it back
	u.answerNow = false
	// Until then a line says what a second one does.
	u.do(u.tasks.after(twice))
}

// quit leaves when what was typed is on the disk; at once when it is asked for again.
func (u *ui) quit() {
	if u.quitting {
		u.do(tea.Quit)
		return
	}
	u.quitting = true
}

// goToWaiting turns to the question that waits for the user.
func (u *ui) goToWaiting() {
	if u.dialog() != nil && !u.answering() {
		u.answerNow = true
	}
}

func (u *ui) scroll(n int) {
	u.log.scroll(n, u.transcriptHeight())
	u.loadMore()
}

// searchHistory lets the user take an earlier prompt, the newest first.
func (u *ui) searchHistory() {
	var items []widget.Item
	seen := map[string]bool{}
	for i, said := range slices.Backward(u.ed.History()) {
		if !seen[said] {
			seen[said] = true
			items = append(items, widget.Item{ID: strconv.Itoa(i), Cells: []string{text.FirstLine(said)}, Detail: said})
		}
	}
	u.pick(widget.PickerOptions{Title: "earlier prompts", Empty: "nothing was sent yet"}, items, "", func(id string) {
		if at, err := strconv.Atoi(id); err == nil {
			u.ed.Recall(at)
		}
	})
}

// modes are what Shift+Tab goes through.
var modes = []permission.Mode{permission.ModeAsk, permission.ModeEdits, permission.ModePlan}

func (u *ui) cycleMode() {
	setMode(u, string(modes[(slices.Index(modes, u.state.Mode)+1)%len(modes)]))
}
