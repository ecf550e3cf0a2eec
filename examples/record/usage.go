package main

import (
	"encoding/base64"
	"image"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/message"
)

// The token counts of the session are computed here, from the real size of
// what the model would have been sent. They are plausible, not measured.

// charsPerToken is what code and English text come to with common tokenizers.
// It is on the high side, so that the counts err towards too few.
const charsPerToken = 3.6

// tokens estimates a text: a Han character is a token, other text
// charsPerToken characters a token.
func tokens(s string) int64 {
	han := 0
	for _, r := range s {
		if unicode.Is(unicode.Han, r) {
			han++
		}
	}
	return int64(math.Ceil(float64(utf8.RuneCountInString(s)-han)/charsPerToken)) + int64(han)
}

// messageTokens estimates a message as it is sent, with a little for its frame.
func messageTokens(m *message.Message) int64 {
	n := int64(4)
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockImage:
			n += imageTokens(b.Data)
		case message.BlockToolCall:
			n += tokens(b.Name) + tokens(string(b.Arguments)) + 8
		default:
			n += tokens(b.Text)
		}
	}
	for _, s := range m.Sections {
		n += tokens(s.Text)
	}
	return n + tokens(string(m.ToolsAdded)) + tokens(m.Command) + tokens(m.Output)
}

// imageTokens is the rule of thumb that vendors publish: one token for about
// 750 pixels.
func imageTokens(data string) int64 {
	conf, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err != nil {
		return 0
	}
	return int64(math.Ceil(float64(conf.Width*conf.Height) / 750))
}

// cacheBlock is the size of the pieces in which the prompt is cached.
const cacheBlock = 64

// Prices in US dollars for a million tokens, of a model that does not exist.
const (
	priceInput      = 2.0
	priceOutput     = 10.0
	priceCacheRead  = 0.2
	priceCacheWrite = 2.5
)

// spent keeps, for a place in the conversation, what a request there costs.
type spent struct {
	context int64 // tokens of all messages so far
	cached  int64 // of these, how many the model's cache holds
}

// answer accounts for one answer: what the cache does not hold yet is written
// to it, in whole blocks, and the rest is plain input.
func (s *spent) answer(m *message.Message) *message.Usage {
	whole := s.context / cacheBlock * cacheBlock
	u := &message.Usage{
		CacheRead:  s.cached,
		CacheWrite: whole - s.cached,
		Input:      s.context - whole,
		Output:     messageTokens(m),
	}
	for _, b := range m.Content {
		if b.Type == message.BlockThinking {
			u.Reasoning += tokens(b.Text)
		}
	}
	cost := priceInput*float64(u.Input) + priceOutput*float64(u.Output) +
		priceCacheRead*float64(u.CacheRead) + priceCacheWrite*float64(u.CacheWrite)
	u.Cost = math.Round(cost) / 1e6
	u.TotalCount = u.Input + u.Output + u.CacheRead + u.CacheWrite
	s.cached = whole
	return u
}
