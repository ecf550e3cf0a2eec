package model

import "github.com/clew-dev/clew/message"

// EventKind names a piece of a streamed answer.
type EventKind string

// The kinds.
const (
	EventText      EventKind = "text"      // more text
	EventThinking  EventKind = "thinking"  // more reasoning
	EventCall      EventKind = "call"      // a tool call begins; ID and Name are known
	EventArguments EventKind = "arguments" // more of a call's arguments, as JSON text
	EventUsage     EventKind = "usage"     // what the provider has counted so far
	EventDone      EventKind = "done"      // the answer is complete
)

// Event is a piece of a streamed answer. Which fields have a meaning depends on
// Kind.
type Event struct {
	Kind EventKind
	// Block numbers the blocks of the answer in the order in which they began.
	Block int
	Text  string // text, thinking, arguments: what was added
	ID    string // call
	Name  string // call

	Usage    *message.Usage // usage
	Response *Response      // done
}
