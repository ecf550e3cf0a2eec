// Package model is clew's interface to language models: an answer to a list of messages, whole or streamed, and the
// model's limits.
//
//	m, err := anthropic.New(anthropic.Config{Endpoint: model.Endpoint{Model: "claude-sonnet-4-5"}})
//	resp, err := m.Complete(ctx, &model.Request{
//		System:   "Be brief.",
//		Messages: []*message.Message{message.User("What is a clew?", time.Now())},
//	})
//	fmt.Println(resp.Message.Text(), resp.Message.Usage.Prompt())
//
// The adapters are in the packages anthropic, openai and gemini below this one; modeltest has a scripted model and
// servers that speak the same formats. An adapter assembles its request with wire.Build: content of an answer goes back
// to its provider byte for byte, even if its meaning is unknown here, and the start of a request does not change while
// messages are added. Only the standard library is used.
//
// # Errors
//
// Every error of a call is an [*Error]. Its Kind says what can be done about it; errors.Is(err, model.ErrOverflow)
// finds the one that a compaction can fix. [ClassifyOverflow] distinguishes it from similar errors. If a stream broke,
// Error.Partial has what had arrived.
//
// A [Transport] repeats calls that failed for a passing reason before any of the answer was passed on. Keys are kept in
// a [Key], which prints as nothing, and are removed from every error text.
package model
