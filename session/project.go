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
	// Entry is where the message comes from. A compaction gives up to two
	// items: the system message stored with it and its summary.
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

// Project computes the context of a path, oldest entry first: the whole path or what ContextPath gives of it. It is
// a pure function.
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
		if !isSystem(e) {
			c.Active = append(c.Active, e)
		}
	}
	c.Boundary = len(c.Active)
	c.Active = append(c.Active, path[last+1:]...)
}

func isSystem(e *Entry) bool {
	m, err := e.Message()
	return err == nil && m.Role == message.RoleSystem
}

// edits returns the edit in force for each target and moves the boundary behind the last of them.
func (c *Context) edits() map[string]*Entry {
	edits := map[string]*Entry{}
	for i, e := range c.Active {
		if e.Type != TypeContextEdit {
			continue
		}
		view, _ := e.ContextEdit()
		edits[view.TargetID] = e
		c.Boundary = max(c.Boundary, i+1)
	}
	return edits
}

func contributed(e *Entry, live bool) []*message.Message {
	switch e.Type {
	case TypeMessage:
		if m, err := e.Message(); err == nil {
			return []*message.Message{m}
		}
	case TypeCustomMessage:
		if m, ok := e.CustomMessage(); ok {
			return []*message.Message{m}
		}
	case TypeBranchSummary:
		if b, _ := e.BranchSummary(); b.Summary != "" {
			return []*message.Message{{
				Role: message.RoleBranchSummary, Summary: b.Summary, FromID: b.FromID,
				Details: b.Details, Timestamp: e.millis(),
			}}
		}
	case TypeCompaction:
		if live {
			return compactionMessages(e)
		}
	case TypeContextEdit, TypeCustom, TypeLabel, TypeModelChange, TypeThinkingLevel, TypeSessionInfo, TypeUsage:
	}
	return nil
}

func compactionMessages(e *Entry) (out []*message.Message) {
	view, _ := e.Compaction()
	if view.SystemMessage != nil {
		out = append(out, view.SystemMessage)
	}
	return append(out, &message.Message{
		Role: message.RoleCompactionSummary, Summary: view.Summary,
		TokensBefore: view.TokensBefore, Details: view.Details, Timestamp: e.millis(),
	})
}

// Replaceable reports whether an edit can replace the content of a message of
// the role. Any message can be taken out.
func Replaceable(r message.Role) bool {
	return r == message.RoleUser || r == message.RoleAssistant || r == message.RoleToolResult || r == message.RoleCustom
}
