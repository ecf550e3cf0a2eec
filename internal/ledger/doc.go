// Package ledger reads facts from a conversation: which files were read,
// created, modified and deleted, which commands ran and how they ended, which
// checks fail, what the user said, which todos are open.
//
// Everything is computed by code from tool calls and their results, never from
// what an answer claims. A call that failed changes nothing, a file name in
// prose is no evidence.
//
//	l := ledger.Read(cx.Items, ledger.Options{Cwd: header.Cwd})
//	fmt.Println(l.Paths(ledger.Modified))
//	details, _ := json.Marshal(l) // stored with a compaction, merged by the next Read
//
// A ledger is cumulative: Read merges what earlier compactions and branch
// summaries among the items stored in their details, or, where they stored
// nothing, the file lists in their text.
package ledger
