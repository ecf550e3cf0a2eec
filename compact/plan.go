package compact

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

// Plan is what would be done, and why. Making one changes nothing.
type Plan struct {
	Act    bool   `json:"act"`
	Reason Reason `json:"reason"`
	Policy string `json:"policy"` // its name
	Why    string `json:"why"`    // a sentence that does not say whether the plan acts
	// Guarded says that what the preset does would not have fit, and the ladder did the rest.
	Guarded bool `json:"guarded,omitempty"`
	// OnlyThinking says that the plan only takes out signed reasoning that a provider may refuse, because something
	// was changed before it. Settings and the breaker don't stop it.
	OnlyThinking bool `json:"onlyThinking,omitempty"`
	// Breaker says that nothing is done because the passes before did not help.
	Breaker bool          `json:"breaker,omitempty"`
	Budget  Budget        `json:"budget"`
	Clamps  []Clamp       `json:"clamps,omitempty"`
	Before  token.Reading `json:"before"`
	After   token.Reading `json:"after"` // what the next snapshot reads; as Before when nothing is done
	Stages  []Stage       `json:"rungs,omitempty"`
	Cut     *Cut          `json:"cut,omitempty"`
	// Summary is what was made for the compaction, the lists are the files it names.
	Summary       *summary.Output `json:"-"`
	ReadFiles     []string        `json:"readFiles,omitempty"`
	ModifiedFiles []string        `json:"modifiedFiles,omitempty"`

	// of is the mark of the snapshot that it was made of, last the newest entry of the
	// log then. Contexts are large, so a plan does not keep its snapshot.
	of        *atomic.Bool
	last      string
	only      bool // Request.OnlyThinking
	drafts    []session.Draft
	edits     []string // the stage of each edit among drafts
	threshold int64
	learned   json.RawMessage // what usage has taught about estimates, for the pass to keep
	inferred  inferred        // likewise about requests as a whole
	passes    int             // since the user's last message, with this one; 0 for 1
}

// Threshold is the size from which the context is compacted, in tokens.
func (plan *Plan) Threshold() int64 { return plan.threshold }

// Stage says what one stage of the ladder did.
type Stage struct {
	Name    string `json:"name"`
	Freed   int64  `json:"freed"`             // tokens
	Entries int    `json:"entries,omitempty"` // messages edited or summarized
}

// FixedPartError says that what can't be taken out of a context is larger than its budget alone.
type FixedPartError struct {
	Budget Budget
	Bytes  int64 // what the request would still take, 0 where that is not over Budget.Bytes
	// In tokens: the prompt; what requests carry that the log does not have; what a
	// summary and the newest messages take at least, with the guard of the estimate.
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

func fixedPart(b Budget, r token.Reading, pins int64) error {
	e := &FixedPartError{
		Budget: b, System: r.Categories[token.System], Tools: r.Categories[token.Tools], Overhead: r.Categories[token.Unattributed], Pins: pins,
	}
	e.Floor = max(r.Guarded()-e.System-e.Tools-e.Overhead-pins, 0)
	if r.Guarded() <= b.Limit {
		e.Bytes = r.Bytes
	}
	return e
}

func (plan *Plan) nothing(why string) *Plan {
	plan.Act, plan.Why, plan.After = false, why, plan.Before
	plan.Stages, plan.Cut, plan.Summary, plan.drafts, plan.edits = nil, nil, nil, nil, nil
	plan.ReadFiles, plan.ModifiedFiles = nil, nil
	return plan
}

// Make computes a plan. It acts when the context is over its limit, when the reason is another than Threshold and
// there is something to take out, or when signed reasoning in it is stale. It is a pure function, but for what a
// summarizer does. The errors: a policy that makes no sense, ErrPending, *FixedPartError, what a summarizer returns.
func Make(ctx context.Context, s *Snapshot, req Request) (*Plan, error) {
	plan, err := Check(s, req)
	if err != nil || !plan.Act {
		return plan, err
	}
	t, _, _ := triggerOf(s, req) // Check had no error of it
	if n := Passes(s.Path); n > 0 {
		plan.passes = n + 1
	}
	p, err := newPlanner(s, t, plan, req.Found)
	if err != nil {
		return nil, err
	}
	switch {
	case plan.OnlyThinking:
	case plan.Reason == Idle:
		err = p.shortenOnly(ctx, plan)
	case plan.Reason == Omission:
		err = p.omit(plan, req.Omit)
	default:
		if err = p.climbPreset(ctx, plan); err == nil && !plan.Act && plan.Reason == Threshold {
			plan.orThinking(s)
		}
	}
	if err == nil && plan.OnlyThinking {
		err = p.takeLoose(ctx, plan, req.OnlyThinking)
	}
	if err != nil {
		return nil, err
	}
	return plan, nil
}

type planner struct {
	trigger
	snap     *Snapshot
	reading  token.Reading // of the context, or of what it would be without stale reasoning
	meter    *token.Meter  // with all that usage has taught, as it is after the pass
	costs    []int64       // what meter makes of each message
	overhead int64         // that and scale are those of inferred; scale is at least 1
	scale    float64
	byteRate float64        // what a byte of a request costs in tokens, where there are too many; else 0
	piFiles  *piPreparation // preset pi
	pins     []string       // ids of entries that stay as they are
	pinned   map[string]bool

	// items are those of the context as they are summarized; reader has read the first readTo of them.
	items  []session.Item
	reader *ledger.Reader
	readTo int
	found  *summary.Cache
}

func newPlanner(s *Snapshot, t trigger, plan *Plan, found *summary.Cache) (*planner, error) {
	p := &planner{trigger: t, snap: s, reading: s.Reading, found: found, pins: session.Pins(s.Path), pinned: map[string]bool{}}
	for _, id := range p.pins {
		p.pinned[id] = true
	}
	if p.found == nil {
		p.found = summary.NewCache()
	}
	if p.policy.Summarizer == nil {
		p.policy.Summarizer = summary.Deterministic{}
	}
	if t.budget.overBytes(s.Reading) {
		p.byteRate = float64(t.budget.Limit) / float64(t.budget.Bytes)
	}
	meter, learned, _, err := s.meter(true)
	if err != nil {
		return nil, err
	}
	if p.meter, p.costs = s.Meter, s.Costs; learned.Calls != s.Learned.Calls || learned.Refused != s.Learned.Refused {
		p.meter, p.costs = meter, make([]int64, len(s.Messages))
		for i, m := range s.Messages {
			p.costs[i] = meter.Message(m)
		}
	}
	if learned.Calls > 0 {
		if plan.learned, err = json.Marshal(learned); err != nil {
			return nil, err
		}
	}
	p.learn()
	plan.inferred = inferred{Overhead: p.overhead}
	if p.scale > 1 {
		plan.inferred.Scale = p.scale
	}
	return p, nil
}

// climb walks the whole ladder until the context is within its target.
func (p *planner) climb(ctx context.Context, plan *Plan, w *work) error {
	tail := tailStart(w.units(), p.tail(w))
	start := w.total
	for _, stage := range []func(*work, int, int64){p.offload, p.elide} {
		stage(w, tail, p.target())
		// A tail that was asked for, and no target, is what is to be left, whatever would fit.
		tailAlone := p.policy.Keep.IsSet() && !p.policy.Target.IsSet()
		if w.total < start && w.total <= p.target() && !tailAlone {
			return p.conclude(ctx, plan, w, nil)
		}
	}
	return p.summarize(ctx, plan, w)
}

// shortenOnly is climb without a summary, for a context that no provider has in its cache.
func (p *planner) shortenOnly(ctx context.Context, plan *Plan) error {
	w := p.newWork()
	tail, start := tailStart(w.units(), p.tail(w)), w.total
	p.offload(w, tail, p.target())
	p.elide(w, tail, p.target())
	if freed := start - w.total; freed*100 < start*breakerGain {
		plan.nothing(fmt.Sprintf("without a summary it frees %d tokens of %d, which is not worth it", freed, start))
		return nil
	}
	return p.conclude(ctx, plan, w, nil)
}

// omit takes messages out at the user's wish, each with the other half of its calls. Reasoning behind them goes too, so
// that what a provider has cached is lost once.
func (p *planner) omit(plan *Plan, entries []string) error {
	w := p.newWork()
	asked := func(it session.Item) bool { return slices.Contains(entries, it.Entry.ID) }
	last := -1 // of the user's messages
	for i, it := range w.items {
		if it.Message.UserWords() {
			last = i
		}
	}
	for _, u := range w.units() {
		if !slices.ContainsFunc(w.items[u.From:u.To], asked) {
			continue
		}
		for i, it := range w.items[u.From:u.To] {
			i += u.From
			id, role := it.Entry.ID, it.Message.Role
			switch {
			case role == message.RoleUser && !asked(it):
				continue
			case i == last:
				return fmt.Errorf("entry %s is the user's last message, which stays: what is to be answered would be lost", id)
			case p.pinned[id]:
				return fmt.Errorf("entry %s is pinned; unpin it first", id)
			case role == message.RoleSystem, role == message.RoleCompactionSummary:
				return fmt.Errorf("entry %s is a message of role %s, which can't be taken out by itself", id, role)
			}
			w.take(i, stageOmit)
		}
	}
	if !w.changed() {
		plan.nothing("nothing of that is in the context")
		return nil
	}
	p.takeThinking(w, w.firstChange())
	plan.drafts, _, plan.edits = w.drafts(0)
	after := p.after(plan)
	plan.Stages = w.stages(0, nil, 0)
	return p.valid(after)
}

// conclude writes what the draft came to into the plan: the edits of what is kept, and the compaction if there is one.
func (p *planner) conclude(ctx context.Context, plan *Plan, w *work, best *attempt) error {
	at := 0
	if best != nil {
		var err error
		if best, err = p.final(ctx, w, best); err != nil {
			return err
		}
		at = best.cut.at
	} else {
		from := w.firstChange()
		if loose := p.snap.loose(); len(loose) > 0 {
			from = min(from, loose[0])
		}
		p.takeThinking(w, from)
	}
	var excerpts []session.Draft
	plan.drafts, excerpts, plan.edits = w.drafts(at)
	if best != nil {
		plan.Cut, plan.Summary = p.told(w, best.cut), best.out
		plan.Summary.Tokens = p.meter.Text(plan.Summary.Text)
		d := p.details(best.in.Ledger, best.out)
		plan.ReadFiles, plan.ModifiedFiles = d.ReadFiles, d.ModifiedFiles
		plan.drafts = append(plan.drafts, best.draft)
	}
	plan.drafts = append(plan.drafts, excerpts...)
	after := p.after(plan)
	if !p.budget.fits(plan.After) {
		return p.fixedPart(plan.After)
	}
	left := plan.After.Tokens
	if p.reading.Anchor >= 0 { // what was reported is compared with the estimate that it corrects
		left = p.scaled(plan.After.Estimated) + p.overhead
	}
	if left >= p.reading.Tokens && p.byteRate == 0 && p.budget.fits(p.reading) {
		plan.nothing("what a summary would free it would take itself")
		return nil
	}
	plan.Stages = w.stages(at, best, plan.Before.Tokens-plan.After.Tokens)
	return p.valid(after)
}

func (p *planner) fixedPart(r token.Reading) error {
	pins := int64(0)
	for _, it := range p.snap.Context.Items {
		if p.pinned[it.Entry.ID] {
			pins += p.tokens(it.Message)
		}
	}
	return fixedPart(p.budget, r, pins)
}

// valid checks what a pass could break: a pair of call and result. Such a plan would be a defect of clew, not of the
// session. What the log itself lacks is not the plan's fault, and wire.Build checks the request as a provider takes it.
func (p *planner) valid(after *session.Context) error {
	const defect = "the context after the pass would not be valid: call %s would be without its other half; nothing was changed, and this is a defect of clew"
	before := unpaired(p.snap.Context.Items)
	for id := range unpaired(after.Items) {
		if !before[id] {
			return fmt.Errorf(defect, id)
		}
	}
	if calls := Pending(after.Items); len(calls) > 0 && len(Pending(p.snap.Context.Items)) == 0 {
		return fmt.Errorf(defect, calls[0].ID)
	}
	return nil
}

// unpaired returns the ids of calls without a later result and of results without an earlier call that was sent.
func unpaired(items []session.Item) map[string]bool {
	lone := map[string]bool{}
	msgs := messages(items)
	pairs := message.PairCalls(msgs)
	for i, m := range msgs {
		if call := pairs.CallOf(i); m.Role == message.RoleToolResult && (call == nil || call.Answer > i || msgs[call.Answer].Failed()) {
			lone[m.ToolCallID] = true
		}
		for _, call := range pairs.Of(i) {
			if call.Result < i && !m.Failed() {
				lone[call.Block.ID] = true
			}
		}
	}
	return lone
}
