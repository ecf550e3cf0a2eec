package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
)

// frame is the least time between two looks at the events: what streams in is drawn
// at most 25 times a second.
const frame = 40 * time.Millisecond

// eventsMsg are events that have come.
type eventsMsg []agent.Event

// listen waits for events.
func (u *ui) listen(wait time.Duration) tea.Cmd {
	return u.tasks.cmd(func(ctx context.Context) tea.Msg {
		sleep(ctx, wait)
		select {
		case <-ctx.Done():
			return nil
		case <-u.cfg.Events.Ready():
			return eventsMsg(u.cfg.Events.Take())
		}
	})
}

// loadedMsg is a path that was read.
type loadedMsg struct {
	gen  int
	path []agent.Shown
	more bool // there is something before it
	busy bool // its calls without a result may still get one
	err  error
}

// firstPage is how many entries of the path are read at first.
const firstPage = 400

// load reads the transcript again. What happens meanwhile is kept until it is there.
func (u *ui) load() {
	u.gen++
	u.loading = true
	gen, n, a := u.gen, u.page, u.cfg.Host.Agent()
	u.do(u.tasks.cmd(func(ctx context.Context) tea.Msg {
		busy := a.State().Doing != agent.DoingNothing
		path, before, err := a.PathPage(ctx, "", n)
		busy = busy || a.State().Doing != agent.DoingNothing
		return loadedMsg{gen, path, before != "", busy, err}
	}))
}

// loadMore reads older parts where the user has gone to the first that is shown.
func (u *ui) loadMore() {
	if t := u.log; u.more && !u.loading && t.scrolled && t.top == 0 && t.off == 0 && u.page < mostKept {
		u.page *= 2
		u.load()
	}
}

func (u *ui) loaded(m loadedMsg) {
	if m.gen != u.gen {
		return // another one is on its way
	}
	u.loading = false
	if m.err != nil {
		u.fail("the transcript can't be read", m.err)
	} else {
		u.seen, u.todos = make(map[string]bool, len(m.path)), nil
		edited := map[string]bool{} // what has an effect on this path
		for _, s := range m.path {
			u.seen[s.ID], edited[s.Fate.By] = true, true
			u.keepTodos(s.Message)
		}
		u.more = m.more
		read := readPath(m.path, u.passes, m.busy)
		u.log.rebuild(read.items, func(pass []string) bool {
			return slices.ContainsFunc(pass, func(id string) bool { return edited[id] }) && !slices.ContainsFunc(pass, func(id string) bool { return u.seen[id] })
		})
		u.log.more, u.log.calls = m.more, read.calls
	}
	u.read()
	wait := u.held
	u.held = nil
	for i, e := range wait {
		u.take(e)
		if u.loading {
			u.held = append(u.held, wait[i+1:]...)
			return
		}
	}
}

// event takes an event in.
func (u *ui) event(e agent.Event) {
	switch e.Kind { // these do not change the transcript
	case agent.KindState:
		u.setState(*e.State)
		return
	case agent.KindQueue:
		u.queue = e.Queue
		return
	case agent.KindAsk:
		u.asked(*e.Question)
		return
	case agent.KindAsked:
		u.answered(e.Question.ID)
		return
	default:
	}
	if u.loading {
		u.held = append(u.held, e)
		return
	}
	switch e.Kind {
	case agent.KindMoved:
		u.load()
	case agent.KindEntry:
		u.entry(e.Entry)
	case agent.KindTurnStart:
		u.turnSince, u.retry, u.requested = e.Time, nil, false
		u.log.fixNotes()
	case agent.KindTurnEnd:
		u.turnEnd(e)
	case agent.KindRequest:
		u.retry, u.log.live, u.requested = nil, nil, true
	case agent.KindDiscard:
		u.log.live = nil
	case agent.KindDelta:
		u.delta(e)
	case agent.KindToolStart, agent.KindToolOutput, agent.KindToolEnd:
		u.tool(e)
	case agent.KindCompactionEnd:
		u.passEnd(e.Compaction)
	case agent.KindRetry:
		u.retry, u.retryAt = e.Retry, e.Time.Add(e.Retry.Wait)
	case agent.KindWarning:
		u.note("warning: " + e.Text)
	case agent.KindError:
		u.fault(e.Text)
	default:
	}
}

// setState takes in what the agent is doing.
func (u *ui) setState(s agent.State) {
	if s.Session != "" && s.Session != u.cfg.Host.Agent().State().Session {
		return // of the session before
	}
	if s.Doing != u.state.Doing {
		u.doingSince = u.cfg.Clock()
	}
	u.state = s
}

// entry shows a message that was written.
func (u *ui) entry(e *agent.Entry) {
	if u.seen[e.ID] {
		return
	}
	u.seen[e.ID] = true
	if e.Message.Role == message.RoleAssistant || e.Message.Role == message.RoleBashExecution {
		u.log.live = nil
	}
	u.keepTodos(e.Message)
	u.log.message(e.ID, e.Message, compact.Fate{})
}

// keepTodos takes in the list that a call has left.
func (u *ui) keepTodos(m *message.Message) {
	var d tool.Details
	if m != nil && m.Role == message.RoleToolResult && m.ToolName == "todo" && json.Unmarshal(m.Details, &d) == nil && d.Todos != nil {
		u.todos = d.Todos
	}
}

// delta shows a piece of an answer.
func (u *ui) delta(e agent.Event) {
	kind := widget.BlockAssistant
	switch e.Part {
	case agent.PartThinking:
		kind = widget.BlockThinking
	case agent.PartArguments:
		kind = widget.BlockTool
	default:
	}
	key := fmt.Sprintf("%s %d", e.Part, e.Block)
	at := slices.IndexFunc(u.log.live, func(it *item) bool { return it.call == key })
	if at < 0 {
		if kind != widget.BlockTool && strings.TrimSpace(e.Text) == "" {
			return
		}
		for _, it := range u.log.live {
			it.Streaming = it.Streaming && it.Kind != widget.BlockThinking // it is complete
		}
		it := &item{Block: widget.NewBlock(kind, "", ""), call: key}
		if kind == widget.BlockTool {
			it.Status = widget.StatusWaiting
		}
		u.log.dress(it)
		at, u.log.live = len(u.log.live), append(u.log.live, it)
	}
	u.log.live[at].grow(e)
}

// grow adds a piece. Of arguments that come in only how much there is is shown.
func (it *item) grow(e agent.Event) {
	if it.Kind != widget.BlockTool {
		it.Text, it.Streaming = it.Text+e.Text, true
		return
	}
	it.size += len(e.Text)
	if e.Tool != nil && e.Tool.Name != "" {
		it.name = e.Tool.Name
	}
	if it.Title = it.name; it.size >= 200 {
		it.Title += " … " + kilobytes(it.size)
	}
}

func kilobytes(n int) string {
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f kB", float64(n)/1e3)
}

// tool shows how far a call is.
func (u *ui) tool(e agent.Event) {
	it := u.log.calls[e.Tool.ID]
	if it == nil && e.Kind == agent.KindToolStart { // a command of the user's
		it = &item{Block: widget.NewBlock(widget.BlockTool, "! "+e.Tool.Line, ""), call: e.Tool.ID}
		u.log.live = append(u.log.live, it)
		u.log.calls[e.Tool.ID] = it
	}
	if it == nil {
		return
	}
	switch e.Kind {
	case agent.KindToolStart:
		if e.Tool.Line != "" && e.Tool.Name != shellName {
			it.Title = e.Tool.Line
		}
		it.Status = widget.StatusRunning
	case agent.KindToolOutput:
		if len(it.Text) > mostOutput {
			it.Text = text.Tail(it.Text, mostOutput/2)
		}
		it.Text += e.Text
	default:
		delete(u.log.calls, e.Tool.ID)
	}
}

// shellName is the name of the tool that stands for a command of the user's.
const shellName = "shell"

// mostOutput is how much of the output of a running call is kept for showing, in bytes.
const mostOutput = 64 << 10

// turnEnd says how a turn ended, where that is not plain to see.
func (u *ui) turnEnd(e agent.Event) {
	u.log.live, u.retry = nil, nil
	for id, it := range u.log.calls {
		it.Status = widget.StatusCancelled
		delete(u.log.calls, id)
	}
	last := widget.NewBlock(widget.BlockNotice, "", "")
	if n := len(u.log.items); n > 0 {
		last = u.log.items[n-1].Block
	}
	switch e.Outcome {
	case agent.OutcomeFailed:
		const then = "nothing is lost: /continue tries again"
		if last.Kind == widget.BlockError && strings.Contains(e.Error, last.Text) {
			u.note(then) // what went wrong stands there already
		} else {
			u.fault(e.Error + "\n" + then)
		}
	case agent.OutcomeCancelled:
		const text = aborted + "; what was done stays. /continue resumes"
		if last.Text == aborted {
			last.Text = text // of the answer that was broken off
		} else {
			u.note(text)
		}
	case agent.OutcomeLimit:
		u.note("stopped at the limit of requests for one prompt; /continue resumes")
	case agent.OutcomeDone:
		if !u.requested {
			u.note("there is nothing to go on with; say what to do")
		}
	}
}

// passEnd shows what a pass did: one box for each. Of one that did nothing, a preview for
// instance, whoever asked for it tells.
func (u *ui) passEnd(c *agent.Compaction) {
	switch {
	case c.Done:
		u.passes = append(u.passes, c)
		kind, title, text := widget.BlockCompaction, passTitle(c), c.Summary
		if c.Reason == compact.Omission { // the user took messages out of the context
			kind, title, text = widget.BlockNotice, "", "omitted: "+title
		}
		u.log.note(kind, title, text).pass = c.Entries
	case c.Aborted:
		u.note("the compaction was cancelled; the context is as it was")
	case c.Error != "" && c.Reason != compact.Omission: // who omits hears of it
		u.fault("the compaction failed, and the context is as it was: " + c.Error)
	}
}

// note adds a line that the program says.
func (u *ui) note(text string) { u.log.note(widget.BlockNotice, "", text) }

// fault adds an error.
func (u *ui) fault(message string) {
	u.log.note(widget.BlockError, "", message)
	u.lastError = text.FirstLine(message)
}

// fail says what went wrong with what the user wanted.
func (u *ui) fail(what string, err error) {
	message := err.Error()
	if !strings.HasPrefix(message, what) {
		message = what + ": " + message
	}
	u.fault(message)
}
