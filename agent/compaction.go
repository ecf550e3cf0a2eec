package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
)

// prepare returns the context to send. A prefetched summary is used where a pass is
// due.
func (a *Agent) prepare(ctx context.Context) (*clew.Prepared, error) {
	if err := a.ensurePrompt(ctx); err != nil {
		return nil, err
	}
	dropped := false
	if due, err := a.due(ctx); err != nil {
		return nil, err
	} else if due {
		made, err := a.usePrefetched(ctx, compact.Threshold)
		if err != nil {
			return nil, err
		}
		if !made {
			if dropped, err = a.dropReminders(ctx); err != nil {
				return nil, err
			}
		}
	}
	for { // until the context is as it will be sent: the rules that a pass reads again may be longer
		p, err := a.s.Prepare(ctx)
		if err != nil {
			return nil, err
		}
		a.journal.warnOnce(p.Warnings...)
		switch {
		case len(p.Entries) > 0:
			err = a.afterPass(ctx)
		case dropped:
			err = a.remind(ctx)
		default:
			return p, nil
		}
		if err != nil {
			return nil, err
		}
		dropped = false
	}
}

// due reports whether the next request needs a pass that makes room.
func (a *Agent) due(ctx context.Context) (bool, error) {
	plan, err := a.s.Check(ctx)
	if err != nil {
		return false, err
	}
	return plan.Act && !plan.OnlyThinking && !a.engine.NoAuto, nil
}

// compactNow makes a pass as part of what is under way.
func (a *Agent) compactNow(ctx context.Context, opt clew.CompactOptions) (*clew.Result, error) {
	dropped := false
	if !opt.DryRun {
		var err error
		if dropped, err = a.dropReminders(ctx); err != nil {
			return nil, err
		}
	}
	res, err := a.s.Compact(ctx, opt)
	made := err == nil && len(res.Entries) > 0
	switch {
	case made:
		err = a.afterPass(ctx)
	case dropped:
		err = errors.Join(err, a.remind(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return nil, err
	}
	a.journal.warnOnce(res.Warnings...)
	if sum := res.Plan.Summary; sum != nil && !made && opt.Summary == nil {
		a.journal.spent(ctx, "summary", session.Model{}, sum.Usage)
	}
	a.refreshState(ctx)
	return res, nil
}

// CompactRequest is what a user asks of a pass.
type CompactRequest struct {
	// Instructions are what the summary should pay attention to.
	Instructions string `json:"instructions,omitempty"`
	// Preview makes the plan and the summary, and changes nothing; only what a summary has
	// cost is written down. Give its Summary and FirstKept to a second request to have just
	// that.
	Preview bool `json:"preview,omitempty"`
	// Summary, if not empty, is taken instead of asking a summarizer, FirstKept is the
	// entry with which the kept part begins.
	Summary   string `json:"summary,omitempty"`
	FirstKept string `json:"firstKept,omitempty"`
}

// CompactReport says what a pass did, or would do.
type CompactReport struct {
	// Act says that there is something to do, Why why or why not.
	Act bool   `json:"act"`
	Why string `json:"why"`
	// Before and After are in tokens.
	Before int64 `json:"before"`
	After  int64 `json:"after"`
	// Limit is the most that the context may take, Target what a pass aims at.
	Limit  int64           `json:"limit"`
	Target int64           `json:"target"`
	Stages []compact.Stage `json:"rungs,omitempty"`
	// Summary is the text of the summary, "" where there is none; Summarizer made it.
	Summary    string `json:"summary,omitempty"`
	Summarizer string `json:"summarizer,omitempty"`
	// FirstKept is the first entry that stays.
	FirstKept     string   `json:"firstKept,omitempty"`
	ReadFiles     []string `json:"readFiles,omitempty"`
	ModifiedFiles []string `json:"modifiedFiles,omitempty"`
	// Entries are the ids of what was written; none after a preview.
	Entries []string `json:"entries,omitempty"`
	// Deleted are the files of what was offloaded that nothing names any more.
	Deleted []string `json:"deletedFiles,omitempty"`
}

// Compact makes a pass at the user's wish: at once, or before the next request of the
// turn that is under way. That there is nothing to do is no error: see
// CompactReport.Act.
func (a *Agent) Compact(ctx context.Context, req CompactRequest) (*CompactReport, error) {
	var out *CompactReport
	err := a.do(ctx, "compact", DoingCompaction, func(ctx context.Context) error {
		opt := clew.CompactOptions{Instructions: req.Instructions, DryRun: req.Preview, FirstKept: req.FirstKept}
		if req.Summary != "" {
			opt.Summary = &clew.SuppliedSummary{Text: req.Summary, By: "user"}
		}
		res, err := a.makeRoom(ctx, opt)
		if res != nil {
			out = reportOf(res)
		}
		return err
	})
	return out, err
}

func reportOf(res *clew.Result) *CompactReport {
	p := res.Plan
	out := &CompactReport{
		Act: p.Act, Why: p.Why, Before: p.Before.Tokens, After: p.After.Tokens, Limit: p.Budget.Limit, Target: p.Budget.Target,
		Stages: p.Stages, ReadFiles: p.ReadFiles, ModifiedFiles: p.ModifiedFiles, Entries: res.Entries, Deleted: res.Deleted,
	}
	if p.Summary != nil {
		out.Summary, out.Summarizer = p.Summary.Text, p.Summary.Summarizer
	}
	if p.Cut != nil {
		out.FirstKept = p.Cut.FirstKept
	}
	return out
}

// afterTurn makes the pass that would be due before the next prompt, while the user
// reads. It lets nobody go on.
func (a *Agent) afterTurn(ctx context.Context) {
	if due, err := a.due(ctx); err != nil || !due {
		return
	}
	err := a.as(DoingCompaction, func() error {
		_, err := a.prepare(ctx)
		return err
	})
	if err != nil && ctx.Err() == nil {
		a.journal.warnOnce(fmt.Errorf("after the turn: %w", err))
	}
}

// engineEvents passes on what the engine tells of passes. Each start has one end.
func (a *Agent) engineEvents() func(context.Context, clew.Event) {
	var before Doing // of the pass that is being made; "" for none
	return func(ctx context.Context, e clew.Event) {
		c := Compaction{Reason: e.Reason, Why: e.Why, Before: e.Before.Tokens, WillRetry: e.WillRetry}
		switch {
		case e.Kind == clew.EventPassStart:
			before = a.State().Doing
			a.status.change(func(s *State) { s.Doing = DoingCompaction })
			a.events.send(Event{Kind: KindCompactionStart, Compaction: &c})
			return
		case e.Kind == clew.EventBranch:
			if e.Usage != nil {
				a.journal.count(func(t *Totals) { t.add("", e.Usage) })
			}
			return
		case before == "":
			return // declined before it was begun: Check says why
		}
		a.status.change(func(s *State) { s.Doing = before })
		before = ""
		c.After, c.Summarizer, c.Entries, c.Done = e.After.Tokens, e.Summarizer, e.Entries, len(e.Entries) > 0
		if e.Plan != nil {
			c.Stages = e.Plan.Stages
		}
		if e.Usage != nil {
			c.Cost = e.Usage.Cost
		}
		if c.Done {
			c.Summary = a.summaryAmong(ctx, e.Entries)
			a.journal.count(func(t *Totals) {
				t.Passes++
				if e.Usage != nil {
					t.add("", e.Usage)
				}
			})
		}
		if e.Err != nil {
			c.Error, c.Aborted = e.Err.Error(), errors.Is(e.Err, context.Canceled) || errors.Is(e.Err, errCancelled) || errors.Is(e.Err, errShut)
		}
		a.events.send(Event{Kind: KindCompactionEnd, Compaction: &c})
	}
}

// summaryAmong is the text of the compaction among entries, "" for none. The session is
// in the middle of a pass, so the log is asked.
func (a *Agent) summaryAmong(ctx context.Context, entries []string) string {
	for _, id := range entries {
		if e, err := a.s.Log().Store().Get(ctx, id); err == nil {
			if c, ok := e.Compaction(); ok {
				return c.Summary
			}
		}
	}
	return ""
}

// refreshState brings the state up to date with the context.
func (a *Agent) refreshState(ctx context.Context) {
	plan, err := a.s.Check(ctx)
	if err != nil {
		return // whatever is wrong is said where something is done
	}
	i := a.info()
	_, from := a.engine.PolicyFor(session.Model{Provider: i.Provider, ID: i.Model})
	a.status.change(func(s *State) {
		s.WindowFrom = from
		s.Leaf = a.s.Leaf()
		s.setReading(plan.Before.Tokens, plan.Before.Estimated == 0)
		s.Window = plan.Budget.Window
		s.Threshold = plan.Threshold()
		s.Breaker = ""
		if plan.Breaker {
			s.Breaker = plan.Why
		}
	})
}

// reading brings the state up to date with a context that is about to be sent.
func (a *Agent) reading(p *clew.Prepared) {
	a.status.change(func(s *State) { s.setReading(p.Reading.Tokens, p.Reading.Estimated == 0) })
}

func (s *State) setReading(tokens int64, measured bool) {
	s.Tokens, s.Measured, s.Known = tokens, measured, true
}
