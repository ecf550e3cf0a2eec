// Package branch leaves one branch of a session for another and tells the new one what happened on the old.
//
//	at, text, err := branch.Place(ctx, store, target) // where the conversation goes on
//	r, err := branch.Collect(ctx, store, leaf, target)
//	s, err := branch.Summarize(ctx, store, r, nil, summary.Input{Counter: meter, Budget: 4000}, false)
//	entries, err := log.Append(ctx, session.NewBranchSummary(s.Entry).Under(at))
//
// A branch summary hangs under the place where the conversation goes on, and names the leaf that was left. It is one
// append: after a crash the session stands on the old branch or on the new one with its summary.
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
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// Range is what is left behind when the conversation moves from one place of the tree to another.
type Range struct {
	From     string           // the leaf that is left
	Ancestor string           // the last entry that both paths have, "" when they have none
	Path     []*session.Entry // the old path, from the root to the leaf
	Entries  []*session.Entry // those of it after the ancestor
	// Items are what the model saw of them: with the edits of users and hooks, without
	// those of passes. A compaction among them counts with its summary.
	Items []session.Item

	// lead is the answer whose calls the first of Items are results of: the files that were changed are known from it.
	lead []session.Item
}

// Messages counts what was said and given among the entries, but for system prompts.
func (r *Range) Messages() int {
	n := 0
	for _, e := range r.Entries {
		switch e.Type {
		case session.TypeMessage:
			if m, err := e.Message(); err == nil && m.Role != message.RoleSystem {
				n++
			}
		case session.TypeCustomMessage:
			if compact.ExcerptOf(e) == "" { // what a pass left of a message is no other one
				n++
			}
		case session.TypeBranchSummary:
			n++
		default:
		}
	}
	return n
}

// Place returns where the conversation goes on when a target is chosen: at it, but before a message that was typed or
// given in its place, whose text is for the user to say again; and before a pass that the target stands inside of,
// for with half of its edits no context was ever seen.
func Place(ctx context.Context, s session.Store, target string) (leaf, text string, err error) {
	if target == "" {
		return "", "", nil
	}
	e, err := s.Get(ctx, target)
	if err != nil {
		return "", "", err
	}
	m, given := e.CustomMessage()
	if given && compact.ExcerptOf(e) != "" {
		given = false // what a pass left of a message, which nobody says again
	}
	if e.Type == session.TypeMessage {
		m, err = e.Message()
		given = err == nil && m.Role == message.RoleUser
	}
	if !given {
		leaf, err := outside(ctx, s, e)
		return leaf, "", err
	}
	// Not ParentID: in a damaged file that may be nowhere.
	p, err := s.Parent(ctx, e)
	if p == nil || err != nil {
		return "", m.Text(), err
	}
	return p.ID, m.Text(), nil
}

// outside returns the id of an entry, or what is before the pass that it is inside of, not at the end.
func outside(ctx context.Context, s session.Store, e *session.Entry) (string, error) {
	at, err := e, error(nil)
	for n := 0; at != nil && err == nil; n++ {
		if pass, ok := at.Pass(); ok {
			if n >= pass.Lines {
				break
			}
			before, err := s.Parent(ctx, at)
			if before == nil || err != nil {
				return "", err
			}
			return before.ID, nil
		}
		if !session.PassEntry(at) {
			break
		}
		at, err = s.Parent(ctx, at)
	}
	return e.ID, err
}

// Collect returns what is left behind when the leaf moves from one entry to a target, "" for before the first.
func Collect(ctx context.Context, s session.Store, from, target string) (*Range, error) {
	r := &Range{From: from}
	if from == "" {
		return r, nil
	}
	old, err := session.Path(ctx, s, from)
	if err != nil {
		return nil, err
	}
	at := 0 // behind the ancestor
	if target != "" {
		there, err := session.Path(ctx, s, target)
		if err != nil {
			return nil, err
		}
		for at < len(old) && at < len(there) && old[at].ID == there[at].ID {
			at++
		}
	}
	if at > 0 {
		r.Ancestor = old[at-1].ID
	}
	r.Path, r.Entries = old, old[at:]
	r.lead, r.Items = items(old, r.Entries)
	return r, nil
}

// items projects the old path and keeps what comes from the range, and what leads to it.
func items(old, left []*session.Entry) (lead, out []session.Item) {
	in := make(map[string]bool, len(left))
	for _, e := range left {
		in[e.ID] = true
	}
	path := slices.DeleteFunc(slices.Clone(old), func(e *session.Entry) bool {
		return e.Type == session.TypeContextEdit && compact.StageOf(e) != "" || compact.ExcerptOf(e) != ""
	})
	all := session.Project(path).Items
	for i, it := range all {
		if !in[it.Entry.ID] || it.Message.Role == message.RoleSystem {
			continue
		}
		if len(out) == 0 {
			from := i
			for from > 0 && all[from].Message.Role == message.RoleToolResult {
				from--
			}
			lead = all[from:i]
		}
		out = append(out, it)
	}
	return lead, out
}

// DefaultBudget is the most that a branch summary may cost, in tokens.
const DefaultBudget = 4_096

// ForBranch is implemented by summarizers that put the question differently where a branch is left.
type ForBranch interface{ ForBranch() summary.Summarizer }

// Summary is a finished summary of a branch.
type Summary struct {
	Entry      session.BranchSummary // what goes into the session, with the details
	Output     *summary.Output       // what the summarizer gave; nil with CachedFrom
	CachedFrom string                // the entry in which the same branch was summarized before, "" for none
	// Files of the branch and of what it summarizes: those that were read and not changed, and those that were changed.
	ReadFiles, ModifiedFiles []string
}

// Errors of Summarize.
var (
	ErrNothing = errors.New("nothing is left behind") // the range has no message, so there is nothing to summarize
	ErrEmpty   = errors.New("the summary is empty")
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
	in.Template = cmp.Or(in.Template, summary.Briefing)
	// The 0 was a limit that nobody set: summaries of earlier versions are still found.
	question := []any{by.Name(), in.Template.Name(), in.Budget, 0, in.Instructions, in.OnlyInstructions}
	if in.Profile != nil {
		question = append(question, in.Profile)
	}
	key, _ := json.Marshal(question) // strings and numbers
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
		Entry:  session.BranchSummary{FromID: r.From, Summary: out.Text, Details: data, Usage: out.Usage, FromHook: out.FromHook},
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
