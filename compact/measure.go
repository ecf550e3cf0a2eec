package compact

import (
	"fmt"
	"math"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// maxScale bounds what one session's usage may teach about its estimates.
const maxScale = 2

// learn compares reported usage with the estimate of the messages up to it. What is missing in the log does not grow
// with the context, the estimate's own error does: so the least difference is nearest to the overhead, and what the
// latest has beyond it is a factor. Where nothing was reported since the last pass, what that has learnt stands.
func (p *planner) learn() {
	p.scale = 1
	anchor := p.snap.Reading.Anchor
	if anchor < 0 {
		p.overhead, p.scale = p.snap.inferred.Overhead, max(p.snap.inferred.Scale, 1)
		return
	}
	least := int64(-1)
	sum := p.meter.Fixed()
	for i, it := range p.snap.Context.Items[:anchor+1] {
		m := it.Message
		sum += p.costs[i]
		if it.At < p.snap.Context.Boundary || m.Role != message.RoleAssistant || m.Usage.Total() <= 0 || m.Failed() {
			continue
		}
		if over := max(m.Usage.Total()-sum, 0); least < 0 || over < least {
			least = over
		}
	}
	// It is inferred, not known: it must not be what makes a session hopeless.
	p.overhead = min(max(least, 0), p.budget.Limit/4)
	if sum > 0 {
		scale := float64(p.snap.Reading.Measured-p.overhead) / float64(sum)
		p.scale = min(max(scale, 1), maxScale)
	}
}

// Message is what a message costs, by what the session's own usage teaches. Where a request
// has too many bytes it costs its share of the byte budget in tokens, if that is more:
// what brings the sum of that within the limit brings both there.
func (p *planner) Message(m *message.Message) int64 {
	return max(p.tokens(m), p.inBytes(token.RequestBytes(m)))
}

func (p *planner) tokens(m *message.Message) int64 { return p.scaled(p.meter.Message(m)) }

// Name, Message and Text make the planner a token.Counter for summarizers.
func (p *planner) Name() string { return p.meter.Name() }

func (p *planner) Text(s string) int64 {
	return max(p.scaled(p.meter.Text(s)), p.inBytes(int64(len(s))))
}

var _ token.Counter = (*planner)(nil)

func (p *planner) scaled(n int64) int64 { return int64(math.Ceil(float64(n) * p.scale)) }

func (p *planner) inBytes(n int64) int64 { return int64(math.Ceil(float64(n) * p.byteRate)) }

func (p *planner) after(plan *Plan) *session.Context {
	c := session.Project(session.Preview(p.snap.Path, plan.drafts...))
	plan.After = plan.inferred.on(p.meter.Measure(messages(c.Items), len(c.Items)))
	return c
}

// hard is the most that an estimate may be for the context to be within the limit even if
// it is too low. What the scale makes up for need not be guarded against again.
func (p *planner) hard() int64 {
	guard := max(p.meter.Guard()/p.scale, 1)
	return p.overhead + int64(float64(max(p.budget.Limit-p.overhead, 0))/guard)
}

func (p *planner) target() int64 { return min(p.budget.Target, p.hard()) }

// tail is the budget of the part that is kept as it is.
func (p *planner) tail(w *work) int64 {
	if p.policy.Keep.IsSet() {
		return p.budget.Keep
	}
	return max(p.target()-w.fixed-p.budget.Summary/2, 0)
}

func (p *planner) fixedBytes() int64 {
	n := p.snap.Reading.Bytes
	for _, m := range p.snap.Messages {
		n -= token.RequestBytes(m)
	}
	return n
}

// told is a cut as reports show it: found by bytes, its costs were those of bytes.
func (p *planner) told(w *work, cut *Cut) *Cut {
	if p.byteRate == 0 {
		return cut
	}
	c := *cut
	c.Tokens = 0
	bytes := int64(0)
	for _, d := range w.parts[cut.at:] {
		if !d.taken {
			c.Tokens += p.tokens(d.now)
			bytes += token.RequestBytes(d.now)
		}
	}
	c.Why = fmt.Sprintf("the newest %d messages take %d tokens in about %d bytes", c.Kept, c.Tokens, bytes)
	return &c
}

func messages(items []session.Item) []*message.Message {
	msgs := make([]*message.Message, len(items))
	for i, it := range items {
		msgs[i] = it.Message
	}
	return msgs
}
