package clew

import (
	"context"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Scope says where Search looks.
type Scope string

// The scopes.
const (
	ScopePath Scope = ""     // the path to the leaf
	ScopeAll  Scope = "all"  // every branch of the session
	ScopeLeft Scope = "left" // what left the context: the path without what the model sees word for word
)

// Found are the hits of a Search.
type Found struct {
	recall.Results
	// Elsewhere is how many hits there are on other branches, with ScopePath.
	Elsewhere int `json:"elsewhere,omitempty"`
}

// Search finds entries by words. Since and Until of the query may be handles, as for
// Recall. The first search reads the whole session, later ones what was appended since;
// the index stays in memory until Close. The error is recall.ErrNoQuery for a query
// that asks for nothing.
func (s *Session) Search(ctx context.Context, q recall.Query, scope Scope) (*Found, error) {
	const op = "search"
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	f, err := s.search(ctx, q, scope)
	return f, failed(op, q.Text, err)
}

func (s *Session) search(ctx context.Context, q recall.Query, scope Scope) (*Found, error) {
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
	if scope == ScopeAll {
		r, err := s.index.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		return &Found{Results: *r}, nil
	}
	in, err := s.inScope(ctx, scope)
	if err != nil {
		return nil, err
	}
	only := q.Only
	q.Only = func(id string) bool { return in[id] && (only == nil || only(id)) }
	r, err := s.index.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	f := &Found{Results: *r}
	if scope == ScopePath && s.index.Entries() > len(in) {
		q.Only = func(id string) bool { return !in[id] && (only == nil || only(id)) }
		q.Offset, q.Limit = 0, 1
		if r, err = s.index.Search(ctx, q); err != nil {
			return nil, err
		}
		f.Elsewhere = r.Total
	}
	return f, nil
}

// inScope tells which entries of the path to the leaf are in a scope.
func (s *Session) inScope(ctx context.Context, scope Scope) (map[string]bool, error) {
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
	at, ok := session.SpilledOf(m)
	if !ok || at.Size <= maxSearched {
		return s.whole(ctx, m)
	}
	data, err := s.readOutOfLine(ctx, at, maxSearched-1<<10)
	if err != nil {
		return nil, err
	}
	return message.Parse(closed(data))
}
