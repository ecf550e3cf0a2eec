// Package jsonl keeps a session in a file of JSON lines: pi's session format, version 3, which docs/FORMAT.md
// describes. Versions 1 and 2 are read as they are and turned into version 3 by the first append.
//
//	f, err := jsonl.Open(ctx, "session.jsonl", jsonl.Options{})
//	defer f.Close()
//	log, err := session.NewLog(ctx, f, session.Options{})
//
// Opening reads from the end of the file only as far back as is asked for, so its cost does not grow with the
// length of the history. Nothing in a file is ever changed: entries are appended, and what a stopped writer left
// unfinished at the end is moved aside, to a file with the ending .cut, before the first append. One program writes
// at a time; see Options.
package jsonl
