package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/rpc"
	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/summary/llm"
)

// summarizerSame is the setting summarizer.model that stands for the model of the chat.
const summarizerSame = "same"

// modelOf returns the model that answers at first: that of the flag, else that of the
// session, else that of the settings or the environment.
func (h *Host) modelOf(ctx context.Context, u *used, file session.Store, flags bool) (model.Model, model.Reasoning, error) {
	reasoning, name := h.settings().Reasoning, ""
	if file != nil && !u.fresh {
		last, level, err := modelIn(ctx, file)
		if err != nil {
			return nil, "", err
		}
		if r, err := model.ParseReasoning(level); err == nil {
			reasoning = r
		}
		name = last
	}
	if flags {
		reasoning = cmp.Or(h.cfg.Reasoning, reasoning)
	}
	if name == "" || flags && h.cfg.Flags["model"] != "" {
		m, err := h.ownModel()
		return m, reasoning, err
	}
	m, err := h.openModel(name)
	if err == nil {
		return m, reasoning, nil
	}
	other, ownErr := h.ownModel()
	if ownErr != nil {
		return nil, "", err
	}
	i := other.Info()
	u.notes = append(u.notes, fmt.Errorf("the session's model can't answer (%w), so %s/%s does", err, i.Provider, i.Model))
	return other, reasoning, nil
}

// modelIn is the model and the level of reasoning at the leaf of a session.
func modelIn(ctx context.Context, file session.Store) (name, level string, err error) {
	last, err := file.Last(ctx)
	if err != nil || last == nil {
		return "", "", err
	}
	m, err := session.ModelAt(ctx, file, last.ID)
	if err != nil {
		return "", "", err
	}
	if level, err = agent.LevelAt(ctx, file, last.ID); err != nil || m.ID == "" {
		return "", level, err
	}
	return m.Provider + "/" + m.ID, level, nil
}

// same lets the model that answers write the summaries, whichever that is by then.
type same struct {
	now    func() model.Model
	branch bool
}

// Name implements summary.Summarizer.
func (s *same) Name() string {
	i := s.now().Info()
	return i.Provider + "/" + i.Model
}

// Costly implements summary.Costly.
func (s *same) Costly() bool { return true }

// ForBranch is that of branch.ForBranch.
func (s *same) ForBranch() summary.Summarizer { return &same{now: s.now, branch: true} }

// Summarize implements summary.Summarizer.
func (s *same) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	l, err := llm.New(llm.Config{Model: s.now()})
	if err != nil {
		return summary.Deterministic{}.Summarize(ctx, in) // its window is too small for a part of anything
	}
	if s.branch {
		return l.ForBranch().Summarize(ctx, in)
	}
	return l.Summarize(ctx, in)
}

// maxTries is how often a call of a model is made at most, unless a request says so itself.
const maxTries = 4

// retried passes on that a call is made again, whoever makes it.
func (h *Host) retried(attempt, of int, e *model.Error, wait time.Duration) {
	if u := h.use.Load(); u != nil {
		u.TellRetry(agent.Retry{Attempt: attempt, Of: of - 1, Wait: wait, Error: e.Error()})
	}
}

// Models implements rpc.Host: the one that answers and those of this machine first, then
// those with a key, each provider's usual one before the others.
func (h *Host) Models() []rpc.ModelChoice {
	known, err := h.known()
	if err != nil {
		return nil
	}
	set, now := h.settings(), h.Agent().State()
	var out []rpc.ModelChoice
	add := func(c rpc.ModelChoice) {
		switch at := slices.IndexFunc(out, func(o rpc.ModelChoice) bool { return o.Name == c.Name }); {
		case c.Name == "":
		case at < 0:
			out = append(out, c)
		case out[at].Input == 0:
			out[at].Input, out[at].Output = c.Input, c.Output
		}
	}
	add(rpc.ModelChoice{Name: now.Model, Window: now.Window, Ready: true})
	if h.cfg.OpenModel == nil {
		for _, f := range h.local.find(h.base, provider.All(set)) {
			add(rpc.ModelChoice{Name: f.Provider + "/" + f.Model, Window: f.Window, Ready: true})
		}
	}
	all := append(provider.Starters(set), provider.Models(known, set)...)
	// The name of a family is also that of its newest model, but for "claude-".
	all = slices.DeleteFunc(all, func(m provider.Model) bool { return strings.HasSuffix(m.Info.Model, "-") })
	for _, ready := range []bool{true, false} {
		for _, m := range all {
			if m.Provider.Ready(h.getenv) != ready {
				continue
			}
			id := m.Info.Model
			m.Family = false
			if info, ok := known.Lookup(m.Info.Provider, id); ok && m.Info.Window == 0 {
				m.Info, m.Info.Model = info, id // it may be known by its family
			}
			c := rpc.ModelChoice{Name: m.Name(), Window: m.Info.Window, Ready: ready}
			if m.Info.Price != nil {
				c.Input, c.Output = m.Info.Price.Input, m.Info.Price.Output
			}
			switch {
			case ready:
			case m.Provider.Name == "":
				c.Why = "name it with its provider: provider/" + id
			case len(m.Provider.KeyEnv) > 0:
				c.Why = "set " + strings.Join(m.Provider.KeyEnv, " or ") + " in the environment"
			default:
				c.Why = "the settings say no address of " + m.Provider.Name
			}
			add(c)
		}
	}
	return out
}
