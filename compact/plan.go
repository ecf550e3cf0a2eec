package compact

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

// Reason says what asks for a plan.
type Reason string

// The reasons.
const (
	Threshold Reason = "threshold" // the context is looked at before a request
	Manual    Reason = "manual"    // the user asks; done even below the threshold
	Overflow  Reason = "overflow"  // a provider refused a request as too large; done likewise
	Length    Reason = "length"    // an answer broke off because the window was full; done likewise
)

// Input is what a plan is computed from.
type Input struct {
	// Path is the path to the leaf: whole, or what session.ContextPath gives.
	Path []*session.Entry
	// Last is the id of the newest entry of the log; Apply refuses when the log
	// has grown since.
	Last string
	// Meter measures. Required.
	Meter *token.Meter
	// Reason defaults to Threshold.
	Reason Reason
	// Cwd is the working directory of the session, where it is known.
	Cwd string
	// Sized is what is known of Path already, so that it need not be computed
	// again. Optional.
	Sized *Sized
	// OnlyThinking leaves nothing to be done but to take stale signed reasoning out;
	// see Plan.OnlyThinking.
	OnlyThinking bool
	// Calibration is what the session's usage has taught about the estimates; the pass
	// keeps it. Optional.
	Calibration json.RawMessage
	// Found is what the summarizer found in messages for earlier plans of the
	// session; see summary.Cache. Optional.
	Found *summary.Cache
}

// Sized is a context with what it costs. Who asks again and again, before every
// request, keeps it up to date with a token.Running.
type Sized struct {
	// Context is what session.Project makes of Input.Path.
	Context *session.Context
	// Reading is what Input.Meter measures for it, usage reported before
	// Context.Boundary not counting, and Costs what it estimates for each of
	// its Items.
	Reading token.Reading
	Costs   []int64
	// StaleThinking is what StaleThinking says of Context.
	StaleThinking []int
}

// Plan is what would be done, and why. It is a value: making one changes
// nothing.
type Plan struct {
	Act    bool   `json:"act"`
	Reason Reason `json:"reason"`
	Policy string `json:"policy"` // its name
	// Why says why the plan acts or does not, in a sentence that does not say that
	// it acts or does not.
	Why string `json:"why"`
	// Guarded says that what the preset does would not have fit, and the ladder
	// did the rest.
	Guarded bool `json:"guarded,omitempty"`
	// OnlyThinking says that the context is not made to fit: all that is done is to
	// take out signed reasoning before which something was changed since, and which
	// a provider may refuse for that. It is no setting's and no breaker's business.
	OnlyThinking bool `json:"onlyThinking,omitempty"`
	// Breaker says that nothing is done because the passes before did not help.
	Breaker bool          `json:"breaker,omitempty"`
	Budget  Budget        `json:"budget"`
	Clamps  []Clamp       `json:"clamps,omitempty"`
	Before  token.Reading `json:"before"`
	After   token.Reading `json:"after"` // as Before when nothing is done
	Rungs   []Rung        `json:"rungs,omitempty"`
	Cut     *Cut          `json:"cut,omitempty"`
	// Summary is what was made for the compaction, the lists are the files it names.
	Summary       *summary.Output `json:"-"`
	ReadFiles     []string        `json:"readFiles,omitempty"`
	ModifiedFiles []string        `json:"modifiedFiles,omitempty"`

	last   string
	drafts []session.Draft
	edits  []string // the rung of each edit among drafts

	calibration json.RawMessage
	threshold   int64
}

// Threshold is the size from which the context is compacted, in tokens.
func (p *Plan) Threshold() int64 { return p.threshold }

// Rung says what one rung of the ladder did.
type Rung struct {
	Name    string `json:"name"`
	Freed   int64  `json:"freed"`             // tokens
	Entries int    `json:"entries,omitempty"` // messages edited or summarized
}

// FixedPartError says that a context can't be brought into its budget because
// what can't be taken out is too large alone.
type FixedPartError struct {
	Budget Budget
	// Bytes is what the request would still take, where that is over Budget.Bytes;
	// else 0.
	Bytes int64
	// System and Tools are the prompt, Overhead is what requests carry that the
	// log does not have, Floor is what a summary and the newest messages take at
	// least, the guard of the estimate included; all in tokens.
	System, Tools, Overhead, Pins, Floor int64
}

func (e *FixedPartError) Error() string {
	if e.Bytes > 0 {
		return fmt.Sprintf("the request can't be brought to %d bytes: the system prompt, the tools, pins, a summary and the newest messages take about %d; "+
			"take images or large content out of them, or allow larger requests", e.Budget.Bytes, e.Bytes)
	}
	return fmt.Sprintf("the context can't be brought to %d tokens (a window of %d less a reserve of %d): "+
		"the system prompt takes %d, the tools %d, what else requests carry %d, pins %d, a summary and the newest messages %d; use a larger window",
		e.Budget.Limit, e.Budget.Window, e.Budget.Reserve, e.System, e.Tools, e.Overhead, e.Pins, e.Floor)
}

// ErrPending is returned by Make while a call has no result: nothing may come
// between the two.
var ErrPending = errors.New("a tool call is waiting for its result")

// Make computes a plan. It acts when the context is over its limit, when the
// reason is Manual and there is something to take out, or when there is stale
// signed reasoning in it. The errors: a
// policy that makes no sense, ErrPending, *FixedPartError, what a summarizer
// returns.
func Make(ctx context.Context, in Input, policy Policy) (*Plan, error) {
	p, plan, err := begin(in, policy)
	if err != nil || !plan.Act {
		return plan, err
	}
	if !plan.OnlyThinking {
		if err := p.climbPreset(ctx, plan); err != nil {
			return nil, err
		}
		if !plan.Act && plan.Reason == Threshold {
			p.orThinking(plan)
		}
	}
	if plan.OnlyThinking {
		if err := p.takeLoose(plan); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

// Check says whether Make would try to act, and why, without the work of a
// plan: no rung is tried and no summary made. Make may still find that there is
// nothing to do. With Input.Sized its cost hardly depends on the context.
func Check(in Input, policy Policy) (*Plan, error) {
	_, plan, err := begin(in, policy)
	return plan, err
}

// begin measures and decides whether to act.
func begin(in Input, policy Policy) (*planner, *Plan, error) {
	budget, clamps, err := policy.Resolve()
	if err != nil {
		return nil, nil, err
	}
	if in.Reason == "" {
		in.Reason = Threshold
	}
	p := &planner{in: in, policy: policy, budget: budget, found: in.Found}
	p.measure()
	before := p.sizes.reading
	if p.overBytes(before) {
		p.byteRate = float64(budget.Limit) / float64(budget.Bytes)
	}
	plan := &Plan{
		Reason: in.Reason, Policy: cmp.Or(policy.Name, PresetClew), Budget: budget, Clamps: clamps,
		Before: before, After: before, last: in.Last, calibration: in.Calibration, threshold: p.trigger(),
	}
	over := p.over() && !in.OnlyThinking
	if !over && in.Reason == Threshold {
		plan.nothing(fmt.Sprintf("the context of %d tokens is within %d", before.Tokens, p.trigger()))
		return p, p.orThinking(plan), nil
	}
	// What does not fit can't be sent, whatever the passes before came to.
	if why := breaker(in.Path, before.Tokens); why != "" && in.Reason == Threshold && p.fits(before) {
		plan.Breaker = true
		return p, p.orThinking(plan.nothing(why)), nil
	}
	if calls := Pending(p.context.Items); len(calls) > 0 {
		return nil, nil, fmt.Errorf("%w (%s)", ErrPending, calls[0].Name)
	}
	if len(p.context.Items) == 0 {
		if over {
			return nil, nil, p.fixedPart(before)
		}
		return p, plan.nothing("the context is empty"), nil
	}
	plan.Act = true
	if p.found == nil {
		p.found = summary.NewCache()
	}
	plan.Why = "asked for"
	if p.byteRate > 0 {
		plan.Why = fmt.Sprintf("the request of about %d bytes is over %d", before.Bytes, budget.Bytes)
	} else if over {
		plan.Why = p.whyOver()
	} else if plan.Policy == PresetClew && !policy.Keep.IsSet() && before.Tokens <= budget.Target {
		return p, plan.nothing(fmt.Sprintf("the context of %d tokens is within its target of %d; set what to keep to go below", before.Tokens, budget.Target)), nil
	}
	p.readPins()
	p.learn()
	return p, plan, nil
}

// whyOver says which size of the context is over what: a trigger counts its tokens, the
// limit also the margin, and pi counts in its own way.
func (p *planner) whyOver() string {
	r, from := p.sizes.reading, p.trigger()
	switch {
	case r.Tokens > from:
		return fmt.Sprintf("the context of %d tokens is over %d", r.Tokens, from)
	case r.Guarded() > p.budget.Limit:
		return fmt.Sprintf("the context of %d tokens, %d with the margin for what is estimated, is over %d", r.Tokens, r.Guarded(), p.budget.Limit)
	case p.policy.Name == PresetPi:
		return fmt.Sprintf("the context of %d tokens, %d as pi counts, is over %d", r.Tokens, piTokens(p.context), p.budget.Window-p.budget.Reserve)
	}
	return fmt.Sprintf("the context of %d tokens has reached %d", r.Tokens, from)
}

// nothing makes a plan that does nothing, and says why.
func (plan *Plan) nothing(why string) *Plan {
	plan.Act, plan.Why, plan.After = false, why, plan.Before
	plan.Rungs, plan.Cut, plan.Summary, plan.drafts, plan.edits = nil, nil, nil, nil, nil
	plan.ReadFiles, plan.ModifiedFiles = nil, nil
	return plan
}

type planner struct {
	// items are those of the context as they are summarized, reader has read the
	// first readTo of them, found is what the summarizer keeps from one attempt to
	// the next.
	items  []session.Item
	reader *ledger.Reader
	readTo int
	found  *summary.Cache

	in      Input
	policy  Policy
	budget  Budget
	context *session.Context
	costs   []int64 // what the meter makes of each of its items
	sizes   sizes
	// staleThinking are those of its items that StaleThinking finds.
	staleThinking []int
	// byteRate is what a byte of a request costs in tokens, where bytes are what
	// there is too much of; else 0. See bytes.go.
	byteRate float64
	piFiles  *PiPreparation  // preset pi
	pins     []string        // ids of entries that stay as they are
	pinned   map[string]bool // the same
}
