package wire

import "encoding/json"

// List is a context ready to be rendered for one profile and target.
type List struct {
	// System is the system text; empty for none.
	System string
	// Tools are the definitions in force, as stored, in the order they were added.
	Tools []json.RawMessage
	// Turns are the messages.
	Turns []Turn

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
