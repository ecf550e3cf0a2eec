package compact

import (
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// offload puts head, tail and a note in the place of large tool results before
// item tail, the one that frees most first, until the target is reached. What is
// in the log needs no other store: the note names the entry.
func (p *planner) offload(w *work, tail int, target int64) {
	type candidate struct {
		at    int
		m     *message.Message
		freed int64
	}
	var found []candidate
	for i := 0; i < tail; i++ {
		m := w.parts[i].now
		if m.Role != message.RoleToolResult || !editable(w.items[i]) || StageOf(w.items[i].Edit) != "" ||
			w.parts[i].cost < p.policy.Offload.min() || p.pinned[w.items[i].Entry.ID] {
			continue
		}
		blocks, changed := excerptBlocks(m.Content, p.policy.Offload.keep(), true, w.items[i].Entry.ID, p.policy.Offload.path(w.items[i].Entry))
		if !changed {
			continue
		}
		short := m.WithContent(blocks)
		if freed := w.parts[i].cost - w.p.cost(short); freed >= minGain {
			found = append(found, candidate{i, short, freed})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return int(b.freed - a.freed) })
	for _, c := range found {
		need := w.total - target
		if need <= 0 {
			return
		}
		// The last one gives up no more than is asked.
		if c.freed > need {
			c.m = p.noMoreThan(w, c.at, need, c.m, true)
		}
		w.set(c.at, c.m, StageOffload)
	}
}

// noMoreThan returns item at shortened so that it frees need tokens and little
// more, or instead where that can't be done.
func (p *planner) noMoreThan(w *work, at int, need int64, instead *message.Message, images bool) *message.Message {
	more := p.shortenTo(w.parts[at].now, w.parts[at].cost-need, w.parts[at].cost, w.items[at].Entry.ID, p.policy.Offload.path(w.items[at].Entry), images)
	if more == nil || w.parts[at].cost-p.cost(more) < need {
		return instead
	}
	return more
}

// minGain is what an edit must free, in tokens, to be worth a line in the log.
const minGain = 64

// OffloadPolicy says which tool results the first stage takes and what it leaves
// of them. The zero value means the defaults.
type OffloadPolicy struct {
	// Min is the least a result must cost to be taken, in tokens. Default: 400.
	Min int64
	// Keep is what stays of its text, in bytes, a third of it from the end:
	// errors stand at the end of a log. Default: 1000.
	Keep int
	// Path names a file where tools can read the whole of an entry's text, or ""
	// where there is none. It is part of what the model reads, so the same entry
	// must have the same path. Who gives it sees to it that the file is there.
	// Default: none; what is left out is had back by recall.
	Path func(*session.Entry) string
}

func (o OffloadPolicy) path(e *session.Entry) string {
	if o.Path == nil {
		return ""
	}
	return o.Path(e)
}

func (o OffloadPolicy) min() int64 {
	if o.Min > 0 {
		return o.Min
	}
	return 400
}

func (o OffloadPolicy) keep() int {
	if o.Keep > 0 {
		return o.Keep
	}
	return 1000
}
