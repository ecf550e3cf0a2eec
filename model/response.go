package model

import (
	"encoding/json"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// Note says what wire did to one message of a request.
type Note = wire.Note

// Finish says why an answer ended.
type Finish string

// The reasons.
const (
	FinishEnd      Finish = "end"     // the model was done, or came to a stop text
	FinishLength   Finish = "length"  // the limit of the answer was reached
	FinishWindow   Finish = "window"  // the context window was full
	FinishToolUse  Finish = "toolUse" // the model waits for results
	FinishBadCall  Finish = "badCall" // the model tried to call a tool and failed
	FinishRefusal  Finish = "refusal" // the model or a filter refused
	FinishPaused   Finish = "paused"  // the provider wants the answer back to go on with it
	FinishUnknown  Finish = "unknown" // for a reason that the adapter does not know
	FinishNotKnown Finish = ""        // nothing was said: the answer broke off
)

// StopReason returns the reason in the words of the file format. A refusal is an
// error there, so that the answer is not sent back.
func (f Finish) StopReason() message.StopReason {
	switch f {
	case FinishEnd, FinishPaused, FinishUnknown:
		return message.StopEnd
	case FinishLength, FinishWindow:
		return message.StopLength
	case FinishToolUse:
		return message.StopToolUse
	case FinishBadCall, FinishRefusal, FinishNotKnown:
	}
	return message.StopError
}

// Response is an answer.
type Response struct {
	// Message is the answer as the log keeps it: content, usage, provider, API,
	// model, stop reason.
	Message *message.Message
	// Finish says why it ended, and FinishDetail the same in the provider's word.
	Finish       Finish
	FinishDetail string
	// Refusal is what was said in place of an answer, where the provider says it
	// apart.
	Refusal string
	// BadCalls are tool calls whose arguments are no JSON object, most often
	// because the answer was cut. They are not in Message, so nothing runs.
	BadCalls []BadCall

	ID        string // of the response, as the provider gave it
	RequestID string // for the provider's support
	Notes     []Note // what wire did to the messages of the request
	BytesSent int64  // size of the request's body
	Attempts  int    // 1, and one for each repetition
}

// BadCall is a tool call that cannot be run.
type BadCall struct {
	ID   string
	Name string
	Text string // the arguments as they came
}

// Text returns the text of the answer.
func (r *Response) Text() string {
	if r == nil || r.Message == nil {
		return ""
	}
	return r.Message.Text()
}

// Answer is what an adapter has read, before it becomes a Response.
type Answer struct {
	Blocks       []message.Block
	Usage        *message.Usage
	Finish       Finish
	FinishDetail string
	Refusal      string
	BadCalls     []BadCall
	ID           string
	Model        string // the model that answered
}

// Response makes the response of an answer of the model that i describes. A tool
// call in the answer makes an end a tool use, for some servers say "stop" then.
func (a *Answer) Response(i Info, at time.Time) *Response {
	a.dropCutCall()
	calls := 0
	for k := range a.Blocks {
		if a.Blocks[k].Type == message.BlockToolCall {
			calls++
		}
	}
	switch {
	case calls > 0 && a.Finish == FinishEnd:
		a.Finish = FinishToolUse
	case len(a.BadCalls) > 0 && calls == 0 && (a.Finish == FinishToolUse || a.Finish == FinishEnd):
		a.Finish = FinishBadCall
	case calls == 0 && a.Finish == FinishToolUse:
		a.Finish = FinishEnd
	}
	m := message.Assistant(at, a.Blocks...)
	m.Provider, m.API, m.Model = i.Provider, i.API, i.Model
	if a.Model != i.Model {
		m.ResponseModel = a.Model
	}
	m.Usage = a.Usage
	if m.Usage != nil && m.Usage.Cost == 0 {
		m.Usage.Cost = i.Price.Cost(m.Usage)
	}
	m.StopReason = a.Finish.StopReason()
	if m.StopReason == message.StopError {
		m.ErrorMessage = a.complaint()
	}
	return &Response{
		Message: m, Finish: a.Finish, FinishDetail: a.FinishDetail, Refusal: a.Refusal,
		BadCalls: a.BadCalls, ID: a.ID, Attempts: 1,
	}
}

// dropCutCall takes out a call at the end of an answer that was cut there: had it
// been whole, the answer would have ended with it. Its arguments can look whole.
func (a *Answer) dropCutCall() {
	n := len(a.Blocks) - 1
	if n < 0 || a.Finish != FinishLength && a.Finish != FinishWindow || a.Blocks[n].Type != message.BlockToolCall {
		return
	}
	b := a.Blocks[n]
	a.Blocks = a.Blocks[:n:n]
	a.BadCalls = append(a.BadCalls, BadCall{ID: b.ID, Name: b.Name, Text: string(b.Arguments)})
}

// complaint says in a sentence why the answer is none.
func (a *Answer) complaint() string {
	switch a.Finish {
	case FinishRefusal:
		if a.Refusal != "" {
			return "the model refused: " + a.Refusal
		}
		return "the model or a filter refused to answer (" + a.FinishDetail + ")"
	case FinishBadCall:
		return "the model's tool call can't be read (" + a.FinishDetail + ")"
	default:
		return "the answer broke off"
	}
}

// Call returns the block of a tool call; a call whose arguments are no object
// goes to BadCalls, and ok is false. Blank arguments are an empty object, which
// is how several servers spell it.
func (a *Answer) Call(id, name, arguments string) (b message.Block, ok bool) {
	raw, ok := objectText(arguments)
	if !ok {
		a.BadCalls = append(a.BadCalls, BadCall{ID: id, Name: name, Text: arguments})
		return message.Block{}, false
	}
	return message.ToolCallBlock(id, name, json.RawMessage(raw)), true
}
