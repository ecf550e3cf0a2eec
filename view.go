package clew

import (
	"context"
	"slices"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// view is what is known of the context at a leaf. It depends on the leaf and the
// settings alone, for entries never change; so it holds until the leaf moves,
// and where entries are added at the end it is extended by them.
//
// A view is not changed once it is made, but for its tally, which belongs to the
// newest view.
type view struct {
	leaf    string
	model   session.Model // in force on the path
	policy  compact.Policy
	meter   *token.Meter
	path    []*session.Entry // what session.ContextPath gives
	context *session.Context
	msgs    []*message.Message // of the context
	targets map[string]bool    // entries that edits are for
	answers int                // since the last pass
	stale   []int              // what compact.StaleThinking says of the context

	tally *token.Running
	sized compact.Sized
}

// look returns the view of the leaf.
func (s *Session) look(ctx context.Context) (*view, error) {
	leaf := s.log.Leaf()
	if s.view != nil && s.view.leaf == leaf {
		return s.view, nil
	}
	v, err := newView(ctx, s.log.Store(), leaf, &s.cfg)
	if err != nil {
		return nil, err
	}
	s.view = v
	return v, nil
}

func newView(ctx context.Context, store session.Store, leaf string, cfg *Config) (*view, error) {
	path, err := session.ContextPath(ctx, store, leaf)
	if err != nil {
		return nil, err
	}
	model, err := session.ModelAt(ctx, store, leaf)
	if err != nil {
		return nil, err
	}
	return viewOf(path, leaf, model, cfg)
}

// viewOf returns the view of a path that ends at leaf.
func viewOf(path []*session.Entry, leaf string, model session.Model, cfg *Config) (*view, error) {
	v := &view{leaf: leaf, model: model, path: path, context: session.Project(path), targets: map[string]bool{}}
	used := cfg.modelAt(v.model)
	v.policy = cfg.policy(used)
	counter, _, err := cfg.counter(used, path, false)
	if err != nil {
		return nil, err
	}
	if v.meter, err = cfg.meter(used, v.policy.Window, counter); err != nil {
		return nil, err
	}
	v.answers = answersOf(path)
	for _, e := range v.context.Active {
		if edit, ok := e.ContextEdit(); ok {
			v.targets[edit.TargetID] = true
		}
	}
	v.stale = compact.StaleThinking(path, v.context)
	v.tally = v.meter.Running()
	v.context.Active = slices.Clip(v.context.Active) // path has the same array
	v.measure(v.context.Items)
	return v, nil
}

// modelAt returns the model that is called where the path says m.
func (c *Config) modelAt(m session.Model) session.Model {
	if c.Model != "" || c.Provider != "" {
		return session.Model{Provider: c.Provider, ID: c.Model}
	}
	return m
}

// measure adds items to what is counted.
func (v *view) measure(items []session.Item) {
	for _, it := range items {
		v.tally.Add(it.Message, it.At >= v.context.Boundary)
		v.msgs = append(v.msgs, it.Message)
	}
	v.sized = compact.Sized{Context: v.context, Reading: v.tally.Reading(), Costs: v.tally.Costs(), StaleThinking: v.stale}
}

// extended returns the view after entries that were appended at the leaf before,
// or nil where they were appended elsewhere. It reads nothing, so it can't fail
// after what was written.
func (v *view) extended(before string, entries []*session.Entry, cfg *Config) *view {
	if v == nil || v.leaf != before {
		return nil
	}
	n := *v
	anew := false
	for _, e := range entries {
		if e.ParentID != n.leaf {
			return nil
		}
		switch e.Type {
		case session.TypeCompaction, session.TypeContextEdit:
			anew = true
		case session.TypeModelChange:
			n.model, _ = e.ModelChange()
		case session.TypeMessage:
			if m, err := e.Message(); err == nil && m.Role == message.RoleAssistant {
				n.model = session.Model{Provider: m.Provider, ID: m.Model}
				n.answers++
			}
		default:
		}
		anew = anew || n.targets[e.ID]
		n.leaf = e.ID
	}
	learns := cfg.Counter == nil && bucket(n.answers) != bucket(v.answers)
	if anew || learns || cfg.modelAt(n.model) != cfg.modelAt(v.model) {
		path := needed(append(slices.Clip(v.path), entries...))
		again, err := viewOf(path, n.leaf, n.model, cfg)
		if err != nil {
			return nil
		}
		return again
	}
	// None of the entries changes an earlier one, so their own projection is what
	// they add.
	added := session.Project(entries).Items
	c := *v.context
	for i := range added {
		added[i].At += len(c.Active)
	}
	n.path = append(n.path, entries...)
	c.Active = append(c.Active, entries...)
	c.Items = append(c.Items, added...)
	n.context = &c
	n.measure(added)
	return &n
}

// needed returns the part of a path that session.ContextPath gives.
func needed(path []*session.Entry) []*session.Entry {
	for i := len(path) - 1; i >= 0; i-- {
		c, ok := path[i].Compaction()
		if !ok {
			continue
		}
		for k := i; k >= 0; k-- {
			if path[k].ID == c.FirstKeptEntryID || c.FirstKeptEntryID == "" {
				return slices.Clone(path[k:]) // and let go of what is before
			}
		}
		return path
	}
	return path
}

// input is that of a plan. last is the newest entry of the log.
func (s *Session) input(v *view, reason compact.Reason, last string) compact.Input {
	return compact.Input{
		Path: v.path, Last: last, Meter: v.meter, Reason: reason, Cwd: s.log.Store().Header().Cwd, Sized: &v.sized, Found: s.found,
	}
}
