// Package summary makes and reads the document that stands in the context for
// what a compaction took out of it.
//
// A [Document] has typed sections; a [Template] renders it as Markdown, and
// [Parse] reads it back. A [Summarizer] makes one from a range of messages;
// [Deterministic] does it without a language model: everything it writes is
// taken from the log, and it never exceeds its budget.
//
//	out, err := summary.Deterministic{}.Summarize(ctx, summary.Input{
//		Items: items, Budget: 4000, Counter: counter,
//	})
//	fmt.Println(out.Text)
package summary
