// Package token says how many tokens something costs.
//
// A [Meter] measures a whole context: it takes the last usage a provider
// reported that still holds, and estimates only what came after it. A [Counter]
// makes the estimates: [HeuristicFor] by what characters are, [BPE] with OpenAI's
// tokenizers, [Chars4] as pi does.
//
//	meter, err := token.NewMeter(token.Config{Provider: "anthropic", Model: "claude-opus-4-6", Window: 200_000})
//	r := meter.Measure(messages, fresh)
//	fmt.Println(r.Tokens, "of", meter.Window(), "tokens, of which", r.Measured, "were reported")
//	if r.Guarded() > limit {
//		// an estimate that is low by the usual error would no longer fit
//	}
//
// [Learn] corrects estimates by what the usage in a log says of them; docs/meter.md says
// how, and how good they are. What is counted is what is sent.
package token

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Config says for which model a [Meter] measures, and what every request carries
// beside the messages. The zero value measures for an unknown model.
type Config struct {
	// Provider and Model name the model that is about to be called, as the
	// provider does: "anthropic", "claude-opus-4-6".
	Provider, Model string

	Counter Counter // makes the estimates. Default: HeuristicFor(Provider, Model)

	// System is prompt text and Tools a JSON array of tool definitions that are sent
	// beside those in the system messages of the conversation. Default: none.
	System string
	Tools  json.RawMessage

	Window int64 // of the model, in tokens; 0 when it is not known. It does not change what is measured

	// Safety multiplies the estimated part in Reading.Guarded. It is at least 1. 0 means
	// the counter's own factor: 1.2 to 1.35 by the model's maker, 2.3 for Chars4, what
	// was learnt for a calibrated counter, and 1.3 for a counter of your own.
	Safety float64

	// AnyUsage takes every usage above 0 of an answer that did not fail as an anchor, as pi
	// does. By default it must also give the prompt's size, for the same tokenizer.
	AnyUsage bool
}

// defaultGuard is for counters that do not know how good they are.
const defaultGuard = 1.3

// Validate reports the first setting that cannot be used, and what would come of it.
func (c *Config) Validate() error {
	switch {
	case c.Window < 0:
		return fmt.Errorf("token: Window is %d: no context fits a window below 0; use 0 for an unknown window", c.Window)
	case math.IsNaN(c.Safety) || math.IsInf(c.Safety, 0):
		return fmt.Errorf("token: Safety is %v: no context would ever be known to fit; use 0 for the default", c.Safety)
	case c.Safety != 0 && c.Safety < 1:
		return fmt.Errorf("token: Safety is %v: estimates would be made smaller and requests overflow; use at least 1, or 0 for the default", c.Safety)
	}
	if jsonx.IsNull(c.Tools) {
		return nil
	}
	end, err := jsonx.Scan(c.Tools, 0)
	switch {
	case err != nil:
		return fmt.Errorf("token: Tools is not JSON, so its tokens can't be counted: %w", err)
	case jsonx.Space(c.Tools, end) != len(c.Tools):
		return fmt.Errorf("token: Tools has data after its end at byte %d; give one JSON array", jsonx.Space(c.Tools, end))
	case !jsonx.IsArray(c.Tools[jsonx.Space(c.Tools, 0):]):
		return fmt.Errorf("token: Tools is JSON but no array; give the array of definitions that is sent")
	}
	return nil
}

// Meter measures contexts for one model. It has no state that changes, so it may be
// used by several goroutines. It is itself the [Counter] of its estimates.
type Meter struct {
	counter  Counter
	family   family
	window   int64
	safety   float64
	anyUsage bool

	fixed      Categories // system prompt and tools
	fixedBytes int64
}

var _ Counter = (*Meter)(nil)

// NewMeter returns a meter, or what Config.Validate says.
func NewMeter(cfg Config) (*Meter, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := &Meter{
		counter: cfg.Counter, family: familyOf(cfg.Provider, cfg.Model),
		window: cfg.Window, safety: cfg.Safety, anyUsage: cfg.AnyUsage,
	}
	if m.counter == nil {
		m.counter = HeuristicFor(cfg.Provider, cfg.Model)
	}
	m.safety = cmp.Or(m.safety, guardOf(m.counter))
	system, tools := cfg.System, cfg.Tools
	if system != "" {
		msg := &message.Message{Role: message.RoleSystem, Content: []message.Block{message.TextBlock(system)}}
		m.fixed[System] = m.counter.Message(msg)
	}
	if !jsonx.IsNull(tools) {
		msg := &message.Message{Role: message.RoleSystem, ToolsAdded: tools}
		m.fixed[Tools] = max(0, m.counter.Message(msg)-m.counter.Message(&message.Message{Role: message.RoleSystem}))
	}
	m.fixedBytes = int64(len(system) + len(tools))
	return m, nil
}

// Name returns the name of the counter.
func (m *Meter) Name() string { return m.counter.Name() }

// Message estimates what one message costs.
func (m *Meter) Message(msg *message.Message) int64 { return max(0, m.counter.Message(msg)) }

// Text estimates what a text costs as part of a message.
func (m *Meter) Text(s string) int64 { return max(0, m.counter.Text(s)) }

// Window returns Config.Window.
func (m *Meter) Window() int64 { return m.window }

// Guard returns the factor that Reading.Guarded applies to estimates.
func (m *Meter) Guard() float64 { return m.safety }

// Fixed estimates Config.System and Config.Tools, which every request carries.
func (m *Meter) Fixed() int64 { return m.fixed.Total() }

// Measure returns what a context costs. Its anchor is the last answer at or after index
// fresh (session.Context has Boundary for that) with a usage that can be trusted: what was
// reported counts up to and including it, what comes after it is estimated. Without an
// anchor everything is.
func (m *Meter) Measure(msgs []*message.Message, fresh int) Reading {
	r := m.Running()
	for i, msg := range msgs {
		r.Add(msg, i >= fresh)
	}
	return r.Reading()
}

func split(c Counter, msg *message.Message, into *Categories) {
	if s, ok := c.(splitter); ok {
		s.split(msg, into)
		return
	}
	at := categoryOf(msg)
	into[at] = addSat(into[at], max(0, c.Message(msg)))
}

// trusts reports an answer whose usage says how large the context was after it.
func (m *Meter) trusts(msg *message.Message) bool {
	if msg.Role != message.RoleAssistant || msg.Failed() || msg.Usage.Total() <= 0 {
		return false
	}
	if m.anyUsage {
		return true
	}
	// Servers between a program and its provider lose parts of the usage; an
	// answer without a prompt is none.
	if u := msg.Usage; u.Prompt() <= 0 && (u.TotalCount == 0 || u.TotalCount <= u.Output) {
		return false
	}
	from := familyOf(msg.Provider, msg.Model)
	return from == m.family || from == universal || m.family == universal
}

// reported returns what the usage of an anchor says about the context up to it, and
// whether that is with the answer, which is estimated at own. Some logs have the usage
// as it was when the answer began: then only the prompt was reported.
func (m *Meter) reported(u *message.Usage, own int64) (tokens int64, whole bool) {
	const slack = 200 // tokens; the estimate of a short answer is mostly overhead
	total := u.Total()
	if m.anyUsage || u.Prompt() <= 0 || u.Output >= max(0, own-slack)/4 || u.Output >= total {
		return total, true
	}
	return total - max(u.Output, 0), false
}

// fit makes categories that were estimated add up to what was reported. What is missing,
// such as a prompt that is not known here or hidden thinking, is Unattributed. What is
// too much is taken off in proportion.
func fit(c *Categories, total int64) {
	sum := c.Total()
	if sum <= total {
		c[Unattributed] = addSat(c[Unattributed], total-sum)
		return
	}
	share := float64(total) / float64(sum)
	left, most := total, 0
	for i, n := range c {
		c[i] = min(int64(float64(n)*share), left)
		left -= c[i]
		if n > c[most] {
			most = i
		}
	}
	c[most] += left
}
