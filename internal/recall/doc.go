// Package recall finds again what was said in a session: by words, and by the
// handles that summaries and notes name entries with.
//
//	x := recall.New(store, recall.Options{})
//	found, err := x.Search(ctx, recall.Query{Text: "token expiry parseConfig"})
//	for _, h := range found.Hits {
//		fmt.Println(h.Entry, h.Turn, h.Snippet)
//	}
//	e, err := recall.Find(ctx, store, leaf, "[#1a2b3c4d]")
//	page := recall.PageOf(recall.Text(m), 0, 8000)
//
// # Words
//
// An Index has one document for each entry that says something: what the user
// typed, answers with their reasoning and the arguments of their calls, results,
// shell runs, summaries. It ranks by BM25 over words; see Index.Search. An
// identifier is found whole, however it is written (parseConfig, parse_config,
// parse-config), and by its parts; a path whole, by its last component and by its
// parts; a hash by its beginning, seven digits of it at least; Chinese, Japanese
// and Korean by every two neighbouring characters. Case does not count, nor the s of
// an English plural.
//
// The index holds the words alone. What is shown of a hit is read from the store
// again, so an index takes a part of the room that the session takes.
//
// # Handles
//
// Find takes an id or the beginning of one, with or without what stands around it
// in a summary, and the hash under which large output is kept beside the log. FindRange
// takes two, as in a..b.
package recall
