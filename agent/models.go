package agent

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
)

// choice is a model that answers, and how much it reasons.
type choice struct {
	model     model.Model
	reasoning model.Reasoning
}

// models is which model answers, and what is known of it.
type models struct {
	journal *journal
	engine  clew.Config
	infos   sync.Map // of models that were open: session.Model → model.Info

	mu     sync.Mutex
	want   *choice // from the next request on
	chosen choice  // that answers next

	// The rest belongs to the operation under way.
	now    choice
	level  string                  // of reasoning, as the log has it
	clamps map[session.Model]int64 // after how many tokens a server cuts off answers
}

func (m *models) info() model.Info { return m.now.model.Info() }

func (m *models) id() session.Model { return idOf(m.info()) }

func (m *models) name() string { return nameOf(m.id()) }

func idOf(i model.Info) session.Model { return session.Model{Provider: i.Provider, ID: i.Model} }

// nameOf is "provider/id", "" for no model.
func nameOf(m session.Model) string {
	if m == (session.Model{}) {
		return ""
	}
	return m.Provider + "/" + m.ID
}

// choose writes down a choice, for change.
func (m *models) choose(fn func(*choice)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn(&m.chosen)
	c := m.chosen
	m.want = &c
	m.journal.status.change(func(s *State) { s.Model, s.Reasoning = nameOf(idOf(c.model.Info())), c.reasoning })
}

// pending reports whether there is a choice that change has not made.
func (m *models) pending() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.want != nil
}

// change makes a choice that was written down.
func (m *models) change(ctx context.Context) error {
	m.mu.Lock()
	want := m.want
	m.want = nil
	m.mu.Unlock()
	if want == nil {
		return nil
	}
	return m.use(ctx, *want)
}

// use lets a model answer from now on.
func (m *models) use(ctx context.Context, c choice) error {
	m.now = c
	s := m.journal.s
	m.journal.status.change(func(s *State) { s.Model, s.Reasoning = m.name(), c.reasoning })
	m.know(m.info())
	now, err := session.ModelAt(ctx, s.Log().Store(), s.Leaf())
	if err != nil {
		return err
	}
	if id := m.id(); now != id {
		if err := s.SetModel(context.WithoutCancel(ctx), id.Provider, id.ID); err != nil {
			return err
		}
	}
	want := c.reasoning.Name()
	if m.level != want && (m.level != "" || c.reasoning != "") {
		if err := m.journal.record(ctx, session.NewThinkingLevel(want)); err != nil {
			return err
		}
		m.level = want
	}
	m.refresh(ctx)
	return nil
}

// refresh brings the state up to date with the context.
func (m *models) refresh(ctx context.Context) {
	plan, err := m.journal.s.Check(ctx)
	if err != nil {
		return // whatever is wrong is said where something is done
	}
	_, from := m.engine.PolicyFor(m.id())
	m.journal.status.change(func(s *State) {
		s.WindowFrom = from
		s.Leaf = m.journal.s.Leaf()
		s.setReading(plan.Before.Tokens, plan.Before.Estimated == 0)
		s.Window = plan.Budget.Window
		s.Threshold = plan.Threshold()
		s.Breaker = ""
		if plan.Breaker {
			s.Breaker = plan.Why
		}
	})
}

// SetModel lets another model answer, from the next request on. Where its window is
// smaller the context is compacted for it before that.
func (a *Agent) SetModel(ctx context.Context, name string) error {
	const op = "change the model"
	if a.cfg.Find == nil {
		return &Error{Op: op, Subject: name, Err: errors.New("there is only one"), Hint: "set Config.Find"}
	}
	m, err := a.cfg.Find(ctx, name)
	if err != nil {
		return err
	}
	return a.choose(op, func(c *choice) { c.model = m })
}

// SetReasoning says how much the model shall reason, from the next request on.
func (a *Agent) SetReasoning(_ context.Context, r model.Reasoning) error {
	return a.choose("change the reasoning", func(c *choice) { c.reasoning = r })
}

// choose writes down a choice, and makes it at once where nothing is under way.
func (a *Agent) choose(op string, fn func(*choice)) error {
	a.models.choose(fn)
	if err := a.ops.alone(a.base, op, DoingMove, a.models.change); !errors.Is(err, ErrBusy) {
		return err
	}
	return nil
}

// LevelAt returns the level of reasoning in force at a leaf, as model.ParseReasoning reads it.
// It is "" where nothing tells.
func LevelAt(ctx context.Context, s session.Store, leaf string) (string, error) {
	path, _, err := remembered(ctx, s, leaf)
	if err != nil {
		return "", err
	}
	return levelOn(path), nil
}

func levelOn(path []*session.Entry) string {
	for _, e := range slices.Backward(path) {
		if level, ok := e.ThinkingLevel(); ok {
			return level
		}
	}
	return ""
}

// lookup tells the engine what is known of a model. A model that is open knows itself
// best; it may be one that no catalogue has.
func (m *models) lookup(next func(provider, id string) (model.Info, bool)) func(provider, id string) (model.Info, bool) {
	if next == nil {
		var none clew.Config
		next = none.LookupModel
	}
	return func(provider, id string) (model.Info, bool) {
		if i, ok := m.infos.Load(session.Model{Provider: provider, ID: id}); ok {
			return i.(model.Info), true
		}
		return next(provider, id)
	}
}

func (m *models) know(i model.Info) { m.infos.Store(idOf(i), i) }

// learn takes in what a refusal says about the model's limits.
func (m *models) learn(ctx context.Context, o model.Overflow) error {
	if _, err := m.journal.s.Learn(ctx, o); err != nil {
		return err
	}
	m.refresh(ctx)
	return nil
}
