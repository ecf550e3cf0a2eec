package token

import (
	"math"

	"github.com/clew-dev/clew/message"
)

// Reading is what a context costs: Tokens is Measured, what the provider reported for
// everything up to the anchor, plus Estimated, what the counter makes of the rest.
type Reading struct {
	Tokens    int64 `json:"tokens"`
	Measured  int64 `json:"measured"`
	Estimated int64 `json:"estimated"`
	Anchor    int   `json:"anchor"` // index of the message whose usage was used, or -1
	Bytes     int64 `json:"bytes"`  // about how large the request is: text and base64 as JSON
	// Categories divide Tokens. Up to the anchor they are estimates fitted to
	// what was reported.
	Categories Categories `json:"categories"`
	Counter    string     `json:"counter"` // the name of the counter
	Guard      float64    `json:"guard"`   // the factor that Guarded applies
}

// Guarded returns Tokens with the estimated part multiplied by Guard, to compare with limits.
func (r Reading) Guarded() int64 {
	if guarded := math.Ceil(float64(r.Estimated) * max(r.Guard, 1)); guarded < math.MaxInt64 {
		return addSat(r.Measured, int64(guarded))
	}
	return math.MaxInt64
}

// addSat adds without wrapping around.
func addSat(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// Syntax around parts of a request, in bytes: roles, keys and punctuation.
const (
	messageSyntax = 40
	blockSyntax   = 30
)

// RequestBytes returns about how many bytes a message takes in a request, as in
// Reading.Bytes. Text is escaped as in the log where it comes from one.
func RequestBytes(m *message.Message) int64 {
	n := messageSyntax
	switch m.Role {
	case message.RoleBashExecution:
		if m.ExcludeFromContext {
			return 0
		}
		n += len(m.Command) + len(m.Output)
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		n += len(m.Summary)
	case message.RoleSystem:
		n += len(m.ToolsAdded)
		for i := range m.Sections {
			n += len(m.Sections[i].Text)
		}
	case message.RoleAssistant:
		if m.Failed() {
			return 0
		}
	case message.RoleUser, message.RoleToolResult, message.RoleCustom:
	default:
		return 0
	}
	for i := range m.Content {
		b := &m.Content[i]
		if raw := b.Raw(); raw != nil {
			n += len(raw)
		} else {
			n += blockSyntax + len(b.Text) + len(b.Signature) + len(b.ID) + len(b.Name) + len(b.Arguments) + len(b.Data)
		}
	}
	return int64(n)
}

// A Running measures a context that grows: after each message, Reading returns what
// [Meter.Measure] does for all of them, at the cost of that message alone. It is not
// safe for use by several goroutines.
type Running struct {
	meter   *Meter
	costs   []int64
	bytes   int64
	rest    Categories         // all messages but those of the system
	systems []*message.Message // messages of the system
	prompt  Categories         // what they come to, for the first of them in priced
	priced  int

	anchor int
	usage  int64      // reported by the anchor
	before Categories // rest as it was with the anchor
	upTo   int        // how many of systems stood before the anchor
	after  Categories // of the messages after the anchor
}

// Running returns an empty running count.
func (m *Meter) Running() *Running { return &Running{meter: m, anchor: -1, bytes: m.fixedBytes} }

// Add adds the next message of the context. fresh says that usage it reports
// counts: that nothing after it has changed what stands before it.
func (t *Running) Add(msg *message.Message, fresh bool) {
	var own Categories
	split(t.meter.counter, msg, &own)
	t.bytes = addSat(t.bytes, RequestBytes(msg))
	t.costs = append(t.costs, own.Total())
	before := t.rest
	if msg.Role == message.RoleSystem {
		t.systems = append(t.systems, msg)
	} else {
		t.rest.add(&own)
	}
	if fresh && t.meter.trusts(msg) && !t.sentLess(msg.Usage) {
		var whole bool
		t.anchor, t.before, t.upTo = len(t.costs)-1, t.rest, len(t.systems)
		t.after = Categories{}
		if t.usage, whole = t.meter.reported(msg.Usage, own.Total()); !whole {
			t.before, t.after = before, own
		}
		return
	}
	if t.anchor >= 0 {
		t.after.add(&own)
	}
}

// sentLess reports usage that is far below what the messages come to: the provider was sent
// less than the log holds, for it took out old results itself, or a gateway on the way did.
// No estimate is off by so much.
func (t *Running) sentLess(u *message.Usage) bool {
	const least, factor = 50_000, 2.5
	sum := t.rest.Total()
	return !t.meter.anyUsage && sum > least && float64(sum) > factor*float64(u.Total())
}

// Costs returns what each message costs, estimated, as Meter.Message says. The
// slice must not be changed; what is added later does not change it.
func (t *Running) Costs() []int64 { return t.costs[:len(t.costs):len(t.costs)] }

// Reading returns what the context costs.
func (t *Running) Reading() Reading {
	m := t.meter
	r := Reading{Anchor: t.anchor, Counter: m.counter.Name(), Guard: m.safety, Bytes: t.bytes}
	if t.anchor < 0 {
		r.Categories = t.whole(&t.rest, len(t.systems))
		r.Estimated = r.Categories.Total()
		r.Tokens = r.Estimated
		return r
	}
	fitted := t.whole(&t.before, t.upTo)
	fit(&fitted, t.usage)
	r.Measured, r.Estimated = t.usage, t.after.Total()
	r.Tokens = addSat(r.Measured, r.Estimated)
	r.Categories = t.after
	r.Categories.add(&fitted)
	return r
}

// whole adds what is fixed and the prompt of the first n system messages.
func (t *Running) whole(rest *Categories, n int) Categories {
	if n != t.priced {
		t.prompt, t.priced = Categories{}, n
		split(t.meter.counter, message.ReplaySystem(t.systems[:n]), &t.prompt)
	}
	c := t.meter.fixed
	c.add(rest)
	if n > 0 {
		c.add(&t.prompt)
	}
	return c
}

func (c *Categories) add(other *Categories) {
	for i, n := range other {
		c[i] = addSat(c[i], n)
	}
}
