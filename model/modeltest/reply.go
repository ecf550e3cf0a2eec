package modeltest

import (
	"encoding/json"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// Reply is one answer of a script.
type Reply struct {
	// Blocks are the content. Reasoning without a signature gets one that the
	// server knows again.
	Blocks []message.Block
	// Finish says why the answer ends. Default: tool use with calls, else end.
	Finish model.Finish
	// Refusal is what is said in place of an answer, with FinishRefusal.
	Refusal string
	// Usage is what is reported. Default: counted from the request and the blocks,
	// four bytes a token, with what an earlier request held read from the cache.
	Usage *message.Usage
	// Raw are blocks of the API's own, as JSON, that come after Blocks: content
	// blocks of Anthropic, items of Responses, parts of Gemini.
	Raw []json.RawMessage
	// Extra are members that are added to the answer.
	Extra map[string]json.RawMessage

	// Failure makes the reply an error.
	Failure *Failure
	// Faults are what goes wrong on the way.
	Faults Faults
}

// Faults are what goes wrong between a server and its client.
type Faults struct {
	// Delay is waited before the first byte, Pause between the pieces of a stream.
	Delay, Pause time.Duration
	// Drop cuts the connection after DropAt bytes of the body.
	Drop   bool
	DropAt int
	// Chunk is how many bytes are sent at once; 0 is a whole event.
	Chunk int
	// CRLF ends the lines of a stream in CR LF.
	CRLF bool
	// Comments puts comments and pings between the events of a stream.
	Comments bool
	// NoEnd leaves out the last event of a stream, and closes it as if it were whole.
	NoEnd bool
	// Body is sent in place of the answer, with status 200.
	Body string
}

// Answer returns a reply with blocks.
func Answer(blocks ...message.Block) Reply { return Reply{Blocks: blocks} }

// Text returns a reply that says a text.
func Text(s string) Reply { return Answer(message.TextBlock(s)) }

// Think returns a block of reasoning that the server signs.
func Think(s string) message.Block { return message.ThinkingBlock(s, "") }

// Call returns a tool call. Arguments is a JSON object.
func Call(id, name, arguments string) message.Block {
	return message.ToolCallBlock(id, name, json.RawMessage(arguments))
}

// Truncated returns a reply that is cut by the limit of the answer.
func Truncated(s string) Reply {
	r := Text(s)
	r.Finish = model.FinishLength
	return r
}

// Refused returns a refusal.
func Refused(s string) Reply { return Reply{Finish: model.FinishRefusal, Refusal: s} }

// Empty returns an answer without content.
func Empty() Reply { return Reply{} }

// OnlyThinking returns an answer that reasons and says nothing.
func OnlyThinking(s string) Reply { return Answer(Think(s)) }

// With returns the reply with faults.
func (r Reply) With(f Faults) Reply {
	r.Faults = f
	return r
}

// Failure is an error of the provider.
type Failure struct {
	// Kind is what kind of error, which each API says in its own way.
	Kind model.Kind
	// Asked and Limit are the numbers of an overflow.
	Asked, Limit int64
	// Message replaces the API's own words.
	Message string
	// RetryAfter is how long the API asks to wait.
	RetryAfter time.Duration
	// InStream sends the error inside a stream, after the reply's blocks.
	InStream bool

	// Status and Body are sent as they are, where Status is not 0.
	Status int
	Body   string
}

// Fail returns a reply that is an error of a kind.
func Fail(k model.Kind) Reply { return Reply{Failure: &Failure{Kind: k}} }

// Overflow returns the refusal of a request that is too large.
func Overflow(asked, limit int64) Reply {
	return Reply{Failure: &Failure{Kind: model.KindOverflow, Asked: asked, Limit: limit}}
}

// RateLimited returns the refusal of a request that came too soon.
func RateLimited(after time.Duration) Reply {
	return Reply{Failure: &Failure{Kind: model.KindRateLimit, RetryAfter: after}}
}

// Status returns an error with a status and a body of the test's own.
func Status(code int, body string) Reply { return Reply{Failure: &Failure{Status: code, Body: body}} }

// finish returns why the reply ends.
func (r *Reply) finish() model.Finish {
	if r.Finish != model.FinishNotKnown {
		return r.Finish
	}
	for i := range r.Blocks {
		if r.Blocks[i].Type == message.BlockToolCall {
			return model.FinishToolUse
		}
	}
	return model.FinishEnd
}
