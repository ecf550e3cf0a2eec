// Package widget holds the parts that the terminal program of clew is put
// together from: an editor, a tree, a picker, a dialog, a footer, and the blocks of
// the transcript. The editor stands on the text area of bubbles. They know nothing of agents and sessions. The program feeds
// them data and messages of Bubble Tea, and places what they draw:
//
//	theme := widget.NewTheme(widget.ModeAuto, dark)
//	editor := widget.NewEditor(theme)
//	editor.SetSize(80, 24)
//	out := editor.Update(msg) // a widget.SendMsg when Enter was pressed
//	screen := editor.Lines()  // never wider than 80 columns
//
// What a widget has to say is the value that Update returns, nil for nothing. It
// is returned rather than sent, because commands run side by side and two of them
// could arrive in the other order.
//
// All text that was not made here is shown as Sanitize or Reveal give it: it can't
// move the cursor, set a title or write a link. A theme without colour draws
// without a single escape sequence; whatever a colour says, a character says too.
//
// A widget belongs to the goroutine that updates and draws it.
package widget
