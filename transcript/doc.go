// Package transcript reads the session files of other agents into clew's own
// form, and writes them.
//
//	t, err := transcript.Read(file, transcript.ReadOptions{})
//	store := t.Store() // a session.Store: project it, compact it, copy it
//	for _, n := range t.Report.Notes {
//		fmt.Println(n) // what could not be carried over
//	}
//
//	w, err := transcript.Write(ctx, out, store, transcript.Codex, transcript.WriteOptions{})
//
// What comes out of Read is a tree of entries in pi's format, version 3: the
// answers with model and usage, tool calls with their results, thinking with its
// signature, images, and the compactions that the other program made, with their
// summaries. Ids are derived from the source, so the same file gives the same
// bytes each time.
//
// The format is recognised by content. What a source holds that a session has no
// place for is counted in the Report by kind, with the first line it stands on;
// docs/transcripts.md has the tables.
//
// # Who said it
//
// Only what the user typed has [message.OriginUser]. What a program put in
// between, such as reminders, rules and the environment, is marked as injected,
// and what a command printed as shell output.
//
// # Compactions
//
// Where the other program shortened its context, a compaction entry (or edits)
// stands in the session, so that its context is what the model was sent. Where
// the program kept messages that do not follow one another, they stand behind the
// compaction again, as copies: their [session.Entry.CopyOf] names the original.
package transcript
