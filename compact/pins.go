package compact

import (
	"slices"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// readPins notes which entries are pinned.
func (p *planner) readPins() {
	p.pins = session.Pins(p.in.Path)
	p.pinned = map[string]bool{}
	for _, id := range p.pins {
		p.pinned[id] = true
	}
}

// pinQuotes returns the pinned messages that a cut takes out of the context,
// to be quoted word for word: those before the cut, and those that the
// summary before quoted already.
func (p *planner) pinQuotes(items []session.Item, at int) []summary.Quote {
	var quotes []summary.Quote
	if p.context.Compaction != nil {
		view, _ := p.context.Compaction.Compaction()
		if d, ok := summary.Parse(view.Summary); ok {
			for _, q := range d.Pins {
				if slices.ContainsFunc(p.pins, func(id string) bool { return q.Ref != "" && len(id) >= len(q.Ref) && id[:len(q.Ref)] == q.Ref }) {
					quotes = append(quotes, q)
				}
			}
		}
	}
	for _, it := range items[:at] {
		if !p.pinned[it.Entry.ID] {
			continue
		}
		m := it.Message
		role := string(m.Role)
		if m.UserWords() {
			role = ""
		}
		quotes = append(quotes, summary.Quote{Ref: it.Entry.ID, Role: role, Text: pinText(it.Entry)})
	}
	return quotes
}
