package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// One type for each event, so that a hook has the one method that belongs to it.
type (
	startHook         struct{ *program }
	endHook           struct{ *program }
	contextHook       struct{ *program }
	resultHook        struct{ *program }
	beforeCompactHook struct{ *program }
	afterCompactHook  struct{ *program }
	failedHook        struct{ *program }
	beforeTreeHook    struct{ *program }
	treeHook          struct{ *program }
	beforeForkHook    struct{ *program }
)

// whyBlocked returns the reason where a program blocks.
func whyBlocked(err error) (why string, ok bool) {
	if b := (*blocked)(nil); errors.As(err, &b) {
		return b.why, true
	}
	return "", false
}

func (h startHook) SessionStart(ctx context.Context, e clew.SessionEvent) error {
	return h.tell(ctx, e)
}

func (h endHook) SessionEnd(ctx context.Context, e clew.SessionEvent) error { return h.tell(ctx, e) }

func (p *program) tell(ctx context.Context, e clew.SessionEvent) error {
	return p.ask(ctx, SessionEvent{
		Head: p.head(e.Session), Reason: string(e.Reason), Cwd: e.Cwd, Parent: e.Parent, Leaf: e.Leaf,
		Provider: e.Model.Provider, Model: e.Model.ID,
	}, &NoAnswer{})
}

func (h contextHook) EditContext(ctx context.Context, e clew.ContextEvent) (clew.ContextDecision, error) {
	var a ContextAnswer
	err := h.ask(ctx, ContextEvent{
		Head: h.head(e.Session), Leaf: e.Leaf, Tokens: e.Tokens, Window: e.Window, Messages: messagesOf(e.Context()),
	}, &a)
	return clew.ContextDecision{Edits: edits(a.Edits), Add: a.Add}, err
}

func (h resultHook) EditToolResult(ctx context.Context, e clew.ToolResultEvent) (clew.ToolResultDecision, error) {
	var a ToolResultAnswer
	err := h.ask(ctx, ToolResultEvent{Head: h.head(e.Session), Message: e.Message, Arguments: e.Arguments}, &a)
	if why, ok := whyBlocked(err); ok {
		note := fmt.Sprintf("[A hook has withheld the result: %s]", why)
		return clew.ToolResultDecision{Content: []message.Block{message.TextBlock(note)}}, nil
	}
	return clew.ToolResultDecision{Content: content(a.Text, a.Content)}, err
}

func (h beforeCompactHook) BeforeCompact(ctx context.Context, e clew.BeforeCompactEvent) (clew.Decision, error) {
	event := BeforeCompactEvent{
		Head: h.head(e.Session), Pass: passOf(e.PassInfo), Why: e.Why, Usage: usageOf(e.Usage), Instructions: e.Instructions,
		Messages: messagesOf(e.Context()), Entries: rawEntries(e.Entries()),
	}
	// A pass that can't be worked out will say so by itself.
	if p, err := e.Preparation(); err == nil {
		event.Preparation = &Preparation{
			Plan: p.Plan, History: orEmpty(p.History), TurnPrefix: orEmpty(p.TurnPrefix),
			Text:            clew.Serialize(append(append([]*message.Message(nil), p.History...), p.TurnPrefix...)),
			PreviousSummary: p.PreviousSummary, SummaryBudget: p.SummaryBudget, Ledger: p.Ledger,
		}
	}
	var a BeforeCompactAnswer
	err := h.ask(ctx, event, &a)
	if why, ok := whyBlocked(err); ok {
		return clew.Decision{Cancel: true, Why: why}, nil
	}
	return clew.Decision{
		Cancel: a.Cancel, Why: a.Why, Instructions: a.Instructions, Summary: a.Summary,
		Keep: a.Keep.Amount, Target: a.Target.Amount, FirstKept: a.FirstKept, Edits: edits(a.Edits),
	}, err
}

func (h afterCompactHook) AfterCompact(ctx context.Context, e clew.AfterCompactEvent) (clew.Addition, error) {
	event := CompactEvent{
		Head: h.head(e.Session), Pass: passOf(e.PassInfo), Plan: e.Result.Plan, Entries: orEmpty(e.Result.Entries), Usage: usageOf(e.Usage),
	}
	if s := e.Result.Plan.Summary; s != nil {
		event.Summary = s.Text
	}
	var a CompactAnswer
	err := h.ask(ctx, event, &a)
	return clew.Addition{Text: a.Add}, err
}

func (h failedHook) CompactFailed(ctx context.Context, e clew.CompactFailedEvent) error {
	return h.ask(ctx, CompactFailedEvent{
		Head: h.head(e.Session), Pass: passOf(e.PassInfo), Error: e.Err.Error(), Aborted: e.Aborted,
	}, &NoAnswer{})
}

func (h beforeTreeHook) BeforeBranch(ctx context.Context, e clew.BeforeBranchEvent) (clew.BranchDecision, error) {
	msgs := e.Messages()
	var a BeforeTreeAnswer
	err := h.ask(ctx, BeforeTreeEvent{
		Head: h.head(e.Session), From: e.From, Target: e.Target, Leaf: e.Leaf, Ancestor: e.Ancestor,
		Summarize: e.Summarize, Instructions: e.Instructions, Label: e.Label,
		Messages: msgs, Entries: rawEntries(e.Entries()), Text: clew.Serialize(msgs), Ledger: e.Ledger(),
	}, &a)
	if why, ok := whyBlocked(err); ok {
		return clew.BranchDecision{Cancel: true, Why: why}, nil
	}
	return clew.BranchDecision{
		Cancel: a.Cancel, Why: a.Why, Instructions: a.Instructions, ReplaceInstructions: a.ReplaceInstructions,
		Label: a.Label, Summary: a.Summary,
	}, err
}

func (h treeHook) AfterBranch(ctx context.Context, b clew.Branched) error {
	event := TreeEvent{Head: h.head(b.Session), From: b.From, Leaf: b.Leaf, Ancestor: b.Ancestor, Left: b.Left, Entries: orEmpty(b.Entries)}
	if b.Summary != nil {
		event.Summary = b.Summary.Entry.Summary
	}
	return h.ask(ctx, event, &NoAnswer{})
}

func (h beforeForkHook) BeforeFork(ctx context.Context, e clew.BeforeForkEvent) (clew.ForkDecision, error) {
	var a BeforeForkAnswer
	err := h.ask(ctx, BeforeForkEvent{Head: h.head(e.Session), From: e.From, To: e.To, Entry: e.Entry}, &a)
	if why, ok := whyBlocked(err); ok {
		return clew.ForkDecision{Cancel: true, Why: why}, nil
	}
	return clew.ForkDecision(a), err
}

// orEmpty makes a list that is written as [] rather than null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func rawEntries(entries []*session.Entry) []json.RawMessage {
	out := make([]json.RawMessage, len(entries))
	for i, e := range entries {
		out[i] = e.Raw()
	}
	return out
}
