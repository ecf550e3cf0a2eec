package summary

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/session"
)

// minRef is the least length of a recall handle, in bytes.
const minRef = 8

// refs shortens entry ids to handles: the first minRef bytes, or as many more as
// set the id apart from the others of the input. Ids made from the time share
// their beginning.
type refs struct{ short map[string]string }

func newRefs(lists ...[]session.Item) refs {
	var ids []string
	for _, items := range lists {
		for _, it := range items {
			if it.Entry != nil && it.Entry.ID != "" {
				ids = append(ids, it.Entry.ID)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	r := refs{short: make(map[string]string, len(ids))}
	for i, id := range ids {
		n := minRef
		if i > 0 {
			n = max(n, shared(ids[i-1], id)+1)
		}
		if i+1 < len(ids) {
			n = max(n, shared(id, ids[i+1])+1)
		}
		r.short[id] = writableRef(id[:min(n, len(id))])
	}
	return r
}

func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// of returns the handle of an id. One that is no entry of the input stays as it
// is: it comes from an earlier summary.
func (r refs) of(id string) string {
	if s, ok := r.short[id]; ok {
		return s
	}
	return writableRef(id)
}

// sameEntry reports whether two handles may name one entry.
func sameEntry(a, b string) bool {
	return a != "" && b != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}
