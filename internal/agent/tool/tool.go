// Package tool says what a tool of an agent is.
//
//	type Clock struct{}
//
//	func (Clock) Spec() model.Tool { return model.Tool{Name: "clock", Description: "Tells the time."} }
//	func (Clock) Effect(json.RawMessage) (tool.Effect, error) { return tool.Effect{Kind: tool.Read}, nil }
//	func (Clock) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
//		return tool.Text(time.Now().Format(time.RFC3339)), nil
//	}
//
// A tool says what a call would do before it does it, so that the agent can ask
// the user, and refuse what is not allowed. Nothing a tool returns is taken for
// the user's words. What it returns may be large: the agent keeps the whole of it
// where the model can recall it, and shows the model a part.
package tool

import (
	"context"
	"encoding/json"
	"io/fs"
	"reflect"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// Tool is something that a model may call. Calls of one answer may run at the same
// time, in several goroutines.
type Tool interface {
	// Spec is what the model is told. It is the same each time.
	Spec() model.Tool
	// Effect says what a call would do. It changes nothing, and is quick. An error
	// says, for the model, what is wrong with the arguments: the call is not run.
	Effect(arguments json.RawMessage) (Effect, error)
	// Run answers a call. An error is told to the model as a result that failed, in
	// its words. Run returns soon after ctx is done, and leaves nothing running.
	Run(ctx context.Context, c Call) (Result, error)
}

// Call is a call of a tool.
type Call struct {
	// ID is that of the call, as the provider or clew gave it.
	ID string
	// Arguments is a JSON object.
	Arguments json.RawMessage
	// Output, where it is not nil, is told what a long call has brought so far, piece
	// by piece: for the user to watch. It may be called from any goroutine until Run
	// returns.
	Output func(piece string)
	// Record, where it is not nil, is told of changes of files before they are made, so
	// that they can be taken back. After an error they must not be made. What a command
	// has changed it is told afterwards.
	Record func(ctx context.Context, changes ...Change) error
}

// Change is a change of a file.
type Change struct {
	// Path is absolute, without symbolic links.
	Path string
	// Before and After are its content; nil where there is no file.
	Before, After []byte
	// Mode has the permissions.
	Mode fs.FileMode
	// Lost says that Before is too large to be given, so that it can't be restored.
	Lost bool
}

// Result is the answer to a call.
type Result struct {
	// Content is what the model reads: text and images.
	Content []message.Block
	// IsError says that the call failed.
	IsError bool
	// Details, if not nil, is a JSON object with what the user may want to see and the
	// model does not: a diff, say. It is kept in the log.
	Details json.RawMessage
}

// ImageTypes are the images that all providers take.
var ImageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// MaxImage is the largest image that providers take, in bytes. One that is larger would
// make every later request invalid.
const MaxImage = 5 << 20

// Text returns a result of one text.
func Text(s string) Result { return Result{Content: []message.Block{message.TextBlock(s)}} }

// With returns the result with details.
func (r Result) With(d Details) Result {
	r.Details = d.JSON()
	return r
}

// Kind says what kind of thing a call does.
type Kind string

// The kinds.
const (
	Read  Kind = "read"  // it looks at files or at the session, and changes nothing
	Write Kind = "write" // it changes files
	Run   Kind = "run"   // it runs a command
	Other Kind = "other" // anything else: tools of other programs, the network
)

// Effect says what a call would do.
type Effect struct {
	Kind Kind
	// Paths are the files and folders that it would touch: absolute, clean, and with
	// symbolic links resolved as far as they exist.
	Paths []string
	// Outside says that one of them is not in the folder that the agent works in.
	Outside bool
	// Command is the command line of Run.
	Command string
	// Line says in one line what it is, for the user: "edit src/main.go".
	Line string
	// Diff, if not empty, is the change that would be made to a file, as a unified diff.
	Diff string
}

// Details are the members of Result.Details that clew's own tools use and its
// terminal shows.
type Details struct {
	Diff      string `json:"diff,omitempty"`      // what was changed, as a unified diff
	ExitCode  *int   `json:"exitCode,omitempty"`  // of a command
	Truncated bool   `json:"truncated,omitempty"` // the text is not all there was
	// Outcome says why a call failed that the tool has not failed at; the agent sets it.
	Outcome Outcome `json:"outcome,omitempty"`
	Todos   []Todo  `json:"todos,omitzero"`    // the whole list, as a call has left it
	Session string  `json:"session,omitempty"` // the file of the session in which a task was done
}

// Outcome says what kept a call from being done.
type Outcome string

// The outcomes.
const (
	Denied    Outcome = "denied"    // it was not allowed, by the user or by the rules
	Cancelled Outcome = "cancelled" // the turn was cancelled, or the program ended, before it was done
)

// OutcomeOf returns the outcome that the details of a result have, "" for none.
func OutcomeOf(details json.RawMessage) Outcome {
	return Outcome(jsonx.StringAt(jsonx.One(details), "outcome")) // details may be of any form
}

// WithOutcome returns the details of a result with an outcome.
func WithOutcome(details json.RawMessage, o Outcome) json.RawMessage {
	if !jsonx.IsObject(jsonx.One(details)) {
		return Details{Outcome: o}.JSON() // what is no object has no place beside it
	}
	return jsonx.Set(details, "outcome", jsonx.Quote(string(o)))
}

// Todo is something to be done.
type Todo struct {
	Content string     `json:"content"`
	Status  TodoStatus `json:"status"`
}

// TodoStatus says how far a todo is.
type TodoStatus string

// How far a todo can be.
const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoCompleted  TodoStatus = "completed"
)

// JSON returns the details as Result.Details takes them; nil for none.
func (d Details) JSON() json.RawMessage {
	if reflect.ValueOf(d).IsZero() {
		return nil
	}
	data, err := json.Marshal(d)
	if err != nil {
		return nil
	}
	return data
}
