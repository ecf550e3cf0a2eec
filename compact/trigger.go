package compact

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

// Reason says what asks for a plan.
type Reason string

// The reasons.
const (
	Threshold Reason = "threshold" // a request is about to be sent
	Manual    Reason = "manual"    // the user asks; done even below the threshold
	Overflow  Reason = "overflow"  // a provider refused a request as too large; done likewise
	Length    Reason = "length"    // an answer broke off because the window was full; done likewise
	// Idle: nothing the provider has cached is lost by a pass. It shortens towards the target, and makes no summary.
	Idle Reason = "idle"
	// Omission: the user wants messages out of the context. That alone is done.
	Omission Reason = "omission"
)

// Request is what is asked of a plan.
type Request struct {
	Reason       Reason   // defaults to Threshold
	Policy       *Policy  // takes the place of the snapshot's. Default: nil.
	OnlyThinking bool     // allows nothing but Plan.OnlyThinking
	Omit         []string // with Omission: the entries to take out, each with the other half of its calls
	// Checked is what Check said before: asked the same of the same snapshot, it is not checked again. Optional.
	Checked *Plan
	Found   *summary.Cache // what the summarizer found in messages for earlier plans of the session. Optional.
}

// ErrPending says that a call has no result yet: nothing may come between the two.
var ErrPending = errors.New("a tool call is waiting for its result")

// Check says whether Make would try to act, and why. No stage is tried and no summary made, so Make may still find
// that there is nothing to do. Its cost hardly depends on the size of the context.
func Check(s *Snapshot, req Request) (*Plan, error) {
	t, clamps, err := triggerOf(s, req)
	if err != nil {
		return nil, err
	}
	before := s.Reading
	plan := &Plan{
		Reason: cmp.Or(req.Reason, Threshold), Policy: cmp.Or(t.policy.Name, PresetClew), Budget: t.budget, Clamps: clamps,
		Before: before, After: before, threshold: t.size(), of: s.derived, last: s.Last, only: req.OnlyThinking,
	}
	if c := req.Checked; c != nil && c.of == s.derived && c.Reason == plan.Reason && c.Policy == plan.Policy &&
		c.Budget == t.budget && c.threshold == plan.threshold && c.only == plan.only {
		*plan = *c
		return plan, nil
	}
	over := !req.OnlyThinking && t.over(before, s.Context)
	if !over && plan.Reason == Threshold {
		return plan.nothing(fmt.Sprintf("the context of %d tokens is within %d", before.Tokens, t.size())).orThinking(s), nil
	}
	// What does not fit can't be sent, whatever the passes before came to.
	if plan.Reason == Threshold && t.budget.fits(before) {
		if why := breaker(s.Path, before.Tokens); why != "" {
			plan.Breaker = true
			return plan.nothing(why).orThinking(s), nil
		}
	}
	if calls := Pending(s.Context.Items); len(calls) > 0 {
		return nil, fmt.Errorf("%w (%s)", ErrPending, calls[0].Name)
	}
	switch within := plan.Reason != Omission && plan.Policy == PresetClew && !t.policy.Keep.IsSet() && before.Tokens <= t.budget.Target; {
	case len(s.Context.Items) == 0 && over:
		return nil, fixedPart(t.budget, before, 0)
	case len(s.Context.Items) == 0:
		return plan.nothing("the context is empty"), nil
	case over && plan.Reason != Omission:
		plan.Why = t.why(before, s.Context)
	case within:
		return plan.nothing(fmt.Sprintf("the context of %d tokens is within its target of %d; set what to keep to go below", before.Tokens, t.budget.Target)), nil
	case plan.Reason == Idle:
		plan.Why = "the provider has forgotten by now what it had cached"
	default:
		plan.Why = "asked for"
	}
	plan.Act = true
	return plan, nil
}

type trigger struct {
	policy Policy
	budget Budget
}

// triggerOf returns the trigger for a request, and the settings that were not taken as given.
func triggerOf(s *Snapshot, req Request) (trigger, []Clamp, error) {
	if req.Policy == nil {
		return trigger{s.Policy, s.Budget}, s.Clamps, nil
	}
	budget, clamps, err := req.Policy.Resolve()
	return trigger{*req.Policy, budget}, clamps, err
}

func (t *trigger) over(r token.Reading, c *session.Context) bool {
	if !t.budget.fits(r) {
		return true // the guard, the same for all presets
	}
	switch {
	case t.policy.Name == PresetPi:
		return piTrigger(piTokens(c), t.budget.Window, t.budget.Reserve)
	case t.policy.Trigger.IsSet():
		return r.Tokens >= t.policy.Trigger.Of(t.budget.Window)
	}
	return false
}

func (t *trigger) size() int64 {
	if t.policy.Trigger.IsSet() {
		return min(t.policy.Trigger.Of(t.budget.Window), t.budget.Limit)
	}
	return t.budget.Limit
}

// why says which size of the context is over what: its tokens, those with the margin, its bytes, or as pi counts.
func (t *trigger) why(r token.Reading, c *session.Context) string {
	from := t.size()
	switch {
	case t.budget.overBytes(r):
		return fmt.Sprintf("the request of about %d bytes is over %d", r.Bytes, t.budget.Bytes)
	case r.Tokens > from:
		return fmt.Sprintf("the context of %d tokens is over %d", r.Tokens, from)
	case r.Guarded() > t.budget.Limit:
		return fmt.Sprintf("the context of %d tokens, %d with the margin for what is estimated, is over %d", r.Tokens, r.Guarded(), t.budget.Limit)
	case t.policy.Name == PresetPi:
		return fmt.Sprintf("the context of %d tokens, %d as pi counts, is over %d", r.Tokens, piTokens(c), t.budget.Window-t.budget.Reserve)
	}
	return fmt.Sprintf("the context of %d tokens has reached %d", r.Tokens, from)
}

func (b *Budget) overBytes(r token.Reading) bool { return b.Bytes > 0 && r.Bytes > b.Bytes }

func (b *Budget) fits(r token.Reading) bool { return r.Guarded() <= b.Limit && !b.overBytes(r) }

// The breaker stops passes that gain nothing from being tried again and again.
const (
	breakerPasses = 2  // so many in a row
	breakerGain   = 5  // that each freed less than this share of the context, in percent
	breakerGrowth = 10 // stop further ones until it has grown by this share
)

// breaker returns why no pass is to be tried now, or "". It reads the passes on the path, so it survives a restart.
// It never stops a pass that the user asks for, nor one without which the context would not fit.
func breaker(path []*session.Entry, now int64) string {
	useless, after := 0, int64(0)
	for i := len(path) - 1; i >= 0 && useless < breakerPasses; i-- {
		info, ok := path[i].Pass()
		if !ok || SidePass(path[i]) {
			continue
		}
		r := recordOf(path[i])
		if Reason(info.Reason) != Threshold || (r.Before.Tokens-r.After.Tokens)*100 >= r.Before.Tokens*breakerGain {
			return "" // one without a reading too
		}
		if useless == 0 {
			after = r.After.Tokens
		}
		useless++
	}
	if useless < breakerPasses || now*100 >= after*(100+breakerGrowth) {
		return ""
	}
	return fmt.Sprintf("the last %d passes freed less than %d %% each; the next is tried when the context has grown by %d %%, or when it is asked for",
		useless, breakerGain, breakerGrowth)
}
