package session

import (
	"context"
	"slices"

	"github.com/clew-dev/clew/message"
)

// Context is what the model sees of a path, before it is rendered for a provider. It is computed, never stored.
type Context struct {
	Items []Item // the messages in order, each with the entry it comes from
	// Active are the entries the context is made of, in its order: the latest compaction first, then those it kept,
	// then those after it. Entries that contribute no message are among them.
	Active     []*Entry
	Compaction *Entry // the latest compaction on the path, or nil
	// Boundary is the index in Active from which on the entries stand after the last thing that changed earlier
	// parts of the context, a compaction or an edit; 0 when nothing did.
	Boundary int
}

// Item is one message of a context.
type Item struct {
	Message *message.Message
	// Entry is where the message comes from. A compaction gives up to two items: its system message and its summary.
	Entry *Entry
	Edit  *Entry // the edit that replaced the content, or nil
	At    int    // the index of Entry in Context.Active
}

// ContextAt projects the path that ends at leaf.
func ContextAt(ctx context.Context, s Store, leaf string) (*Context, error) {
	path, err := ContextPath(ctx, s, leaf)
	if err != nil {
		return nil, err
	}
	return Project(path), nil
}

// Project computes the context of a path, oldest entry first: the whole path or what ContextPath gives of it.
//
// The latest compaction stands first: the system message stored with it, then its summary. Entries from its first
// kept entry up to it follow, without system messages and older compactions; then what stands after it. A first kept
// entry that is the compaction itself, or is not on the path, keeps nothing. Of the edits among these entries the
// last for each target counts.
func Project(path []*Entry) *Context {
	c := &Context{}
	c.selectActive(path)
	edits := c.edits()
	for at, e := range c.Active {
		edit := edits[e.ID]
		for _, m := range contributed(e, e == c.Compaction) {
			it := Item{Message: m, Entry: e, At: at}
			if edit != nil {
				view, _ := edit.ContextEdit()
				if view.Omit {
					continue
				}
				if view.Content != nil && Replaceable(m.Role) {
					it.Message, it.Edit = m.WithRawContent(view.Content), edit
				}
			}
			c.Items = append(c.Items, it)
		}
	}
	return c
}

func (c *Context) selectActive(path []*Entry) {
	last := len(path) - 1
	for last >= 0 && path[last].Type != TypeCompaction {
		last--
	}
	if last < 0 {
		c.Active = path
		return
	}
	c.Compaction = path[last]
	c.Active = append(make([]*Entry, 0, len(path)), c.Compaction)
	view, _ := c.Compaction.Compaction()
	kept := slices.IndexFunc(path[:last], func(e *Entry) bool { return e.ID == view.FirstKeptEntryID })
	if kept < 0 {
		kept = last
	}
	for _, e := range path[kept:last] {
		if m, err := e.Message(); err != nil || m.Role != message.RoleSystem {
			c.Active = append(c.Active, e)
		}
	}
	c.Boundary = len(c.Active)
	c.Active = append(c.Active, path[last+1:]...)
}

// edits returns the edit in force for each target and moves the boundary behind the last of them.
func (c *Context) edits() map[string]*Entry {
	edits := map[string]*Entry{}
	for i, e := range c.Active {
		if view, ok := e.ContextEdit(); ok {
			edits[view.TargetID] = e
			c.Boundary = max(c.Boundary, i+1)
		}
	}
	return edits
}

func contributed(e *Entry, live bool) (out []*message.Message) {
	if m, ok := e.CustomMessage(); ok {
		return append(out, m)
	}
	if m, err := e.Message(); err == nil {
		return append(out, m)
	}
	if b, _ := e.BranchSummary(); b.Summary != "" {
		return append(out, &message.Message{
			Role: message.RoleBranchSummary, Summary: b.Summary, FromID: b.FromID, Details: b.Details, Timestamp: e.millis(),
		})
	}
	view, ok := e.Compaction()
	if !ok || !live {
		return nil
	}
	if view.SystemMessage != nil {
		out = append(out, view.SystemMessage)
	}
	return append(out, &message.Message{
		Role: message.RoleCompactionSummary, Summary: view.Summary,
		TokensBefore: view.TokensBefore, Details: view.Details, Timestamp: e.millis(),
	})
}

// Replaceable reports whether an edit can replace the content of a message of the role. Any message can be taken out.
func Replaceable(r message.Role) bool {
	return r == message.RoleUser || r == message.RoleAssistant || r == message.RoleToolResult || r == message.RoleCustom
}

// Path returns the entries from the root to leaf, oldest first. A leaf of "" gives an empty path. Where parents
// form a cycle, the path begins at the entry that would come twice.
func Path(ctx context.Context, s Store, leaf string) ([]*Entry, error) {
	return walk(ctx, s, leaf, func(*Entry) bool { return false })
}

// ContextPath returns the part of the path that the context needs: from the first kept entry of the latest
// compaction to leaf, or the whole path when there is no compaction on it. With ids it goes on to the oldest of the
// entries that have them. Its cost does not depend on what lies before.
func ContextPath(ctx context.Context, s Store, leaf string, ids ...string) ([]*Entry, error) {
	firstKept, compaction, complete := "", "", false
	ids = slices.Clone(ids)
	return walk(ctx, s, leaf, func(e *Entry) bool {
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

// walk collects entries from leaf towards the root up to the first that stop says is enough, the oldest first.
func walk(ctx context.Context, s Store, leaf string, stop func(e *Entry) bool) (path []*Entry, err error) {
	err = Walk(ctx, s, leaf, func(e *Entry) bool {
		path = append(path, e)
		return stop(e)
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
