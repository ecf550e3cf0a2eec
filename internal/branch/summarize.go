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
)

// DefaultBudget is the most that a branch summary may cost, in tokens.
const DefaultBudget = 4_096

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

// Summarize makes a summary of a range as in asks for, or uses that which the session has of
// the range, made for the same question; with fresh it always asks. What compactions and
// other branch summaries in the range know of files counts.
func Summarize(ctx context.Context, s session.Store, r *Range, by summary.Summarizer, in summary.Input, fresh bool) (*Summary, error) {
	if len(r.Items) == 0 {
		return nil, ErrNothing
	}
	if b, ok := by.(ForBranch); ok {
		by = b.ForBranch()
	}
	if by == nil {
		by = summary.Deterministic{}
	}
	in.Template = cmp.Or(in.Template, summary.Structured)
	// The 0 was a limit that nobody set: summaries of earlier versions are still found.
	key, _ := json.Marshal([]any{by.Name(), in.Template.Name(), in.Budget, 0, in.Instructions, in.OnlyInstructions}) // strings and numbers
	asked := string(key)
	if !fresh {
		if found, err := find(ctx, s, r, asked); err != nil || found != nil {
			return found, err
		}
	}
	facts := ledger.Read(slices.Concat(r.lead, r.Items), ledger.Options{Cwd: in.Cwd})
	in.Items, in.Ledger, in.ClipLast = r.Items, &facts, true
	out, err := by.Summarize(ctx, in)
	if err == nil && out.Text == "" {
		err = ErrEmpty
	}
	if err != nil {
		return nil, fmt.Errorf("summarize with %s: %w", by.Name(), err)
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
