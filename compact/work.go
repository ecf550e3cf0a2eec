package compact

import (
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// StageOffload is the stage that leaves head, tail and a note of large results.
const StageOffload = "offload"

// The other stages of the ladder.
const (
	stageElide     = "elide"
	stageThinking  = "thinking"
	stageSummarize = "summarize"
	stageTighten   = "tighten"
	stageStrip     = "strip" // preset turns: calls, results and reasoning go
	stageSplit     = "split" // preset semantic: of a message larger than the tail its end stays
	stageClip      = "clip"
	stageOmit      = "omit" // at the user's wish
)

// work is a draft of the context.
type work struct {
	p     *planner
	items []session.Item // as they are
	parts []part         // one for each item
	fixed int64          // prompt, tools and overhead
	total int64          // fixed and all messages
}

type part struct {
	now   *message.Message
	cost  int64
	stage string // which changed the message last, "" for none
	taken bool   // the message is taken out
	moved bool   // the message can't be edited: it is taken out, and now stands at the end
}

func (p *planner) newWork() *work {
	w := &work{p: p, items: p.snap.Context.Items, parts: make([]part, len(p.snap.Context.Items))}
	w.fixed = p.scaled(p.meter.Fixed()) + p.overhead
	if prompt := message.ReplaySystem(p.snap.Messages); prompt != nil {
		w.fixed += p.Message(prompt)
	}
	w.fixed = max(w.fixed, p.inBytes(p.fixedBytes()))
	w.total = w.fixed
	for i, m := range p.snap.Messages {
		w.parts[i].now = m
		if m.Role != message.RoleSystem { // all of them together are the prompt
			w.parts[i].cost = max(p.scaled(p.costs[i]), p.inBytes(token.RequestBytes(m)))
		}
		w.total += w.parts[i].cost
	}
	return w
}

func (w *work) cost(from, to int) int64 {
	sum := int64(0)
	for _, d := range w.parts[from:to] {
		sum += d.cost
	}
	return sum
}

func (w *work) units() []unit {
	units := unitsOf(w.items, func(*message.Message) int64 { return 0 })
	for i := range units {
		units[i].Tokens = w.cost(units[i].From, units[i].To)
	}
	return units
}

func (w *work) set(i int, m *message.Message, stage string) {
	d := &w.parts[i]
	cost := w.p.Message(m)
	w.total -= d.cost - cost
	d.now, d.cost, d.stage, d.taken = m, cost, stage, false
}

func (w *work) take(i int, stage string) {
	d := &w.parts[i]
	w.total -= d.cost
	d.cost, d.taken, d.stage = 0, true, stage
}

func (w *work) freed(i int) int64 {
	before := w.p.tokens(w.items[i].Message)
	if w.parts[i].taken {
		return before
	}
	return before - w.p.tokens(w.parts[i].now)
}

// open reports whether a pass may change an item at all.
func (w *work) open(i int) bool { return editable(w.items[i]) && !w.p.pinned[w.items[i].Entry.ID] }

// shortenable reports whether a message can be made smaller: a shell run by an excerpt in its place.
func (w *work) shortenable(i int) bool {
	shell := w.items[i].Message.Role == message.RoleBashExecution
	return (editable(w.items[i]) || shell) && !w.parts[i].taken && !w.p.pinned[w.items[i].Entry.ID]
}

func editable(it session.Item) bool {
	own := it.Entry.Type == session.TypeMessage || it.Entry.Type == session.TypeCustomMessage
	return own && session.Replaceable(it.Message.Role)
}

func (w *work) firstChange() int {
	if i := slices.IndexFunc(w.parts, func(d part) bool { return d.stage != "" }); i >= 0 {
		return i
	}
	return len(w.parts)
}

func (w *work) changed() bool { return w.firstChange() < len(w.parts) }

// drafts returns the edits from item at on, with their stages, and excerpts of what can't be edited, for the end.
func (w *work) drafts(at int) (edits, excerpts []session.Draft, stages []string) {
	for i := at; i < len(w.items); i++ {
		part, id := w.parts[i], w.items[i].Entry.ID
		if part.stage == "" {
			continue
		}
		edit := session.ContextEdit{TargetID: id, Content: message.EncodeBlocks(part.now.Content)}
		if part.taken || part.moved {
			edit.Omit, edit.Content = true, nil
		}
		d := editDetails{}
		d.Clew.Stage, d.Clew.Freed = part.stage, w.freed(i)
		edit.Details = d.json()
		if part.moved {
			d.Clew.Of = id
			excerpts = append(excerpts, session.NewCustomMessage(session.CustomExcerpt, part.now.Content, true, d.json()))
		}
		edits = append(edits, session.NewContextEdit(edit))
		stages = append(stages, part.stage)
	}
	return edits, excerpts, stages
}

// stages says what each stage has freed: the edits of what is kept each its own, the compaction the rest.
func (w *work) stages(at int, best *attempt, freed int64) []Stage {
	by := map[string]Stage{}
	for i := at; i < len(w.items); i++ {
		if name := w.parts[i].stage; name != "" {
			own := w.freed(i)
			by[name] = Stage{name, by[name].Freed + own, by[name].Entries + 1}
			freed -= own
		}
	}
	if best != nil {
		by[stageSummarize] = Stage{stageSummarize, freed - best.tightened, best.cut.Summarized}
		if best.tightened > 0 {
			by[stageTighten] = Stage{Name: stageTighten, Freed: best.tightened}
		}
	}
	var out []Stage
	for _, name := range []string{StageOffload, stageElide, stageSummarize, stageTighten, stageThinking, stageStrip, stageSplit, stageClip, stageOmit} {
		if s, ok := by[name]; ok {
			out = append(out, s)
		}
	}
	return out
}

// restored returns items for a summarizer: what a pass took out is back, what a user or a hook took out is not.
func (p *planner) restored(items []session.Item) []session.Item {
	out := slices.Clone(items)
	excerpts := map[string]*session.Item{}
	for i := range out {
		it := &out[i]
		if StageOf(it.Edit) != "" {
			it.Message, it.Edit = original(*it), nil
		}
		if of := ExcerptOf(it.Entry); of != "" {
			excerpts[of] = it
		}
	}
	for _, e := range p.snap.Path {
		if it := excerpts[e.ID]; it != nil {
			it.Entry = e
			it.Message = original(*it)
		}
	}
	return out
}

func original(it session.Item) *message.Message {
	if m, ok := it.Entry.CustomMessage(); ok {
		return m
	}
	if m, err := it.Entry.Message(); err == nil {
		return m
	}
	return it.Message
}
