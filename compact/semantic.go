package compact

import (
	"fmt"
	"slices"

	"github.com/clew-dev/clew/message"
)

// cutSemantic goes back message by message until they have reached the tail, so that the kept part is no smaller than
// it, and then on to a message that may begin a kept part: a result stays with its call.
func (p *planner) cutSemantic(w *work) (cut *Cut, none string) {
	from, at, sum := firstSummarized(p.snap.Context), len(w.items), int64(0)
	for at > from && (sum < p.budget.Keep || at == len(w.items)) {
		at--
		sum += w.parts[at].cost
	}
	none = fmt.Sprintf("all there is belongs to the tail of %d tokens", p.budget.Keep)
	if sum < p.budget.Keep || at == len(w.items) {
		return nil, none
	}
	reached := w.items[at].Entry.ID
	begins := func(m *message.Message) bool { return m.Role != message.RoleToolResult && m.Role != message.RoleSystem }
	for at > from && !begins(w.items[at].Message) {
		at--
	}
	why := fmt.Sprintf("going back, the tail of %d tokens is reached at %s", p.budget.Keep, reached)
	return newCut(p.snap.Context, at, p.Message, why), none
}

// keepEnds leaves of each kept message that alone is larger than the tail its last part. It passes over what the user
// typed: that is what the next answer is for.
func (p *planner) keepEnds(w *work, from int) (changed bool) {
	for i := from; i < len(w.items); i++ {
		if w.parts[i].cost > p.budget.Keep && w.shortenable(i) && !w.items[i].Message.UserWords() {
			changed = p.shrink(w, i, p.budget.Keep, stageSplit) || changed
		}
	}
	return changed
}

// lastPart returns the last part of a message, of about want tokens, behind a note that says how large it was; nil
// where that is no smaller. Calls stay, or their results would be alone; what is signed stays as it is.
func (p *planner) lastPart(m *message.Message, want, cost int64, of Source) *message.Message {
	note := func(kept int64) message.Block {
		return message.TextBlock(fmt.Sprintf("[This message took %d tokens; only its last %d are here; %s]",
			cost, kept, of.forWhole()))
	}
	size := func(blocks ...message.Block) int64 { return p.Message(m.WithContent(blocks)) }
	left := want - size(note(want))
	var kept []message.Block // the last first
	for _, b := range slices.Backward(withoutThinking(m.Content, false)) {
		n := size(b)
		switch {
		case n <= left || b.Signature != "" || b.Redacted:
		case b.Type == message.BlockToolCall:
			call, limit := []message.Block{b}, int(int64(len(b.Arguments))*max(left, 0)/n)
			of.shortenCalls(call, nil, max(limit, keptArgument), max(limit, keptArgument))
			b = call[0]
		case b.Type == message.BlockText:
			b, left = message.TextBlock(p.endOf(b.Text, left)), 0
		default: // an image
			left = 0
			continue
		}
		if b.Type == message.BlockText && b.Text == "" {
			continue
		}
		left -= size(b)
		kept = append(kept, b)
	}
	slices.Reverse(kept)
	first := slices.IndexFunc(kept, func(b message.Block) bool { return b.Type != message.BlockThinking })
	if first < 0 {
		first = len(kept)
	}
	short := m.WithContent(slices.Insert(slices.Clone(kept), first, note(size(kept...)))) // reasoning comes first
	if p.Message(short) >= cost {
		return nil
	}
	return short
}

// endOf returns the end of a text that takes at most most tokens.
func (p *planner) endOf(text string, most int64) string {
	keep := min(int(float64(len(text))*float64(max(most, 0))/float64(max(p.Text(text), 1))), len(text))
	for ; keep > 0; keep = keep * 19 / 20 {
		if end := text[cutAfter(text, len(text)-keep):]; p.Text(end) <= most {
			return end
		}
	}
	return ""
}
