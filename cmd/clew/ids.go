package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/session"
)

// findEntry returns the entry whose id is given, or the only one whose id
// begins so.
func findEntry(ctx context.Context, s session.Store, id string) (*session.Entry, error) {
	if id == "" {
		return nil, usagef("an empty entry id; clew tree lists the ids")
	}
	e, err := s.Get(ctx, id)
	if err == nil || !errors.Is(err, session.ErrNotFound) {
		return e, err
	}
	missing := err
	var found []string
	seen := map[string]bool{}
	for e, err := range s.All(ctx) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(e.ID, id) && !seen[e.ID] {
			seen[e.ID] = true
			found = append(found, e.ID)
		}
	}
	switch len(found) {
	case 0:
		return nil, missing
	case 1:
		return s.Get(ctx, found[0])
	}
	const show = 4
	list := strings.Join(found[:min(show, len(found))], ", ")
	if len(found) > show {
		list += ", ..."
	}
	return nil, &session.Error{
		Op: "get entry", Subject: id,
		Err:  fmt.Errorf("%d entries have ids that begin so: %s", len(found), list),
		Hint: "give more of the id",
	}
}
