package wire

import "fmt"

// NoteCode names what Normalize did to a message.
type NoteCode string

// The codes. Each says that something was left out, changed or added on the way
// to the provider; the log is never touched.
const (
	NoteAnswerDropped   NoteCode = "answer-dropped"    // an answer that failed or was aborted
	NoteResultOfDropped NoteCode = "result-of-dropped" // the result of a call in such an answer
	NoteOrphanResult    NoteCode = "orphan-result"     // a result without a call
	NoteDuplicateResult NoteCode = "duplicate-result"  // a second result of one call
	NoteResultMoved     NoteCode = "result-moved"      // a result that did not stand directly after its call, in call order
	NoteCallClosed      NoteCode = "settled"           // a call without a result was given one
	NoteCallRenamed     NoteCode = "call-renamed"      // a call id was empty, used twice, too long or had other characters
	NoteToolRenamed     NoteCode = "tool-renamed"      // a tool name was empty, too long or had other characters
	NoteArguments       NoteCode = "arguments"         // arguments that are no object became an empty one
	NoteThinking        NoteCode = "thinking"          // thinking that the target cannot take back
	NoteUnknownRole     NoteCode = "unknown-role"      // a message with a role outside the closed set
	NoteUnknownBlock    NoteCode = "unknown-block"     // a block that has no place in its message
	NoteEmpty           NoteCode = "empty"             // a message without anything to send
	NoteExcluded        NoteCode = "excluded"          // a shell run that the user kept out of the context
	NoteImage           NoteCode = "image"             // an image became a line of text, or moved behind the results
	NotePlaceholder     NoteCode = "placeholder"       // a user message of wire's own was put in
	NoteSummary         NoteCode = "summary"           // a compaction summary that a later one replaces
	NoteTool            NoteCode = "tool"              // the definition of a tool is unusable or there twice
)

// Note tells what was done to one message, for display.
type Note struct {
	Code  NoteCode
	Index int    // of the message in the list given to Normalize; -1 for the list as a whole
	Text  string // a sentence without a full stop
}

func (n Note) String() string {
	if n.Index < 0 {
		return fmt.Sprintf("%s (%s)", n.Text, n.Code)
	}
	return fmt.Sprintf("message %d: %s (%s)", n.Index, n.Text, n.Code)
}
