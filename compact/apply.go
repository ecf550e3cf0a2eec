package compact

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

// Apply appends what a plan says as one pass and returns its entries. Where the log has
// grown since the plan was made nothing is written, and the error is session.ErrConflict.
func Apply(ctx context.Context, log *session.Log, plan *Plan) ([]*session.Entry, error) {
	if !plan.Act {
		return nil, errors.New("apply plan: it has nothing to do; see Plan.Act")
	}
	policy, err := json.Marshal(plan.Budget)
	if err != nil {
		return nil, err
	}
	meter, err := json.Marshal(record{plan.Before, plan.After, plan.learned, plan.passes, plan.inferred})
	if err != nil {
		return nil, err
	}
	info := session.PassInfo{Reason: string(plan.Reason), Policy: policy, Meter: meter, Edits: plan.edits}
	return log.AppendPass(ctx, plan.last, info, plan.drafts...)
}

// record is what a clew.pass entry stores of the meter.
type record struct {
	Before      token.Reading   `json:"before"`
	After       token.Reading   `json:"after"`
	Calibration json.RawMessage `json:"calibration,omitempty"` // what was learnt about the estimates until then
	Passes      int             `json:"passes,omitempty"`      // since the user's last message, with this one; absent 1
	inferred
}

// recordOf returns what an entry says that begins a pass; the zero value for others.
func recordOf(e *session.Entry) (r record) {
	if info, ok := e.Pass(); ok && json.Unmarshal(info.Meter, &r) != nil {
		return record{}
	}
	return r
}

// Passes counts the passes since the user's last message that were to make room. Those before the part of the path that
// the context needs count too: the latest says how many they were.
func Passes(path []*session.Entry) int {
	n := 0
	for _, e := range slices.Backward(path) {
		if isPass(e) && !SidePass(e) {
			if r := recordOf(e); r.Passes > 1 {
				return n + r.Passes
			}
			n++
		}
		if m, err := e.Message(); err == nil && m.UserWords() {
			break
		}
	}
	return n
}

// inferredOn returns what the latest pass on a path has inferred.
func inferredOn(path []*session.Entry) inferred {
	for _, e := range slices.Backward(path) {
		if isPass(e) {
			return recordOf(e).inferred
		}
	}
	return inferred{}
}

// editDetails is what an edit of a pass says about itself.
type editDetails struct {
	Clew struct {
		Stage string `json:"rung"`
		Freed int64  `json:"freed"`        // tokens
		Of    string `json:"of,omitempty"` // excerpt: the entry it stands for
	} `json:"clew"`
}

func (d editDetails) json() json.RawMessage {
	data, _ := json.Marshal(d) // strings and numbers: it can't fail
	return data
}

func editDetailsOf(data json.RawMessage) (d editDetails) {
	if json.Unmarshal(data, &d) != nil {
		return editDetails{}
	}
	return d
}

// StageOf returns the stage of the pass that made an edit, "" when no pass did.
func StageOf(e *session.Entry) string {
	if e == nil {
		return ""
	}
	edit, _ := e.ContextEdit()
	return editDetailsOf(edit.Details).Clew.Stage
}

// ExcerptOf returns the id of the entry that an excerpt stands for, "" for any other entry.
func ExcerptOf(e *session.Entry) string {
	if m, ok := e.CustomMessage(); ok && m.CustomType == session.CustomExcerpt {
		return editDetailsOf(m.Details).Clew.Of
	}
	return ""
}

// Details is what is stored with a summary. pi reads the two lists.
type Details struct {
	ReadFiles     []string `json:"readFiles"` // those that were not changed too
	ModifiedFiles []string `json:"modifiedFiles"`
	Clew          struct {
		Version    int              `json:"v"`
		Summarizer string           `json:"summarizer"`
		Coverage   summary.Coverage `json:"coverage"`
		Ledger     *ledger.Ledger   `json:"ledger,omitempty"`
		Details    json.RawMessage  `json:"details,omitempty"` // those of a hook, as it gave them
		// Of a compaction: ids of pinned entries, and how the summary is shown, where not as usual.
		Pins []string        `json:"pins,omitempty"`
		Form json.RawMessage `json:"form,omitempty"`
		// Of a branch: what the summary is of and for, by which it is found again. Until is
		// the last entry that said something: the leaf itself may be a label, or a mere move.
		Ancestor string `json:"ancestor,omitempty"`
		Until    string `json:"until,omitempty"`
		Asked    string `json:"asked,omitempty"`
	} `json:"clew"`
}

// NewDetails returns what is stored with any summary.
func NewDetails(facts *ledger.Ledger, out *summary.Output) (d Details) {
	d.ReadFiles = append([]string{}, facts.Paths(ledger.StateRead)...) // written as [], not null
	d.ModifiedFiles = append([]string{}, facts.Paths(ledger.StateModified, ledger.StateCreated)...)
	d.Clew.Version, d.Clew.Summarizer, d.Clew.Coverage, d.Clew.Ledger = 1, out.Summarizer, out.Coverage, facts
	d.Clew.Details = out.Details
	return d
}

func (p *planner) details(facts *ledger.Ledger, out *summary.Output) Details {
	d := NewDetails(facts, out)
	if p.piFiles != nil {
		d.ReadFiles, d.ModifiedFiles = p.piFiles.ReadFiles, p.piFiles.ModifiedFiles
	}
	d.Clew.Pins = p.pins
	if p.policy.Form != nil {
		d.Clew.Form = p.policy.Form.JSON()
	}
	return d
}

// Interrupted drafts a result for every call among items that has none.
func Interrupted(items []session.Item, at time.Time) []session.Draft {
	var drafts []session.Draft
	for _, call := range Pending(items) {
		m := message.ToolResult(call.ID, call.Name,
			"The call was interrupted. It has no result, and it is not known how much of it was done.", true, at)
		m.Details = json.RawMessage(`{"outcome":"cancelled"}`)
		drafts = append(drafts, session.Message(m))
	}
	return drafts
}

// CloseOpenCalls appends Interrupted at the leaf. It returns the number of calls.
func CloseOpenCalls(ctx context.Context, log *session.Log) (int, error) {
	c, err := log.Context(ctx)
	if err != nil {
		return 0, err
	}
	drafts := Interrupted(c.Items, log.Now())
	_, err = log.Append(ctx, drafts...)
	return len(drafts), err
}
