// Package replay plays recorded sessions under compaction policies and says what
// each would have kept, without asking a model.
//
//	report, err := replay.Run(ctx, sessions, replay.Options{})
//	fmt.Print(report.Table())
//
// At points of a session the old part is dropped, each policy puts a text in its
// place, and package replay/measure scores the text by what the recorded agent
// wrote next. A policy is given what stood before the point and nothing else. The
// same sessions and options give the same report.
package replay
