package main

import (
	"context"
	"errors"
	"slices"

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
	fromGateway = "gateway"
	fromDefault = "default"
)

// A contextView is a context with all that context shows of it.
type contextView struct {
	*session.Context
	leaf     string
	model    session.Model
	modelBy  string // fromFlag, fromSession or ""
	level    string // of thinking; "" when the context does not say
	windowBy string // fromFlag, fromModel, fromGateway or fromDefault
	budget   compact.Budget
	meter    *token.Meter
	learned  token.Calibration // of the meter, from the usage in the log
	reading  token.Reading
	messages []*message.Message
	calls    int // tool calls
	edited   int // entries that an edit in force gives other content
	omitted  int // entries that an edit in force takes out
}

// viewContext loads the context at a leaf. It reads no more of the log than the context
// needs, unless that does not name the model.
func viewContext(ctx context.Context, s session.Store, leaf string, model modelFlag, window int64, counter counterFlag) (*contextView, error) {
	if _, _, err := (compact.Policy{Window: window}).Resolve(); err != nil {
		return nil, &usageError{err}
	}
	v := &contextView{leaf: leaf}
	last, err := s.Get(ctx, leaf)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, err
	}
	learnt := gatewayWindow(last)
	snap, err := compact.Load(ctx, s, leaf, &compact.Setup{
		Model: session.Model{Provider: model.provider, ID: model.id}, Counter: counter.of,
		Policy: func(m session.Model) compact.Policy {
			policy, from := modelPolicy{Policy: compact.Policy{Window: window}}.of(m)
			v.windowBy = map[string]string{clew.WindowCatalogue: fromModel, clew.WindowAssumed: fromDefault, clew.WindowSet: fromFlag}[from]
			if learnt > 0 && from != clew.WindowSet {
				policy.Window, v.windowBy = learnt, fromGateway
			}
			return policy
		},
	})
	if err != nil {
		return nil, err
	}
	v.Context, v.model, v.budget, v.meter, v.learned = snap.Context, snap.Model, snap.Budget, snap.Meter, snap.Learned
	v.reading, v.messages = snap.Reading, snap.Messages
	for _, m := range v.messages {
		v.calls += len(m.ToolCalls())
	}
	v.countEdits()
	if model.provider != "" {
		v.modelBy = fromFlag
	}
	return v, v.findLevel(ctx, s, snap.Logged)
}

// contextSize is what --json says of how large a context is.
type contextSize struct {
	Tokens   int64 `json:"tokens"`
	Messages int   `json:"messages"`
}

// measure finds out what the context at a leaf takes.
func (c *contextSize) measure(ctx context.Context, s session.Store, leaf string) error {
	v, err := viewContext(ctx, s, leaf, modelFlag{}, 0, counterHeuristic)
	if err == nil {
		c.Tokens, c.Messages = v.reading.Tokens, len(v.Items)
	}
	return err
}

// write writes the size.
func (c *contextSize) write(rep *report) {
	rep.row("context", "%s, %s tokens", count(c.Messages, "message"), number(c.Tokens))
}

// findLevel takes the thinking level from the entries of the context, the latest first;
// and from the path where the context does not name the model that is logged.
func (v *contextView) findLevel(ctx context.Context, s session.Store, logged session.Model) (err error) {
	named := false
	for _, e := range slices.Backward(v.Active) {
		if level, ok := e.ThinkingLevel(); ok && v.level == "" {
			v.level = level
		}
		if m, ok := e.ModelChange(); ok && m == logged {
			named = true
		} else if msg, err := e.Message(); err == nil && msg.Role == message.RoleAssistant {
			named = true
		}
		if named && v.level != "" {
			break
		}
	}
	if v.modelBy == "" && logged.ID != "" {
		v.modelBy = fromSession
	}
	if !named && v.modelBy == fromSession {
		_, v.level, err = session.Settings(ctx, s, v.leaf)
	}
	return err
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
