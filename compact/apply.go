package compact

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Apply appends what a plan says as one pass and returns its entries. It
// fails with session.ErrConflict when the log has grown since the plan was
// made; then nothing was written and a new plan is needed.
func Apply(ctx context.Context, log *session.Log, plan *Plan) ([]*session.Entry, error) {
	if !plan.Act {
		return nil, errors.New("apply plan: it has nothing to do; see Plan.Act")
	}
	policy, err := json.Marshal(plan.Budget)
	if err != nil {
		return nil, err
	}
	meter, err := json.Marshal(readings{plan.Before, plan.After, plan.calibration})
	if err != nil {
		return nil, err
	}
	info := session.PassInfo{Reason: string(plan.Reason), Policy: policy, Meter: meter, Edits: plan.edits}
	return log.AppendPass(ctx, plan.last, info, plan.drafts...)
}

// Interrupted drafts a result for every call among items that has none, as of a
// time. CloseOpenCalls appends them. To plan on the context that it would give, use
// session.Preview of them.
func Interrupted(items []session.Item, at time.Time) []session.Draft {
	var drafts []session.Draft
	for _, call := range Pending(items) {
		drafts = append(drafts, session.Message(interrupted(call, at)))
	}
	return drafts
}

// CloseOpenCalls appends a result for every call at the leaf that waits for one (see
// Pending). It returns the number of calls.
func CloseOpenCalls(ctx context.Context, log *session.Log) (int, error) {
	c, err := log.Context(ctx)
	if err != nil {
		return 0, err
	}
	drafts := Interrupted(c.Items, log.Now())
	_, err = log.Append(ctx, drafts...)
	return len(drafts), err
}

// interrupted is the result of a call that was never finished.
func interrupted(call message.Block, at time.Time) *message.Message {
	return message.ToolResult(call.ID, call.Name,
		"The call was interrupted. It has no result, and it is not known how much of it was done.", true, at)
}
