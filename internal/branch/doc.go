// Package branch leaves one branch of a session for another and tells the new one
// what happened on the old.
//
//	at, text, err := branch.Place(ctx, store, target) // where the conversation goes on
//	r, err := branch.Collect(ctx, store, leaf, target)
//	s, err := branch.Summarize(ctx, store, r, branch.Options{Counter: meter})
//	entries, err := log.Append(ctx, s.Draft().Under(at))
//
// A branch summary hangs under the place where the conversation goes on, and names
// the leaf that was left. It is one append: after a crash the session stands on
// the old branch or on the new one with its summary.
package branch
