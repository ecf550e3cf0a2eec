package compact

import (
	"github.com/clew-dev/clew/ledger"
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
}

func newDetails(facts *ledger.Ledger, out *summary.Output) details {
	modified := facts.Paths(ledger.StateModified, ledger.StateCreated)
	read := facts.Paths(ledger.StateRead)
	return details{
		ReadFiles: orEmpty(read), ModifiedFiles: orEmpty(modified),
		Clew: clewDetails{Version: 1, Summarizer: out.Summarizer, Coverage: out.Coverage, Ledger: facts},
	}
}

// orEmpty makes a list that is written as [] rather than null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
