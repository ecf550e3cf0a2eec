package token

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Exact returns a counter that counts text with a tokenizer, and prices the rest of
// a message and images as HeuristicFor does for that model; a message to a GPT
// model is 4 tokens beside its text. count returns how many tokens a
// text has; it must be safe for use by several goroutines. name names the counter
// in reports.
//
// Where the tokenizer is not the model's own, a token of it stands for more than
// one of the model: 1.17 for Claude, 1.5 for Claude 4.7 and later, which is how
// many tokens these models had for one of o200k_base on recorded sessions (the
// latter by way of the ratio between the two). For all other models it is 1.
func Exact(name string, count func(text string) int64, provider, model string) Counter {
	f := FamilyOf(provider, model)
	e := &exact{name: name, count: count, rate: exactRate(f)}
	e.pricer = pricer{words: e, w: weightsOf(f), image: imageRuleOf(f, provider, model)}
	if f == GPT {
		e.w.message = exactMessage
	}
	return e
}

// exactMessage is what a message to a GPT model weighs beside its text: the marks
// around it, three tokens, and its role, one
// (https://cookbook.openai.com/examples/how_to_count_tokens_with_tiktoken). The
// heuristic's own was fitted together with its weights of characters.
const exactMessage = 4 * perToken

func exactRate(f Family) millis {
	switch f {
	case Claude:
		return 1170
	case ClaudeNew:
		return 1500
	default:
		return perToken
	}
}

// exact counts text with a tokenizer.
type exact struct {
	pricer
	name  string
	count func(string) int64
	rate  millis // what one of its tokens weighs
}

func (e *exact) Name() string { return e.name }

func (e *exact) Text(s string) int64 { return tokens(e.text(s)) }

func (e *exact) text(s string) millis { return millis(max(0, e.count(s))) * e.rate }

func (e *exact) rawJSON(raw []byte) millis {
	if bytes.IndexByte(raw, '\n') >= 0 {
		var compact bytes.Buffer
		if json.Compact(&compact, raw) == nil {
			raw = compact.Bytes()
		}
	}
	if bytes.Contains(raw, []byte(`\u`)) {
		raw = unescape(raw)
	}
	return e.text(view(raw))
}

// unescape spells characters that are spelled \uXXXX as the characters they are.
func unescape(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		k := bytes.IndexByte(raw, '\\')
		if k < 0 || k+1 >= len(raw) {
			break
		}
		out = append(out, raw[:k]...)
		raw = raw[k:]
		if raw[1] != 'u' {
			out, raw = append(out, raw[:2]...), raw[2:]
			continue
		}
		r, size := escaped(raw)
		if r < 0 {
			out = append(out, raw[:size]...)
		} else {
			out = utf8.AppendRune(out, r)
		}
		raw = raw[size:]
	}
	return append(out, raw...)
}
