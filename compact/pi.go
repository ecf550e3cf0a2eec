package compact

import (
	"fmt"
	"slices"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// piPreparation is what pi 0.87.1 prepares for a compaction.
type piPreparation struct {
	FirstKeptEntryID string // need not be an entry that the model sees
	// SplitTurn says that the cut lies inside a turn: then TurnPrefix is the part of it before the cut, and History
	// what stands before the turn. Neither has system messages or the previous summary.
	SplitTurn       bool
	History         []session.Item
	TurnPrefix      []session.Item
	PreviousSummary string // the latest compaction's text. HasPrevious tells an empty one from none.
	HasPrevious     bool
	TokensBefore    int64 // what the context costs as pi reckons
	// The files that History, TurnPrefix and the latest compaction name, sorted; see ledger.PiFiles.
	ReadFiles     []string
	ModifiedFiles []string

	context  *session.Context
	from, at int // context.Active[from:at] is taken out, and what follows is kept
	turn     int // the split turn begins with context.Active[turn]; or at
	keep     int64
}

// preparePi computes what pi 0.87.1 would compact of a path for a tail of keep tokens; ok
// is false when it finds nothing. Its cut can part a call from its result, where
// something stands between them or an edit has taken one of them out.
func preparePi(path []*session.Entry, keep int64) (prep piPreparation, ok bool) {
	if len(path) == 0 || path[len(path)-1].Type == session.TypeCompaction {
		return piPreparation{}, false
	}
	c := session.Project(path)
	slots := piSlots(c)
	prep.context, prep.keep = c, keep
	if c.Compaction != nil && len(slots[0].messages) > 0 { // an edit can take it out
		view, _ := c.Compaction.Compaction()
		prep.PreviousSummary, prep.HasPrevious = view.Summary, true
		prep.from = 1
	}
	cut := pastFailed(slots, prep.from, findPiCut(slots, prep.from, len(slots), keep))
	prep.at, prep.turn, prep.SplitTurn = cut.FirstKept, cut.FirstKept, cut.SplitTurn
	if cut.SplitTurn {
		prep.turn = cut.TurnStart
	}
	prep.History = piMessages(c, prep.from, prep.turn)
	prep.TurnPrefix = piMessages(c, prep.turn, prep.at)
	if len(prep.History)+len(prep.TurnPrefix) == 0 {
		return piPreparation{}, false
	}
	prep.FirstKeptEntryID = c.Active[prep.at].ID
	prep.TokensBefore = piTokens(c)
	// Before from there is at most the previous summary.
	prep.ReadFiles, prep.ModifiedFiles = ledger.PiFiles(slices.Concat(c.Items[:itemAt(c, prep.from)], prep.History, prep.TurnPrefix))
	return prep, true
}

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

// pastFailed moves a cut behind the input that the kept part begins with, when nothing follows that but attempts to
// answer it which were taken out: so can an input be summarized that alone is over the tail. What took the attempts
// out stays in the kept part, or else they would come back. Anything else that was added since makes a new input of
// it, which the model is yet to see.
func pastFailed(slots []piSlot, start int, c piCut) piCut {
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
		if len(s.messages) == 0 && len(ownMessages(s.entry)) > 0 { // an edit took it out
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

func piMessages(c *session.Context, from, to int) []session.Item {
	var out []session.Item
	for _, it := range c.Items[itemAt(c, from):itemAt(c, to)] {
		if it.Message.Role != message.RoleSystem && it.Entry.Type != session.TypeCompaction {
			out = append(out, it)
		}
	}
	return out
}

// itemAt returns the first item that comes from Active[at] or later.
func itemAt(c *session.Context, at int) int {
	i, _ := slices.BinarySearchFunc(c.Items, at, func(it session.Item, at int) int { return it.At - at })
	return i
}

func piTokens(c *session.Context) int64 {
	meter, err := token.NewMeter(token.Config{Counter: token.Chars4(), AnyUsage: true})
	if err != nil {
		return 0 // never: the settings are these
	}
	return meter.Measure(messages(c.Items), itemAt(c, c.Boundary)).Tokens
}

func (prep *piPreparation) asCut() *Cut {
	c := prep.context
	cut := newCut(c, itemAt(c, prep.at), token.Chars4().Message, "")
	cut.FirstKept = prep.FirstKeptEntryID
	cut.splitAt(c, itemAt(c, prep.turn))
	if cut.SplitTurn = prep.SplitTurn; cut.SplitTurn {
		cut.TurnStart = c.Active[prep.turn].ID
	}
	cut.Why = fmt.Sprintf("the newest %d messages take %d tokens, and pi cuts where its tail of %d is spent", cut.Kept, cut.Tokens, prep.keep)
	if cut.Kept == 0 {
		cut.Why = fmt.Sprintf("the newest message is over the tail of %d tokens, and every attempt to answer it was taken out", prep.keep)
	}
	return cut
}

// piTrigger is pi's rule for when to compact. The guard, which comes after, bounds the reserve.
func piTrigger(tokens, window, reserve int64) bool { return tokens > window-reserve }

// piCut is a cut in indexes of the entries it was looked for in.
type piCut struct {
	FirstKept int // the entry that the kept part begins with
	TurnStart int // the entry that the split turn began with, -1 when no turn is split
	SplitTurn bool

	spent bool // the kept part takes up the whole tail
}

// piSlot is an entry and the messages it adds to the context: none, one, or the two of a compaction.
type piSlot struct {
	entry    *session.Entry
	messages []*message.Message
}

func ownMessages(e *session.Entry) []*message.Message {
	return messages(session.Project([]*session.Entry{e}).Items)
}

// findPiCut walks back from the end until the tail is spent, and cuts at the first entry from there on that may begin
// a kept part; if none does, at the last that may, so that trailing results stay with their call. Entries that the
// model does not see stay with what follows them.
func findPiCut(slots []piSlot, start, end int, keep int64) piCut {
	cut, last := -1, -1
	for i := start; i < end; i++ {
		if slots[i].canBeginKept() {
			if last = i; cut < 0 {
				cut = i
			}
		}
	}
	if cut < 0 {
		return piCut{FirstKept: start, TurnStart: -1}
	}
	spent := false
	var sum int64
	for i := end - 1; i >= start && !spent; i-- {
		before := sum
		for _, m := range slots[i].messages {
			sum += token.Chars4().Message(m)
		}
		if sum == before || sum < keep {
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

// piTurn returns the cut before an entry, with the turn that it splits. Before an entry that the model does not see
// that is the turn before: so pi has it, and safeCut mends it.
func piTurn(slots []piSlot, start, at int) piCut {
	c := piCut{FirstKept: at, TurnStart: -1}
	turn := at
	for turn >= start && !slots[turn].any((*message.Message).StartsTurn) {
		turn--
	}
	if start <= turn && turn < at {
		c.TurnStart, c.SplitTurn = turn, true
	}
	return c
}

func (s piSlot) canBeginKept() bool {
	return s.any(func(m *message.Message) bool { return m.StartsTurn() || m.Role == message.RoleAssistant })
}

func (s piSlot) any(is func(*message.Message) bool) bool {
	return s.entry.Type != session.TypeCompaction && slices.ContainsFunc(s.messages, is)
}
