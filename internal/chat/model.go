package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/provider"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/summary/llm"
)

// summarizerSame is the setting summarizer.model that stands for the model of the chat.
const summarizerSame = "same"

// modelOf returns the model that answers at first: that of the flag, else that of the
// session, else that of the settings or the environment.
func (s *Session) modelOf(ctx context.Context, u *used, file *jsonl.File, flags bool) (model.Model, model.Reasoning, error) {
	set := s.settings()
	reasoning := set.Reasoning
	named := flags && s.cfg.Flags["model"] != ""
	if file != nil && !u.fresh {
		name, level, err := modelIn(ctx, file)
		if err != nil {
			return nil, "", err
		}
		if r, err := agent.ParseReasoning(level); err == nil {
			reasoning = r
		}
		if name != "" && !named {
			m, err := s.openModel(name)
			if err == nil {
				return m, s.reasoning(reasoning, flags), nil
			}
			other, ownErr := s.ownModel()
			if ownErr != nil {
				return nil, "", err
			}
			i := other.Info()
			u.notes = append(u.notes, fmt.Errorf("the session's model can't answer (%w), so %s/%s does", err, i.Provider, i.Model))
			return other, s.reasoning(reasoning, flags), nil
		}
	}
	m, err := s.ownModel()
	return m, s.reasoning(reasoning, flags), err
}

func (s *Session) reasoning(r model.Reasoning, flags bool) model.Reasoning {
	if flags && s.cfg.Reasoning != "" {
		return s.cfg.Reasoning
	}
	return r
}

// modelIn is the model and the level of reasoning at the leaf of a session.
func modelIn(ctx context.Context, file *jsonl.File) (name, level string, err error) {
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

// ownModel is that of the flag, of the settings or of the environment.
func (s *Session) ownModel() (model.Model, error) {
	if s.cfg.OpenModel != nil {
		return s.openModel(s.cfg.Flags["model"])
	}
	name, err := provider.Default(s.getenv, s.settings())
	if err != nil {
		return nil, err
	}
	return s.openModel(name)
}

// openModel opens a model, each once.
func (s *Session) openModel(name string) (model.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.models[name]; ok {
		return m, nil
	}
	m, err := s.newModel(name)
	if err != nil {
		return nil, err
	}
	i := m.Info()
	s.models[name], s.models[i.Provider+"/"+i.Model] = m, m
	return m, nil
}

func (s *Session) newModel(name string) (model.Model, error) {
	if s.cfg.OpenModel != nil {
		return s.cfg.OpenModel(name)
	}
	known, err := s.known()
	if err != nil {
		return nil, err
	}
	c := provider.Config{Name: name, Transport: s.transport, Catalogue: known, Settings: s.set, Getenv: s.getenv}
	if name == s.cfg.Flags["model"] {
		c.BaseURL, c.KeyEnv = s.cfg.BaseURL, s.cfg.KeyEnv
	}
	if c.BaseURL == "" {
		at := slices.IndexFunc(provider.All(s.set), func(p provider.Provider) bool { return p.IsLocal() && strings.HasPrefix(name, p.Name+"/") })
		if at >= 0 {
			c.Local = s.local.find(s.base, provider.All(s.set)[at:at+1])
		}
	}
	return provider.Open(c)
}

// setSummarizer says who writes summaries: the one of the settings; where they name none,
// the model that answers, as far as the preset asks for a model.
func (s *Session) setSummarizer(c *clew.Config, name string, now func() model.Model) error {
	switch name {
	case "":
		c.OwnSummarizer = &same{now: now}
	case "none":
	case summarizerSame:
		c.Policy.Summarizer = &same{now: now}
	default:
		m, err := s.openModel(name)
		if err != nil {
			return fmt.Errorf("the model that writes summaries: %w", err)
		}
		c.Policy.Summarizer, err = llm.New(llm.Config{Model: m})
		return err
	}
	return nil
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
func (s *Session) retried(attempt, of int, e *model.Error, wait time.Duration) {
	if u := s.use.Load(); u != nil {
		u.TellRetry(agent.Retry{Attempt: attempt, Of: of - 1, Wait: wait, Error: e.Error()})
	}
}

// windowsFile has what was learnt of the models' windows.
func (s *Session) windowsFile() string { return filepath.Join(s.cfg.Home.Dir, "windows.json") }

// readWindows reads what earlier runs have learnt. What can't be read is learnt again.
func (s *Session) readWindows() *model.Windows {
	w := model.NewWindows(s.cfg.Clock)
	if data, err := os.ReadFile(s.windowsFile()); err == nil && json.Unmarshal(data, w) == nil {
		s.learnt = data
	}
	return w
}

// saveWindows writes what was learnt, with what other runs have learnt meanwhile.
func (s *Session) saveWindows() error {
	data, err := json.Marshal(s.windows)
	if err != nil || string(data) == string(s.learnt) || string(data) == "[]" {
		return err
	}
	all := model.NewWindows(s.cfg.Clock)
	if old, err := os.ReadFile(s.windowsFile()); err == nil {
		_ = json.Unmarshal(old, all) // what can't be read is not kept
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := json.Unmarshal(data, all); err != nil {
		return err
	}
	if data, err = json.Marshal(all); err != nil {
		return err
	}
	return settings.WriteFile(s.windowsFile(), data)
}

// localModels are the models of the servers on this machine, as they were a moment ago.
type localModels struct {
	mu    sync.Mutex
	of    string // the providers that were asked
	found []provider.Found
	at    time.Time
}

// localAge is how long an answer of the servers counts.
const localAge = 10 * time.Second

func (l *localModels) find(ctx context.Context, all []provider.Provider) []provider.Found {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := fmt.Sprint(all)
	if l.of != of || time.Since(l.at) > localAge {
		l.found, l.of, l.at = provider.Local(ctx, all), of, time.Now()
	}
	return l.found
}

// Models implements Host: the one that answers and those of this machine first, then
// those with a key, each provider's usual one before the others.
func (s *Session) Models() []ModelChoice {
	known, err := s.known()
	if err != nil {
		return nil
	}
	set := s.settings()
	var ready, rest []ModelChoice
	now := s.Agent().State()
	if now.Model != "" {
		ready = append(ready, ModelChoice{Name: now.Model, Window: now.Window, Ready: true})
	}
	if s.cfg.OpenModel == nil {
		for _, f := range s.local.find(s.base, provider.All(set)) {
			ready = append(ready, ModelChoice{Name: f.Provider + "/" + f.Model, Window: f.Window, Ready: true})
		}
	}
	for _, m := range append(provider.Starters(set), provider.Models(known, set)...) {
		if m.Family {
			continue // it is no model that can be asked
		}
		if info, ok := known.Lookup(m.Info.Provider, m.Info.Model); ok && m.Info.Window == 0 {
			id := m.Info.Model
			m.Info, m.Info.Model = info, id // it may be known by its family
		}
		c := ModelChoice{Name: m.Name(), Window: m.Info.Window, Ready: m.Provider.Ready(s.getenv)}
		if m.Info.Price != nil {
			c.Input, c.Output = m.Info.Price.Input, m.Info.Price.Output
		}
		switch {
		case c.Ready:
			ready = append(ready, c)
			continue
		case m.Provider.Name == "":
			c.Why = "name it with its provider: provider/" + m.Info.Model
		case len(m.Provider.KeyEnv) > 0:
			c.Why = "set " + strings.Join(m.Provider.KeyEnv, " or ") + " in the environment"
		default:
			c.Why = "the settings say no address of " + m.Provider.Name
		}
		rest = append(rest, c)
	}
	var out []ModelChoice
	for _, c := range append(ready, rest...) {
		if at := slices.IndexFunc(out, func(o ModelChoice) bool { return o.Name == c.Name }); at < 0 {
			out = append(out, c)
		} else if out[at].Input == 0 {
			out[at].Input, out[at].Output = c.Input, c.Output
		}
	}
	return out
}
