package bpe

import (
	"fmt"
	"math"
	"strings"
	"sync"
)

// The names of the encodings.
const (
	O200k  = "o200k_base"  // GPT-4o and later, o1 and later
	CL100k = "cl100k_base" // GPT-4, GPT-3.5
)

// Encoding turns text into tokens. It is safe for use by several goroutines.
type Encoding struct {
	name    string
	split   func(t *classes, s string) int
	load    func() *loaded
	scratch sync.Pool // of *merger
}

// loaded is what an Encoding needs to work.
type loaded struct {
	*vocabulary
	classes *classes
}

// New returns the encoding of that name. It fails for a name that is not one of
// [O200k] and [CL100k].
func New(name string) (*Encoding, error) {
	switch name {
	case O200k:
		return encoding(name, nextO200k), nil
	case CL100k:
		return encoding(name, nextCL100k), nil
	}
	return nil, fmt.Errorf("bpe: there is no encoding %q; use %q or %q", name, O200k, CL100k)
}

func encoding(name string, split func(*classes, string) int) *Encoding {
	return &Encoding{name: name, split: split, load: sync.OnceValue(func() *loaded {
		return &loaded{readVocabulary(name), newClasses()}
	})}
}

// For returns the encoding of an OpenAI model: cl100k_base for GPT-4 and GPT-3.5,
// o200k_base for all others. For models of other makers it is o200k_base too; the
// number is not theirs then, but nearer than a count of characters.
func For(model string) *Encoding {
	if old(strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])) {
		return encoding(CL100k, nextCL100k)
	}
	return encoding(O200k, nextO200k)
}

// old reports models from before GPT-4o.
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

// Size returns how many tokens the encoding has. Tokens are numbered from 0.
func (e *Encoding) Size() int { return e.load().size() }

// Encode returns the tokens of a text.
func (e *Encoding) Encode(text string) []int { return e.Append(nil, text) }

// Append appends the tokens of a text to tokens.
func (e *Encoding) Append(tokens []int, text string) []int {
	l := e.load()
	m := e.merger()
	defer e.scratch.Put(m)
	for len(text) > 0 {
		n := e.split(l.classes, text)
		piece := text[:n]
		text = text[n:]
		if rank, ok := l.find(piece); ok {
			tokens = append(tokens, int(rank))
			continue
		}
		for i, end := range m.merge(l.vocabulary, piece) {
			rank, _ := l.find(piece[i:end])
			tokens = append(tokens, int(rank))
		}
	}
	return tokens
}

// Count returns how many tokens a text has: the length of what Encode returns.
func (e *Encoding) Count(text string) int64 {
	l := e.load()
	m := e.merger()
	defer e.scratch.Put(m)
	var count int64
	for len(text) > 0 {
		n := e.split(l.classes, text)
		piece := text[:n]
		text = text[n:]
		if _, ok := l.find(piece); ok {
			count++
			continue
		}
		count += int64(m.count(l.vocabulary, piece))
	}
	return count
}

// Pieces cuts a text into the pieces that are encoded each by itself: words with
// the blank before them, up to three digits, punctuation, white space. No token
// is longer than its piece.
func (e *Encoding) Pieces(text string) []string {
	l := e.load()
	var pieces []string
	for len(text) > 0 {
		n := e.split(l.classes, text)
		pieces = append(pieces, text[:n])
		text = text[n:]
	}
	return pieces
}

// Decode returns the text of tokens. It fails for a number that is no token.
func (e *Encoding) Decode(tokens []int) (string, error) {
	l := e.load()
	var text strings.Builder
	for i, rank := range tokens {
		if rank < 0 || rank >= l.size() {
			return "", fmt.Errorf("bpe: token %d at index %d is none of %s, which has the tokens 0 to %d", rank, i, e.name, l.size()-1)
		}
		text.WriteString(l.token(uint32(rank)))
	}
	return text.String(), nil
}

func (e *Encoding) merger() *merger {
	if m, ok := e.scratch.Get().(*merger); ok {
		return m
	}
	return &merger{}
}

// noRank stands for a text that is no token. It is above all ranks.
const noRank = math.MaxUint32
