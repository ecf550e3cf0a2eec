package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/session"
)

// AmbiguousError says that a handle is the beginning of several ids.
type AmbiguousError struct {
	Handle string
	// IDs are those of the entries, in the order of the log, the first maxCandidates
	// of them; Count is how many there are.
	IDs   []string
	Count int
}

const maxCandidates = 20

func (e *AmbiguousError) Error() string {
	list := strings.Join(e.IDs, ", ")
	if e.Count > len(e.IDs) {
		list += ", ..."
	}
	return fmt.Sprintf("%d entries have ids that begin so: %s", e.Count, list)
}

// ErrRange says that two entries are not on one path, or in the wrong order.
var ErrRange = errors.New("no range")

// Handle takes off what stands around an id where it is named: "[#1a2b, replaced]" is
// 1a2b.
func Handle(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "[") {
		s = strings.TrimSuffix(s[1:], "]")
		s = strings.TrimSuffix(s, ", replaced")
	}
	return strings.TrimPrefix(strings.TrimSpace(s), "#")
}

// Find returns the entry that a handle names: its id, the beginning of its id, or, of
// output that is kept beside the log, sha256- and the hash, or eight digits or more
// that the hash begins with. What stands around it in a summary is taken off. Of
// several entries with ids that begin so, the only one on the path to leaf is
// meant, or the only one there that says something, or that has left the context;
// otherwise the error is an *AmbiguousError. It is session.ErrNotFound where
// there is none.
func Find(ctx context.Context, store session.Store, leaf, handle string) (*session.Entry, error) {
	const op = "recall"
	id := Handle(handle)
	if id == "" {
		return nil, &session.Error{Op: op, Subject: handle, Err: errors.New("an empty handle"), Hint: "give the id of an entry, such as 1a2b3c4d"}
	}
	for _, exact := range []string{strings.TrimSpace(handle), id} {
		e, err := store.Get(ctx, exact)
		if err == nil || !errors.Is(err, session.ErrNotFound) {
			return e, err
		}
	}
	var begin []string
	seen := map[string]bool{}
	blob := ""
	for e, err := range store.All(ctx) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(e.ID, id) && !seen[e.ID] {
			seen[strings.Clone(e.ID)] = true
			begin = append(begin, strings.Clone(e.ID))
		}
		if blobOf(e, id) {
			blob = strings.Clone(e.ID) // where several have it, it is the same
		}
	}
	if len(begin) > 1 {
		path, err := session.Path(ctx, store, leaf)
		if err != nil {
			return nil, err
		}
		begin = meant(path, seen, begin)
	}
	switch {
	case len(begin) == 1:
		return store.Get(ctx, begin[0])
	case len(begin) > 1:
		return nil, &session.Error{
			Op: op, Subject: handle, Hint: "give more of the id",
			Err: &AmbiguousError{Handle: id, IDs: begin[:min(len(begin), maxCandidates)], Count: len(begin)},
		}
	case blob != "":
		return store.Get(ctx, blob)
	}
	return nil, &session.Error{Op: op, Subject: handle, Err: session.ErrNotFound, Hint: "a search by words may find it"}
}

// meant returns those of the entries that a handle in the context of a path may mean:
// the one on the path, of several there the one that says something, of several
// those the one that is not in the context any more. If there is no such one it returns
// all.
func meant(path []*session.Entry, named map[string]bool, all []string) []string {
	active := map[*session.Entry]bool{}
	for _, e := range session.Project(path).Active {
		active[e] = true
	}
	var on, says, gone []string
	for _, e := range path {
		if !named[e.ID] {
			continue
		}
		on = append(on, e.ID)
		if said(e) == nil {
			continue
		}
		says = append(says, e.ID)
		if !active[e] {
			gone = append(gone, e.ID)
		}
	}
	for _, ids := range [][]string{on, says, gone} {
		if len(ids) == 1 {
			return ids
		}
	}
	if len(says) > 1 {
		return says
	}
	return all
}

// minBlob is how many digits of a hash name output beside the log.
const minBlob = 8

// blobOf reports whether the whole of an entry is kept beside the log under a hash
// that begins so.
func blobOf(e *session.Entry, handle string) bool {
	const prefix = "sha256-"
	digits := strings.TrimPrefix(handle, prefix)
	if len(digits) < minBlob || e.Type != session.TypeMessage || !bytes.Contains(e.Raw(), []byte(digits)) {
		return false
	}
	m, err := e.Message()
	if err != nil {
		return false
	}
	at, ok := session.SpilledOf(m)
	return ok && strings.HasPrefix(strings.TrimPrefix(at.ID, prefix), digits)
}

// FindRange returns the path from one entry to another, both included, oldest first.
// Each is named as for Find. from "" is the root of the path, to "" the leaf. The
// error is ErrRange when from does not stand on the path to to.
func FindRange(ctx context.Context, store session.Store, leaf, from, to string) ([]*session.Entry, error) {
	last := leaf
	if strings.TrimSpace(to) != "" {
		e, err := Find(ctx, store, leaf, to)
		if err != nil {
			return nil, err
		}
		last = e.ID
	}
	first := ""
	if strings.TrimSpace(from) != "" {
		e, err := Find(ctx, store, last, from)
		if err != nil {
			return nil, err
		}
		first = e.ID
	}
	path, err := session.Path(ctx, store, last)
	if err != nil || first == "" {
		return path, err
	}
	for i, e := range path {
		if e.ID == first {
			return path[i:], nil
		}
	}
	return nil, &session.Error{
		Op: "recall", Subject: from + ".." + to, Err: fmt.Errorf("%w: %s is not on the path to %s", ErrRange, first, last),
		Hint: "give the older entry first, and two entries of one branch",
	}
}

// CutRange splits a..b; ok is false for what is no range.
func CutRange(handle string) (from, to string, ok bool) {
	return strings.Cut(handle, "..")
}
