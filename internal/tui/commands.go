package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// cmd is a command of the terminal.
type cmd struct {
	name, args, help string
	do               func(u *ui, args string)
}

// commands lists the commands, in the order of the help.
func commands() []cmd {
	return []cmd{
		{"compact", "[instructions]", "summarize the old part; you can read and edit the summary first", func(u *ui, args string) {
			compactFirst(u, agent.CompactRequest{Instructions: args})
		}},
		{"compact!", "[instructions]", "the same at once, without a preview", func(u *ui, args string) {
			compactNow(u, agent.CompactRequest{Instructions: args})
		}},
		{"undo", "", "take back the last compaction, or files and messages of a turn", func(u *ui, _ string) { undo(u) }},
		{"diff", "", "what was changed in files in this session", func(u *ui, _ string) { showChanges(u) }},
		{"tree", "", "go to another place of the conversation; branches are kept", func(u *ui, _ string) { openTree(u) }},
		{"context", "", "what the model is sent, and how full the window is", func(u *ui, _ string) { showSnapshot(u, "context", contextText) }},
		{"explain", "", "what became of each message, and what a pass would do next", func(u *ui, _ string) { showSnapshot(u, "explain", explainText) }},
		{"recall", "[words or id]", "find what was said, word for word", recallText},
		{"pin", "[id]", "keep a message word for word through every compaction", pin},
		{"unpin", "[id]", "no longer", unpin},
		{"omit", "[id [id]]", "take a message, or all from one to another, out of the context", omit},
		{"model", "[provider/id]", "let another model answer", chooseModel},
		{"reasoning", "[level]", "how much the model reasons", chooseReasoning},
		{"mode", "[mode]", "what is done without asking", chooseMode},
		{"resume", "", "continue another session", func(u *ui, _ string) { listSessions(u, false) }},
		{"new", "", "begin a new session; this one stays", begun},
		{"clear", "", "the same as /new: nothing is deleted", begun},
		{"fork", "[id]", "go on in a copy of the session", fork},
		{"name", "[name]", "name the session", name},
		{"export", "[file or format]", "write the session to a file", export},
		{"cost", "", "what the session has cost, by model", showCost},
		{"queue", "", "messages waiting to be sent", func(u *ui, _ string) { showQueue(u) }},
		{"continue", "", "let the agent go on", func(u *ui, _ string) { u.try("", "", u.cfg.Host.Agent().Continue, func() {}) }},
		{"cancel", "", "cancel what is running, like Esc", func(u *ui, _ string) { u.stop() }},
		{"settings", "[name value]", "show and change the settings", changeSettings},
		{"hooks", "", "the hooks and servers in use", func(u *ui, _ string) { hooks(u) }},
		{"trust", "", "trust the hooks and servers of the project", func(u *ui, _ string) { trust(u) }},
		{"help", "", "commands and keys", func(u *ui, _ string) { help(u) }},
		{"quit", "", "leave clew", func(u *ui, _ string) { u.quit() }},
	}
}

// command does what a line says that is not for the model.
func command(u *ui, mark, rest string) {
	if mark != "/" {
		shell(u, strings.TrimSpace(rest), mark == "!!")
		return
	}
	name, args := rest, ""
	if at := strings.IndexFunc(rest, unicode.IsSpace); at >= 0 {
		name, args = rest[:at], rest[at+1:]
	}
	name = strings.ToLower(name)
	list := commands()
	if at := slices.IndexFunc(list, func(c cmd) bool { return c.name == name }); at >= 0 {
		list[at].do(u, strings.TrimSpace(args))
		return
	}
	var names []string
	for _, c := range list {
		names = append(names, c.name)
	}
	for _, c := range u.cfg.Host.Commands() {
		if strings.EqualFold(c.Name, name) {
			u.own("/" + c.Name + " " + args)
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
	u.fault(what + " Nothing was sent; a text that begins with / is sent with // before it")
}

// shell runs a command of the user's.
func shell(u *ui, line string, hidden bool) {
	if line == "" {
		u.note("! runs a command: !git status. !! runs one that the model does not see")
		return
	}
	a := u.cfg.Host.Agent()
	u.run("", func(ctx context.Context) error { return a.Shell(ctx, line, hidden) }, func(err error) {
		if err != nil && !cancelled(err) {
			u.fail("", err)
		}
	})
}

// cancelled reports whether an error is that of something that the user has cancelled.
func cancelled(err error) bool {
	return errors.Is(err, context.Canceled) || err != nil && strings.Contains(err.Error(), "it was cancelled")
}

// failed says why something did not come about, and that nothing was changed.
func failed(u *ui, what string, err error) bool {
	switch {
	case err == nil:
		return false
	case cancelled(err):
		u.note(what + ": cancelled; nothing was changed")
	default:
		u.fail(what, err)
	}
	return true
}

// yesNo asks the user for a yes.
func yesNo(u *ui, q widget.Question, sudden bool, yes, no string, then func()) {
	q.Safe, q.Options = 1, []widget.Option{{Key: "y", Text: yes, Do: then}, {Key: "n", Text: no}}
	u.choose(q, sudden)
}

// greet says what there is to say at the start.
func greet(u *ui, c Config) {
	s := u.cfg.Host.Agent().State()
	model := orNone(s.Model)
	if s.Window > 0 {
		model += " · window " + text.Tokens(s.Window)
	}
	lines := []string{model, u.cfg.Host.Dir(), "session " + cmp.Or(widget.OneLine(s.Name), s.Session), "/help lists commands and keys; nothing is lost, and /recall finds it"}
	u.log.note(widget.BlockHeader, "clew", strings.Join(lines, "\n"))
	for _, h := range c.Hints {
		u.note(h)
	}
	if s.Queue > 0 {
		u.note(countedThat(s.Queue, "message", "wait") + " to be delivered since an earlier run: /queue shows what, /continue sends it")
	}
	if len(u.cfg.Host.Untrusted()) > 0 {
		u.note("this project has hooks or servers that are not run, because it is not trusted: /trust shows them and asks")
	}
	if c.Choose {
		listSessions(u, false)
	}
}

func orNone(model string) string { return cmp.Or(model, "no model") }

func trust(u *ui) {
	t := u.cfg.Host
	if len(t.Untrusted()) == 0 {
		u.note("there is nothing in this project that needs to be trusted")
		return
	}
	q := widget.Question{Title: "trust this project?", Text: "Its programs run with your rights, without asking.", Body: strings.Join(t.Untrusted(), "\n")}
	yesNo(u, q, false, "yes, from now on", "no", func() {
		u.try("", "trust the project", t.Trust, func() {
			u.note("the project is trusted; its hooks count from the next session on, its servers from the next start on")
		})
	})
}

func help(u *ui) {
	u.withCommands(func(cmds []widget.Command) {
		u.show("help", func(width int) string {
			var b strings.Builder
			var rows [][2]string
			for _, c := range cmds {
				rows = append(rows, [2]string{strings.TrimSpace("/" + c.Name + " " + c.Args), c.Help})
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
		for _, l := range lines {
			b.WriteString(left + strings.Repeat(" ", max(first-widget.Width(left), 0)+2) + l + "\n")
			left = ""
		}
	}
}

func hooks(u *ui) {
	lines := u.cfg.Host.Hooks()
	if len(lines) == 0 {
		u.note("no hooks and no servers are in use")
		return
	}
	u.show("hooks and servers", func(int) string { return strings.Join(lines, "\n") })
}

func showQueue(u *ui) {
	waiting := u.cfg.Host.Agent().Queue()
	if len(waiting) == 0 {
		u.note("nothing waits to be delivered")
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
	u.pick(widget.PickerOptions{Title: "waiting messages: Enter takes one back"}, items, "", func(id string) {
		u.takeBack(id, func(agent.Queued) { u.note("taken back; the editor was not empty: the key Up brings it back") })
	})
}
