package clew

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

// Config says how a session is kept within a model's window. The zero value is ready for use: preset clew, the window
// of the model in force, every Append durable when it returns.
type Config struct {
	Policy compact.Policy // says when to compact and how far. Default: preset clew.

	// OwnSummarizer asks the model of the conversation; see package llm. Where
	// Policy.Summarizer is nil, presets whose documents have a model write the summary use
	// it: all but clew. Default: none, summaries are made by rules.
	OwnSummarizer summary.Summarizer

	// Provider and Model name the model that is called, as the provider does: "anthropic", "claude-opus-4-6".
	// Default: the model in force at the leaf, see Session.SetModel.
	Provider, Model string

	// Models changes the policy for single models. A key is a model's name, or "provider/name", which counts first.
	Models map[string]Override

	// Lookup says what a model takes and costs. Default: package model/catalogue.
	Lookup func(provider, id string) (catalogue.Info, bool)
	// Windows keeps the limits that providers named in refusals; sessions may share one. Default: one of its own.
	Windows     *catalogue.Windows
	TakesImages bool // says that the model reads images. Default: a line of text stands for them.

	NoAuto bool // lets Prepare make no pass, but to take out signed reasoning that can't be sent any more

	// System is the system text, and Tools a JSON array of tools with name, description and parameters, as
	// model.EncodeTools makes one. A system message of Prepared.Messages has them. Leave them empty when system
	// messages in the log have them.
	System string
	Tools  json.RawMessage

	// Counter makes estimates. Default: token.HeuristicFor the model, calibrated by the usage that comes back.
	Counter token.Counter

	// SyncLate lets Append return before what it wrote is on the disk, unless the user
	// typed it: the rest is durable when the next Prepare returns. A power cut can take
	// what was appended since. Default: all is durable when Append returns.
	SyncLate bool

	// SyncByHand lets nothing but passes wait for the disk: the rest is durable when Session.Sync or Close returns. It
	// is for a program that has what the user typed on the disk elsewhere until then. Default: see SyncLate.
	SyncByHand bool

	// FailBusy lets an operation that finds another one under way fail with ErrBusy. Default: it waits for its turn.
	FailBusy bool

	Hooks []Hooks // called at what the session does, in this order
	// Blobs keeps, beside the log, the output of tools and shells that is larger than SpillOver; the log has an
	// excerpt. When the store can't take something, that goes into the log, and the next Result has a warning.
	// Default: for Open, the folder beside the file with its name and ".blobs"; else none.
	Blobs     blob.Store
	SpillOver int64 // in bytes of a message's JSON. Default: 1 MiB. A negative value keeps all in the log.

	// Cache is a folder for copies of what a pass offloads, as files for tools that read paths, a folder for each
	// session; the notes in the context name them. They may be deleted at any time. Default: none.
	Cache string
	// KeepFiles keeps files there that nothing in the context names any more: for a copy of
	// a session, whose original may name them.
	KeepFiles bool

	Cwd string // the working directory of a new session. It makes paths in summaries relative.

	// Clock gives the time of new entries. Default: time.Now; for Fit, that of the newest message.
	Clock func() time.Time

	// NewID gives ids of new entries, best of 16 hex digits. Default: random; for Fit, made from the messages.
	NewID func() string

	once bool // says that the session lives for one call, of which hooks are not told
}

// Override changes a policy for one model. Unset fields keep the policy's values.
type Override struct {
	Window   int64          `json:"window"`  // tokens
	Reserve  compact.Amount `json:"reserve"` // what stays free for the answer
	Trigger  compact.Amount `json:"trigger"` // the size at which a pass is due
	Target   compact.Amount `json:"target"`  // the size after a pass
	Keep     compact.Amount `json:"keep"`    // the tail that stays as it is
	MaxBytes int64          `json:"-"`       // the most that a request may take, in bytes of its JSON
}

// Validate reports the first unusable setting, and why it is unusable.
func (c *Config) Validate() error { return failed("check the settings", "", c.validate()) }

func (c *Config) validate() error {
	if _, err := compact.Preset(c.Policy.Name); err != nil {
		return fmt.Errorf("setting Policy.Name: %w", err)
	}
	if _, _, err := c.Policy.Resolve(); err != nil {
		return fmt.Errorf("setting Policy: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		if name == "" {
			return fmt.Errorf(`setting Models[""]: no model has this name, so it would never count; name the model, or "provider/model"`)
		}
		if _, _, err := c.Models[name].on(c.Policy).Resolve(); err != nil {
			return fmt.Errorf("setting Models[%q]: %w", name, err)
		}
	}
	if _, err := token.NewMeter(token.Config{Counter: c.Counter, System: c.System, Tools: c.Tools}); err != nil {
		return err
	}
	for i := range c.Hooks {
		if c.Hooks[i].empty() {
			return fmt.Errorf("setting Hooks[%d] (%q) has no function: it would never be called", i, c.Hooks[i].Name)
		}
	}
	return nil
}

func (o Override) on(p compact.Policy) compact.Policy {
	p.Window, p.MaxBytes = cmp.Or(o.Window, p.Window), cmp.Or(o.MaxBytes, p.MaxBytes)
	p.Reserve, p.Trigger = cmp.Or(o.Reserve, p.Reserve), cmp.Or(o.Trigger, p.Trigger)
	p.Target, p.Keep = cmp.Or(o.Target, p.Target), cmp.Or(o.Keep, p.Keep)
	return p
}

// How the size of a model's window is known; see Config.PolicyFor.
const (
	WindowSet       = "settings"  // Config.Policy or Config.Models
	WindowLearned   = "learnt"    // from a request that the provider refused
	WindowCatalogue = "catalogue" // Config.Lookup
	WindowPreset    = "preset"    // compact.Policy.MaxWindow, where the model's is larger or not known
	WindowAssumed   = "assumed"   // compact.DefaultWindow, because nothing is known
)

// LookupModel returns what is known of a model.
func (c *Config) LookupModel(provider, id string) (i catalogue.Info, ok bool) {
	switch {
	case id == "":
		return i, false
	case c.Lookup != nil:
		return c.Lookup(provider, id)
	}
	return catalogue.Default().Lookup(provider, id)
}

// PolicyFor returns the policy for a model and the source of its window: the first known of Models, Policy, and the
// catalogue up to Policy.MaxWindow, capped by a limit that was learned. An unknown window is 0, which means
// compact.DefaultWindow.
func (c *Config) PolicyFor(m session.Model) (p compact.Policy, from string) {
	o, ok := c.Models[m.Provider+"/"+m.ID]
	if !ok {
		o = c.Models[m.ID]
	}
	p, from = o.on(c.Policy), WindowSet
	if p.Summarizer == nil && p.Name != "" && p.Name != compact.PresetClew {
		p.Summarizer = c.OwnSummarizer
	}
	if p.Window == 0 {
		from = WindowAssumed
		if i, ok := c.LookupModel(m.Provider, m.ID); ok && i.Window > 0 {
			p.Window, from = i.Window, WindowCatalogue
			if i.MaxInput > 0 { // the answer does not share its room with the input
				p.Window = min(p.Window, i.MaxInput+compact.DefaultReserve)
			}
			p.Window = max(p.Window, compact.MinWindow)
		}
		if p.MaxWindow > 0 && (p.Window == 0 || p.MaxWindow < p.Window) {
			p.Window, from = p.MaxWindow, WindowPreset
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
	s.warned[m] = true
	s.warnings = append(s.warnings, fmt.Errorf("%w: %d tokens are assumed for %s, until it refuses a request; say how large it is in the settings",
		ErrUnknownModel, compact.DefaultWindow, strings.TrimPrefix(m.Provider+"/"+m.ID, "/")))
}

// Learn records what a refused request says about the current model's limits, and reports whether anything was learned.
// The next Prepare respects it.
func (s *Session) Learn(ctx context.Context, o catalogue.Overflow) (learned bool, err error) {
	err = s.loaded(ctx, "learn a limit", func(v *compact.Snapshot) error {
		learned, s.snap = s.learn(v, o), nil
		return nil
	})
	return learned, err
}

// learn takes in that a request with the context was refused.
func (s *Session) learn(v *compact.Snapshot, o catalogue.Overflow) bool {
	m := v.Model
	name := m.Provider + "/" + m.ID
	limits, ok := s.cfg.Models[name]
	if !ok {
		limits = s.cfg.Models[m.ID]
	}
	switch {
	case o.Kind == catalogue.OverflowBytes:
		most := v.Reading.Bytes * 9 / 10
		if o.Limit > 0 {
			most = min(most, o.Limit)
		}
		limits.MaxBytes = max(most, compact.MinBytes)
	case o.Kind == catalogue.OverflowRate && o.Limit > 0:
		limits.Trigger = compact.Tokens(max(o.Limit*9/10, compact.MinWindow))
	default:
		_, ok := s.cfg.Windows.Refused(catalogue.Route{Provider: m.Provider, Model: m.ID}, o, v.Reading.Guarded())
		return ok
	}
	models := map[string]Override{} // others may hold the one that is there
	maps.Copy(models, s.cfg.Models)
	models[name] = limits
	s.cfg.Models = models
	return true
}

// Recover makes room after the provider refused a request as too large: cause is the error of the call, a *model.Error
// or an error with its method TooLarge. If it returns nil, call Prepare and send again. Errors of another kind, and those
// that no pass can fix, are returned unchanged.
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

const minOutput = 1_024

// roomIn returns what a window has room for beside a context, less a margin for what the reading does not know.
func roomIn(s *compact.Snapshot) int64 {
	return max(s.Budget.Window-s.Reading.Guarded()-s.Budget.Window/64, minOutput)
}

// outputLimit returns how long an answer of a model may be.
func (c *Config) outputLimit(m session.Model) int64 {
	if i, ok := c.LookupModel(m.Provider, m.ID); ok && i.MaxOutput > 0 {
		return i.MaxOutput
	}
	return compact.DefaultReserve
}

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

// SetPrompt changes Config.System and Config.Tools.
func (s *Session) SetPrompt(ctx context.Context, system string, tools json.RawMessage) error {
	return s.do(ctx, "set the prompt", "", func() error {
		cfg := s.cfg
		cfg.System, cfg.Tools = system, tools
		if err := cfg.Validate(); err != nil {
			return err
		}
		s.cfg, s.snap = cfg, nil
		return nil
	})
}

// Config returns the settings in force, with what was learned of models.
func (s *Session) Config(ctx context.Context) (c Config, err error) {
	err = s.do(ctx, "read the settings", "", func() error { c = s.cfg; return nil })
	return c, err
}
