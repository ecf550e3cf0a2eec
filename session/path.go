package session

import (
	"context"
	"slices"

	"github.com/clew-dev/clew/message"
)

// Path returns the entries from the root to leaf, oldest first. A leaf of "" gives an empty path. Where parents
// form a cycle, the path begins at the entry that would come twice.
func Path(ctx context.Context, s Store, leaf string) ([]*Entry, error) {
	return walk(ctx, s, leaf, func([]*Entry, *Entry) bool { return false })
}

// ContextPath returns the part of the path that the context needs: from the first kept entry of the latest
// compaction to leaf, or the whole path when there is no compaction on it. With ids it goes on to the oldest of the
// entries that have them. Its cost does not depend on what lies before.
func ContextPath(ctx context.Context, s Store, leaf string, ids ...string) ([]*Entry, error) {
	firstKept, compaction, complete := "", "", false
	ids = slices.Clone(ids)
	return walk(ctx, s, leaf, func(_ []*Entry, e *Entry) bool {
		if compaction == "" && e.Type == TypeCompaction {
			c, _ := e.Compaction()
			compaction, firstKept = e.ID, c.FirstKeptEntryID
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == e.ID })
		complete = complete || compaction != "" && (e.ID == firstKept || firstKept == "")
		return complete && len(ids) == 0
	})
}

// Walk calls fn with the entries from leaf towards the root until fn says that it has seen enough. It holds on to
// none of them; where parents form a cycle it ends before the entry that would come twice.
func Walk(ctx context.Context, s Store, leaf string, fn func(e *Entry) (enough bool)) error {
	if leaf == "" {
		return nil
	}
	e, err := s.Get(ctx, leaf)
	seen := map[string]bool{}
	for err == nil && e != nil && !seen[e.ID] {
		if len(seen)%1024 == 1023 && ctx.Err() != nil {
			return ctx.Err()
		}
		seen[e.ID] = true
		if fn(e) {
			return nil
		}
		e, err = s.Parent(ctx, e)
	}
	return err
}

// walk collects entries from leaf towards the root until stop says that the one
// just added was the last needed. It returns the oldest first.
func walk(ctx context.Context, s Store, leaf string, stop func(path []*Entry, e *Entry) bool) (path []*Entry, err error) {
	err = Walk(ctx, s, leaf, func(e *Entry) bool {
		path = append(path, e)
		return stop(path, e)
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(path)
	return path, nil
}

// ModelAt returns the model in force at leaf: that of the latest change or answer on
// the path, empty when the path names none. It reads back no further than that.
func ModelAt(ctx context.Context, s Store, leaf string) (m Model, err error) {
	found := false
	err = Walk(ctx, s, leaf, func(e *Entry) bool { m, found = modelOf(e); return found })
	return m, err
}

func modelOf(e *Entry) (m Model, ok bool) {
	if msg, err := e.Message(); err == nil && msg.Role == message.RoleAssistant {
		return Model{msg.Provider, msg.Model}, true
	}
	return e.ModelChange()
}

// Settings returns the model and the thinking level in force at leaf: those of the latest change on the path, or
// the model of the latest answer if that is later. It reads back until it has both. The level is "off" and the
// model empty when the path names none.
func Settings(ctx context.Context, s Store, leaf string) (m Model, level string, err error) {
	gotModel, gotLevel := false, false
	err = Walk(ctx, s, leaf, func(e *Entry) bool {
		if !gotModel {
			m, gotModel = modelOf(e)
		}
		if !gotLevel {
			level, gotLevel = e.ThinkingLevel()
		}
		return gotModel && gotLevel
	})
	if !gotLevel {
		level = "off"
	}
	return m, level, err
}
