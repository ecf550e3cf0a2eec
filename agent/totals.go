package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// count changes the totals: what the session has cost.
func (j *journal) count(fn func(*Totals)) {
	j.status.change(func(s *State) {
		s.Totals.ByModel = maps.Clone(s.Totals.ByModel)
		fn(&s.Totals)
	})
}

// readTotals reads what the log says has been spent until an entry, beside everything else.
func (j *journal) readTotals(ctx context.Context, last string) {
	store := j.s.Log().Store()
	entries, backwards := store.All(ctx), false
	if f, ok := store.(*jsonl.File); ok { // without the bulk, which is results, and without a lock
		entries, backwards = f.Mentioning(ctx, `"assistant"`, `"usage"`, `"clew.pass"`, `"session_info"`, `"`+last+`"`), true
	}
	var sum Totals
	name, before := "", !backwards // what comes after last is counted as it comes
	for e, err := range entries {
		if err != nil {
			if ctx.Err() == nil {
				j.warn(err)
			}
			return
		}
		if before = before || e.ID == last; !before {
			continue
		}
		if n, ok := e.SessionName(); ok && (name == "" || !backwards) {
			name = n
		}
		sum.entry(e)
		if e.ID == last && !backwards {
			break
		}
	}
	j.count(func(t *Totals) { t.merge(sum) })
	j.status.change(func(s *State) { s.Name = cmp.Or(s.Name, name) })
}

// entry adds what an entry has cost.
func (t *Totals) entry(e *session.Entry) {
	if e.CopyOf() != "" {
		return // it is counted where it was made
	}
	if _, ok := e.Pass(); ok {
		t.Passes++
	}
	if e.Type == session.TypeMessage {
		m, err := e.Message()
		if err == nil {
			t.answer(m)
		}
		return
	}
	if u := e.UsageReport(); u != nil {
		t.add(usageModel(e), u)
	}
}

// usageModel is the model that an entry of usage names, "" for none.
func usageModel(e *session.Entry) string {
	var m session.Model
	if e.Type != session.TypeUsage || json.Unmarshal(e.Field("provider"), &m.Provider) != nil || json.Unmarshal(e.Field("model"), &m.ID) != nil {
		return ""
	}
	return nameOf(m)
}

// answer adds a call of a model that was answered, or has failed and was paid for.
func (t *Totals) answer(m *message.Message) {
	u := m.Usage
	if u == nil {
		u = &message.Usage{} // it is not known
	}
	failed := m.StopReason == message.StopError || m.StopReason == message.StopAborted
	if m.Role != message.RoleAssistant || failed && u.Prompt()+u.Output == 0 {
		return
	}
	t.add(m.Provider+"/"+m.Model, u)
}

// add adds a call of a model; name "" for one that the log does not name.
func (t *Totals) add(name string, u *message.Usage) {
	o := Totals{ModelTotals: ModelTotals{1, u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Cost}}
	if name != "" {
		o.ByModel = map[string]ModelTotals{name: o.ModelTotals}
	}
	t.merge(o)
}

func (t *Totals) merge(o Totals) {
	t.ModelTotals.add(o.ModelTotals)
	t.Passes += o.Passes
	for name, m := range o.ByModel {
		if t.ByModel == nil {
			t.ByModel = map[string]ModelTotals{}
		}
		sum := t.ByModel[name]
		sum.add(m)
		t.ByModel[name] = sum
	}
}

func (m *ModelTotals) add(o ModelTotals) {
	m.Requests += o.Requests
	m.Input += o.Input
	m.Output += o.Output
	m.CacheRead += o.CacheRead
	m.CacheWrite += o.CacheWrite
	m.Cost += o.Cost
}
