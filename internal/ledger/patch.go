package ledger

import "strings"

// The markers of the apply_patch format.
const (
	patchBegin  = "*** Begin Patch"
	patchAdd    = "*** Add File: "
	patchUpdate = "*** Update File: "
	patchDelete = "*** Delete File: "
	patchMove   = "*** Move to: "
)

// change is one file of a patch.
type change struct {
	path  string
	state State
	to    string // new path of a file that was moved
}

// patchChanges lists the files of a patch in order.
func patchChanges(patch string) []change {
	var out []change
	for line := range strings.SplitSeq(patch, "\n") {
		line = strings.TrimRight(line, " \t\r")
		for mark, state := range patchMarks {
			if name, ok := strings.CutPrefix(line, mark); ok {
				out = append(out, change{path: name, state: state})
			}
		}
		if to, ok := strings.CutPrefix(line, patchMove); ok && len(out) > 0 {
			out[len(out)-1].to = to
		}
	}
	return out
}

// patchMarks says what becomes of a file. A line begins with at most one of
// them, so the order does not matter.
var patchMarks = map[string]State{
	patchAdd:    StateCreated,
	patchUpdate: StateModified,
	patchDelete: StateDeleted,
}
