package main

import (
	"context"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Where a setting came from.
const (
	fromFlag    = "flag"
	fromSession = "session"
	fromModel   = "model"
	fromDefault = "default"
)

// A contextView is a context with all that context shows of it.
type contextView struct {
	*session.Context
	leaf     string
	model    session.Model
	modelBy  string // fromFlag, fromSession or ""
	level    string // of thinking; "" when the context does not say
	windowBy string // fromFlag, fromModel or fromDefault
	budget   compact.Budget
	meter    *token.Meter
	learned  token.Calibration // of the meter, from the usage in the log
	reading  token.Reading
	messages []*message.Message
	calls    int // tool calls
	edited   int // entries that an edit in force gives other content
	omitted  int // entries that an edit in force takes out
}

// viewContext projects and measures the context at a leaf. It reads no more of
// the log than the context needs, unless that does not name the model.
func viewContext(ctx context.Context, s session.Store, leaf string, model modelFlag, window int64, counter counterFlag) (*contextView, error) {
	c, err := session.ContextAt(ctx, s, leaf)
	if err != nil {
		return nil, err
	}
	v := &contextView{Context: c, leaf: leaf}
	if err := v.settle(ctx, s, model, window); err != nil {
		return nil, err
	}
	for _, it := range c.Items {
		v.messages = append(v.messages, it.Message)
		v.calls += len(it.Message.ToolCalls())
	}
	v.countEdits()
	if v.meter, v.learned, err = counter.meter(v.model, v.budget.Window, c.Active); err != nil {
		return nil, err
	}
	v.reading = v.meter.Measure(v.messages, freshFrom(c))
	return v, nil
}

// freshFrom returns the index of the first item that stands after the last
// change of the context's earlier part: usage reported before it is stale.
func freshFrom(c *session.Context) int {
	for i, it := range c.Items {
		if it.At >= c.Boundary {
			return i
		}
	}
	return len(c.Items)
}

// settle finds out the model and the window.
func (v *contextView) settle(ctx context.Context, s session.Store, model modelFlag, window int64) error {
	v.findSettings()
	switch {
	case model.provider != "":
		v.model, v.modelBy = session.Model{Provider: model.provider, ID: model.id}, fromFlag
	case v.model.ID == "":
		m, level, err := session.Settings(ctx, s, v.leaf)
		if err != nil {
			return err
		}
		if m.ID != "" {
			v.model, v.modelBy, v.level = m, fromSession, level
		}
	}
	policy, from := modelPolicy{Policy: compact.Policy{Window: window}}.of(v.model)
	v.windowBy = map[string]string{clew.WindowCatalogue: fromModel, clew.WindowAssumed: fromDefault, clew.WindowSet: fromFlag}[from]
	var err error
	if v.budget, _, err = policy.Resolve(); err != nil {
		return &usageError{err}
	}
	return nil
}

// findSettings takes the model and the thinking level from the entries of the
// context, the latest first.
func (v *contextView) findSettings() {
	for i := len(v.Active) - 1; i >= 0 && (v.model.ID == "" || v.level == ""); i-- {
		e := v.Active[i]
		if level, ok := e.ThinkingLevel(); ok && v.level == "" {
			v.level = level
		}
		if v.model.ID != "" {
			continue
		}
		m, ok := e.ModelChange()
		if msg, err := e.Message(); err == nil && msg.Role == message.RoleAssistant {
			m, ok = session.Model{Provider: msg.Provider, ID: msg.Model}, true
		}
		if ok && m.ID != "" {
			v.model, v.modelBy = m, fromSession
		}
	}
}

func (v *contextView) countEdits() {
	targets := map[string]bool{} // target → omitted
	for _, e := range v.Active {
		if edit, ok := e.ContextEdit(); ok {
			targets[edit.TargetID] = edit.Omit
		}
	}
	for _, e := range v.Active {
		if targets[e.ID] {
			v.omitted++
		}
	}
	for i, it := range v.Items {
		if it.Edit != nil && (i == 0 || v.Items[i-1].Entry != it.Entry) {
			v.edited++
		}
	}
}
