package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// ui is the program of Bubble Tea. It belongs to the goroutine that updates it.
type ui struct {
	cfg   Config
	ctx   context.Context
	tasks *tasks
	jobs  []*job
	state agent.State
	cmds  []tea.Cmd // what the update that is under way wants done

	theme         *widget.Theme
	width, height int
	ed            *widget.Editor
	log           *transcript
	over          []*overlay // the last one is on top
	files         fileNames

	// What the agent's events have said.
	queue      []agent.Queued
	asks       []*asking
	answerNow  bool                // the user wants to answer, although there is something in the editor
	passes     []*agent.Compaction // that were done
	seen       map[string]bool     // entries that are shown
	retry      *agent.Retry
	retryAt    time.Time
	doingSince time.Time
	turnSince  time.Time
	requested  bool   // the turn has made a request
	lastError  string // while it is not on the screen

	loading bool              // the transcript is being read
	todos   []tool.Todo       // what the model keeps as a list
	page    int               // how many entries of the path are read
	more    bool              // there are older ones
	gen     int               // of the reading that counts
	held    []agent.Event     // that came meanwhile
	take    func(agent.Event) // takes an event in
	read    func()            // is called when the transcript was read

	outbox    []*outgoing
	sending   bool
	switching bool // to another session: what is sent waits
	cancelled bool // a cancel is on its way

	ticking  bool
	escAt    time.Time // the last Escape that meant nothing
	quitAt   time.Time // the last Ctrl+C
	cleared  string    // what stood in the editor then
	quitting bool
}

func newUI(ctx context.Context, c Config) *ui {
	theme := widget.NewTheme(c.Theme, true)
	u := &ui{
		cfg: c, ctx: ctx, tasks: &tasks{ctx: ctx}, theme: theme, width: 80, height: 24, ed: widget.NewEditor(theme), log: newTranscript(theme),
		seen: map[string]bool{}, page: firstPage,
	}
	u.take, u.read = u.event, func() {}
	u.state = c.Host.Agent().State()
	u.queue = c.Host.Agent().Queue()
	u.ed.Placeholder = "say what to do · / commands · @ files · ! a command · Shift+Tab mode · /help"
	u.ed.Complete = u.completeFile
	return u
}

// readCommands has the commands offered: ours, and those that files of the user or the
// project define.
func (u *ui) readCommands() {
	u.withCommands(func(cmds []widget.Command) {
		u.ed.Commands = cmds
		u.ed.Update(tea.PasteMsg{}) // nothing is put in; it looks again what to offer
	})
}

// withCommands reads which commands there are.
func (u *ui) withCommands(then func([]widget.Command)) {
	var own []rpc.Command
	u.run("", func(context.Context) error { own = u.cfg.Host.Commands(); return nil }, func(error) {
		var cmds []widget.Command
		for _, c := range commands() {
			cmds = append(cmds, widget.Command{Name: c.name, Args: c.args, Help: c.help})
		}
		for _, c := range own {
			cmds = append(cmds, widget.Command{Name: c.Name, Args: c.Arguments, Help: c.Description})
		}
		then(cmds)
	})
}

// do has a command done after the update that is under way.
func (u *ui) do(c tea.Cmd) {
	if c != nil {
		u.cmds = append(u.cmds, c)
	}
}

// Init implements tea.Model.
func (u *ui) Init() tea.Cmd {
	u.begin()
	if u.cfg.Theme == widget.ModeAuto {
		u.do(tea.RequestBackgroundColor)
	}
	var lines []string
	u.run("", func(context.Context) error { lines = u.cfg.Host.History(); return nil }, func(error) {
		u.ed.SetHistory(append(lines, u.ed.History()...))
	})
	u.offerDraft()
	u.readCommands()
	return u.flush()
}

// begin takes in how things stand, and sends what is to be sent at once.
func (u *ui) begin() {
	u.do(u.listen(0))
	u.load()
	greet(u, u.cfg)
	for _, q := range u.cfg.Host.Agent().Questions() {
		u.asked(q)
	}
	if u.cfg.First != "" {
		u.input(u.cfg.First, agent.WhenNext)
	}
}

// flush returns what is to be done.
func (u *ui) flush() tea.Cmd {
	if !u.ticking && u.busy() {
		u.ticking = true
		u.do(u.tasks.after(tick))
	}
	cmds := u.cmds
	u.cmds = nil
	return tea.Batch(cmds...)
}

// tick is how often the progress is drawn.
const tick = 200 * time.Millisecond

type tickMsg struct{}

// busy reports whether something goes on whose time is shown.
func (u *ui) busy() bool {
	return len(u.jobs) > 0 || u.state.Doing != agent.DoingNothing && u.state.Doing != agent.DoingClosed
}

// Update implements tea.Model.
func (u *ui) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		u.width, u.height = max(msg.Width, 1), max(msg.Height, 1)
		u.ed.SetSize(u.width, u.height)
		u.log.width = u.width
	case tea.BackgroundColorMsg:
		if u.cfg.Theme == widget.ModeAuto {
			*u.theme = *widget.NewTheme(widget.ModeAuto, msg.IsDark())
		}
	case tickMsg:
		u.ticking = false
	case eventsMsg:
		for _, e := range msg {
			u.take(e)
		}
		u.do(u.listen(frame))
	case loadedMsg:
		u.loaded(msg)
	case jobMsg:
		u.finish(msg)
	case sentMsg:
		u.sent()
	case tea.MouseWheelMsg:
		if len(u.over) > 0 {
			u.toOverlay(msg)
		} else {
			u.scroll(widget.Wheel[msg.Button])
		}
	case tea.KeyPressMsg:
		u.key(msg)
	case tea.PasteMsg:
		u.paste(msg)
	case tea.ResumeMsg:
		u.do(tea.ClearScreen)
	}
	if u.quitting && !u.sending && len(u.outbox) == 0 {
		u.do(tea.Quit)
	}
	return u, u.flush()
}

// fileNames are names of files that were asked for, to complete one.
type fileNames struct {
	prefix string
	names  []string
	known  bool
	busy   bool // others are looked for
}

// mostFiles is how many names are offered.
const mostFiles = 50

// completeFile returns the names that are known for a prefix. It never waits: where they
// are not known, they are looked for, and the editor is told when they are there.
func (u *ui) completeFile(prefix string) []string {
	f := &u.files
	if f.known && f.prefix == prefix {
		return f.names
	}
	if !f.busy {
		f.busy = true
		var names []string
		u.run("", func(ctx context.Context) error { names = u.cfg.Host.Files(ctx, prefix, mostFiles); return nil }, func(error) {
			*f = fileNames{prefix: prefix, names: names, known: true}
			u.ed.Update(tea.PasteMsg{}) // nothing is put in; it looks again what to offer
		})
	}
	return nil
}
