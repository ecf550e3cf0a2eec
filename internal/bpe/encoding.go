// Package bpe counts tokens exactly as OpenAI's encodings o200k_base and
// cl100k_base do, without a network and in time that grows no faster than
// n log n with the text, whatever the text is.
//
//	enc := bpe.For("gpt-5")
//	n := enc.Count("how many tokens is this?")
//
// An Encoding reads its vocabulary when it is first used, which takes about 30 ms; make
// one and keep it. Names of special tokens, such as <|endoftext|>, are text like any
// other. Bytes that are not UTF-8 are counted, too.
package bpe

import (
	"math"
	"strings"
	"sync"
)

// The names of the encodings.
const (
	O200k  = "o200k_base"  // GPT-4o and later, o1 and later
	CL100k = "cl100k_base" // GPT-4, GPT-3.5
)

// Encoding counts the tokens of texts. It is safe for use by several goroutines.
type Encoding struct {
	name    string
	split   func(t *classes, s string) int
	load    func() *vocabulary
	scratch sync.Pool // of *merger
}

func encoding(name string, split func(*classes, string) int) *Encoding {
	e := &Encoding{name: name, split: split, load: sync.OnceValue(func() *vocabulary { return readVocabulary(name) })}
	e.scratch.New = func() any { return new(merger) }
	return e
}

// For returns the encoding of an OpenAI model: cl100k_base for GPT-4 and GPT-3.5,
// o200k_base for all others, and for models of other makers, where it is not exact.
func For(model string) *Encoding {
	if old(strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])) {
		return encoding(CL100k, nextCL100k)
	}
	return encoding(O200k, nextO200k)
}

func old(model string) bool {
	for _, name := range []string{"gpt-4", "gpt-3.5", "gpt-35"} {
		if rest, ok := strings.CutPrefix(model, name); ok {
			return rest == "" || rest[0] == '-'
		}
	}
	return false
}

// Name returns the name of the encoding.
func (e *Encoding) Name() string { return e.name }

// Count returns how many tokens a text has.
func (e *Encoding) Count(text string) (count int64) {
	v, m := e.load(), e.scratch.Get().(*merger)
	defer e.scratch.Put(m)
	for len(text) > 0 {
		n := e.split(v.classes, text)
		if _, ok := v.find(text[:n]); ok {
			count++
		} else {
			count += int64(m.count(v, text[:n]))
		}
		text = text[n:]
	}
	return count
}

// noRank stands for a text that is no token. It is above all ranks.
const noRank = math.MaxUint32
