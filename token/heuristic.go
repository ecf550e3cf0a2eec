package token

import (
	"github.com/clew-dev/clew/message"
)

// heuristic counts by what the characters are; see weights.
type heuristic struct {
	family Family
	w      weights
	bytes  [256]uint32
	image  imageRule
}

// Heuristic returns the counter for a family of models, with the price of images
// that most models of the family have. [HeuristicFor] knows the price for a
// model.
//
// Each byte of a text is looked up in a table of weights, so counting is linear
// and allocates nothing. A run of 64 or more characters that looks random
// (base64, a hexadecimal dump, the data of a data URL) costs what random data
// costs, which is two to three times the price of prose.
//
// A message costs its text, thinking, the names and arguments of its calls,
// its images and an overhead. The overhead is what was measured with everything
// that goes with a message, such as role, call id and tool name. The
// signature of a thinking block costs nothing beside the text it signs; where
// the text is withheld, the signature holds it encrypted and is counted as
// that many tokens of thinking.
//
// A message that is not sent costs nothing: an answer that failed or was
// aborted, a shell run that is excluded, an unknown role.
func Heuristic(f Family) Counter { return newHeuristic(f, imageRuleOf(f, "", "")) }

// HeuristicFor returns the counter for a model: its family's weights and its
// own price of images.
func HeuristicFor(provider, model string) Counter {
	f := FamilyOf(provider, model)
	return newHeuristic(f, imageRuleOf(f, provider, model))
}

func newHeuristic(f Family, rule imageRule) *heuristic {
	switch f {
	case Claude, ClaudeNew, GPT:
	default:
		f = Universal
	}
	h := &heuristic{family: f, w: weightsOf(f), image: rule}
	h.bytes = h.w.table()
	return h
}

func (h *heuristic) Name() string   { return "heuristic/" + string(h.family) }
func (h *heuristic) guard() float64 { return h.w.guard }

func (h *heuristic) Text(s string) int64 { return tokens(h.text(s)) }

func (h *heuristic) Message(m *message.Message) int64 {
	var parts [NumCategories]millis
	h.weigh(m, &parts)
	var sum millis
	for _, p := range parts {
		sum += p
	}
	return tokens(sum)
}

func (h *heuristic) split(m *message.Message, into *Categories) {
	var parts [NumCategories]millis
	h.weigh(m, &parts)
	apportion(&parts, perToken, into)
}

func tokens(n millis) int64 { return ceilDiv(int64(n), perToken) }

// weigh adds the weight of a message to the categories it belongs to.
func (h *heuristic) weigh(m *message.Message, parts *[NumCategories]millis) {
	overhead := millis(h.w.message)
	switch m.Role {
	case message.RoleAssistant:
		if dropped(m) || len(m.Content) == 0 {
			return
		}
		for i := range m.Content {
			h.answerBlock(&m.Content[i], parts)
		}
		parts[categoryOfBlock(m.Content[0].Type)] += overhead
	case message.RoleUser, message.RoleToolResult, message.RoleCustom:
		own := categoryOf(m)
		for i := range m.Content {
			b := &m.Content[i]
			switch b.Type {
			case message.BlockText:
				parts[own] += h.text(b.Text)
			case message.BlockImage:
				parts[Images] += millis(h.imageTokens(b)) * perToken
			default:
				parts[own] += h.unknown(b)
			}
		}
		parts[own] += overhead
	case message.RoleSystem:
		parts[System] += overhead
		for i := range m.Content {
			parts[System] += h.text(m.Content[i].Text)
		}
		for i := range m.Sections {
			parts[System] += h.text(m.Sections[i].Text)
		}
		if len(m.ToolsAdded) > 0 {
			parts[Tools] += h.rawJSON(m.ToolsAdded)
			if isNonEmptyArray(m.ToolsAdded) {
				parts[Tools] += millis(h.w.tools)
			}
		}
	case message.RoleBashExecution:
		if !m.ExcludeFromContext {
			parts[Shell] += overhead + h.text(m.Command) + h.text(m.Output)
		}
	case message.RoleBranchSummary, message.RoleCompactionSummary:
		parts[Summaries] += overhead + h.text(m.Summary)
	}
}

// idInOverhead is how long a call id may be to be part of a message's overhead.
const idInOverhead = 64

func (h *heuristic) answerBlock(b *message.Block, parts *[NumCategories]millis) {
	switch b.Type {
	case message.BlockText:
		parts[Assistant] += h.text(b.Text)
	case message.BlockThinking:
		parts[Thinking] += h.text(b.Text)
		if b.Text == "" || b.Redacted {
			parts[Thinking] += millis(len(b.Signature)) * millis(h.w.hidden)
		}
	case message.BlockToolCall:
		parts[ToolCalls] += h.text(b.Name) + h.rawJSON(b.Arguments)
		if extra := len(b.ID) - idInOverhead; extra > 0 {
			parts[ToolCalls] += millis(extra) * millis(h.w.base64)
		}
	case message.BlockImage:
		parts[Images] += millis(h.imageTokens(b)) * perToken
	default:
		parts[Assistant] += h.unknown(b)
	}
}

// unknown weighs a block of a type that this version does not know: the bytes
// it was read from. It is kept and passed on, so it may well be sent.
func (h *heuristic) unknown(b *message.Block) millis { return h.rawJSON(b.Raw()) }

// dropped reports an answer that is never sent again: it failed or was aborted.
func dropped(m *message.Message) bool {
	return m.StopReason == message.StopError || m.StopReason == message.StopAborted
}

func (h *heuristic) imageTokens(b *message.Block) int64 {
	width, height := imageSize(b.Data)
	return h.image.tokens(width, height)
}

// text weighs a text.
func (h *heuristic) text(s string) millis {
	if len(s) < runMin {
		return h.sum(s)
	}
	var n millis
	from := 0 // what is before it is weighed
	for i := 0; i+runProbe <= len(s); {
		// A run of runMin bytes holds one whole probe, wherever it begins.
		if !random64(s[i]) || !random64(s[i+7]) || !random64(s[i+15]) || !random64(s[i+23]) || !random64(s[i+31]) {
			i += runProbe
			continue
		}
		start, end := runAround(s, i, from)
		if end-start >= runMin {
			if rate := h.runRate(s[:start], s[start:start+runMin]); rate > 0 {
				// At no length may one more character make a run cheaper, so its
				// beginning keeps what it cost as ordinary text if that is more.
				head := max(h.sum(s[start:start+runMin]), runMin*rate)
				n += h.sum(s[from:start]) + head + millis(end-start-runMin)*rate
				from = end
			}
		}
		i = max(i+runProbe, end)
	}
	return n + h.sum(s[from:])
}

// sum adds up the weights of the bytes.
func (h *heuristic) sum(s string) (n millis) {
	t := &h.bytes
	for len(s) >= 8 {
		n += millis(t[s[0]] + t[s[1]] + t[s[2]] + t[s[3]] + t[s[4]] + t[s[5]] + t[s[6]] + t[s[7]])
		s = s[8:]
	}
	for i := range len(s) {
		n += millis(t[s[i]])
	}
	return n
}

// runRate returns what a character of a run costs after its first runMin, given
// as head, or 0 when the run does not look random.
func (h *heuristic) runRate(before, head string) millis {
	switch {
	case isHex(head):
		return millis(h.w.hex)
	case isBase64(head), endsDataURL(before):
		return millis(h.w.base64)
	}
	return 0
}
