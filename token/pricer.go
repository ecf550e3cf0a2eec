package token

import (
	"bytes"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/bpe"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

type pricer struct {
	words texter
	w     weights // for what is not text
	image imageRule
}

// texter weighs text. It must not keep s, whose bytes are used again.
type texter interface {
	text(s string) millis
}

func (p *pricer) guard() float64 { return p.w.guard }

func (p *pricer) Message(m *message.Message) int64 {
	var c Categories
	p.split(m, &c)
	return c.Total()
}

func (p *pricer) split(m *message.Message, into *Categories) {
	var parts [NumCategories]millis
	p.weigh(m, &parts)
	apportion(&parts, perToken, into)
}

func tokens(n millis) int64 { return ceilDiv(int64(n), perToken) }

func (p *pricer) weigh(m *message.Message, parts *[NumCategories]millis) {
	overhead := millis(p.w.message)
	if m.Role == message.RoleToolResult {
		overhead = millis(p.w.result)
	}
	own := categoryOf(m)
	switch m.Role {
	case message.RoleAssistant, message.RoleUser, message.RoleToolResult, message.RoleCustom:
		answer := m.Role == message.RoleAssistant
		if m.Failed() || answer && len(m.Content) == 0 {
			return
		}
		for i := range m.Content {
			p.block(&m.Content[i], own, parts)
		}
		if answer {
			own = categoryOfBlock(m.Content[0].Type)
		}
		parts[own] += overhead
	case message.RoleSystem:
		parts[System] += overhead
		for i := range m.Content {
			parts[System] += p.words.text(m.Content[i].Text)
		}
		for i := range m.Sections {
			parts[System] += p.words.text(m.Sections[i].Text)
		}
		if len(m.ToolsAdded) > 0 {
			parts[Tools] += p.json(m.ToolsAdded)
			jsonx.Elements(m.ToolsAdded, func([]byte) bool {
				parts[Tools] += millis(p.w.tools)
				return false // once, however many there are
			})
		}
	case message.RoleBashExecution:
		if !m.ExcludeFromContext {
			parts[Shell] += overhead + p.words.text(m.Command) + p.words.text(m.Output)
		}
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		parts[Summaries] += overhead + p.words.text(m.Summary)
	}
}

// scratch holds buffers for JSON that is not written as it is sent.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

func (p *pricer) json(raw []byte) millis {
	if bytes.IndexByte(raw, '\n') < 0 && !bytes.Contains(raw, []byte(`\u`)) {
		return p.words.text(asString(raw)) // on one line, so with single blanks at most
	}
	buf := scratch.Get().(*[]byte)
	*buf = appendSent((*buf)[:0], raw)
	n := p.words.text(asString(*buf))
	scratch.Put(buf)
	return n
}

// idInOverhead is how long a call id may be to be part of a message's overhead.
const idInOverhead = 64

// block weighs a block of a message of a category. A block of a type that has no place
// there or is not known is weighed by the bytes it was read from: it may well be sent.
func (p *pricer) block(b *message.Block, own Category, parts *[NumCategories]millis) {
	switch answer := own == Assistant; {
	case b.Type == message.BlockText:
		parts[own] += p.words.text(b.Text)
	case b.Type == message.BlockImage:
		parts[Images] += millis(p.image.tokens(imageSize(b.Data))) * perToken
	case b.Type == message.BlockThinking && answer:
		parts[Thinking] += p.words.text(b.Text)
		if b.Text == "" || b.Redacted {
			parts[Thinking] += millis(len(b.Signature)) * millis(p.w.hidden)
		}
	case b.Type == message.BlockToolCall && answer:
		parts[ToolCalls] += millis(p.w.call) + p.words.text(b.Name) + p.json(b.Arguments)
		parts[ToolCalls] += millis(max(0, len(b.ID)-idInOverhead)) * millis(p.w.base64)
	default:
		parts[own] += p.json(b.Raw())
	}
}

// BPE returns a counter that counts text with OpenAI's encodings: cl100k_base for GPT-4
// and GPT-3.5, o200k_base for all others. For models of others, a token of o200k_base
// stands for more than one of theirs, by a rate that was measured; see docs/meter.md.
// Everything but text is priced as [HeuristicFor] does. The counter is named "cl100k" or
// "o200k". The vocabularies take 1.6 MB of a program that calls BPE, and 30 ms at first use.
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

type tokenizer struct {
	pricer
	name  string
	count func(string) int64
	rate  millis // what one of its tokens weighs
}

func (e *tokenizer) Name() string { return e.name }

func (e *tokenizer) Text(s string) int64 { return tokens(e.text(s)) }

func (e *tokenizer) text(s string) millis { return millis(max(0, e.count(s))) * e.rate }
