package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// front is what commands need of a terminal. All of it is called, and calls back, on
// the goroutine of the terminal; only the work of run and quietly is done elsewhere.
type front interface {
	host() rpc.Host
	// previews reports whether /compact shows a compaction before it is made.
	previews() bool
	asksOnMoves() bool // whether a branch that is left is to be summarized
	// note, fault and fail add a line to the transcript.
	note(text string)
	fault(text string)
	fail(what string, err error)
	// run does something that the user waits for and may cancel; quietly something that
	// takes no time worth showing.
	run(what string, work func(ctx context.Context) error, then func(error))
	quietly(work func(ctx context.Context) error, then func(error))
	// soon opens what was worked on, when the user has time for it.
	soon(what string, open func())
	// head begins the screen, showDiff shows what was changed in files.
	head(title string, lines ...string)
	showDiff(title, unified string)
	// show and showText show something to read; the text of showText can be taken into
	// the editor.
	show(title string, text func(width int) string)
	showText(title, text string)
	// edit lets the user change a text, editWith after reading something about it.
	edit(title, text string, single bool, done func(string))
	// note says something about the text as it stands; see widget.Form.
	editWith(head []string, title, text string, note func(string) (string, bool), done func(string))
	choose(q widget.Question, sudden bool, then func(option string))
	pick(l *list)
	tree(nodes []widget.Node, do func(t treeFront, msg any))
	// offer puts a text into the editor, if that is empty.
	offer(text string) bool
	copy(text string)
	// changing says that another session is being taken into use, changed that it is, or
	// could not be.
	changing()
	changed(err error)
	// own sends a text that begins with a command that a file defines.
	own(text string)
	// stop cancels what goes on.
	stop()
	quit()
}

// treeFront is a tree that is shown.
type treeFront interface {
	SetNodes([]widget.Node)
	leave()
}

// cmd is a command of the terminal.
type cmd struct {
	name, args, help string
	do               func(f front, args string)
}

// commands lists the commands, in the order of the help.
func commands() []cmd {
	return []cmd{
		{"compact", "[instructions]", "summarize the old part; you can read and edit the summary first", func(f front, args string) {
			compactFirst(f, agent.CompactRequest{Instructions: args})
		}},
		{"compact!", "[instructions]", "the same at once, without a preview", func(f front, args string) {
			compactNow(f, agent.CompactRequest{Instructions: args})
		}},
		{"undo", "", "take back the last compaction, or files and messages of a turn", func(f front, _ string) { undo(f) }},
		{"diff", "", "what was changed in files in this session", func(f front, _ string) { showChanges(f) }},
		{"tree", "", "go to another place of the conversation; branches are kept", func(f front, _ string) { openTree(f) }},
		{"context", "", "what the model is sent, and how full the window is", func(f front, _ string) { showContext(f) }},
		{"explain", "", "what became of each message, and what a pass would do next", func(f front, _ string) { explain(f) }},
		{"recall", "[words or id]", "find what was said, word for word", recallText},
		{"pin", "[id]", "keep a message word for word through every compaction", pin},
		{"unpin", "[id]", "no longer", unpin},
		{"omit", "[id [id]]", "take a message, or all from one to another, out of the context", omit},
		{"model", "[provider/id]", "let another model answer", chooseModel},
		{"reasoning", "[level]", "how much the model reasons", chooseReasoning},
		{"mode", "[mode]", "what is done without asking", chooseMode},
		{"resume", "", "continue another session", func(f front, _ string) { listSessions(f, false) }},
		{"new", "", "begin a new session; this one stays", begun},
		{"clear", "", "the same as /new: nothing is deleted", begun},
		{"fork", "[id]", "go on in a copy of the session", fork},
		{"name", "[name]", "name the session", name},
		{"export", "[file or format]", "write the session to a file", export},
		{"cost", "", "what the session has cost, by model", func(f front, _ string) { cost(f) }},
		{"queue", "", "messages waiting to be sent", func(f front, _ string) { showQueue(f) }},
		{"continue", "", "let the agent go on", func(f front, _ string) { goOn(f) }},
		{"cancel", "", "cancel what is running, like Esc", func(f front, _ string) { f.stop() }},
		{"settings", "[name value]", "show and change the settings", changeSettings},
		{"hooks", "", "the hooks and servers in use", func(f front, _ string) { hooks(f) }},
		{"trust", "", "trust the hooks and servers of the project", func(f front, _ string) { trust(f) }},
		{"help", "", "commands and keys", func(f front, _ string) { help(f) }},
		{"quit", "", "leave; the session stays", func(f front, _ string) { f.quit() }},
	}
}

// command does what a line says that is not for the model.
func command(f front, kind inputKind, rest string) {
	if kind == inputShell || kind == inputHidden {
		shell(f, rest, kind == inputHidden)
		return
	}
	name, args, _ := strings.Cut(rest, " ")
	name = strings.ToLower(strings.TrimSpace(name))
	list := commands()
	if at := slices.IndexFunc(list, func(c cmd) bool { return c.name == name }); at >= 0 {
		list[at].do(f, strings.TrimSpace(args))
		return
	}
	var names []string
	for _, c := range list {
		names = append(names, c.name)
	}
	for _, c := range f.host().Commands() {
		if strings.EqualFold(c.Name, name) {
			f.own("/" + c.Name + " " + args)
			return
		}
		names = append(names, c.Name)
	}
	what := "there is no command /" + name
	if near := text.Nearest(name, names); near != "" {
		what += "; did you mean /" + near + "?"
	} else {
		what += "; /help lists them."
	}
	f.fault(what + " Nothing was sent; a text that begins with / is sent with // before it")
}

// shell runs a command of the user's.
func shell(f front, line string, hidden bool) {
	if line == "" {
		f.note("! runs a command: !git status. !! runs one that the model does not see")
		return
	}
	a := f.host().Agent()
	f.quietly(func(ctx context.Context) error { return a.Shell(ctx, line, hidden) }, func(err error) {
		if err != nil && !cancelled(err) {
			f.fail("", err)
		}
	})
}

// cancelled reports whether an error is that of something that the user has cancelled.
func cancelled(err error) bool {
	return errors.Is(err, context.Canceled) || err != nil && strings.Contains(err.Error(), "it was cancelled")
}

// failed says why something did not come about, and that nothing was changed.
func failed(f front, what string, err error) bool {
	switch {
	case err == nil:
		return false
	case cancelled(err):
		f.note(what + ": cancelled; nothing was changed")
	default:
		f.fail(what, err)
	}
	return true
}

// get is run for work that finds something out: then is called with it, where that did not fail.
func get[T any](f front, doing, what string, work func(ctx context.Context) (T, error), then func(T)) {
	var got T
	f.run(doing, func(ctx context.Context) (err error) { got, err = work(ctx); return err }, func(err error) {
		if !failed(f, what, err) {
			then(got)
		}
	})
}

// yesNo asks the user for a yes.
func yesNo(f front, q widget.Question, sudden bool, yes, no string, then func()) {
	q.Safe, q.Options = 1, []widget.Option{{ID: "yes", Key: "y", Text: yes}, {ID: "no", Key: "n", Text: no}}
	f.choose(q, sudden, func(option string) {
		if option == "yes" {
			then()
		}
	})
}

func goOn(f front) {
	a := f.host().Agent()
	f.quietly(a.Continue, func(err error) {
		if err != nil {
			f.fail("", err)
		}
	})
}

// begin says what there is to say at the start.
func begin(f front, c Config) {
	s := f.host().Agent().State()
	model := orNone(s.Model)
	if s.Window > 0 {
		model += " · window " + widget.Tokens(s.Window)
	}
	f.head("clew", model, f.host().Dir(), "session "+cmp.Or(widget.OneLine(s.Name), s.Session), "/help lists commands and keys; nothing is lost, and /recall finds it")
	for _, h := range c.Hints {
		f.note(h)
	}
	if s.Queue > 0 {
		f.note(countedThat(s.Queue, "message", "wait") + " to be delivered since an earlier run: /queue shows what, /continue sends it")
	}
	if len(f.host().Untrusted()) > 0 {
		f.note("this project has hooks or servers that are not run, because it is not trusted: /trust shows them and asks")
	}
	if c.Choose {
		listSessions(f, false)
	}
}

func orNone(s string) string {
	if s == "" {
		return "no model"
	}
	return s
}

func trust(f front) {
	t := f.host()
	if len(t.Untrusted()) == 0 {
		f.note("there is nothing in this project that needs to be trusted")
		return
	}
	q := widget.Question{Title: "trust this project?", Text: "Its programs run with your rights, without asking.", Body: strings.Join(t.Untrusted(), "\n")}
	yesNo(f, q, false, "yes, from now on", "no", func() {
		f.quietly(t.Trust, func(err error) {
			if !failed(f, "trust the project", err) {
				f.note("the project is trusted; its hooks count from the next session on, its servers from the next start on")
			}
		})
	})
}

func help(f front) {
	f.show("help", func(width int) string {
		var b strings.Builder
		var rows [][2]string
		for _, c := range commands() {
			rows = append(rows, [2]string{strings.TrimSpace("/" + c.name + " " + c.args), c.help})
		}
		table(&b, rows, width)
		b.WriteString("\n")
		rows = rows[:0]
		for _, k := range Keys() {
			rows = append(rows, [2]string{k.Keys, k.Does})
		}
		table(&b, rows, width)
		b.WriteString("\nMark text with the mouse while you hold Shift.\n")
		return b.String()
	})
}

// table writes rows of two columns.
func table(b *strings.Builder, rows [][2]string, width int) {
	first := 0
	for _, r := range rows {
		first = max(first, widget.Width(r[0]))
	}
	first = min(first, max(width/3, 12))
	for _, r := range rows {
		lines := widget.Wrap(r[1], max(width-first-2, 10))
		left := r[0]
		if widget.Width(left) > first {
			b.WriteString(left + "\n")
			left = ""
		}
		for i, l := range lines {
			if i > 0 {
				left = ""
			}
			b.WriteString(left + strings.Repeat(" ", max(first-widget.Width(left), 0)+2) + l + "\n")
		}
	}
}

func hooks(f front) {
	lines := f.host().Hooks()
	if len(lines) == 0 {
		f.note("no hooks and no servers are in use")
		return
	}
	f.show("hooks and servers", func(int) string { return strings.Join(lines, "\n") })
}

func showQueue(f front) {
	a := f.host().Agent()
	waiting := a.Queue()
	if len(waiting) == 0 {
		f.note("nothing waits to be delivered")
		return
	}
	var items []widget.Item
	for _, q := range waiting {
		when := "next"
		if q.When == agent.WhenDone {
			when = "after"
		}
		items = append(items, widget.Item{ID: q.ID, Cells: []string{text.FirstLine(q.Text), when, q.At.Format("15:04:05")}, Detail: q.Text})
	}
	f.pick(&list{
		PickerOptions: widget.PickerOptions{Title: "waiting messages: Enter takes one back"}, items: items,
		picked: func(id string) {
			var got []agent.Queued
			f.quietly(func(context.Context) (err error) { got, err = a.TakeBack(id); return err }, func(err error) {
				if err != nil {
					f.fail("", err)
				}
				for _, q := range got {
					if !f.offer(q.Text) {
						f.note("taken back; the editor was not empty: the key Up brings it back")
					}
				}
			})
		},
	})
}
