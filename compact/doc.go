// Package compact decides what to take out of a context that is about to
// outgrow the model's window, and takes it out.
//
// [Make] computes a [Plan]: a value that says what would be done now and why.
// It can be printed and refused, and changes nothing. [Apply] appends the
// plan's entries to the log as one pass, which session.Log.Undo takes back.
//
//	in := compact.Input{Path: path, Last: last.ID, Meter: meter, Reason: compact.Threshold}
//	plan, err := compact.Make(ctx, in, compact.Policy{Window: 64_000})
//	if err == nil && plan.Act {
//		_, err = compact.Apply(ctx, log, plan)
//	}
package compact
