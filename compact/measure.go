package compact

import (
	"math"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// sizes is what is known of a context's size before anything is done.
type sizes struct {
	reading token.Reading
	// overhead is what requests carried that is in no message here: a system
	// prompt and tools that the log does not have. It stays whatever is done.
	overhead int64
	// scale is by how much reported usage exceeds the estimates otherwise.
	scale float64
}

// maxScale bounds what one session's usage may teach about its estimates.
const maxScale = 2

// measure reads the size of the context as it is. Usage reported before the
// last change of its earlier part says nothing about it.
func (p *planner) measure() {
	if s := p.in.Sized; s != nil {
		p.context, p.costs, p.staleThinking, p.sizes = s.Context, s.Costs, s.StaleThinking, sizes{reading: s.Reading, scale: 1}
		return
	}
	p.context = session.Project(p.in.Path)
	p.staleThinking = StaleThinking(p.in.Path, p.context)
	running := p.in.Meter.Running()
	for _, it := range p.context.Items {
		running.Add(it.Message, it.At >= p.context.Boundary)
	}
	p.costs, p.sizes = running.Costs(), sizes{reading: running.Reading(), scale: 1}
}

// learn compares reported usage with the estimate of the messages up to it.
// What is missing in the log does not grow with the context, the estimate's own
// error does: so the least difference is nearest to the overhead, and what the
// latest difference has beyond it is a factor.
func (p *planner) learn() {
	anchor := p.sizes.reading.Anchor
	if anchor < 0 {
		return
	}
	least := int64(-1)
	sum := p.in.Meter.Fixed()
	for i, it := range p.context.Items[:anchor+1] {
		m := it.Message
		sum += p.costs[i]
		failed := m.StopReason == message.StopError || m.StopReason == message.StopAborted
		if it.At < p.context.Boundary || m.Role != message.RoleAssistant || m.Usage.Total() <= 0 || failed {
			continue
		}
		if over := max(m.Usage.Total()-sum, 0); least < 0 || over < least {
			least = over
		}
	}
	// It is inferred, not known: it must not be what makes a session hopeless.
	p.sizes.overhead = min(max(least, 0), p.budget.Limit/4)
	if sum > 0 {
		scale := float64(p.sizes.reading.Measured-p.sizes.overhead) / float64(sum)
		p.sizes.scale = min(max(scale, 1), maxScale)
	}
}

// cost is what a message costs, by what the session's own usage teaches.
func (p *planner) cost(m *message.Message) int64 {
	return max(p.tokens(m), p.inBytes(token.RequestBytes(m)))
}

// tokens is what a message costs in tokens alone.
func (p *planner) tokens(m *message.Message) int64 { return p.scaled(p.in.Meter.Message(m)) }

// Name, Message and Text make the planner a token.Counter for summarizers.
func (p *planner) Name() string { return p.in.Meter.Name() }

// Message implements token.Counter.
func (p *planner) Message(m *message.Message) int64 { return p.cost(m) }

// Text implements token.Counter.
func (p *planner) Text(s string) int64 {
	return max(p.scaled(p.in.Meter.Text(s)), p.inBytes(int64(len(s))))
}

func (p *planner) scaled(n int64) int64 { return int64(math.Ceil(float64(n) * p.sizes.scale)) }

// guard is what estimates are multiplied by where they must not be too low.
// What the scale makes up for need not be guarded against again.
func (p *planner) guard() float64 { return max(p.in.Meter.Guard()/p.sizes.scale, 1) }

// after reads the size of a context that a pass would give. Nothing was
// reported about it, so all is estimated, but for the overhead.
func (p *planner) after(c *session.Context) token.Reading {
	r := p.in.Meter.Measure(messages(c.Items), len(c.Items))
	r.Estimated = 0
	for i, n := range r.Categories {
		r.Categories[i] = p.scaled(n)
		r.Estimated += r.Categories[i]
	}
	r.Guard = p.guard()
	r.Measured = p.sizes.overhead
	r.Categories[token.Unattributed] += p.sizes.overhead
	r.Tokens = r.Measured + r.Estimated
	return r
}

// hard is the most that an estimate may be for the context to be within the
// limit even if the estimate is too low.
func (p *planner) hard() int64 {
	room := p.budget.Limit - p.sizes.overhead
	return p.sizes.overhead + int64(float64(max(room, 0))/p.guard())
}

func messages(items []session.Item) []*message.Message {
	msgs := make([]*message.Message, len(items))
	for i, it := range items {
		msgs[i] = it.Message
	}
	return msgs
}
