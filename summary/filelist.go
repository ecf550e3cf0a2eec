package summary

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
)

// fileLists offers the files of the ledger, the last touched first.
func (d *digest) fileLists() (changed, read, shell []piece) {
	strong := map[string]bool{}
	n := len(d.led.Files)
	for i, f := range slices.Backward(d.led.Files) {
		strong[f.Path] = true
		p := piece{path: f.Path, order: n - i}
		switch f.State {
		case ledger.StateModified:
			p.kind = kindModified
		case ledger.StateCreated:
			p.kind = kindCreated
		case ledger.StateDeleted:
			p.kind = kindDeleted
		case ledger.StateRead:
			p.kind = kindRead
			read = append(read, p)
			continue
		default:
			continue
		}
		changed = append(changed, p)
	}
	for _, f := range slices.Backward(d.led.Weak) {
		if strong[f.Path] || f.To != "" {
			continue
		}
		k := kindShell
		switch {
		case strings.HasSuffix(f.Path, "/"):
			continue // a directory
		case f.State == ledger.StateDeleted:
			k = kindDeleted
		case f.State == ledger.StateRead:
			read = append(read, piece{kind: kindRead, path: f.Path})
			continue
		}
		shell = append(shell, piece{kind: k, path: f.Path})
	}
	return changed, read, shell
}
