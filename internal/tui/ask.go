package tui

import (
	"cmp"
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/tui/widget"
)

// The answers to a question of the agent.
const (
	answerOnce    = "once"
	answerSession = "session"
	answerAlways  = "always"
	answerNo      = "no"
	answerWhy     = "why"
)

// asking is a question of the agent that waits for the user.
type asking struct {
	agent.Question
	dialog *widget.Dialog // while it is shown
}

// question is what a dialog shows of a question; on a small screen with fewer words.
func question(q agent.Question, small bool) widget.Question {
	title := "allow " + q.Tool.Name + "?"
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
	out := widget.Question{Title: title, Text: strings.Join(text, "\n"), Body: q.Command, Diff: q.Diff}
	if q.Command == "" && q.Diff == "" && len(q.Tool.Arguments) > 0 && q.Tool.Line == "" {
		out.Body = string(q.Tool.Arguments)
	}
	if small {
		// What it would do comes first, and what is needed to answer is on the screen.
		out.Body = strings.TrimSpace(cmp.Or(q.Command, q.Tool.Line, out.Body) + "\n" + strings.Join(text, "\n"))
		out.Text = ""
	}
	out.Options = []widget.Option{{ID: answerOnce, Key: "y", Text: "yes, once"}}
	if rules := strings.Join(q.Rules, ", "); rules != "" {
		if small {
			out.Body += "\na and A allow " + rules
			rules = ""
		} else {
			rules = ": " + rules
		}
		out.Options = append(out.Options,
			widget.Option{ID: answerSession, Key: "a", Text: "yes, and for this session" + rules},
			widget.Option{ID: answerAlways, Key: "A", Text: "yes, always" + rules})
	}
	out.Safe = len(out.Options)
	why := "no, and say why or what to do instead"
	if small {
		why = "no, and say why"
	}
	out.Options = append(out.Options, widget.Option{ID: answerNo, Key: "n", Text: "no"}, widget.Option{ID: answerWhy, Key: "r", Text: why})
	return out
}

// asked takes a question in.
func (u *ui) asked(q agent.Question) {
	for _, a := range u.asks {
		if a.ID == q.ID {
			return
		}
	}
	u.asks = append(u.asks, &asking{Question: q})
	if it := u.log.calls[q.Tool.ID]; it != nil {
		if q.Tool.Line != "" {
			it.SetTitle(q.Tool.Line)
		}
		it.SetStatus(widget.StatusWaiting)
	}
	if !u.cfg.Silent {
		u.do(tea.Raw("\a"))
	}
}

// answered takes a question off the list.
func (u *ui) answered(id string) {
	for i, a := range u.asks {
		if a.ID == id {
			u.asks = append(u.asks[:i:i], u.asks[i+1:]...)
			u.answerNow = false
			return
		}
	}
}

// dialog is the dialog that is shown; nil for none. A question is not shown over
// something that the user has opened.
func (u *ui) dialog() *widget.Dialog {
	if len(u.asks) == 0 || len(u.over) > 0 {
		return nil
	}
	a := u.asks[0]
	if a.dialog == nil {
		q := question(a.Question, u.height < smallScreen)
		if n := len(u.asks); n > 1 {
			q.Title += " (1 of " + counted(n, "question") + ")"
		}
		a.dialog = widget.NewDialog(u.theme, q, u.cfg.Clock)
		u.answerNow = false
	}
	return a.dialog
}

// answering reports whether keys go to the dialog. They do not while there is
// something in the editor: its author may be in the middle of a word.
func (u *ui) answering() bool { return u.dialog() != nil && (u.ed.Empty() || u.answerNow) }

// answer gives the user's answer to the question that is shown.
func (u *ui) answer(option string) {
	a := u.asks[0]
	switch option {
	case answerWhy:
		u.edit("why not, or what to do instead", "", true, func(text string) { u.reply(a, agent.Reply{Why: text}) })
	case answerAlways:
		rules := a.Rules
		u.quietly(func(ctx context.Context) error { return u.cfg.Host.Allow(ctx, rules) }, func(err error) {
			if err != nil {
				u.fail("it is allowed for this session, and could not be written into the settings", err)
			}
		})
		u.reply(a, agent.Reply{Allow: true, Remember: true})
	case answerSession:
		u.reply(a, agent.Reply{Allow: true, Remember: true})
	case answerOnce:
		u.reply(a, agent.Reply{Allow: true})
	default:
		u.reply(a, agent.Reply{})
	}
}

func (u *ui) reply(a *asking, r agent.Reply) {
	if !r.Allow {
		u.ends[a.Tool.ID] = widget.StatusDenied
	}
	u.answered(a.ID)
	// It never waits: the question has room for one answer.
	if err := u.cfg.Host.Agent().Answer(a.ID, r); err != nil {
		u.fail("the answer came too late", err)
	}
}
