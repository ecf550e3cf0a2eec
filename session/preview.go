package session

import (
	"fmt"
	"slices"
	"time"
)

// Preview returns path as it would be with drafts appended, under ids that no
// real entry has. The path itself is not changed. It serves to look at the
// context a pass would give before it is written.
func Preview(path []*Entry, drafts ...Draft) []*Entry {
	out := slices.Clone(path)
	parent := ""
	if len(path) > 0 {
		parent = path[len(path)-1].ID
	}
	for i, d := range drafts {
		if d.under != nil {
			parent = *d.under
		}
		id := fmt.Sprintf("preview-%d", i)
		if d.Type == TypeCompaction {
			d = d.ownID(id)
		}
		e := d.entry(id, parent, time.Time{})
		out = append(out, e)
		parent = id
	}
	return out
}
