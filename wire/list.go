package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/message"
)

// List is a context ready to be rendered for one profile and target.
type List struct {
	System string            // the system text; empty for none
	Tools  []json.RawMessage // the definitions in force, as stored, in the order they were added
	Turns  []Turn

	profile Profile
	target  Target
}

// TurnKind says who a turn stands for.
type TurnKind string

// The kinds of turns.
const (
	TurnSystem    TurnKind = "system"    // a system message in the middle
	TurnUser      TurnKind = "user"      // what the user or something in its place said
	TurnAssistant TurnKind = "assistant" // an answer
	TurnResults   TurnKind = "results"   // the results of the answer before, then maybe what the user said
	TurnStored    TurnKind = "stored"    // one message in the form of the file format
)

// Turn is one message of a List.
type Turn struct {
	Kind  TurnKind
	Parts []Part
}

// PartKind says what a part is.
type PartKind string

// The kinds of parts.
const (
	PartText     PartKind = "text"
	PartImage    PartKind = "image"
	PartThinking PartKind = "thinking"
	PartCall     PartKind = "call"
	PartResult   PartKind = "result"
	PartOpaque   PartKind = "opaque" // a block that is passed on as it is
	PartStored   PartKind = "stored" // a whole message in the form of the file format
)

// Part is a piece of a turn. Which fields have a meaning depends on Kind.
type Part struct {
	Kind PartKind
	From int // index of the message it comes from; -1 for words of wire's own

	Text      json.RawMessage // text, thinking: a JSON string that is fit to send
	Signature string          // text, thinking, call: what goes back with it; "" for nothing
	Redacted  bool            // thinking: the signature holds it, there is no text
	ItemID    string          // text, call: the provider's own id of the item; "" for none
	Phase     string          // text: what the provider said it is for; "" for nothing

	ID        string          // call, result: the id as it is sent
	Name      string          // call, result: the tool's name as it is sent
	Arguments json.RawMessage // call: an object
	IsError   bool            // result
	Content   []Part          // result: text and images

	MIMEType string          // image
	Data     json.RawMessage // image: base64 as a JSON string

	Raw json.RawMessage // opaque, stored
}

// Target is the model that a list is for, named as in messages ("anthropic",
// "claude-opus-4-5"). What only its maker can read is sent to it alone.
type Target struct {
	Provider, Model string

	TakesImages bool // else images become a line of text that says what was there
}

// Options change what Normalize does. The zero value is for requests to a model.
type Options struct {
	// CloseOpenCalls gives the calls of the last answer that wait for their results ones
	// that say they were interrupted, for files of other programs, for display and for
	// summaries. Without it Normalize refuses such a list.
	CloseOpenCalls bool
}

// NoteCode names what Normalize left out, changed or added.
type NoteCode string

// The codes.
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

func (n Note) String() string { return located(n.Index, n.Text, string(n.Code)) }

func located(index int, text, code string) string {
	if index < 0 {
		return fmt.Sprintf("%s (%s)", text, code)
	}
	return fmt.Sprintf("message %d: %s (%s)", index, text, code)
}

// PendingError says that calls wait for their results (see message.Pairs), so the
// list cannot be sent before results are appended, real ones or ones that say what happened.
type PendingError struct {
	Calls []message.Call
}

func (e *PendingError) Error() string {
	names := few(e.Calls, func(c message.Call) string { return fmt.Sprintf("%s (%q)", c.Block.Name, c.Block.ID) }, "%d more")
	return fmt.Sprintf("calls of the last answer have no result: %s; append their results before the next request",
		strings.Join(names, ", "))
}

// few returns the texts of the first three, and how many more there are.
func few[T any](all []T, text func(T) string, more string) (texts []string) {
	for i, x := range all {
		if i == 3 {
			return append(texts, fmt.Sprintf(more, len(all)-i))
		}
		texts = append(texts, text(x))
	}
	return texts
}
