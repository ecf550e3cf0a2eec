package main

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// mentioning yields the entries whose records hold text, the newest first, without
// parsing the others where the store can do that.
func mentioning(ctx context.Context, s session.Store, text string) iter.Seq2[*session.Entry, error] {
	if f, ok := s.(*jsonl.File); ok {
		return f.Mentioning(ctx, text)
	}
	return func(yield func(*session.Entry, error) bool) {
		var found []*session.Entry
		for e, err := range s.All(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			if bytes.Contains(e.Raw(), []byte(text)) {
				found = append(found, e)
			}
		}
		for _, e := range slices.Backward(found) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// findID returns the id of an entry, or the only one that begins so. It costs a look at the
// bytes of the file.
func findID(ctx context.Context, s session.Store, id string) (string, error) {
	if id == "" {
		return "", usagef("an empty entry id; clew tree lists the ids")
	}
	var found []string
	quoted := jsonx.Quote(id)
	for e, err := range mentioning(ctx, s, string(quoted[:len(quoted)-1])) {
		switch {
		case err != nil:
			return "", err
		case e.ID == id:
			return id, nil
		case strings.HasPrefix(e.ID, id) && !slices.Contains(found, e.ID):
			found = append(found, own(e.ID))
		}
	}
	slices.Reverse(found) // oldest first
	switch len(found) {
	case 0:
		_, err := s.Get(ctx, id) // however the file spells it
		return id, err
	case 1:
		return found[0], nil
	}
	const show = 4
	list := strings.Join(found[:min(show, len(found))], ", ")
	if len(found) > show {
		list += ", ..."
	}
	return "", &session.Error{
		Op: "get entry", Subject: id,
		Err:  fmt.Errorf("%d entries have ids with this beginning: %s", len(found), list),
		Hint: "give more of the id",
	}
}
