package bpe

import (
	"fmt"
	"strings"
)

// Count is held against the tokens themselves, which only tests need.

// Size returns how many tokens the encoding has. Tokens are numbered from 0.
func (e *Encoding) Size() int { return len(e.load().start) - 1 }

// Encode returns the tokens of a text.
func (e *Encoding) Encode(text string) []int { return e.Append(nil, text) }

// Append appends the tokens of a text to tokens.
func (e *Encoding) Append(tokens []int, text string) []int {
	l := e.load()
	m := e.scratch.Get().(*merger)
	defer e.scratch.Put(m)
	for len(text) > 0 {
		n := e.split(l.classes, text)
		piece := text[:n]
		text = text[n:]
		if rank, ok := l.find(piece); ok {
			tokens = append(tokens, int(rank))
			continue
		}
		for i, end := range m.merge(l, piece) {
			rank, _ := l.find(piece[i:end])
			tokens = append(tokens, int(rank))
		}
	}
	return tokens
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
		if rank < 0 || rank >= (len(l.start)-1) {
			return "", fmt.Errorf("bpe: token %d at index %d is none of %s, which has the tokens 0 to %d", rank, i, e.name, (len(l.start)-1)-1)
		}
		text.WriteString(l.token(uint32(rank)))
	}
	return text.String(), nil
}

// merge goes through the tokens of a piece: the index of the first byte and the
// one after the last.
func (m *merger) merge(v *vocabulary, piece string) func(yield func(from, end int) bool) {
	return func(yield func(from, end int) bool) {
		for base := 0; base < len(piece); base += largest {
			part := piece[base:min(base+largest, len(piece))]
			m.run(v, part)
			for i := 0; i < len(part); {
				end := int(m.next[i])
				if !yield(base+i, base+end) {
					return
				}
				i = end
			}
		}
	}
}
