package token

import (
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
	Provider string
	Model    string

	// Counter makes the estimates. Default: HeuristicFor(Provider, Model).
	Counter Counter

	// System is prompt text that is sent beside the system messages of the
	// conversation. Leave it empty when the prompt is one of those.
	System string
	// Tools is a JSON array of the tool definitions that are sent beside those
	// in system messages. Default: none.
	Tools json.RawMessage

	// Window is the size of the model's context window in tokens; 0 when it is
	// not known. It does not change what is measured.
	Window int64

	// Safety multiplies the estimated part in Reading.Guarded. It is at least 1.
	// 0 means the counter's own factor: 1.2 for Claude up to 4.6, 1.35 for later ones,
	// 1.25 for GPT, 1.3 for other models, 2.3 for Chars4, what was learnt for a
	// calibrated counter, and 1.3 for a counter of your own.
	Safety float64

	// AnyUsage takes every usage above 0 of an answer that did not fail as an
	// anchor, as pi does. By default a usage also must say how large the prompt
	// was, and come from a model with the same tokenizer as far as is known.
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

// Meter measures contexts for one model. It has no state that changes, so one
// Meter may be used for any number of sessions and by several goroutines.
//
// A Meter is itself a [Counter]: that of its estimates.
type Meter struct {
	counter  Counter
	family   family
	window   int64
	safety   float64
	anyUsage bool

	fixed      Categories // system prompt and tools
	fixedTotal int64
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
	if m.safety == 0 {
		m.safety = guardOf(m.counter)
	}
	m.countFixed(cfg.System, cfg.Tools)
	return m, nil
}

func (m *Meter) countFixed(system string, tools []byte) {
	if system != "" {
		msg := &message.Message{Role: message.RoleSystem, Content: []message.Block{message.TextBlock(system)}}
		m.fixed[System] = m.counter.Message(msg)
	}
	if !jsonx.IsNull(tools) {
		msg := &message.Message{Role: message.RoleSystem, ToolsAdded: tools}
		m.fixed[Tools] = max(0, m.counter.Message(msg)-m.counter.Message(&message.Message{Role: message.RoleSystem}))
	}
	m.fixedTotal = m.fixed.Total()
	m.fixedBytes = int64(len(system) + len(tools))
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

// Fixed estimates what every request carries beside the messages:
// Config.System and Config.Tools.
func (m *Meter) Fixed() int64 { return m.fixedTotal }

// Measure returns what a context costs.
//
// It looks for the last answer at or after index fresh that has a usage which
// can be trusted: the anchor. Usage from before fresh is stale, because a
// pass or an edit has changed the context since; session.Context has Boundary
// for that. What was reported counts up to and including the anchor, and only
// the messages after it are estimated; where the log has the usage as it was when
// the answer began, the answer too.
//
// Without an anchor everything is estimated: Config.System and Config.Tools,
// what ReplaySystem makes of the system messages, and the other messages.
func (m *Meter) Measure(msgs []*message.Message, fresh int) Reading {
	r := m.Running()
	for i, msg := range msgs {
		r.Add(msg, i >= fresh)
	}
	return r.Reading()
}

// split adds the tokens of a message to the categories.
func (m *Meter) split(msg *message.Message, into *Categories) {
	if s, ok := m.counter.(splitter); ok {
		s.split(msg, into)
		return
	}
	at := categoryOf(msg)
	into[at] = addSat(into[at], m.Message(msg))
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
// whether that is with the answer. Some logs have the usage as it was when the
// answer began, with an output of a few tokens: then only the prompt was
// reported. own is what the answer is estimated at.
func (m *Meter) reported(u *message.Usage, own int64) (tokens int64, whole bool) {
	const slack = 200 // tokens; the estimate of a short answer is mostly overhead
	total := u.Total()
	if m.anyUsage || u.Prompt() <= 0 || u.Output >= max(0, own-slack)/4 || u.Output >= total {
		return total, true
	}
	return total - max(u.Output, 0), false
}

// fit makes categories that were estimated add up to what was reported. What is
// missing is Unattributed: a prompt or tools that are not known here, hidden
// thinking, the error of the estimate. What is too much is taken off in
// proportion.
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
