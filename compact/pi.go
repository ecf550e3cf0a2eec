package compact

import (
	"fmt"
	"slices"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// PiPreparation is what pi 0.87.1 prepares for a compaction.
type PiPreparation struct {
	// FirstKeptEntryID is the entry that the kept part begins with. The model
	// need not see that entry.
	FirstKeptEntryID string
	// SplitTurn says that the cut lies inside a turn: then TurnPrefix is the part
	// of that turn before the cut, and History is what stands before the turn.
	// Otherwise History is all that stands before the cut. Neither has system
	// messages or the previous summary.
	SplitTurn  bool
	History    []session.Item
	TurnPrefix []session.Item
	// PreviousSummary is the text of the latest compaction on the path, to be
	// merged into the new summary. HasPrevious tells an empty one from none.
	PreviousSummary string
	HasPrevious     bool
	// TokensBefore is what the context costs as pi reckons: by reported usage
	// where that holds, the rest as token.Chars4 counts.
	TokensBefore int64
	// ReadFiles and ModifiedFiles are the files that History, TurnPrefix and the
	// details of the latest compaction name; see ledger.PiFiles. They are sorted,
	// and not nil.
	ReadFiles     []string
	ModifiedFiles []string

	context       *session.Context
	from, at, end int // context.Active[from:at] is taken out, and what follows up to end is kept
	turn          int // the split turn begins with context.Active[turn]; or at
	keep          int64
}

// PreparePi computes what pi 0.87.1 would compact of a path, oldest entry first,
// for a tail of keep tokens. The path is the whole path or what
// session.ContextPath gives of it. ok is false when pi finds nothing to compact:
// the path is empty or ends with a compaction, or nothing stands before the cut.
//
// pi's cut can part a call from its result, where something stands between them
// or an edit has taken one of them out.
func PreparePi(path []*session.Entry, keep int64) (prep PiPreparation, ok bool) {
	if len(path) == 0 || path[len(path)-1].Type == session.TypeCompaction {
		return PiPreparation{}, false
	}
	c := session.Project(path)
	slots := piSlots(c)
	prep.context, prep.end, prep.keep = c, len(slots), keep
	if c.Compaction != nil && len(slots[0].messages) > 0 { // an edit can take it out
		view, _ := c.Compaction.Compaction()
		prep.PreviousSummary, prep.HasPrevious = view.Summary, true
		prep.from = 1
	}
	cut := pastFailed(slots, prep.from, findPiCut(slots, prep.from, prep.end, keep))
	prep.at, prep.turn, prep.SplitTurn = cut.FirstKept, cut.FirstKept, cut.SplitTurn
	if cut.SplitTurn {
		prep.turn = cut.TurnStart
	}
	prep.History = piMessages(c, prep.from, prep.turn)
	prep.TurnPrefix = piMessages(c, prep.turn, prep.at)
	if len(prep.History)+len(prep.TurnPrefix) == 0 {
		return PiPreparation{}, false
	}
	prep.FirstKeptEntryID = c.Active[prep.at].ID
	prep.TokensBefore = piTokens(c)
	prep.ReadFiles, prep.ModifiedFiles = prep.files()
	return prep, true
}

// piSlots returns what each entry of a context adds to it.
func piSlots(c *session.Context) []piSlot {
	slots := make([]piSlot, len(c.Active))
	for i, e := range c.Active {
		slots[i].entry = e
	}
	for _, it := range c.Items {
		s := &slots[it.At]
		s.messages = append(s.messages, it.Message)
	}
	return slots
}

// pastFailed moves a cut behind the input that the kept part begins with, when
// nothing follows that but attempts to answer it which were taken out: so can an
// input be summarized that alone is over the tail. What took the attempts out
// stays in the kept part, or else they would come back.
//
// Anything else that was added since, or an edit that replaces anything but an
// attempt, makes a new input of it, which the model is yet to see.
func pastFailed(slots []piSlot, start int, c PiCut) PiCut {
	if !c.spent {
		return c
	}
	input := c.FirstKept
	for len(slots[input].messages) == 0 {
		input++
	}
	after := slots[input+1:]
	taken := map[string]bool{}
	for _, s := range after {
		if s.omitted() {
			taken[s.entry.ID] = true
		}
	}
	failed := false
	for _, s := range after {
		if len(s.messages) > 0 || s.entry.Type == session.TypeCompaction {
			return c
		}
		if edit, ok := s.entry.ContextEdit(); ok && !edit.Omit && !taken[edit.TargetID] {
			return c
		}
		m, err := s.entry.Message()
		failed = failed || err == nil && m.Role == message.RoleAssistant
	}
	if !failed {
		return c
	}
	return piTurn(slots, start, input+1)
}

// omitted reports an entry whose message an edit has taken out.
func (s piSlot) omitted() bool {
	return len(s.messages) == 0 && len(ownMessages(s.entry)) > 0
}

// piMessages returns the items of Active[from:to] that pi summarizes.
func piMessages(c *session.Context, from, to int) []session.Item {
	var out []session.Item
	for _, it := range c.Items[itemAt(c, from):itemAt(c, to)] {
		if it.Message.Role != message.RoleSystem && it.Entry.Type != session.TypeCompaction {
			out = append(out, it)
		}
	}
	return out
}

// itemAt returns the index of the first item that comes from Active[at] or later.
func itemAt(c *session.Context, at int) int {
	i, _ := slices.BinarySearchFunc(c.Items, at, func(it session.Item, at int) int { return it.At - at })
	return i
}

// piTokens is what a context costs as pi reckons.
func piTokens(c *session.Context) int64 {
	meter, err := token.NewMeter(token.Config{Counter: token.Chars4(), AnyUsage: true})
	if err != nil {
		return 0 // never: the settings are these
	}
	return meter.Measure(messages(c.Items), itemAt(c, c.Boundary)).Tokens
}

func (prep *PiPreparation) files() (read, modified []string) {
	var items []session.Item
	if prep.HasPrevious {
		items = append(items, prep.context.Items[:itemAt(prep.context, prep.from)]...)
	}
	items = append(append(items, prep.History...), prep.TurnPrefix...)
	return ledger.PiFiles(items)
}

// asCut returns pi's cut as a cut of the context it was made for.
func (prep *PiPreparation) asCut() *Cut {
	c := prep.context
	cut := &Cut{
		FirstKept: prep.FirstKeptEntryID, SplitTurn: prep.SplitTurn,
		from: itemAt(c, prep.from), turn: itemAt(c, prep.turn), at: itemAt(c, prep.at),
	}
	if cut.SplitTurn {
		cut.TurnStart = c.Active[prep.turn].ID
	}
	cut.count(c, token.Chars4().Message)
	cut.Why = fmt.Sprintf("the newest %d messages take %d tokens, and pi cuts where its tail of %d is spent", cut.Kept, cut.Tokens, prep.keep)
	if cut.Kept == 0 {
		cut.Why = fmt.Sprintf("the newest message is over the tail of %d tokens, and every attempt to answer it was taken out", prep.keep)
	}
	return cut
}

// piTrigger is pi's rule for when to compact: a context of more tokens than the
// window less the reserve. A window that is not larger than the reserve is always
// over, whatever the context; the guard, which comes after, bounds the reserve.
func piTrigger(tokens, window, reserve int64) bool { return tokens > window-reserve }
