// Package session holds a conversation as a tree of immutable entries and
// projects a path of that tree to what the model sees.
//
// An [Entry] is one record of the log, kept as the bytes that were written. A [Store] keeps the records (package
// session/jsonl in a file, [Memory] in memory); a [Log] adds the leaf and builds new entries. [Project] is the one
// function that turns a path into a context: it applies the latest compaction and the edits, and changes nothing.
//
//	log, err := session.NewLog(ctx, store, session.Options{})
//	log.Append(ctx, session.Message(message.User("fix the flaky test", time.Now())))
//	c, err := log.Context(ctx)
//	for _, it := range c.Items {
//		fmt.Println(it.Entry.ID, it.Message.Role)
//	}
//
// The records are those of pi's session format, version 3; docs/FORMAT.md describes them.
package session
