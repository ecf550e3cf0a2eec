package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/model"
)

// asking is a question of the agent that waits for the user.
type asking struct {
	agent.Question
	dialog *widget.Dialog // while it is shown
}

// question is what a dialog shows of a question: first what would be done.
func (u *ui) question(q agent.Question) widget.Question {
	var text []string
	if q.Tool.Line != "" && q.Command == "" && q.Diff == "" {
		text = append(text, q.Tool.Line)
	}
	if q.Outside && len(q.Paths) > 0 {
		text = append(text, "outside the project: "+strings.Join(q.Paths, ", "))
	}
	if q.Why != "" {
		text = append(text, "asked because "+q.Why)
	}
	out := widget.Question{Title: "allow " + q.Tool.Name + "?", Text: strings.Join(text, "\n"), Body: q.Command, Diff: q.Diff}
	if q.Command == "" && q.Diff == "" && len(q.Tool.Arguments) > 0 && q.Tool.Line == "" {
		out.Body = string(q.Tool.Arguments)
	}
	reply := func(r agent.Reply) func() { return func() { u.reply(q.ID, r) } }
	out.Options = []widget.Option{{Key: "y", Text: "yes, once", Do: reply(agent.Reply{Allow: true})}}
	if rules := strings.Join(q.Rules, ", "); rules != "" {
		if len(q.Exact) > 0 {
			out.Options = append(out.Options, widget.Option{Key: "e", Text: "yes, and exactly this for this session", Do: reply(agent.Reply{Allow: true, Remember: true, Exact: true})})
		}
		session := reply(agent.Reply{Allow: true, Remember: true})
		out.Options = append(out.Options,
			widget.Option{Key: "a", Text: "yes, and for this session: " + rules, Do: session},
			widget.Option{Key: "A", Text: "yes, always: " + rules, Do: func() { allowAlways(u, q.Rules); session() }})
	}
	out.Safe = len(out.Options)
	out.Options = append(out.Options,
		widget.Option{Key: "n", Text: "no", Do: reply(agent.Reply{})},
		widget.Option{Key: "r", Text: "no, and say why, or what to do instead", Do: func() {
			u.edit("why not, or what to do instead", "", func(text string) { u.reply(q.ID, agent.Reply{Why: text}) })
		}})
	return out
}

// asked takes a question in.
func (u *ui) asked(q agent.Question) {
	if slices.ContainsFunc(u.asks, func(a *asking) bool { return a.ID == q.ID }) {
		return
	}
	u.asks = append(u.asks, &asking{Question: q})
	if it := u.log.calls[q.Tool.ID]; it != nil {
		it.Title, it.Status = cmp.Or(q.Tool.Line, it.Title), widget.StatusWaiting
	}
	if !u.cfg.Silent {
		u.do(tea.Raw("\a"))
	}
}

// answered takes a question off the list.
func (u *ui) answered(id string) {
	n := len(u.asks)
	u.asks = slices.DeleteFunc(slices.Clone(u.asks), func(a *asking) bool { return a.ID == id })
	u.answerNow = u.answerNow && len(u.asks) == n
}

// dialog is the dialog that is shown; nil for none. A question is not shown over
// something that the user has opened.
func (u *ui) dialog() *widget.Dialog {
	if len(u.asks) == 0 || len(u.over) > 0 {
		return nil
	}
	a := u.asks[0]
	if a.dialog == nil {
		q := u.question(a.Question)
		if n := len(u.asks); n > 1 {
			q.Title += " (1 of " + text.Counted(n, "question") + ")"
		}
		a.dialog = widget.NewDialog(u.theme, q, u.cfg.Clock)
		u.answerNow = false
	}
	return a.dialog
}

// answering reports whether keys go to the dialog. They do not while there is
// something in the editor: its author may be in the middle of a word.
func (u *ui) answering() bool { return u.dialog() != nil && (u.ed.Empty() || u.answerNow) }

// allowAlways writes rules into the settings.
func allowAlways(u *ui, rules []string) {
	u.run("", func(ctx context.Context) error { return u.cfg.Host.Allow(ctx, rules) }, func(err error) {
		if err != nil {
			u.fail("it is allowed for this session, and could not be written into the settings", err)
		}
	})
}

// reply gives the user's answer to a question.
func (u *ui) reply(id string, r agent.Reply) {
	u.answered(id)
	// It never waits: the question has room for one answer.
	if err := u.cfg.Host.Agent().Answer(id, r); err != nil {
		u.fail("the answer came too late", err)
	}
}

func chooseModel(u *ui, args string) {
	if args != "" {
		setModel(u, args)
		return
	}
	var models []rpc.ModelChoice
	u.run("looking for models", func(context.Context) error { models = u.cfg.Host.Models(); return nil }, func(error) {
		now := u.cfg.Host.Agent().State()
		if !slices.ContainsFunc(models, func(m rpc.ModelChoice) bool { return m.Name == now.Model }) {
			models = append([]rpc.ModelChoice{{Name: now.Model, Window: now.Window, Ready: true}}, models...)
		}
		var items []widget.Item
		for _, m := range models {
			price, window, ready := "", "window not known", "ready"
			if m.Window > 0 {
				window = text.Tokens(m.Window)
			}
			detail := m.Name + ", window " + window
			if m.Input > 0 || m.Output > 0 {
				price = fmt.Sprintf("$%g / $%g", m.Input, m.Output)
				detail += ", " + price + " for a million tokens in and out"
			}
			switch {
			case m.Name == now.Model:
				ready = "answers now"
			case !m.Ready:
				ready, detail = "no key", m.Why+" · "+detail
			}
			items = append(items, widget.Item{ID: m.Name, Cells: []string{m.Name, window, price, ready}, Detail: detail})
		}
		switch {
		case len(items) == 0:
			u.note("no models are known; /model provider/id names one")
			return
		case len(items) == 1 && models[0].Name == now.Model:
			u.note("there is no other model here than " + models[0].Name + ", which answers already")
			return
		}
		u.pick(widget.PickerOptions{Title: "which model is to answer?"}, items, now.Model, func(id string) { setModel(u, id) })
	})
}

func setModel(u *ui, name string) {
	a := u.cfg.Host.Agent()
	before := a.State().Model
	u.run("changing the model", func(ctx context.Context) error { return a.SetModel(ctx, name) }, func(err error) {
		now := a.State().Model
		switch {
		case failed(u, "model", err):
		case now == before:
			u.note(now + " answers, as before")
		default:
			u.note(now + " answers from the next request on")
		}
	})
}

func chooseReasoning(u *ui, args string) {
	set := func(level string) {
		a := u.cfg.Host.Agent()
		u.try("", "reasoning", func(ctx context.Context) error {
			r, err := model.ParseReasoning(level)
			if err != nil {
				return err
			}
			return a.SetReasoning(ctx, r)
		}, func() { u.note("reasoning: " + level + ", from the next request on") })
	}
	if args != "" {
		set(strings.ToLower(args))
		return
	}
	var items []widget.Item
	for _, name := range model.ReasoningNames() {
		items = append(items, widget.Item{ID: name, Cells: []string{name}})
	}
	items[0].Detail = "as the model does by itself"
	now := u.cfg.Host.Agent().State().Reasoning.Name()
	u.pick(widget.PickerOptions{Title: "how much is the model to reason?"}, items, now, set)
}

// modeTexts say what the modes do.
var modeTexts = map[permission.Mode]string{
	permission.ModeAsk:   "reading in the project is allowed; all else is asked",
	permission.ModeEdits: "files of the project are also changed without asking",
	permission.ModePlan:  "nothing is changed or run, whatever the rules say",
	permission.ModeAll:   "all that no rule denies is done; for containers",
}

func chooseMode(u *ui, args string) {
	if args != "" {
		setMode(u, strings.ToLower(args))
		return
	}
	var items []widget.Item
	for _, m := range permission.Modes() {
		items = append(items, widget.Item{ID: string(m), Cells: []string{string(m), modeTexts[m]}})
	}
	u.pick(widget.PickerOptions{Title: "what is done without asking?"}, items, string(u.cfg.Host.Agent().State().Mode), func(id string) { setMode(u, id) })
}

func setMode(u *ui, name string) {
	a := u.cfg.Host.Agent()
	u.try("", "mode", func(ctx context.Context) error {
		m, err := permission.ParseMode(name)
		if err != nil {
			return err
		}
		return a.SetMode(ctx, m)
	}, func() { u.note("mode " + name + ": " + modeTexts[permission.Mode(name)]) })
}

// changeSettings shows what is set, or sets something.
func changeSettings(u *ui, args string) {
	h := u.cfg.Host
	set := func(name, value string) {
		get(u, "", "set "+name, func(ctx context.Context) (string, error) { return h.Set(ctx, name, value) }, func(note string) {
			u.note(strings.TrimSuffix(name+" is now "+value+"; "+note, "; "))
		})
	}
	if name, value, ok := strings.Cut(args, " "); ok {
		set(name, strings.TrimSpace(value))
		return
	}
	var items []widget.Item
	all := h.Settings()
	for _, s := range all {
		items = append(items, widget.Item{ID: s.Name, Cells: []string{s.Name, s.Value, s.From}, Detail: s.Text})
	}
	u.pick(widget.PickerOptions{Title: "settings: Enter changes one"}, items, args, func(id string) {
		s := all[slices.IndexFunc(all, func(s rpc.Setting) bool { return s.Name == id })]
		u.edit(id+" (default "+s.Default+")", s.Value, func(value string) {
			if value = strings.TrimSpace(value); value != s.Value {
				set(id, value)
			}
		})
	})
}
