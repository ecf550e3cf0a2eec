package token

import (
	"strings"

	"github.com/clew-dev/clew/internal/bpe"
)

// BPE returns a counter that counts text with OpenAI's encodings: cl100k_base for
// GPT-4 and GPT-3.5, o200k_base for all other models. For OpenAI's models that is
// exact. For others, a token of o200k_base stands for more than one of theirs, by a
// rate that was measured on recorded sessions; see docs/meter.md. Everything but
// text is priced as [HeuristicFor] does. The name of the counter is "cl100k" or "o200k".
//
// The vocabularies take 1.6 MB of a program that calls BPE, and 30 ms when a counter
// is first used.
func BPE(provider, model string) Counter {
	enc := bpe.For(model)
	return exact(strings.TrimSuffix(enc.Name(), "_base"), enc.Count, provider, model)
}

// exact returns a counter that counts text with count, which says how many tokens a
// text has, is safe for use by several goroutines and does not keep the text.
func exact(name string, count func(text string) int64, provider, model string) Counter {
	f := familyOf(provider, model)
	e := &tokenizer{name: name, count: count}
	e.pricer = pricer{words: e, w: weightsOf(f), image: imageRuleOf(f, provider, model)}
	e.rate, e.w.call, e.w.result = exactRate(f)
	return e
}

// tokenizer counts text with a tokenizer.
type tokenizer struct {
	pricer
	name  string
	count func(string) int64
	rate  millis // what one of its tokens weighs
}

func (e *tokenizer) Name() string { return e.name }

func (e *tokenizer) Text(s string) int64 { return tokens(e.text(s)) }

func (e *tokenizer) text(s string) millis { return millis(max(0, e.count(s))) * e.rate }
