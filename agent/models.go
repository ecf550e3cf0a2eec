package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
)

// choice is a model that is to answer from the next request on.
type choice struct {
	model     model.Model
	reasoning model.Reasoning
}

// limits is what was learned of a model on a route, and is not the engine's to know.
type limits struct {
	clamp int64 // after how many tokens answers are cut off; 0: there is no limit
}

func (a *Agent) info() model.Info { return a.model.Info() }

func (a *Agent) modelName() string { i := a.info(); return i.Provider + "/" + i.Model }

func (a *Agent) route() model.Route {
	i := a.info()
	return model.Route{Provider: i.Provider, Model: i.Model}
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
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return &Error{Op: op, Err: ErrClosed}
	}
	if a.want == nil {
		s := a.State()
		a.want = &choice{model: a.chosen, reasoning: s.Reasoning}
	}
	fn(a.want)
	want := *a.want
	idle := a.op == nil
	if idle {
		a.want = nil
	}
	a.chosen = want.model
	i := want.model.Info()
	a.status.change(func(s *State) { s.Model, s.Reasoning = i.Provider+"/"+i.Model, want.reasoning })
	if !idle {
		a.mu.Unlock()
		return nil
	}
	var err error
	o := a.start(DoingMove, func(ctx context.Context) { err = a.useModel(ctx, want) })
	a.mu.Unlock()
	<-o.done
	return err
}

// switchModel makes a choice that was written down.
func (a *Agent) switchModel(ctx context.Context) error {
	a.mu.Lock()
	want := a.want
	a.want = nil
	a.mu.Unlock()
	if want == nil {
		return nil
	}
	return a.useModel(ctx, *want)
}

// useModel lets a model answer from now on.
func (a *Agent) useModel(ctx context.Context, c choice) error {
	a.model, a.reasoning = c.model, c.reasoning
	i := c.model.Info()
	name := i.Provider + "/" + i.Model
	a.status.change(func(s *State) { s.Model, s.Reasoning = name, c.reasoning })
	a.know(i)
	now, err := session.ModelAt(ctx, a.s.Log().Store(), a.s.Leaf())
	if err != nil {
		return err
	}
	if now != (session.Model{Provider: i.Provider, ID: i.Model}) {
		if err := a.s.SetModel(context.WithoutCancel(ctx), i.Provider, i.Model); err != nil {
			return err
		}
	}
	want := string(c.reasoning)
	if want == "" && a.level != "" {
		want = levelDefault
	}
	if a.level != want {
		if err := a.journal.record(ctx, session.NewThinkingLevel(want)); err != nil {
			return err
		}
		a.level = want
	}
	a.refreshState(ctx)
	return nil
}

// LevelAt returns the level of reasoning in force at a leaf, as ParseReasoning reads it.
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
func (a *Agent) lookup(next func(provider, id string) (model.Info, bool)) func(provider, id string) (model.Info, bool) {
	if next == nil {
		var none clew.Config
		next = none.LookupModel
	}
	return func(provider, id string) (model.Info, bool) {
		if i, ok := a.infos.Load(session.Model{Provider: provider, ID: id}); ok {
			return i.(model.Info), true
		}
		return next(provider, id)
	}
}

func (a *Agent) know(i model.Info) {
	a.infos.Store(session.Model{Provider: i.Provider, ID: i.Model}, i)
}

// learn takes in what a refusal says about the model's limits.
func (a *Agent) learn(ctx context.Context, o model.Overflow) error {
	if _, err := a.s.Learn(ctx, o); err != nil {
		return err
	}
	a.refreshState(ctx)
	return nil
}
