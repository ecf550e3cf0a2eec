// Package text cuts, splits and searches text that people and programs wrote,
// without ever cutting a character in half.
//
//	text.Clip("a long line", 8)             // "a long…"
//	text.Sentences("Done. Now test it.")    // "Done.", "Now test it."
//	for id := range text.Identifiers(line) { fmt.Println(id.Class, id.Text) }
package text
