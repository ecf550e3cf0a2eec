package compact

import (
	"encoding/json"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// The rungs of the ladder.
const (
	rungOffload   = "offload"
	rungElide     = "elide"
	rungThinking  = "thinking"
	rungSummarize = "summarize"
	rungTighten   = "tighten"
	rungClip      = "clip"
)

// work is a draft of the context: its messages as the rungs have changed them,
// and what each costs.
type work struct {
	items []session.Item // as they are
	now   []*message.Message
	cost  []int64
	rung  []string // which rung changed the message last, "" for none
	total int64    // all messages, the fixed part and the overhead
	price func(*message.Message) int64
}

func (p *planner) newWork() *work {
	n := len(p.context.Items)
	w := &work{
		items: p.context.Items, now: messages(p.context.Items),
		cost: make([]int64, n), rung: make([]string, n), price: p.cost,
	}
	w.total = p.scaled(p.in.Meter.Fixed()) + p.sizes.overhead
	for i, m := range w.now {
		w.cost[i] = w.price(m)
		w.total += w.cost[i]
	}
	return w
}

// set replaces a message, and returns what that frees.
func (w *work) set(i int, m *message.Message, rung string) int64 {
	cost := w.price(m)
	freed := w.cost[i] - cost
	w.now[i], w.cost[i], w.rung[i] = m, cost, rung
	w.total -= freed
	return freed
}

// editDetails is what an edit of a pass says about itself.
type editDetails struct {
	Clew struct {
		Rung  string `json:"rung"`
		Freed int64  `json:"freed"` // tokens
	} `json:"clew"`
}

// editedBy returns the rung that made an edit; "" when no pass did.
func editedBy(e *session.Entry) string {
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

// drafts returns the edits of the messages from item at on.
func (w *work) drafts(at int) (drafts []session.Draft, rungs []string) {
	for i := at; i < len(w.items); i++ {
		if w.rung[i] == "" {
			continue
		}
		var d editDetails
		d.Clew.Rung = w.rung[i]
		d.Clew.Freed = w.price(w.items[i].Message) - w.cost[i]
		details, _ := json.Marshal(d) // strings and numbers: it can't fail
		drafts = append(drafts, session.NewContextEdit(session.ContextEdit{
			TargetID: w.items[i].Entry.ID, Content: message.EncodeBlocks(w.now[i].Content), Details: details,
		}))
		rungs = append(rungs, w.rung[i])
	}
	return drafts, rungs
}

// editable reports whether the content of an item can be replaced by an edit.
func editable(it session.Item) bool {
	switch it.Message.Role {
	case message.RoleUser, message.RoleAssistant, message.RoleToolResult, message.RoleCustom:
		return it.Entry.Type == session.TypeMessage || it.Entry.Type == session.TypeCustomMessage
	case message.RoleSystem, message.RoleBashExecution, message.RoleBranchSummary, message.RoleCompactionSummary:
	}
	return false
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

// restored returns items for a summarizer: what a pass took out is back, what
// a user or a hook took out is not.
func restored(items []session.Item) []session.Item {
	out := make([]session.Item, len(items))
	for i, it := range items {
		if editedBy(it.Edit) != "" {
			it.Message = original(it)
			it.Edit = nil
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
