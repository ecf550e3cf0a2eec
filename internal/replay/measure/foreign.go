package measure

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// handle is a recall handle, the name of an entry of the log. It is the engine's
// own and no identifier of the conversation.
var handle = text.Pattern(`\[#[0-9A-Za-z_-]*(, replaced)?\]`)

// foreign returns the identifiers of a text that stand nowhere in what the policy
// was given: what was made up, or spelled otherwise.
func foreign(ids map[string]Class, known map[string]bool, given ...[]*Digest) []string {
	var out []string
	for id := range ids {
		if !known[id] && !occurs(id, given...) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// occurs looks for an identifier in everything that stands in the messages: where
// another sign stands beside it, it may have been read there as part of something
// else.
func occurs(id string, given ...[]*Digest) bool {
	found := false
	for _, list := range given {
		for _, d := range list {
			d.raw(func(s string) { found = found || holdsWord(s, id) })
			if found {
				return true
			}
		}
	}
	return false
}

// holdsWord reports whether w stands in s and is not part of a longer word there.
func holdsWord(s, w string) bool {
	for at := 0; ; {
		k := strings.Index(s[at:], w)
		if k < 0 {
			return false
		}
		k += at
		escaped := k > 1 && s[k-2] == '\\' && strings.IndexByte("ntr", s[k-1]) >= 0 // a line break in JSON
		if (k == 0 || escaped || charKind[s[k-1]]&inWord == 0) && (k+len(w) == len(s) || charKind[s[k+len(w)]]&inWord == 0) {
			return true
		}
		at = k + 1
	}
}
