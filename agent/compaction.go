package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
)

// compactor keeps the context inside the window.
type compactor struct {
	journal  *journal
	models   *models
	prompts  *prompts
	prefetch *prefetch
	runner   *runner
}

// prepare returns the context to send. A prefetched summary is used where a pass is
// due.
func (c *compactor) prepare(ctx context.Context) (*clew.Prepared, error) {
	if err := c.prompts.ensure(ctx); err != nil {
		return nil, err
	}
	dropped := false
	if due, err := c.due(ctx); err != nil {
		return nil, err
	} else if due {
		made, err := c.usePrefetched(ctx, compact.Threshold)
		if err != nil {
			return nil, err
		}
		if !made {
			if dropped, err = c.prompts.dropReminders(ctx); err != nil {
				return nil, err
			}
		}
	}
	for { // until the context is as it will be sent: the rules that a pass reads again may be longer
		p, err := c.journal.s.Prepare(ctx)
		if err != nil {
			return nil, err
		}
		c.journal.warnOnce(p.Warnings...)
		switch {
		case len(p.Entries) > 0:
			err = c.afterPass(ctx)
		case dropped:
			err = c.prompts.remind(ctx)
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
func (c *compactor) due(ctx context.Context) (bool, error) {
	plan, err := c.journal.s.Check(ctx)
	if err != nil {
		return false, err
	}
	return plan.Act && !plan.OnlyThinking && !c.models.engine.NoAuto, nil
}

// compact makes a pass as part of what is under way.
func (c *compactor) compact(ctx context.Context, opt clew.CompactOptions) (*clew.Result, error) {
	dropped := false
	if !opt.DryRun {
		var err error
		if dropped, err = c.prompts.dropReminders(ctx); err != nil {
			return nil, err
		}
	}
	res, err := c.journal.s.Compact(ctx, opt)
	made := err == nil && len(res.Entries) > 0
	switch {
	case made:
		err = c.afterPass(ctx)
	case dropped:
		err = errors.Join(err, c.prompts.remind(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return nil, err
	}
	c.journal.warnOnce(res.Warnings...)
	if sum := res.Plan.Summary; sum != nil && !made && opt.Summary == nil {
		c.journal.spent(ctx, "summary", session.Model{}, sum.Usage)
	}
	c.models.refresh(ctx)
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

// readableSummary is the most that a summary takes which somebody is to read and edit first, in tokens: about 48,000
// characters.
const readableSummary = 12_000

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
	// SummaryLimit is the most that a summary may take, the user's words in it included, in tokens.
	SummaryLimit int64 `json:"summaryLimit,omitempty"`
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
	err := a.ops.do(ctx, "compact", DoingCompaction, func(ctx context.Context) error {
		opt := clew.CompactOptions{Instructions: req.Instructions, DryRun: req.Preview, FirstKept: req.FirstKept}
		if req.Preview || req.Summary != "" {
			opt.SummaryMost = readableSummary
		}
		if req.Summary != "" {
			opt.Summary = &clew.SuppliedSummary{Text: req.Summary, By: "user"}
		}
		res, err := a.passes.makeRoom(ctx, opt)
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
		Stages: p.Stages, ReadFiles: p.ReadFiles, ModifiedFiles: p.ModifiedFiles, Entries: res.Entries, Deleted: res.Deleted, SummaryLimit: p.Budget.Summary,
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
func (c *compactor) afterTurn(ctx context.Context) {
	if due, err := c.due(ctx); err != nil || !due {
		return
	}
	err := c.journal.status.as(DoingCompaction, func() error {
		_, err := c.prepare(ctx)
		return err
	})
	if err != nil && ctx.Err() == nil {
		c.journal.warnOnce(fmt.Errorf("after the turn: %w", err))
	}
}

// tell passes on what the engine tells of passes. Each start has one end.
func (c *compactor) tell() func(context.Context, clew.Event) {
	var before Doing // of the pass that is being made; "" for none
	return func(ctx context.Context, e clew.Event) {
		told := Compaction{Reason: e.Reason, Why: e.Why, Before: e.Before.Tokens, WillRetry: e.WillRetry}
		switch {
		case e.Kind == clew.EventPassStart:
			before = c.journal.status.get().Doing
			c.journal.status.change(func(s *State) { s.Doing = DoingCompaction })
			c.journal.events.send(Event{Kind: KindCompactionStart, Compaction: &told})
			return
		case e.Kind == clew.EventBranch:
			if e.Usage != nil {
				c.journal.count(func(t *Totals) { t.add("", e.Usage) })
			}
			return
		case before == "":
			return // declined before it was begun: Check says why
		}
		c.journal.status.change(func(s *State) { s.Doing = before })
		before = ""
		told.After, told.Summarizer, told.Entries, told.Done = e.After.Tokens, e.Summarizer, e.Entries, len(e.Entries) > 0
		if e.Plan != nil {
			told.Stages = e.Plan.Stages
		}
		if e.Usage != nil {
			told.Cost = e.Usage.Cost
		}
		if told.Done {
			told.Summary = c.summaryAmong(ctx, e.Entries)
			c.journal.count(func(t *Totals) {
				t.Passes++
				if e.Usage != nil {
					t.add("", e.Usage)
				}
			})
		}
		if e.Err != nil {
			told.Error, told.Aborted = e.Err.Error(), errors.Is(e.Err, context.Canceled) || errors.Is(e.Err, errCancelled) || errors.Is(e.Err, errShut)
		}
		c.journal.events.send(Event{Kind: KindCompactionEnd, Compaction: &told})
	}
}

// afterPass brings the prompt up to date: the context begins anew anyway. What the model
// was told of changes is part of it now.
func (c *compactor) afterPass(ctx context.Context) error {
	c.prefetch.drop(ctx)
	c.runner.takeOffered()
	if err := c.prompts.renew(ctx); err != nil {
		return err
	}
	c.journal.events.send(Event{Kind: KindMoved, Why: "a pass"})
	return nil
}

// usePrefetched makes a pass with the summary that lies ready, if what it was made of is still
// how the conversation begins. It reports whether the pass was made.
func (c *compactor) usePrefetched(ctx context.Context, why compact.Reason) (bool, error) {
	g := c.prefetch.take()
	if g == nil {
		return false, nil
	}
	made := false
	still, err := g.stillBegins(ctx, c.journal.s)
	if err == nil && still {
		var res *clew.Result
		res, err = c.compact(ctx, clew.CompactOptions{Reason: why, Summary: &g.SuppliedSummary, FirstKept: g.firstKept})
		made = err == nil && len(res.Entries) > 0
	}
	if !made {
		c.journal.spent(ctx, "summary", session.Model{}, g.Usage)
	}
	return made, err
}

// makeRoom makes a pass to the target; and where the context is within that, to less than
// half of what it is: somebody has asked for room.
func (c *compactor) makeRoom(ctx context.Context, opt clew.CompactOptions) (*clew.Result, error) {
	res, err := c.compact(ctx, opt)
	if err == nil && !res.Plan.Act {
		opt.Keep = compact.Tokens(max(res.Plan.Before.Tokens*2/5, 1))
		res, err = c.compact(ctx, opt)
	}
	return res, err
}

// summaryAmong is the text of the compaction among entries, "" for none. The session is
// in the middle of a pass, so the log is asked.
func (c *compactor) summaryAmong(ctx context.Context, entries []string) string {
	for _, id := range entries {
		if e, err := c.journal.s.Log().Store().Get(ctx, id); err == nil {
			if c, ok := e.Compaction(); ok {
				return c.Summary
			}
		}
	}
	return ""
}

func (s *State) setReading(tokens int64, measured bool) {
	s.Tokens, s.Measured, s.Known = tokens, measured, true
}
