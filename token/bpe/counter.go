package bpe

import "github.com/clew-dev/clew/token"

// Counter returns a counter for messages to a model, which counts text with this
// encoding; see [token.Exact] for the rest of a message and for models with another
// tokenizer. Its name is "o200k" or "cl100k".
func (e *Encoding) Counter(provider, model string) token.Counter {
	name := "o200k"
	if e.name == CL100k {
		name = "cl100k"
	}
	return token.Exact(name, e.Count, provider, model)
}
