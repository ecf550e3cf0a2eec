package main

import (
	"github.com/clew-dev/clew/session"
)

// sessionJSON is what --json says about the session of a command.
type sessionJSON struct {
	Path          string `json:"path"`
	ID            string `json:"id"`
	Name          string `json:"name,omitempty"`
	Created       string `json:"created,omitempty"`
	Cwd           string `json:"cwd,omitempty"`
	ParentSession string `json:"parentSession,omitempty"`
	Version       int    `json:"version"`
}

func sessionOf(s kept, name string) sessionJSON {
	h := s.Header()
	return sessionJSON{
		Path: s.Path(), ID: h.ID, Name: name, Created: jsonTime(h.Timestamp),
		Cwd: h.Cwd, ParentSession: h.ParentSession, Version: s.Version(),
	}
}

// treeJSON is what tree --json prints.
type treeJSON struct {
	Session  sessionJSON `json:"session"`
	Leaf     string      `json:"leaf,omitempty"`
	Total    int         `json:"total"`
	Messages int         `json:"messages"`
	Branches int         `json:"branches"`
	Entries  []treeEntry `json:"entries"`
}

// treeEntry is an entry in treeJSON, in the order in which the tree is printed.
type treeEntry struct {
	ID         string `json:"id"`
	ParentID   string `json:"parentId,omitempty"`
	Above      string `json:"above,omitempty"`
	Depth      int    `json:"depth"`
	Children   int    `json:"children"`
	Active     bool   `json:"active"`
	Type       string `json:"type"`
	Role       string `json:"role,omitempty"`
	Time       string `json:"time,omitempty"`
	Kind       string `json:"kind"`
	Text       string `json:"text,omitempty"`
	Ref        string `json:"ref,omitempty"`
	Label      string `json:"label,omitempty"`
	Edit       string `json:"edit,omitempty"`
	FirstKept  string `json:"firstKept,omitempty"`
	Checkpoint string `json:"checkpoint,omitempty"`
}

func (s *shownTree) json() any {
	t := s.tree
	out := treeJSON{
		Session: sessionOf(s.file, t.name),
		Total:   len(t.nodes), Messages: t.messages, Branches: t.branches, Entries: []treeEntry{},
	}
	if t.leaf >= 0 {
		out.Leaf = t.nodes[t.leaf].id
	}
	for r := range s.Rows() {
		n := &t.nodes[r.Node]
		e := treeEntry{
			ID: n.id, Depth: r.Depth, Children: len(s.Children[r.Node]), Active: n.active,
			Type: string(n.typ), Role: string(n.role), Time: jsonTime(n.at),
			Kind: n.Kind, Text: n.line(), Ref: n.Ref, Label: n.label, Edit: n.edit, Checkpoint: n.ended,
		}
		if n.typ == session.TypeCompaction {
			e.FirstKept = n.kept
		}
		if n.parent >= 0 {
			e.ParentID = t.nodes[n.parent].id
		}
		if above := s.Above[r.Node]; above >= 0 {
			e.Above = t.nodes[above].id
		}
		out.Entries = append(out.Entries, e)
	}
	return out
}
