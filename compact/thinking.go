package compact

import (
	"fmt"
	"math"
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// StaleThinking returns the items of a context whose signed reasoning no longer stands
// where it was given: a pass or an edit has changed something before it since. A
// provider that binds signatures to what stood before them refuses it. path is
// the path that the context was made of. The answer holds until there is another
// edit or compaction: what is appended at the end makes nothing stale.
func StaleThinking(path []*session.Entry, c *session.Context) []int {
	var stale []int
	kept := keptUntil(path, c)
	changed := changedBefore(c, kept)
	for i, it := range c.Items {
		if it.At >= c.Boundary {
			break
		}
		if (it.At < kept || changed[it.At] < it.At) && signed(it) {
			stale = append(stale, i)
		}
	}
	return stale
}

// keptUntil returns the index in Context.Active behind what the compaction kept; 0
// without one. All of that was said before the summary which now stands before it.
func keptUntil(path []*session.Entry, c *session.Context) int {
	for after := range path {
		if path[len(path)-1-after] == c.Compaction {
			return len(c.Active) - after
		}
	}
	return 0
}

// changedBefore returns, for each of Context.Active from index kept up to the
// boundary, the first of them that an edit behind it has changed.
func changedBefore(c *session.Context, kept int) []int {
	if c.Boundary <= kept {
		return nil
	}
	at := make(map[string]int, c.Boundary)
	for i, e := range c.Active[:c.Boundary] {
		at[e.ID] = i
	}
	out := make([]int, c.Boundary)
	first := math.MaxInt
	for i := c.Boundary - 1; i >= kept; i-- {
		out[i] = first
		edit, ok := c.Active[i].ContextEdit()
		if target, known := at[edit.TargetID]; ok && known && sent(c.Active[target]) {
			first = min(first, target)
		}
	}
	return out
}

// sent reports whether a model is shown what an entry says, if there is no edit of it.
func sent(e *session.Entry) bool {
	if e.Type != session.TypeMessage {
		return true
	}
	m, err := e.Message()
	return err == nil && notSent(m) == ""
}

// signed reports whether an item is an answer with signed reasoning.
func signed(it session.Item) bool {
	m := it.Message
	return m.Role == message.RoleAssistant && editable(it) && notSent(m) == "" &&
		slices.ContainsFunc(m.Content, func(b message.Block) bool {
			return b.Type == message.BlockThinking && (b.Signature != "" || b.Redacted)
		})
}

// openLoop returns the first item of the tool loop that is still open: the answers
// and results since something was said to the model, where a result is the last it
// sees. The provider wants the reasoning of those answers back complete. Without a
// loop it is len(items).
func openLoop(items []session.Item) int {
	open := len(items)
	for open > 0 && notSent(items[open-1].Message) != "" {
		open--
	}
	if open == 0 || items[open-1].Message.Role != message.RoleToolResult {
		return len(items)
	}
	for open > 0 && (!items[open-1].Message.StartsTurn() || notSent(items[open-1].Message) != "") {
		open--
	}
	return open
}

// loose returns which stale items are to lose their reasoning now: those outside
// the open tool loop, and none while a call waits for its result.
func (p *planner) loose() []int {
	if len(p.staleThinking) == 0 || len(Pending(p.context.Items)) > 0 {
		return nil
	}
	n, _ := slices.BinarySearch(p.staleThinking, openLoop(p.context.Items))
	return p.staleThinking[:n]
}

// takeThinking takes signed reasoning out of what is kept, from item at on: it may
// be bound to the messages before it, which change. The answers of an open tool
// loop keep theirs. An answer that is nothing else goes whole.
func (p *planner) takeThinking(w *work, at int) {
	open := openLoop(w.items)
	for i := at; i < open; i++ {
		m := w.now[i]
		if m.Role != message.RoleAssistant || !editable(w.items[i]) || w.taken[i] || notSent(m) != "" {
			continue
		}
		kept := withoutThinking(m.Content, true)
		switch {
		case len(kept) == len(m.Content):
		case len(kept) == 0:
			w.take(i, rungThinking)
		case w.rung[i] != "":
			w.set(i, m.WithContent(kept), w.rung[i])
		default:
			w.set(i, m.WithContent(kept), rungThinking)
		}
	}
}

// orThinking makes of a plan that does nothing one that takes loose reasoning out,
// where there is any.
func (p *planner) orThinking(plan *Plan) *Plan {
	n := len(p.loose())
	if n == 0 {
		return plan
	}
	answers := "an answer"
	if n > 1 {
		answers = fmt.Sprint(n, " answers")
	}
	plan.Act, plan.OnlyThinking, plan.Breaker = true, true, false
	plan.Why = "before the signed reasoning of " + answers + " something was changed since, so it can't be sent any more"
	return plan
}

// takeLoose writes the edits that take loose reasoning out into the plan. All that
// is signed behind the first of it goes with it, for it is bound to what goes.
func (p *planner) takeLoose(plan *Plan) error {
	w := p.newWork()
	p.takeThinking(w, p.loose()[0])
	plan.drafts, _, plan.edits = w.drafts(0)
	plan.Rungs, plan.After = w.rungs(0, nil, 0), p.without(w)
	return p.valid(session.Project(session.Preview(p.in.Path, plan.drafts...)))
}

// without is the reading of the context less what takeThinking has freed. What was
// reported of it so far still says more than an estimate of the whole would.
func (p *planner) without(w *work) token.Reading {
	r := p.sizes.reading
	freed := int64(0)
	for i, rung := range w.rung {
		if rung == "" {
			continue
		}
		freed += w.freed(i)
		r.Bytes -= token.RequestBytes(w.items[i].Message)
		if !w.taken[i] {
			r.Bytes += token.RequestBytes(w.now[i])
		}
	}
	freed = min(freed, r.Categories[token.Thinking], r.Tokens)
	measured := min(freed, r.Measured)
	r.Tokens -= freed
	r.Measured -= measured
	r.Estimated -= freed - measured
	r.Categories[token.Thinking] -= freed
	r.Anchor = -1
	return r
}

// ThinkingPass reports whether an entry begins a pass that took out stale signed
// reasoning and nothing else. Such a pass is no attempt to make room.
func ThinkingPass(e *session.Entry) bool {
	info, ok := e.Pass()
	return ok && info.Lines == len(info.Edits) &&
		!slices.ContainsFunc(info.Edits, func(rung string) bool { return rung != rungThinking })
}
