package compact

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// staleThinking returns Snapshot.stale. It holds until there is another edit or compaction.
func staleThinking(path []*session.Entry, c *session.Context) []int {
	var stale []int
	// What stands before item kept was said before the summary that now stands before it.
	kept := 0
	if i := slices.Index(path, c.Compaction); i >= 0 {
		kept = len(c.Active) - (len(path) - 1 - i)
	}
	changed := changedBefore(c, kept)
	for i, it := range c.Items {
		// A copy that an undo has made stands behind something else than its original.
		moved := it.At < c.Boundary && (it.At < kept || changed[it.At] < it.At)
		if signed(it) && (moved || it.Entry.CopyOf() != "") {
			stale = append(stale, i)
		}
	}
	return stale
}

// changedBefore returns for each of Context.Active from kept to the boundary the first that an edit behind it changed.
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

func sent(e *session.Entry) bool {
	if e.Type != session.TypeMessage {
		return true
	}
	m, err := e.Message()
	return err == nil && notSent(m) == ""
}

func signed(it session.Item) bool {
	m := it.Message
	return m.Role == message.RoleAssistant && editable(it) && notSent(m) == "" &&
		slices.ContainsFunc(m.Content, func(b message.Block) bool {
			return b.Type == message.BlockThinking && (b.Signature != "" || b.Redacted)
		})
}

// openLoop returns the first item of the tool loop that is still open; see message.OpenLoop.
func openLoop(items []session.Item) int {
	list := make([]*message.Message, len(items))
	for i := range items {
		list[i] = items[i].Message
	}
	return message.OpenLoop(list)
}

// loose returns the stale items to lose their reasoning now: none in the open tool loop, none while a call waits.
func (s *Snapshot) loose() []int {
	if len(s.stale) == 0 || len(Pending(s.Context.Items)) > 0 {
		return nil
	}
	n, _ := slices.BinarySearch(s.stale, openLoop(s.Context.Items))
	return s.stale[:n]
}

// takeThinking takes signed reasoning out from item at on: it may be bound to the
// messages before it, which change. An answer that is nothing else goes whole.
func (p *planner) takeThinking(w *work, at int) {
	open := openLoop(w.items)
	for i := at; i < open; i++ {
		d := &w.parts[i]
		if d.now.Role != message.RoleAssistant || !editable(w.items[i]) || d.taken || notSent(d.now) != "" {
			continue
		}
		switch kept := withoutThinking(d.now.Content, true); {
		case len(kept) == len(d.now.Content):
		case len(kept) == 0:
			w.take(i, stageThinking)
		default:
			w.set(i, d.now.WithContent(kept), cmp.Or(d.stage, stageThinking))
		}
	}
}

// orThinking makes of a plan that does nothing one that takes loose reasoning out, where there is any.
func (plan *Plan) orThinking(s *Snapshot) *Plan {
	n := len(s.loose())
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

// takeLoose takes out loose reasoning, and all that is signed behind the first of it,
// which is bound to it. What was reported of the context says nothing afterwards: where
// the estimate is over the limit, the plan makes room too, unless only is set.
func (p *planner) takeLoose(ctx context.Context, plan *Plan, only bool) error {
	w := p.newWork()
	p.takeThinking(w, p.snap.loose()[0])
	plan.drafts, _, plan.edits = w.drafts(0)
	plan.Stages = w.stages(0, nil, 0)
	after := p.after(plan)
	if only || !p.over(plan.After, after) {
		return p.valid(after)
	}
	thinking := *plan
	p.reading = plan.After
	plan.OnlyThinking, plan.Why = false, thinking.Why+"; without it "+p.why(p.reading, after)
	if err := p.climbPreset(ctx, plan); err != nil || plan.Act {
		return err
	}
	*plan = thinking // there is nothing else to be done
	return p.valid(after)
}

// SidePass reports whether a pass was no attempt to make room: it took out stale signed reasoning or what the user wanted
// out, and nothing else.
func SidePass(e *session.Entry) bool {
	info, ok := e.Pass()
	return ok && info.Lines == len(info.Edits) &&
		!slices.ContainsFunc(info.Edits, func(stage string) bool { return stage != stageThinking && stage != stageOmit })
}
