package clew

import (
	"context"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// The scopes of a Query.
const (
	ScopePath = ""     // the path to the leaf
	ScopeAll  = "all"  // every branch of the session
	ScopeLeft = "left" // what left the context: the path without what the model sees word for word
)

// Query says what Search is to find. The fields narrow down together.
type Query struct {
	// Text is words, best match first, and "phrases in quotes", which must stand in a hit
	// as they are but for case and white space. Without Text all that the other fields
	// let through is a hit, newest first.
	Text string
	// Roles that hits may have. Default: all.
	Roles []message.Role
	// Tool names the tool that a hit calls or is the result of. A shell run of the user
	// counts as bash.
	Tool string
	// Path begins a path among the arguments of the call.
	Path string
	// Since and Until name the first and the last entry, in the order of the log, that
	// may be a hit, as Recall does.
	Since, Until string
	// Scope says where to look. Default: ScopePath.
	Scope string
	// Offset is how many hits to pass over, Limit how many to return. Default: 10; at
	// most 100.
	Offset, Limit int
	// Snippet is how long the text around the best place of a hit may be, in bytes.
	// Default: 240; at most 4000.
	Snippet int
}

// Hit is an entry that was found.
type Hit = recall.Hit

// Found is a page of hits.
type Found struct {
	Total  int   `json:"total"`          // hits on all pages
	Offset int   `json:"offset"`         // hits before this page
	Next   int   `json:"next,omitempty"` // Offset of the next page; 0 when this is the last
	Hits   []Hit `json:"hits"`
	// Partial is how many entries were not searched whole, because what is kept beside
	// the log could not be read, or only in part.
	Partial int `json:"partial,omitempty"`
	// Elsewhere is how many hits there are on other branches, with ScopePath.
	Elsewhere int `json:"elsewhere,omitempty"`
}

// Search finds entries by words. The first search reads the whole session, later ones
// what was appended since; the index stays in memory until Close. A query that asks for
// nothing is refused.
func (s *Session) Search(ctx context.Context, q Query) (*Found, error) {
	const op = "search"
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	f, err := s.search(ctx, q)
	return f, failed(op, q.Text, err)
}

func (s *Session) search(ctx context.Context, asked Query) (*Found, error) {
	q := recall.Query{
		Text: asked.Text, Roles: asked.Roles, Tool: asked.Tool, Path: asked.Path, Since: asked.Since, Until: asked.Until,
		Offset: asked.Offset, Limit: asked.Limit, Snippet: asked.Snippet,
	}
	store := s.log.Store()
	for _, end := range []*string{&q.Since, &q.Until} {
		if *end == "" {
			continue
		}
		e, err := recall.Find(ctx, store, s.log.Leaf(), *end)
		if err != nil {
			return nil, err
		}
		*end = e.ID
	}
	if s.index == nil {
		s.index = recall.New(store, recall.Options{Whole: s.searched})
	}
	var in map[string]bool
	if asked.Scope != ScopeAll {
		var err error
		if in, err = s.inScope(ctx, asked.Scope); err != nil {
			return nil, err
		}
		q.Only = func(id string) bool { return in[id] }
	}
	r, err := s.index.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	f := &Found{Total: r.Total, Offset: r.Offset, Next: r.Next, Hits: r.Hits, Partial: r.Partial}
	if read, _ := s.index.Entries(); asked.Scope == ScopePath && read > len(in) {
		q.Only = func(id string) bool { return !in[id] }
		q.Offset, q.Limit = 0, 1
		if r, err = s.index.Search(ctx, q); err != nil {
			return nil, err
		}
		f.Elsewhere = r.Total
	}
	return f, nil
}

// inScope tells which entries of the path to the leaf are in a scope.
func (s *Session) inScope(ctx context.Context, scope string) (map[string]bool, error) {
	if scope != ScopeLeft {
		err := s.index.Update(ctx)
		return s.index.Path(s.log.Leaf()), err
	}
	path, err := s.log.Path(ctx)
	if err != nil {
		return nil, err
	}
	in := make(map[string]bool, len(path))
	for _, f := range compact.Fates(path) {
		if hasLeft(f) {
			in[f.Entry] = true
		}
	}
	return in, nil
}

// hasLeft reports whether an entry was in the context and is not there word for
// word any more.
func hasLeft(f compact.Fate) bool {
	switch f.Fate {
	case compact.FateSummarized, compact.FateEdited:
		return true
	case compact.FateExcluded:
		return f.Why == compact.WhyOmitted || f.Why == compact.WhyOlder
	case compact.FateVerbatim, compact.FateQuoted:
	}
	return false
}

// maxSearched is how much of the output that is kept beside the log is searched, in
// bytes of one message's JSON.
const maxSearched = 64 << 20

// searched returns the whole of a message, or as much of it as is searched.
func (s *Session) searched(ctx context.Context, m *message.Message) (*message.Message, error) {
	at, ok := session.OutOfLineOf(m)
	if !ok || at.Size <= maxSearched {
		return s.whole(ctx, m)
	}
	data, err := s.readOutOfLine(ctx, at, maxSearched-1<<10)
	if err != nil {
		return nil, err
	}
	return message.Parse(closed(data))
}
