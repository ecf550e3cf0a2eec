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
	var found []shorter
	for i := 0; i < tail; i++ {
		m := w.parts[i].now
		if m.Role != message.RoleToolResult || !w.open(i) || StageOf(w.items[i].Edit) != "" || w.parts[i].cost < p.policy.Offload.min() {
			continue
		}
		if blocks, changed := excerptBlocks(m.Content, p.policy.Offload.keep(), true, w.items[i].Entry.ID, p.policy.Offload.path(w.items[i].Entry)); changed {
			found = w.gains(found, i, m.WithContent(blocks))
		}
	}
	p.shorten(w, found, target, StageOffload)
}

// shorter is a message that could be put in the place of item at.
type shorter struct {
	at    int
	m     *message.Message
	freed int64
}

// gains adds a message to those found, where it frees enough to be worth an edit.
func (w *work) gains(found []shorter, at int, m *message.Message) []shorter {
	if freed := w.parts[at].cost - w.p.cost(m); freed >= minGain {
		found = append(found, shorter{at, m, freed})
	}
	return found
}

// shorten puts what was found in its place, what frees most first, until the target is
// reached. The last one gives up no more than is asked; but a result that a later one
// supersedes goes whole.
func (p *planner) shorten(w *work, found []shorter, target int64, stage string) {
	slices.SortStableFunc(found, func(a, b shorter) int { return int(b.freed - a.freed) })
	for _, s := range found {
		need := w.total - target
		if need <= 0 {
			return
		}
		d, it := w.parts[s.at], w.items[s.at]
		if s.freed > need && (stage == StageOffload || d.now.Role == message.RoleAssistant) {
			less := p.shortenTo(d.now, d.cost-need, d.cost, it.Entry.ID, p.policy.Offload.path(it.Entry), stage == StageOffload)
			if less != nil && d.cost-p.cost(less) >= need {
				s.m = less
			}
		}
		w.set(s.at, s.m, stage)
	}
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
