package branch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

// DefaultBudget is the most that a branch summary may cost, in tokens.
const DefaultBudget = 4_096

// Options changes a summary of a branch. Counter is required.
type Options struct {
	// Counter measures.
	Counter token.Counter
	// Budget is the most that the text may cost, in tokens. Default: DefaultBudget.
	Budget int64
	// Summarizer makes the text. Default: summary.Deterministic.
	Summarizer summary.Summarizer
	// Template gives it its form. Default: summary.Structured.
	Template *summary.Template
	// Instructions are what it is to pay attention to.
	Instructions string
	// OnlyInstructions lets them stand for the task that a model is given.
	OnlyInstructions bool
	// Cwd makes paths relative, where it is known.
	Cwd string
	// Fresh asks the summarizer even where the session has a summary of the same range.
	Fresh bool
}

// ForBranch is implemented by summarizers that put the question differently where a
// branch is left.
type ForBranch interface{ ForBranch() summary.Summarizer }

// Summary is a finished summary of a branch.
type Summary struct {
	// Entry is what goes into the session, with the details.
	Entry session.BranchSummary
	// Output is what the summarizer gave; nil with CachedFrom.
	Output *summary.Output
	// CachedFrom is the entry in which the same branch was summarized before, "" for
	// none.
	CachedFrom string
	// Files of the branch and of what it summarizes: those that were read and not
	// changed, and those that were changed.
	ReadFiles, ModifiedFiles []string
}

// Errors of Summarize.
var (
	// ErrNothing: the range has no message, so there is nothing to summarize.
	ErrNothing = errors.New("nothing is left behind")
	// ErrEmpty: the summarizer gave no text.
	ErrEmpty = errors.New("the summary is empty")
)

// Summarize makes a summary of a range, or uses that which the session has of it, made
// for the same question. What compactions and other branch summaries in the range know of
// files counts.
func Summarize(ctx context.Context, s session.Store, r *Range, opt Options) (*Summary, error) {
	if len(r.Items) == 0 {
		return nil, ErrNothing
	}
	opt.Budget, opt.Template = cmp.Or(opt.Budget, DefaultBudget), cmp.Or(opt.Template, summary.Structured)
	if opt.Summarizer == nil {
		opt.Summarizer = summary.Deterministic{}
	}
	if b, ok := opt.Summarizer.(ForBranch); ok {
		opt.Summarizer = b.ForBranch()
	}
	asked := opt.key()
	if !opt.Fresh {
		if found, err := find(ctx, s, r, asked); err != nil || found != nil {
			return found, err
		}
	}
	facts := ledger.Read(slices.Concat(r.lead, r.Items), ledger.Options{Cwd: opt.Cwd})
	out, err := opt.Summarizer.Summarize(ctx, summary.Input{
		Items: r.Items, Ledger: &facts, Cwd: opt.Cwd, Budget: opt.Budget, ClipLast: true,
		Counter: opt.Counter, Template: opt.Template, Instructions: opt.Instructions, OnlyInstructions: opt.OnlyInstructions,
	})
	if err != nil {
		return nil, fmt.Errorf("summarize with %s: %w", opt.Summarizer.Name(), err)
	}
	if out.Text == "" {
		return nil, fmt.Errorf("summarize with %s: %w", opt.Summarizer.Name(), ErrEmpty)
	}
	d := compact.NewDetails(&facts, &out)
	d.Clew.Ancestor, d.Clew.Until, d.Clew.Asked = r.Ancestor, r.until(), asked
	data, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("store the facts of the summary: %w", err)
	}
	return &Summary{
		Entry:  session.BranchSummary{FromID: r.From, Summary: out.Text, Details: data, Usage: out.Usage},
		Output: &out, ReadFiles: d.ReadFiles, ModifiedFiles: d.ModifiedFiles,
	}, nil
}

// key says what was asked for, so that another question is not answered with an old
// summary.
func (o *Options) key() string {
	// The 0 was a limit that nobody set: summaries of earlier versions are still found.
	data, _ := json.Marshal([]any{o.Summarizer.Name(), o.Template.Name(), o.Budget, 0, o.Instructions, o.OnlyInstructions}) // strings and numbers
	return string(data)
}

// until is the last entry of the range that said something.
func (r *Range) until() string { return r.Items[len(r.Items)-1].Entry.ID }

// find looks for a summary of the same range that was made for the same question.
func find(ctx context.Context, s session.Store, r *Range, asked string) (*Summary, error) {
	for e, err := range s.All(ctx) {
		if err != nil {
			return nil, err
		}
		b, ok := e.BranchSummary()
		if !ok || b.FromHook || b.Summary == "" {
			continue
		}
		var d compact.Details
		if json.Unmarshal(b.Details, &d) != nil || d.Clew.Ancestor != r.Ancestor || d.Clew.Until != r.until() || d.Clew.Asked != asked {
			continue
		}
		b.Usage, b.FromID = nil, r.From // it was paid once
		return &Summary{
			Entry: b, CachedFrom: e.ID, ReadFiles: d.ReadFiles, ModifiedFiles: d.ModifiedFiles,
		}, nil
	}
	return nil, nil
}
