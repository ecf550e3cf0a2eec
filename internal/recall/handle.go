package recall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/session"
)

// AmbiguousError says that a handle is the beginning of several ids.
type AmbiguousError struct {
	IDs   []string // the first 20, in the order of the log
	Count int      // how many there are
}

func (e *AmbiguousError) Error() string {
	list := strings.Join(e.IDs, ", ")
	if e.Count > len(e.IDs) {
		list += ", ..."
	}
	return fmt.Sprintf("%d entries have ids that begin so: %s", e.Count, list)
}

// ErrRange says that two entries are not on one path, or are in the wrong order.
var ErrRange = errors.New("no range")

// Handle removes what stands around an id in a summary: "[#1a2b, replaced]" is 1a2b.
func Handle(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "[") {
		s = strings.TrimSuffix(s[1:], "]")
		s = strings.TrimSuffix(s, ", replaced")
	}
	return strings.TrimPrefix(strings.TrimSpace(s), "#")
}

// Handles returns the handles of a text that has one or several, with white space or commas between them.
func Handles(s string) []string {
	s = strings.NewReplacer(", replaced]", "]", " ..", "..", ".. ", "..").Replace(s)
	return strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
}

// handles matches a text of nothing but handles.
var handles = text.Pattern(`^(\[#[^\]\s]+\]|#?[0-9a-f]{6,}(\.\.)?|#?[0-9a-f]{6,}\.\.#?[0-9a-f]{6,}|sha256-[0-9a-f]{8,})$`)

// AreHandles reports whether a query looks like handles.
func AreHandles(query string) bool {
	all := Handles(query)
	return len(all) > 0 && !slices.ContainsFunc(all, func(h string) bool { return !handles().MatchString(h) })
}

// Find returns the entry that a handle names: an id or the beginning of one, with or without
// what stands around it in a summary, or the hash of content that is kept beside the log or at
// least eight digits that it begins with. Of several it takes the one that is meant; otherwise
// the error is an *AmbiguousError. It is session.ErrNotFound when there is none.
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
			blob = strings.Clone(e.ID) // if several entries have it, its content is the same
		}
	}
	if len(begin) == 0 && blob != "" {
		begin = []string{blob}
	}
	if len(begin) > 1 {
		path, err := session.Path(ctx, store, leaf)
		if err != nil {
			return nil, err
		}
		begin = meant(path, seen, begin)
	}
	switch len(begin) {
	case 0:
		return nil, &session.Error{Op: op, Subject: handle, Err: session.ErrNotFound, Hint: "a search by words may find it"}
	case 1:
		return store.Get(ctx, begin[0])
	}
	several := &AmbiguousError{IDs: begin[:min(len(begin), 20)], Count: len(begin)}
	return nil, &session.Error{Op: op, Subject: handle, Err: several, Hint: "give more of the id"}
}

// meant returns the entries that a handle may mean on a path: the only one there, or the
// only one there that says something, or the only one of those that is not in the context.
// When there is no such one it returns several: those that say something, or all.
func meant(path []*session.Entry, named map[string]bool, all []string) []string {
	active := session.Project(path).Active
	var on, says, gone []string
	for _, e := range path {
		if !named[e.ID] {
			continue
		}
		on = append(on, e.ID)
		if Said(e) != nil {
			says = append(says, e.ID)
			if !slices.Contains(active, e) {
				gone = append(gone, e.ID)
			}
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

// blobOf reports whether the full content of an entry is kept beside the log under a hash that begins with the handle.
func blobOf(e *session.Entry, handle string) bool {
	const prefix, minBlob = "sha256-", 8
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

// FindRange returns the path from one entry to another, both included, oldest first. An empty from is the root of the
// path, an empty to the leaf. The error is ErrRange when from is not on the path to to.
func FindRange(ctx context.Context, store session.Store, leaf, from, to string) ([]*session.Entry, error) {
	ends := [2]string{leaf, ""} // the last, then the first
	for i, handle := range []string{to, from} {
		if strings.TrimSpace(handle) == "" {
			continue
		}
		e, err := Find(ctx, store, ends[0], handle)
		if err != nil {
			return nil, err
		}
		ends[i] = e.ID
	}
	path, err := session.Path(ctx, store, ends[0])
	if err != nil || ends[1] == "" {
		return path, err
	}
	if i := slices.IndexFunc(path, func(e *session.Entry) bool { return e.ID == ends[1] }); i >= 0 {
		return path[i:], nil
	}
	return nil, &session.Error{
		Op: "recall", Subject: from + ".." + to, Err: fmt.Errorf("%w: %s is not on the path to %s", ErrRange, ends[1], ends[0]),
		Hint: "give the older entry first, and two entries of one branch",
	}
}
