package compact

import (
	"encoding/json"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/summary"
)

// details is what clew stores with a compaction. pi reads the two lists; the
// rest is clew's own.
type details struct {
	ReadFiles     []string    `json:"readFiles"`
	ModifiedFiles []string    `json:"modifiedFiles"`
	Clew          clewDetails `json:"clew"`
}

type clewDetails struct {
	Version    int              `json:"v"`
	Summarizer string           `json:"summarizer"`
	Coverage   summary.Coverage `json:"coverage"`
	Ledger     *ledger.Ledger   `json:"ledger,omitempty"`
	Pins       []string         `json:"pins,omitempty"` // ids of pinned entries
	Form       json.RawMessage  `json:"form,omitempty"` // how the summary is shown, where not as usual
}

// fileLists returns the two lists that pi keeps: files that were only read, and
// files that were changed.
func (p *planner) fileLists(facts *ledger.Ledger) (read, modified []string) {
	if p.piFiles != nil {
		return p.piFiles.ReadFiles, p.piFiles.ModifiedFiles
	}
	return orEmpty(facts.Paths(ledger.StateRead)), orEmpty(facts.Paths(ledger.StateModified, ledger.StateCreated))
}

func (p *planner) newDetails(facts *ledger.Ledger, out *summary.Output) details {
	read, modified := p.fileLists(facts)
	d := details{
		ReadFiles: read, ModifiedFiles: modified,
		Clew: clewDetails{Version: 1, Summarizer: out.Summarizer, Coverage: out.Coverage, Ledger: facts, Pins: p.pins},
	}
	if p.policy.Form != nil {
		d.Clew.Form = p.policy.Form.JSON()
	}
	return d
}

// orEmpty makes a list that is written as [] rather than null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
