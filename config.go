package clew

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Config says how a session is kept within a model's window. The zero value is
// ready for use: preset clew, a window of 200,000 tokens of which 16,384 stay
// free for the answer, every Append durable when it returns.
type Config struct {
	// Policy says when to compact and how far; see compact.Preset. Default:
	// preset clew.
	Policy compact.Policy

	// Provider and Model name the model that is called, as the provider does:
	// "anthropic", "claude-opus-4-6". They decide how tokens are estimated, what
	// reported usage is believed, and which of Models counts. Default: the model
	// in force at the leaf, see Session.SetModel.
	Provider, Model string

	// Models changes the policy for single models. A key is a model's name, or
	// "provider/name", which counts first.
	Models map[string]Override

	// Lookup says what a model takes and costs. Default: the catalogue that comes with
	// package model.
	Lookup func(provider, id string) (catalogue.Info, bool)
	// Windows keeps the limits that providers named when they refused a request; share
	// one among sessions. Default: one of the session's own.
	Windows *catalogue.Windows
	// TakesImages says that the model reads images. Default: Prepared.Render
	// puts a line of text in their place.
	TakesImages bool

	// NoAuto lets Prepare make no pass, whatever the context takes. Compact does. What
	// Prepare still does is to take out signed reasoning that can't be sent any more; see
	// compact.Plan.OnlyThinking.
	NoAuto bool
	// MaxPasses is the most passes that are made, but for those the user asks for,
	// between two messages of the user. A context that does not fit is brought into the
	// limit all the same. Default: 0, no limit.
	MaxPasses int

	// System is the system text, and Tools a JSON array of the tools that may be called,
	// each with name, description and parameters, a JSON schema; model.EncodeTools
	// makes one. They are counted, and a system message of Prepared.Messages has them.
	// Leave them empty when system messages in the log have them. Default: none.
	System string
	Tools  json.RawMessage

	// Counter makes estimates. Default: token.HeuristicFor the model, calibrated by
	// the usage that comes back: each pass writes down what was learnt.
	Counter token.Counter

	// SyncLate lets Append return before what it wrote is on the disk, unless the user
	// typed it: the rest is durable when the next Prepare returns, so before the next
	// request leaves. A power cut can take what was appended since. Default: all is
	// durable when Append returns.
	SyncLate bool

	// MustBeNew lets Open fail with fs.ErrExist where there is a file of that name.
	MustBeNew bool
	// FailBusy lets an operation that finds another one under way fail with
	// ErrBusy. Default: it waits, until its context is done.
	FailBusy bool

	// Hooks are called at what the session does, in this order. Package hook runs
	// programs as hooks; LogEvents logs. Default: none.
	Hooks []Hooks
	// Blobs keeps, beside the log, the output of tools and shells that is larger
	// than OutOfLine; the log has an excerpt, and Recall gives back the whole. What
	// the user typed is always in the log. When the store can't take something, that
	// goes into the log, and the next Result has a warning. Default: for Open,
	// the folder beside the file with its name and ".blobs"; else none.
	Blobs blob.Store
	// OutOfLine is in bytes of a message's JSON. Default: DefaultOutOfLine. A
	// negative value keeps all in the log.
	OutOfLine int64

	// Cache is a folder for copies of what a pass offloads, as files for tools that
	// read paths. With it the notes in the context name the files; they may be
	// deleted at any time and are made again by the next Prepare, or by Path.
	// Default: none.
	Cache string

	// Cwd is the working directory of a new session, stored in its header. It
	// makes paths in summaries relative. Default: none.
	Cwd string

	// Clock gives the time of new entries. Default: time.Now; for Fit, the time
	// of the newest message.
	Clock func() time.Time

	// NewID gives ids of new entries; 16 hex digits are best. Default: random
	// ones; for Fit, ones made from the messages.
	NewID func() string

	// once says that the session lives for one call, of which hooks about sessions
	// are told nothing.
	once bool
}

// Override is what a policy says differently for one model. What is unset, or a
// Window of 0, is left as the policy has it. Shares are of the model's window.
type Override struct {
	Window  int64          // tokens
	Reserve compact.Amount // what stays free for the answer
	Trigger compact.Amount // the size at which a pass is due
	Target  compact.Amount // the size after a pass
	Keep    compact.Amount // the tail that stays as it is
	// MaxBytes is the most that a request may take, in bytes of its JSON.
	MaxBytes int64
}

// Validate reports the first setting that cannot be used, and what would come of it.
func (c *Config) Validate() error {
	if err := c.validate(); err != nil {
		return &Error{Op: "check the settings", Err: err}
	}
	return nil
}

func (c *Config) validate() error {
	if _, err := compact.Preset(c.Policy.Name); err != nil {
		return fmt.Errorf("setting Policy.Name: %w", err)
	}
	if err := checkPolicy(c.Policy); err != nil {
		return fmt.Errorf("setting Policy: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		if name == "" {
			return fmt.Errorf(`setting Models[""]: no model has this name, so it would never count; name the model, or "provider/model"`)
		}
		if err := checkPolicy(c.Models[name].on(c.Policy)); err != nil {
			return fmt.Errorf("setting Models[%q]: %w", name, err)
		}
	}
	if _, err := c.meter(session.Model{}, 0, c.Counter); err != nil {
		return err
	}
	if c.MaxPasses < 0 {
		return fmt.Errorf("setting MaxPasses is %d: fewer passes than none can't be made; use 0 for no limit, or NoAuto", c.MaxPasses)
	}
	for i := range c.Hooks {
		if c.Hooks[i].empty() {
			return fmt.Errorf("setting Hooks[%d] (%q) has no function: it would never be called", i, c.Hooks[i].Name)
		}
	}
	return nil
}

func checkPolicy(p compact.Policy) error {
	_, _, err := p.Resolve()
	return err
}

// on returns a policy with what the override says.
func (o Override) on(p compact.Policy) compact.Policy {
	if o.Window != 0 {
		p.Window = o.Window
	}
	if o.MaxBytes != 0 {
		p.MaxBytes = o.MaxBytes
	}
	for _, a := range []struct {
		to   *compact.Amount
		from compact.Amount
	}{{&p.Reserve, o.Reserve}, {&p.Trigger, o.Trigger}, {&p.Target, o.Target}, {&p.Keep, o.Keep}} {
		if a.from.IsSet() {
			*a.to = a.from
		}
	}
	return p
}

// policy returns the policy for a model.
func (c *Config) policy(m session.Model) compact.Policy {
	p, _ := c.PolicyFor(m)
	return p
}

// meter returns the meter for a model.
func (c *Config) meter(m session.Model, window int64, counter token.Counter) (*token.Meter, error) {
	return token.NewMeter(token.Config{
		Provider: m.Provider, Model: m.ID, Counter: counter, System: c.System, Tools: c.Tools, Window: window,
	})
}

// sessionOptions are those of the log.
func (c *Config) sessionOptions() session.Options {
	return session.Options{Clock: c.Clock, NewID: c.NewID}
}
