package replay

import (
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/replay/measure"
	"github.com/clew-dev/clew/session"
)

// Session is a recorded session.
type Session struct {
	// Name is how reports call it: a path or an id.
	Name string
	// ID tells sessions apart that several files hold. Optional.
	ID string
	// Group is what it is averaged with where groups are compared: a folder, a
	// repository, a format. Optional.
	Group string
	// Cwd is the working directory, where it is known.
	Cwd string
	// Path are the entries from the root to the leaf. Compactions on it are the
	// rewrites that the recorded program made.
	Path []*session.Entry
}

// stretch is what was said between two rewrites: a context that only grew.
type stretch struct {
	items   []session.Item
	digests []*measure.Digest
	always  []*measure.Digest
	// rewrite is the entry that ends the stretch, nil at the end of the session.
	rewrite *session.Entry
}

// stretches divides a session at its rewrites. The first begins with the session;
// each other with what the rewrite before it left.
func (s *Session) stretches() []*stretch {
	var (
		out  []*stretch
		seen = map[*message.Message]*measure.Digest{}
	)
	for at := 0; at < len(s.Path); {
		end := at
		for end < len(s.Path) && !rewrites(s.Path[end]) {
			end++
		}
		st := &stretch{}
		if end < len(s.Path) {
			st.rewrite = s.Path[end]
		}
		for _, it := range session.Project(s.Path[:end]).Items {
			d := seen[it.Message]
			m, where := neutral(it.Message)
			if where == placeOut {
				continue
			}
			if d == nil {
				d = measure.NewDigest(&m)
				seen[it.Message] = d
			}
			if where == placeAlways {
				st.always = append(st.always, d)
				continue
			}
			st.items = append(st.items, it)
			st.digests = append(st.digests, d)
		}
		out = append(out, st)
		at = end + 1
	}
	return out
}

func rewrites(e *session.Entry) bool {
	return e.Type == session.TypeCompaction || e.Type == session.TypeContextEdit
}
