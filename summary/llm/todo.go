package llm

import (
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/summary"
)

// todos are those that are still open, by the ledger.
func (r *run) todos() []summary.Line {
	if r.in.Ledger == nil {
		return nil
	}
	var out []summary.Line
	for _, t := range r.in.Ledger.Todos {
		if t.Status == ledger.TodoOpen || t.Status == ledger.TodoActive {
			out = append(out, summary.Line{Text: t.Text})
		}
	}
	return out
}
