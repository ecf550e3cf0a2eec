package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// points says which hook runs a program for an event, in the order of Events.
var points = []struct {
	event string
	set   func(p *program, h *clew.Hooks)
}{
	{SessionStart, func(p *program, h *clew.Hooks) { h.SessionStart = p.session }},
	{SessionShutdown, func(p *program, h *clew.Hooks) { h.SessionEnd = p.session }},
	{Context, func(p *program, h *clew.Hooks) { h.EditContext = p.editContext }},
	{ToolResult, func(p *program, h *clew.Hooks) { h.EditToolResult = p.editToolResult }},
	{SessionBeforeCompact, func(p *program, h *clew.Hooks) { h.BeforeCompact = p.beforeCompact }},
	{SessionCompact, func(p *program, h *clew.Hooks) { h.AfterCompact = p.afterCompact }},
	{SessionCompactFailed, func(p *program, h *clew.Hooks) { h.CompactFailed = p.compactFailed }},
	{SessionBeforeTree, func(p *program, h *clew.Hooks) { h.BeforeBranch = p.beforeBranch }},
	{SessionTree, func(p *program, h *clew.Hooks) { h.AfterBranch = p.afterBranch }},
	{SessionBeforeFork, func(p *program, h *clew.Hooks) { h.BeforeFork = p.beforeFork }},
}

// Events returns the names of the events.
func Events() []string {
	names := make([]string, len(points))
	for i, point := range points {
		names[i] = point.event
	}
	return names
}

func decide(err error, d clew.Decision) (clew.Decision, error) {
	if b := (*blocked)(nil); errors.As(err, &b) {
		return clew.Decision{Cancel: true, Why: b.why}, nil
	}
	return d, err
}

func (p *program) session(ctx context.Context, e clew.SessionEvent) error {
	event := SessionEvent{
		Head: p.head(e.Session), Cwd: e.Cwd, Parent: e.Parent, Leaf: e.Leaf, Provider: e.Model.Provider, Model: e.Model.ID,
	}
	switch {
	case p.c.Event == SessionShutdown:
	case e.New:
		event.Reason = "new"
	default:
		event.Reason = "resume"
	}
	return p.ask(ctx, event, &NoAnswer{})
}

func (p *program) editContext(ctx context.Context, e clew.ContextEvent) (clew.Decision, error) {
	var a ContextAnswer
	err := p.ask(ctx, ContextEvent{
		Head: p.head(e.Session), Leaf: e.Leaf, Tokens: e.Tokens, Window: e.Window, Messages: messagesOf(e.Context()),
	}, &a)
	return clew.Decision{Edits: edits(a.Edits), Add: a.Add}, err
}

func (p *program) editToolResult(ctx context.Context, e clew.ToolResultEvent) (clew.Decision, error) {
	var a ToolResultAnswer
	err := p.ask(ctx, ToolResultEvent{Head: p.head(e.Session), Message: e.Message, Arguments: e.Arguments}, &a)
	if b := (*blocked)(nil); errors.As(err, &b) {
		note := fmt.Sprintf("[A hook has withheld the result: %s]", b.why)
		return clew.Decision{Content: []message.Block{message.TextBlock(note)}}, nil
	}
	return clew.Decision{Content: content(a.Text, a.Content)}, err
}

func (p *program) beforeCompact(ctx context.Context, e clew.BeforeCompactEvent) (clew.Decision, error) {
	event := BeforeCompactEvent{
		Head: p.head(e.Session), Pass: passOf(e.Event), Why: e.Why, Usage: usageOf(e.Reported), Instructions: e.Instructions,
		CustomInstructions: e.Instructions, Messages: messagesOf(e.Context()), Entries: rawEntries(e.Entries()),
	}
	branch, err := e.BranchEntries(ctx)
	if err != nil {
		return clew.Decision{}, fmt.Errorf("read the branch for it: %w", err)
	}
	event.BranchEntries = rawEntries(branch)
	// A pass that can't be worked out will say so by itself.
	if prep, err := e.Preparation(); err == nil {
		event.Preparation = preparationOf(prep, branch)
		event.Preparation.Settings.Enabled = !e.NoAuto
	}
	var a BeforeCompactAnswer
	err = p.ask(ctx, event, &a)
	return decide(err, clew.Decision{
		Cancel: a.Cancel, Why: a.Why, Instructions: a.Instructions,
		Summary: cmp.Or(a.Summary, a.Compaction.Summary), Details: details(a.Details, a.Compaction.Details),
		Keep: a.Keep.Amount, Target: a.Target.Amount, FirstKept: cmp.Or(a.FirstKept, a.Compaction.FirstKeptEntryID),
		Edits: edits(a.Edits),
	})
}

func preparationOf(p *clew.Preparation, branch []*session.Entry) *Preparation {
	plan, history, prefix := p.Plan, orEmpty(p.History), orEmpty(p.TurnPrefix)
	out := &Preparation{
		Plan: plan, History: history, TurnPrefix: prefix, Text: clew.Serialize(slices.Concat(history, prefix)),
		PreviousSummary: p.PreviousSummary, PreviousDetails: clew.HookDetails(branch),
		SummaryBudget: p.SummaryBudget, Ledger: p.Ledger,
		MessagesToSummarize: history, TurnPrefixMessages: prefix, TokensBefore: plan.Before.Tokens,
		Settings: Settings{ReserveTokens: plan.Budget.Reserve, KeepRecentTokens: plan.Budget.Keep},
		FileOps: FileOps{
			Written: orEmpty(p.Ledger.Paths(ledger.StateCreated)), Edited: orEmpty(p.Ledger.Paths(ledger.StateModified)),
		},
	}
	for _, f := range p.Ledger.Files {
		if f.Read {
			out.FileOps.Read = append(out.FileOps.Read, f.Path)
		}
	}
	out.FileOps.Read = orEmpty(out.FileOps.Read)
	if plan.Cut != nil {
		out.FirstKeptEntryID, out.IsSplitTurn = plan.Cut.FirstKept, plan.Cut.SplitTurn
	}
	return out
}

// details returns the first that are there, nil for none.
func details(of ...json.RawMessage) json.RawMessage {
	for _, d := range of {
		if len(d) > 0 && string(d) != "null" {
			return d
		}
	}
	return nil
}

func (p *program) afterCompact(ctx context.Context, e clew.Event) (clew.Decision, error) {
	event := CompactEvent{
		Head: p.head(e.Session), Pass: passOf(e), Plan: e.Plan, Entries: orEmpty(e.Entries), Usage: usageOf(e.Usage),
	}
	if s := e.Plan.Summary; s != nil {
		event.Summary = s.Text
	}
	var a CompactAnswer
	err := p.ask(ctx, event, &a)
	return clew.Decision{Add: a.Add}, err
}

func (p *program) compactFailed(ctx context.Context, e clew.Event) error {
	return p.ask(ctx, CompactFailedEvent{
		Head: p.head(e.Session), Pass: passOf(e), Error: e.Err.Error(), Aborted: e.Aborted,
	}, &NoAnswer{})
}

func (p *program) beforeBranch(ctx context.Context, e clew.BeforeBranchEvent) (clew.Decision, error) {
	msgs, entries, branch := e.Messages(), rawEntries(e.Entries()), e.BranchEntries()
	var a BeforeTreeAnswer
	err := p.ask(ctx, BeforeTreeEvent{
		Head: p.head(e.Session), From: e.From, Target: e.Target, Leaf: e.Leaf, Ancestor: e.Ancestor,
		Summarize: e.Summarize, Instructions: e.Instructions, Label: e.Label,
		Messages: msgs, Entries: entries, Text: clew.Serialize(msgs), Ledger: e.Ledger(),
		BranchEntries: rawEntries(branch),
		Preparation: TreePreparation{
			TargetID: e.Target, OldLeafID: e.From, CommonAncestorID: e.Ancestor, EntriesToSummarize: entries,
			UserWantsSummary: e.Summarize, PreviousDetails: clew.HookDetails(branch),
		},
	}, &a)
	return decide(err, clew.Decision{
		Cancel: a.Cancel, Why: a.Why, Instructions: cmp.Or(a.Instructions, a.CustomInstructions), ReplaceInstructions: a.ReplaceInstructions,
		Label: a.Label, Summary: a.Summary.Summary, Details: details(a.Details, a.Summary.Details),
	})
}

func (p *program) afterBranch(ctx context.Context, b clew.Branched) error {
	event := TreeEvent{Head: p.head(b.Session), From: b.From, Leaf: b.Leaf, Ancestor: b.Ancestor, Left: b.Left, Entries: orEmpty(b.Entries)}
	if b.Summary != nil {
		event.Summary = b.Summary.Summary
	}
	return p.ask(ctx, event, &NoAnswer{})
}

func (p *program) beforeFork(ctx context.Context, e clew.BeforeForkEvent) (clew.Decision, error) {
	var a BeforeForkAnswer
	err := p.ask(ctx, BeforeForkEvent{Head: p.head(e.Session), From: e.From, To: e.To, Entry: e.Entry}, &a)
	return decide(err, clew.Decision{Cancel: a.Cancel, Why: a.Why})
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
