package summary

// Document is a summary in parts. Lines are single lines of text; Canonical
// brings a document to the form that Parse gives back.
type Document struct {
	Goal        []Line // the first request, and the current one
	Constraints []Line // what the user wants kept to
	Done        []Line
	InProgress  []Line
	Blocked     []Line // failing checks and open errors
	Decisions   []Line
	Next        []Line // numbered in the order given
	Context     []Line // facts worth having at hand; From groups them
	Names       []Line // names worth spelling right, by the file they stand in

	Files Files

	// Quotes are messages of the user, word for word, oldest first.
	Quotes []Quote
	// Pins are other messages that stand here word for word because they are pinned.
	Pins []Quote
	// Earlier is the text of an earlier summary that is not in our form.
	Earlier string
	// Note says how to get back what is not here. One line.
	Note string
}

// Line is one statement.
type Line struct {
	Text string
	// Ref is the id of the entry it comes from, or the beginning of it: the
	// recall handle. "" when there is none.
	Ref string
	// Replaced marks a statement that a later one replaced.
	Replaced bool
	// From names what the text is an excerpt of: a path, a command. Lines of
	// Document.Context that follow each other with the same From and Ref are
	// shown together; elsewhere it is not shown.
	From string
}

// Quote is a message word for word.
type Quote struct {
	Ref  string // recall handle, as in Line
	Role string // "" for the user
	// Text is the message, or its beginning where there are Gaps.
	Text string
	// Gaps are what was left out, and what follows each.
	Gaps []Gap
}

// Gap is a part of a message that a quote leaves out, and the part after it.
type Gap struct {
	Omitted int // bytes left out, at least 1
	Text    string
}

// Whole reports whether the quote is the whole message.
func (q Quote) Whole() bool { return len(q.Gaps) == 0 }

// Bytes returns how long the message is, and how much of it the quote shows.
func (q Quote) Bytes() (whole, shown int) {
	shown = len(q.Text)
	for _, g := range q.Gaps {
		whole += g.Omitted
		shown += len(g.Text)
	}
	return whole + shown, shown
}

// Files are file lists. More counts what a list left out.
type Files struct {
	Modified, Created, Deleted, Read FileList
	// Shell are files that shell commands seem to have written.
	Shell FileList
}

// FileList is a list of paths.
type FileList struct {
	Paths []string
	More  int
}
