package compact

import (
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// PiCut is a cut as pi 0.87.1 finds it. Its numbers are indexes into the entries
// it was looked for in.
type PiCut struct {
	FirstKept int // the entry that the kept part begins with
	// TurnStart is the entry that the split turn began with, -1 when no turn is split.
	TurnStart int
	SplitTurn bool

	spent bool // the kept part takes up the whole tail
}

// FindPiCut looks for a cut among entries[start:end] as pi does: each entry is
// taken for what it adds to a context by itself, with no regard to edits and to
// which compaction is the latest. keep is the tail in tokens, as token.Chars4
// counts them. [PreparePi] is what pi compacts by.
func FindPiCut(entries []*session.Entry, start, end int, keep int64) PiCut {
	end = min(max(end, 0), len(entries))
	start = min(max(start, 0), end)
	slots := make([]piSlot, len(entries))
	for i := start; i < end; i++ {
		slots[i].entry = entries[i]
		slots[i].messages = ownMessages(entries[i])
	}
	return findPiCut(slots, start, end, keep)
}

// piSlot is an entry and the messages it adds to the context: none, one, or the
// two of a compaction.
type piSlot struct {
	entry    *session.Entry
	messages []*message.Message
}

// ownMessages returns what an entry adds to a context in which it stands alone.
func ownMessages(e *session.Entry) []*message.Message {
	return messages(session.Project([]*session.Entry{e}).Items)
}

// findPiCut walks back from the end until the tail is spent. The cut is at the
// first entry from there on that may begin a kept part; if none does, at the
// last that may, so that trailing results of tools stay with their call. A tail
// that is not spent cuts before everything.
//
// An answer may begin a kept part, a result of a tool may not. Entries that the
// model does not see stay with what follows them.
func findPiCut(slots []piSlot, start, end int, keep int64) PiCut {
	cut, last := -1, -1
	for i := start; i < end; i++ {
		if slots[i].canBeginKept() {
			if last = i; cut < 0 {
				cut = i
			}
		}
	}
	if cut < 0 {
		return PiCut{FirstKept: start, TurnStart: -1}
	}
	spent := false
	var sum int64
	for i := end - 1; i >= start && !spent; i-- {
		size := slots[i].size()
		if size == 0 {
			continue
		}
		if sum += size; sum < keep {
			continue
		}
		spent = true
		for cut = min(i, last); !slots[cut].canBeginKept(); {
			cut++
		}
	}
	for cut > start && len(slots[cut-1].messages) == 0 && slots[cut-1].entry.Type != session.TypeCompaction {
		cut--
	}
	c := piTurn(slots, start, cut)
	c.spent = spent
	return c
}

// piTurn returns the cut before an entry, with the turn that it splits. Before an
// entry that the model does not see that is the turn before, even where the next
// that it sees begins one: so pi has it, and safeCut mends it.
func piTurn(slots []piSlot, start, at int) PiCut {
	c := PiCut{FirstKept: at, TurnStart: -1}
	for i := at; i >= start; i-- {
		if !slots[i].startsTurn() {
			continue
		}
		if i < at {
			c.TurnStart, c.SplitTurn = i, true
		}
		break
	}
	return c
}

// size is what the entry takes of the tail.
func (s piSlot) size() int64 {
	var sum int64
	for _, m := range s.messages {
		sum += token.Chars4().Message(m)
	}
	return sum
}

// canBeginKept reports whether pi cuts before the entry.
func (s piSlot) canBeginKept() bool {
	return s.any(func(m *message.Message) bool { return m.StartsTurn() || m.Role == message.RoleAssistant })
}

// startsTurn reports whether a turn begins at the entry.
func (s piSlot) startsTurn() bool { return s.any((*message.Message).StartsTurn) }

func (s piSlot) any(is func(*message.Message) bool) bool {
	return s.entry.Type != session.TypeCompaction && slices.ContainsFunc(s.messages, is)
}
