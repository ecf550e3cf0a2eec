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
	// Text is the message. When Omitted is not 0, Text is its beginning, Tail
	// its end, and Omitted the number of bytes between them.
	Text    string
	Omitted int
	Tail    string
}

// Whole reports whether the quote is the whole message.
func (q Quote) Whole() bool { return q.Omitted == 0 }

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
