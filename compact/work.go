package compact

import (
	"encoding/json"
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// RungOffload is the rung that leaves head, tail and a note of large results.
const RungOffload = "offload"

// The other rungs of the ladder.
const (
	rungElide     = "elide"
	rungThinking  = "thinking"
	rungSummarize = "summarize"
	rungTighten   = "tighten"
	rungStrip     = "strip" // preset turns: calls, results and reasoning go
	rungClip      = "clip"
)

// work is a draft of the context: its messages as the rungs have changed them,
// and what each costs.
type work struct {
	items []session.Item // as they are
	now   []*message.Message
	cost  []int64
	rung  []string // which rung changed the message last, "" for none
	taken []bool   // the message is taken out
	moved []bool   // the message can't be edited: it is taken out, and now stands at the end
	fixed int64    // prompt, tools and overhead
	total int64    // fixed and all messages
	price func(*message.Message) int64
	// tokens is price where only tokens count.
	tokens func(*message.Message) int64
}

func (p *planner) newWork() *work {
	n := len(p.context.Items)
	w := &work{
		items: p.context.Items, now: messages(p.context.Items),
		cost: make([]int64, n), rung: make([]string, n), taken: make([]bool, n), moved: make([]bool, n), price: p.cost, tokens: p.tokens,
	}
	w.fixed = p.scaled(p.in.Meter.Fixed()) + p.sizes.overhead
	if prompt := token.ReplaySystem(w.now); prompt != nil {
		w.fixed += p.cost(prompt)
	}
	w.fixed = max(w.fixed, p.inBytes(p.fixedBytes()))
	w.total = w.fixed
	for i, m := range w.now {
		if m.Role != message.RoleSystem { // all of them together are the prompt
			w.cost[i] = max(p.scaled(p.costs[i]), p.inBytes(token.RequestBytes(m)))
		}
		w.total += w.cost[i]
	}
	return w
}

// units are those of the context, with what each costs now.
func (w *work) units() []Unit {
	units := Units(w.items, func(*message.Message) int64 { return 0 })
	for i := range units {
		for _, cost := range w.cost[units[i].From:units[i].To] {
			units[i].Tokens += cost
		}
	}
	return units
}

// set replaces a message.
func (w *work) set(i int, m *message.Message, rung string) {
	cost := w.price(m)
	w.total -= w.cost[i] - cost
	w.now[i], w.cost[i], w.rung[i] = m, cost, rung
}

// freed is how many tokens the rungs have made of a message's.
func (w *work) freed(i int) int64 {
	before := w.tokens(w.items[i].Message)
	if w.taken[i] {
		return before
	}
	return before - w.tokens(w.now[i])
}

// take takes a message out.
func (w *work) take(i int, rung string) {
	w.total -= w.cost[i]
	w.cost[i], w.taken[i], w.rung[i] = 0, true, rung
}

// editDetails is what an edit of a pass says about itself.
type editDetails struct {
	Clew struct {
		Rung  string `json:"rung"`
		Freed int64  `json:"freed"`        // tokens
		Of    string `json:"of,omitempty"` // excerpt: the entry it stands for
	} `json:"clew"`
}

func (d editDetails) json() json.RawMessage {
	data, _ := json.Marshal(d) // strings and numbers: it can't fail
	return data
}

// RungOf returns the rung of the pass that made an edit; "" when no pass did.
func RungOf(e *session.Entry) string {
	if e == nil {
		return ""
	}
	view, ok := e.ContextEdit()
	if !ok {
		return ""
	}
	var d editDetails
	if json.Unmarshal(view.Details, &d) != nil {
		return ""
	}
	return d.Clew.Rung
}

// drafts returns the edits of the messages from item at on, and what is to stand
// at the end of the context instead of messages that can't be edited.
func (w *work) drafts(at int) (edits, excerpts []session.Draft, rungs []string) {
	for i := at; i < len(w.items); i++ {
		if w.rung[i] == "" {
			continue
		}
		var d editDetails
		d.Clew.Rung = w.rung[i]
		d.Clew.Freed = w.freed(i)
		edit := session.ContextEdit{TargetID: w.items[i].Entry.ID, Content: message.EncodeBlocks(w.now[i].Content)}
		if w.taken[i] || w.moved[i] {
			edit.Omit, edit.Content = true, nil
		}
		if w.moved[i] {
			d.Clew.Of = w.items[i].Entry.ID
			excerpts = append(excerpts, session.NewCustomMessage(session.CustomExcerpt, w.now[i].Content, true, d.json()))
			d.Clew.Of = ""
		}
		edit.Details = d.json()
		edits = append(edits, session.NewContextEdit(edit))
		rungs = append(rungs, w.rung[i])
	}
	return edits, excerpts, rungs
}

// editable reports whether the content of an item can be replaced by an edit.
func editable(it session.Item) bool {
	own := it.Entry.Type == session.TypeMessage || it.Entry.Type == session.TypeCustomMessage
	return own && session.Replaceable(it.Message.Role)
}

// original returns the message as the log has it.
func original(it session.Item) *message.Message {
	if m, ok := it.Entry.CustomMessage(); ok {
		return m
	}
	if m, err := it.Entry.Message(); err == nil {
		return m
	}
	return it.Message
}

// ExcerptOf returns the id of the entry that an excerpt stands for, "" for any
// other entry.
func ExcerptOf(e *session.Entry) string {
	if e.Type != session.TypeCustomMessage {
		return ""
	}
	m, ok := e.CustomMessage()
	if !ok || m.CustomType != session.CustomExcerpt {
		return ""
	}
	var d editDetails
	if json.Unmarshal(m.Details, &d) != nil {
		return ""
	}
	return d.Clew.Of
}

// restored returns items for a summarizer: what a pass took out is back, what
// a user or a hook took out is not.
func (p *planner) restored(items []session.Item) []session.Item {
	out := make([]session.Item, len(items))
	for i, it := range items {
		if RungOf(it.Edit) != "" {
			it.Message = original(it)
			it.Edit = nil
		}
		if of := ExcerptOf(it.Entry); of != "" {
			for _, e := range p.in.Path {
				if e.ID == of {
					it.Entry = e
					it.Message = original(it)
				}
			}
		}
		out[i] = it
	}
	return out
}

// changed reports whether a rung has changed anything.
func (w *work) changed() bool {
	for _, r := range w.rung {
		if r != "" {
			return true
		}
	}
	return false
}

// saved is the state of a unit's messages.
type saved struct {
	now   []*message.Message
	cost  []int64
	rung  []string
	taken []bool
	moved []bool
	total int64
}

func (w *work) save(u Unit) saved {
	return saved{
		slices.Clone(w.now[u.From:u.To]), slices.Clone(w.cost[u.From:u.To]),
		slices.Clone(w.rung[u.From:u.To]), slices.Clone(w.taken[u.From:u.To]), slices.Clone(w.moved[u.From:u.To]), w.total,
	}
}

func (w *work) restore(u Unit, s saved) {
	copy(w.now[u.From:u.To], s.now)
	copy(w.cost[u.From:u.To], s.cost)
	copy(w.rung[u.From:u.To], s.rung)
	copy(w.taken[u.From:u.To], s.taken)
	copy(w.moved[u.From:u.To], s.moved)
	w.total = s.total
}
