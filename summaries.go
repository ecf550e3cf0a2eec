package clew

import (
	"cmp"
	"context"
	"fmt"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// suppliedSummary is a summarizer whose text a hook or the caller has written. The engine
// adds what it vouches for itself: the user's words, pins, files.
type suppliedSummary struct {
	SuppliedSummary
	own      summary.Summarizer // for a text that can't be taken
	hook     *Decision          // that the text is from; nil for a caller's
	warnings *[]error
}

// hookSummary is that of a hook.
func hookSummary(d *Decision, own summary.Summarizer, warnings *[]error) *suppliedSummary {
	return &suppliedSummary{SuppliedSummary: SuppliedSummary{Text: d.Summary, By: "hook"}, own: own, warnings: warnings, hook: d}
}

// SuppliedSummary is a summary that was made outside a pass.
type SuppliedSummary struct {
	// Text is in the form of a template, or free: then it stands first, as it is. Our quotes of the user, pins and
	// files take the place of its own.
	Text  string
	By    string // says who made it. Default: "given".
	Usage *message.Usage
}

func (g *suppliedSummary) Name() string { return cmp.Or(g.By, "given") }

func (g *suppliedSummary) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	d, ok := summary.Parse(g.Text)
	switch {
	case !ok:
		d = summary.Document{Given: g.Text, GivenBy: g.Name()}
	case g.hook != nil: // what code vouches for comes after it
		d = d.Unfold()
		d.Quotes, d.Pins, d.Files, d.Note = nil, nil, summary.Files{}, ""
		d = summary.Document{Given: cmp.Or(in.Template, summary.Briefing).Render(d), GivenBy: g.Name()}
	}
	written := in
	written.Written = &d
	out, err := summary.Deterministic{}.Summarize(ctx, written)
	if err != nil {
		return out, err
	}
	out.Summarizer, out.Usage = g.Name(), g.Usage
	if out.Tokens <= in.Budget {
		if g.hook != nil {
			out.FromHook, out.Details = true, g.hook.Details
		}
		return out, nil
	}
	*g.warnings = append(*g.warnings, fmt.Errorf(
		"the summary of %s takes %d tokens with the user's words, and %d are for it: it was not taken", g.Name(), out.Tokens, in.Budget))
	if g.own != nil {
		return g.own.Summarize(ctx, in)
	}
	return summary.Deterministic{}.Summarize(ctx, in)
}

// Preparation is what a pass would do if no hook changed it, so that a hook can write a summary of its own.
type Preparation struct {
	Plan *compact.Plan
	// History is what the summary is to be of, TurnPrefix the beginning of a turn whose
	// rest stays, Kept what stays. Without a summary in the plan they are empty.
	History, TurnPrefix, Kept []*message.Message
	PreviousSummary           string
	SummaryBudget             int64 // in tokens, the user's quoted words included
	Ledger                    Ledger
}

// forecast is the pass as it would be without hooks.
type forecast struct {
	plan *compact.Plan
	in   *summary.Input // of its summary; nil for none
	err  error
}

func forecastPass(ctx context.Context, snap *compact.Snapshot, req compact.Request, policy compact.Policy) *forecast {
	asked := &askedFor{}
	policy.Summarizer = asked
	req.Policy = &policy
	f := &forecast{}
	if f.plan, f.err = compact.Make(ctx, snap, req); f.err == nil && f.plan.Summary != nil {
		f.in = asked.last
	}
	return f
}

func (f *forecast) preparation() (*Preparation, error) {
	if f.err != nil {
		return nil, f.err
	}
	r := Result{Plan: f.plan}
	p := &Preparation{Plan: r.clone().Plan}
	if f.in == nil {
		return p, nil
	}
	p.History, p.TurnPrefix, p.Kept = copies(f.in.Items), copies(f.in.Prefix), copies(f.in.Kept)
	p.PreviousSummary, p.SummaryBudget = previousSummary(f.in), f.in.Budget
	if f.in.Ledger != nil {
		p.Ledger = *f.in.Ledger
	}
	return p, nil
}

func previousSummary(in *summary.Input) string {
	for _, it := range in.Items {
		if it.Entry.Type == session.TypeCompaction && it.Message.Role == message.RoleCompactionSummary {
			return it.Message.Summary
		}
	}
	return in.Previous
}

// askedFor is the deterministic summarizer, which remembers what it was asked last.
type askedFor struct {
	summary.Deterministic
	last *summary.Input
}

func (a *askedFor) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	a.last = &in
	return a.Deterministic.Summarize(ctx, in)
}

// prefetchBytes is how much one Prepare reads for the next summary, at most: a request waits for it.
const prefetchBytes = 256 << 10

// prefetched is how far the messages of a context were read for the next summary.
type prefetched struct {
	compaction *session.Entry // of the context
	reader     *ledger.Reader
	searched   int // items in which checkpoints were looked for
	until      int // items before the latest checkpoint
	warmed     int // items that are prepared
}

// prefetch prepares the next summary at checkpoints, where a task has ended. It saves time later and changes nothing.
// It begins when half of the limit is reached, and looks for ends in each message of a context once.
func (s *Session) prefetch(snap *compact.Snapshot) {
	if snap.Reading.Tokens < snap.Budget.Limit/2 {
		return
	}
	items := snap.Context.Items
	a := &s.ready
	if a.reader == nil || a.compaction != snap.Context.Compaction || a.searched > len(items) {
		*a = prefetched{compaction: snap.Context.Compaction, reader: ledger.NewReader(ledger.Options{Cwd: snap.Cwd})}
	}
	for ; a.searched < len(items); a.searched++ {
		if a.reader.Add(items[a.searched : a.searched+1]); a.reader.Boundary() != "" {
			a.until = a.searched + 1
		}
	}
	to, bytes := a.warmed, 0
	for to < a.until && bytes < prefetchBytes {
		bytes += len(items[to].Message.JSON())
		to++
	}
	if to > a.warmed {
		from := answerBefore(items, a.warmed)
		s.found.Warm(items[from:to], snap.Cwd, snap.Policy.Instructions)
		a.warmed = to
	}
}

// notReady returns the entries of the context that the next summary is not prepared for.
func (s *Session) notReady(snap *compact.Snapshot) map[string]bool {
	out := map[string]bool{}
	for i, it := range snap.Context.Items {
		if s.ready.compaction != snap.Context.Compaction || i >= s.ready.warmed {
			out[it.Entry.ID] = true
		}
	}
	return out
}

func answerBefore(items []session.Item, at int) int {
	for at > 0 && at < len(items) && items[at].Message.ToolCallID != "" {
		at--
	}
	return at
}
