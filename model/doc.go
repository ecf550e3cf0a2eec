// Package model is what clew asks of a language model: an answer to a list of
// messages, whole or as it is written, and what the model can take.
//
//	m, err := anthropic.New(anthropic.Config{Endpoint: model.Endpoint{Model: "claude-sonnet-4-5"}})
//	resp, err := m.Complete(ctx, &model.Request{
//		System:   "Be brief.",
//		Messages: []*message.Message{message.User("What is a clew?", time.Now())},
//	})
//	fmt.Println(resp.Message.Text(), resp.Message.Usage.Prompt())
//
// The adapters are in the packages anthropic, openai and gemini below this one;
// modeltest has a scripted model and servers that speak the same formats. An
// adapter assembles its request with wire.Build: what an answer held comes back
// to its provider byte for byte, also where no one here knows what it means, and
// the start of a request does not change while messages are added. Only the
// standard library is used.
//
// # Errors
//
// Every error of a call is an [*Error]. Its Kind says what can be done about it;
// errors.Is(err, model.ErrOverflow) asks for the one that a compaction can mend.
// [ClassifyOverflow] tells it from everything that looks like it. What had
// arrived when a stream broke is in Error.Partial.
//
// A [Transport] repeats calls that failed for a passing reason, before anything
// of the answer was passed on. Keys are kept in a [Key], which prints as
// nothing, and are taken out of every error text.
package model
