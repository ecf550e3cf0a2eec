package compact

import (
	"cmp"
	"slices"

	"github.com/clew-dev/clew/message"
)

// floorClip is the least that clip leaves of a message, in tokens.
const floorClip = 150

// The order in which clip takes messages.
const (
	classOther = iota // what the agent, tools and programs said
	classUser         // what the user typed
	classLast         // the last of that
)

// clip takes the middle out of the messages from..to-1 of classes up to most until the
// draft is within hard, the largest first, and reports whether it got there. A shell run,
// whose content can't be replaced, is taken out, and an excerpt of it goes to the end.
func (p *planner) clip(w *work, from, to int, hard int64, most int) bool {
	last := -1
	for i, it := range w.items {
		if it.Message.UserWords() {
			last = i
		}
	}
	var next []clipped
	for i := from; i < to; i++ {
		c := clipped{i, classOther, w.parts[i].cost}
		switch {
		case i == last:
			c.class = classLast
		case w.items[i].Message.UserWords():
			c.class = classUser
		}
		if c.cost > floorClip && c.class <= most && w.shortenable(i) {
			next = append(next, c)
		}
	}
	slices.SortFunc(next, compareClipped)
	for w.total > hard {
		if len(next) == 0 {
			return false
		}
		c := next[0]
		next = next[1:]
		want := c.cost - (w.total - hard)
		shrunk := p.shrink(w, c.at, max(want-want/16, floorClip), stageClip)
		if c.cost = w.parts[c.at].cost; shrunk && c.cost > floorClip {
			i, _ := slices.BinarySearchFunc(next, c, compareClipped)
			next = slices.Insert(next, i, c)
		}
	}
	return true
}

// clipped is a message that clip may take.
type clipped struct {
	at, class int
	cost      int64
}

func compareClipped(a, b clipped) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(b.cost, a.cost), cmp.Compare(a.at, b.at))
}

// shrink brings a message to about want tokens; false when it can't get smaller.
func (p *planner) shrink(w *work, i int, want int64, stage string) bool {
	m, of := w.parts[i].now, Source{Handle: handle(w.items[i].Entry.ID)}
	if m.Role == message.RoleBashExecution {
		of.Subject, of.Exit = m.Command, m.ExitCode
		text := "$ " + m.Command + "\n" + m.Output
		m = &message.Message{Role: message.RoleCustom, Content: []message.Block{message.TextBlock(text)}}
		w.parts[i].moved = true
	}
	var short *message.Message
	if stage == stageSplit {
		short = p.lastPart(m, want, w.parts[i].cost, of)
	} else {
		short = p.shortenTo(m, want, w.parts[i].cost, of, !m.UserWords())
	}
	if short != nil {
		w.set(i, short, stage)
		return true
	}
	w.parts[i].moved = w.parts[i].moved && w.parts[i].stage != ""
	return false
}

// shortenTo returns a message brought to about want tokens from cost, nil when it can't get smaller.
func (p *planner) shortenTo(m *message.Message, want, cost int64, of Source, images bool) *message.Message {
	var best *message.Message
	if kept := withoutThinking(m.Content, false); len(kept) < len(m.Content) && len(kept) > 0 {
		best = m.WithContent(kept)
		if p.Message(best) <= want {
			return best
		}
		m = best
		cost = p.Message(m)
	}
	var sizes []int
	bytes := 0
	for _, b := range m.Content {
		if n := len(b.Text) + len(b.Arguments); n > 0 {
			sizes = append(sizes, n)
			bytes += n
		}
	}
	keep := int(float64(bytes) * float64(want) / float64(max(cost, 1)))
	for range 6 {
		short := shortened(m, level(sizes, keep), of, images)
		if short != nil {
			got := p.Message(short)
			if got < cost {
				best = short
			}
			if got <= want {
				break
			}
		}
		keep = keep * 4 / 5
	}
	return best
}

// shortened returns a message with its texts and arguments cut to limit bytes each, nil when that changes nothing.
func shortened(m *message.Message, limit int, of Source, images bool) *message.Message {
	blocks, changed := excerptBlocks(m.Content, limit, images, of)
	if !of.shortenCalls(blocks, nil, max(limit, 80), max(limit, 80)) && !changed {
		return nil
	}
	return m.WithContent(blocks)
}

// withoutThinking takes reasoning out of blocks, with signed also the signed.
func withoutThinking(blocks []message.Block, signed bool) []message.Block {
	out := make([]message.Block, 0, len(blocks))
	for _, b := range blocks {
		if b.Type == message.BlockThinking && (signed || b.Signature == "" && !b.Redacted) {
			continue
		}
		out = append(out, b)
	}
	return out
}
