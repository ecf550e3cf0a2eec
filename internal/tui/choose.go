package tui

import (
	"context"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/agent/permission"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/model"
)

func chooseModel(f front, args string) {
	if args != "" {
		setModel(f, args)
		return
	}
	var models []chat.ModelChoice
	f.run("looking for models", func(context.Context) error { models = f.host().Models(); return nil }, func(error) {
		var items []widget.Item
		for _, m := range models {
			price, ready := "", "ready"
			if m.Input > 0 || m.Output > 0 {
				price = fmt.Sprintf("$%g / $%g", m.Input, m.Output)
			}
			window := "window not known"
			if m.Window > 0 {
				window = tokens(m.Window)
			}
			detail := m.Name + ", window " + window
			if price != "" {
				detail += ", " + price + " for a million tokens in and out"
			}
			if !m.Ready {
				ready, detail = "no key", m.Why+" · "+detail
			}
			items = append(items, widget.Item{ID: m.Name, Cells: []string{m.Name, window, price, ready}, Detail: detail})
		}
		switch {
		case len(items) == 0:
			f.note("no models are known; /model provider/id names one")
			return
		case len(items) == 1 && models[0].Name == f.host().Agent().State().Model:
			f.note("there is no other model here than " + models[0].Name + ", which answers already")
			return
		}
		f.soon("the list of models", func() {
			f.pick(&list{PickerOptions: widget.PickerOptions{Title: "which model is to answer?"}, items: items, at: f.host().Agent().State().Model, picked: func(id string) { setModel(f, id) }})
		})
	})
}

func setModel(f front, name string) {
	a := f.host().Agent()
	before := a.State().Model
	f.run("changing the model", func(ctx context.Context) error { return a.SetModel(ctx, name) }, func(err error) {
		now := a.State().Model
		switch {
		case failed(f, "model", err):
		case now == before:
			f.note(now + " answers, as before")
		default:
			f.note(now + " answers from the next request on")
		}
	})
}

func chooseReasoning(f front, args string) {
	set := func(level string) {
		r, err := agent.ParseReasoning(level)
		if err != nil {
			f.fail("reasoning", err)
			return
		}
		a := f.host().Agent()
		f.quietly(func(ctx context.Context) error { return a.SetReasoning(ctx, r) }, func(err error) {
			if !failed(f, "reasoning", err) {
				f.note("reasoning: " + level + ", from the next request on")
			}
		})
	}
	if args != "" {
		set(strings.ToLower(args))
		return
	}
	items := []widget.Item{{ID: "default", Cells: []string{"default"}, Detail: "as the model does by itself"}}
	for _, r := range agent.Reasonings() {
		items = append(items, widget.Item{ID: string(r), Cells: []string{string(r)}})
	}
	now := string(f.host().Agent().State().Reasoning)
	if now == string(model.ReasoningDefault) {
		now = "default"
	}
	f.pick(&list{PickerOptions: widget.PickerOptions{Title: "how much is the model to reason?"}, items: items, at: now, picked: set})
}

// modeTexts say what the modes do.
var modeTexts = map[permission.Mode]string{
	permission.ModeAsk:   "reading in the project is allowed; all else is asked",
	permission.ModeEdits: "files of the project are also changed without asking",
	permission.ModePlan:  "nothing is changed or run, whatever the rules say",
	permission.ModeAll:   "all that no rule denies is done; for containers",
}

func chooseMode(f front, args string) {
	if args != "" {
		m, err := permission.ParseMode(strings.ToLower(args))
		if err != nil {
			f.fail("mode", err)
			return
		}
		setMode(f, m)
		return
	}
	var items []widget.Item
	for _, m := range permission.Modes() {
		items = append(items, widget.Item{ID: string(m), Cells: []string{string(m), modeTexts[m]}})
	}
	f.pick(&list{
		PickerOptions: widget.PickerOptions{Title: "what is done without asking?"}, items: items, at: string(f.host().Agent().State().Mode),
		picked: func(id string) { setMode(f, permission.Mode(id)) },
	})
}

func setMode(f front, m permission.Mode) {
	a := f.host().Agent()
	f.quietly(func(ctx context.Context) error { return a.SetMode(ctx, m) }, func(err error) {
		if !failed(f, "mode", err) {
			f.note("mode " + string(m) + ": " + modeTexts[m])
		}
	})
}

// changeSettings shows what is set, or sets something.
func changeSettings(f front, args string) {
	h := f.host()
	set := func(name, value string, then func()) {
		note := ""
		f.quietly(func(ctx context.Context) (err error) { note, err = h.Set(ctx, name, value); return err }, func(err error) {
			if failed(f, "set "+name, err) {
				return
			}
			text := name + " is now " + value
			if note != "" {
				text += "; " + note
			}
			f.note(text)
			if then != nil {
				then()
			}
		})
	}
	if name, value, ok := strings.Cut(args, " "); ok {
		set(name, strings.TrimSpace(value), nil)
		return
	}
	l := &list{PickerOptions: widget.PickerOptions{Title: "settings: Enter changes one"}, at: args}
	l.items = settingItems(h.Settings())
	l.picked = func(id string) {
		for _, s := range h.Settings() {
			if s.Name == id {
				f.edit(id+" (default "+s.Default+")", s.Value, true, func(value string) {
					if value = strings.TrimSpace(value); value != s.Value {
						set(id, value, nil)
					}
				})
			}
		}
	}
	f.pick(l)
}

func settingItems(list []chat.Setting) []widget.Item {
	var items []widget.Item
	for _, s := range list {
		items = append(items, widget.Item{ID: s.Name, Cells: []string{s.Name, s.Value, s.From}, Detail: s.Text})
	}
	return items
}
