package replay

import (
	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/message"
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
// each other with what the rewrite before it left. Edits and a compaction with nothing
// said between them are one rewrite. A stretch that no compaction borders on has no
// messages here, unless it is the first: nothing is measured there.
func (s *Session) stretches() []*stretch {
	var (
		out   []*stretch
		ends  []int
		seen  = map[*message.Message]*measure.Digest{}
		quiet = false // nothing was said since the last rewrite
	)
	for i, e := range s.Path {
		switch {
		case !rewrites(e):
			if said(e) != nil {
				quiet = false
			}
		case quiet:
			if last := out[len(out)-1]; last.rewrite.Type != session.TypeCompaction {
				last.rewrite = e
			}
		default:
			out, ends, quiet = append(out, &stretch{rewrite: e}), append(ends, i), true
		}
	}
	if len(s.Path) > 0 {
		out, ends = append(out, &stretch{}), append(ends, len(s.Path))
	}
	compacted := func(i int) bool {
		return i >= 0 && out[i].rewrite != nil && out[i].rewrite.Type == session.TypeCompaction
	}
	for i, st := range out {
		if i == 0 || compacted(i) || compacted(i-1) {
			st.fill(s.Path[:ends[i]], seen)
		}
	}
	return out
}

// fill reads what the context is at the end of a path.
func (st *stretch) fill(path []*session.Entry, seen map[*message.Message]*measure.Digest) {
	for _, it := range session.Project(path).Items {
		m, where := neutral(it.Message)
		if where == placeOut {
			continue
		}
		d := seen[it.Message]
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
}

func rewrites(e *session.Entry) bool {
	return e.Type == session.TypeCompaction || e.Type == session.TypeContextEdit
}
