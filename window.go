package clew

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/session"
)

// How the size of a model's window is known; see Config.PolicyFor.
const (
	WindowSet       = "settings"  // Config.Policy or Config.Models
	WindowLearned   = "learnt"    // from a request that the provider refused
	WindowCatalogue = "catalogue" // Config.Lookup
	WindowAssumed   = "assumed"   // compact.DefaultWindow, because nothing is known
)

// LookupModel returns what is known of a model: its window, its limit of output and
// its prices.
func (c *Config) LookupModel(provider, id string) (i catalogue.Info, ok bool) {
	switch {
	case id == "":
		return i, false
	case c.Lookup != nil:
		return c.Lookup(provider, id)
	}
	return catalogue.Default().Lookup(provider, id)
}

// PolicyFor returns the policy for a model and how its window is known. The window
// is the first of these that is there: that of Models for the model, that of Policy,
// the catalogue's. A limit that was learned caps it, because a provider has
// named it. If nothing is known the window is 0, which stands for
// compact.DefaultWindow.
func (c *Config) PolicyFor(m session.Model) (p compact.Policy, from string) {
	o, ok := c.Models[m.Provider+"/"+m.ID]
	if !ok {
		o = c.Models[m.ID]
	}
	p, from = o.on(c.Policy), WindowSet
	if p.Window == 0 {
		from = WindowAssumed
		if i, ok := c.LookupModel(m.Provider, m.ID); ok && i.Window > 0 {
			p.Window, from = i.Window, WindowCatalogue
			if i.MaxInput > 0 { // the answer does not share its room with the input
				p.Window = min(p.Window, i.MaxInput+compact.DefaultReserve)
			}
			p.Window = max(p.Window, compact.MinWindow)
		}
	}
	if c.Windows != nil {
		if n, ok := c.Windows.Limit(catalogue.Route{Provider: m.Provider, Model: m.ID}); ok && (p.Window == 0 || n < p.Window) {
			p.Window, from = max(n, compact.MinWindow), WindowLearned
		}
	}
	return p, from
}

// checkModel warns, once, of a model whose window nobody knows.
func (s *Session) checkModel(m session.Model) {
	if m.ID == "" || s.warned[m] {
		return
	}
	if _, from := s.cfg.PolicyFor(m); from != WindowAssumed {
		return
	}
	if s.warned == nil {
		s.warned = map[session.Model]bool{}
	}
	s.warned[m] = true
	s.warnings = append(s.warnings, fmt.Errorf("%w: %d tokens are assumed for %s, until it refuses a request; say how large it is in the settings", ErrUnknownModel, compact.DefaultWindow, modelName(m)))
}

func modelName(m session.Model) string {
	if m.Provider == "" {
		return m.ID
	}
	return m.Provider + "/" + m.ID
}

// SetOverride changes what the policy says for one model. The model is named as in
// Config.Models.
func (s *Session) SetOverride(ctx context.Context, model string, o Override) error {
	return s.configure(ctx, "set the limits of a model", func(c *Config) { c.setOverride(model, o) })
}

func (c *Config) setOverride(model string, o Override) {
	c.Models = maps.Clone(c.Models) // others may hold the map
	if c.Models == nil {
		c.Models = map[string]Override{}
	}
	c.Models[model] = o
}

// Learn takes in what a refused request says about the limits of the model in force.
// The next Prepare keeps to them. It reports whether anything was learned.
func (s *Session) Learn(ctx context.Context, o catalogue.Overflow) (learned bool, err error) {
	const op = "learn a limit"
	if err := s.begin(ctx, op); err != nil {
		return false, err
	}
	defer s.end()
	snap, err := s.load(ctx)
	if err != nil {
		return false, failed(op, "", err)
	}
	learned = s.learn(snap.Model, o, snap.Reading.Guarded(), snap.Reading.Bytes)
	s.snap = nil
	return learned, nil
}

// learn takes in a refusal of a request of tokens and bytes.
func (s *Session) learn(m session.Model, o catalogue.Overflow, tokens, bytes int64) bool {
	name := m.Provider + "/" + m.ID
	limits, ok := s.cfg.Models[name]
	if !ok {
		limits = s.cfg.Models[m.ID]
	}
	switch {
	case o.Kind == catalogue.OverflowBytes:
		limits.MaxBytes = bytes * 9 / 10
		if o.Limit > 0 {
			limits.MaxBytes = min(limits.MaxBytes, o.Limit)
		}
		limits.MaxBytes = max(limits.MaxBytes, compact.MinBytes)
	case o.Kind == catalogue.OverflowRate && o.Limit > 0:
		limits.Trigger = compact.Tokens(max(o.Limit*9/10, compact.MinWindow))
	default:
		_, ok := s.cfg.Windows.Refused(catalogue.Route{Provider: m.Provider, Model: m.ID}, o, tokens)
		return ok
	}
	s.cfg.setOverride(name, limits)
	return true
}

// Recover makes room after the provider refused a request as too large: cause is
// the error of the call, a *model.Error or what has its method TooLarge. What it says about limits is learned, and a pass is made.
// Where it returns nil, Prepare and send again. An error of another kind is returned
// as it is; so is one that no pass can mend.
func (s *Session) Recover(ctx context.Context, cause error) error {
	var refusal interface {
		TooLarge() (catalogue.Overflow, bool)
	} // *model.Error is one
	if !errors.As(cause, &refusal) {
		return cause
	}
	o, ok := refusal.TooLarge()
	if !ok {
		return cause
	}
	if _, err := s.Learn(ctx, o); err != nil {
		return errors.Join(cause, err)
	}
	opt := CompactOptions{Reason: compact.Overflow, WillRetry: true}
	r, err := s.Compact(ctx, opt)
	if err == nil && !r.Plan.Act { // it is within its target, and yet too large
		opt.Keep = compact.Tokens(max(r.Plan.Before.Tokens*2/5, 1))
		r, err = s.Compact(ctx, opt)
	}
	switch {
	case err != nil:
		return errors.Join(cause, err)
	case !r.Plan.Act || r.Plan.After.Guarded() >= r.Plan.Before.Guarded() && r.Plan.After.Bytes >= r.Plan.Before.Bytes:
		return &Error{Op: "make room", Err: fmt.Errorf("%w; no pass makes the context smaller: %s", cause, r.Plan.Why), Hint: "use a model with a larger window, or begin a new session"}
	}
	return nil
}

// minOutput is the least room for an answer that a request asks for, in tokens.
const minOutput = 1_024

// outputRoom returns how long the answer of a model may be where the window has room
// for left tokens.
func (c *Config) outputRoom(m session.Model, left int64) int64 {
	room := int64(compact.DefaultReserve)
	if i, ok := c.LookupModel(m.Provider, m.ID); ok && i.MaxOutput > 0 {
		room = i.MaxOutput
	}
	return max(min(room, left), minOutput)
}

// withPrompt puts the system text and the tools before the messages.
func (c *Config) withPrompt(msgs []*message.Message) []*message.Message {
	if c.System == "" && len(c.Tools) == 0 {
		return slices.Clone(msgs)
	}
	m := &message.Message{Role: message.RoleSystem, ToolsAdded: c.Tools}
	if c.System != "" {
		m.Content = []message.Block{message.TextBlock(c.System)}
	}
	return slices.Insert(slices.Clone(msgs), 0, m)
}
