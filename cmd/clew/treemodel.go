package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/outline"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// A tree is a session as tree prints it. Nodes are numbered in the order of the
// log; -1 stands for none.
type tree struct {
	nodes    []treeNode
	leaf     int // where the conversation stands
	branches int // entries that nothing hangs under
	messages int
	name     string // of the session
}

type treeNode struct {
	described
	id     string
	typ    session.Type
	role   message.Role
	at     time.Time
	parent int
	label  string
	edit   string // "edited" or "omitted" by an edit on the path to the leaf
	kept   string // compaction: the first kept entry
	ended  string // why a task seems to have ended there, on the path to the leaf

	active bool // on the path to the leaf
	shown  bool // passes the filter
}

// loadTree reads a whole session.
func loadTree(ctx context.Context, s session.Store, leaf string) (*tree, error) {
	t := &tree{leaf: -1}
	byID := map[string]int{}
	var parents []string
	labels := map[string]string{}
	for e, err := range s.All(ctx) {
		if err != nil {
			return nil, err
		}
		n := treeNode{described: describe(e).own(), id: own(e.ID), typ: session.Type(own(string(e.Type))), at: e.Time(), parent: -1}
		switch e.Type {
		case session.TypeMessage:
			t.messages++
			if m, err := e.Message(); err == nil {
				n.role = message.Role(own(string(m.Role)))
			}
		case session.TypeLabel:
			l, _ := e.Label()
			labels[own(l.TargetID)] = own(l.Label)
		case session.TypeSessionInfo:
			name, _ := e.SessionName()
			t.name = own(name)
		case session.TypeCompaction:
			c, _ := e.Compaction()
			n.kept = own(c.FirstKeptEntryID)
		default:
		}
		byID[n.id] = len(t.nodes)
		parents = append(parents, own(e.ParentID))
		t.nodes = append(t.nodes, n)
	}
	hasChild := make([]bool, len(t.nodes))
	for i, id := range parents {
		if p, ok := byID[id]; ok && id != "" {
			t.nodes[i].parent = p
			hasChild[p] = true
		}
	}
	for i := range t.nodes {
		t.nodes[i].label = headline(labels[t.nodes[i].id])
		if !hasChild[i] {
			t.branches++
		}
	}
	if at, ok := byID[leaf]; ok {
		t.leaf = at
	}
	t.activate(byID)
	path, err := session.ContextPath(ctx, s, leaf)
	for id, why := range compact.Checkpoints(path) {
		if i, ok := byID[id]; ok && t.nodes[i].active {
			t.nodes[i].ended = string(why)
		}
	}
	return t, err
}

// own copies a text of an entry, which aliases the whole record: a tree does not
// keep the session in memory.
func own(s string) string { return strings.Clone(s) }

func (d described) own() described {
	return described{Kind: own(d.Kind), Text: own(d.Text), Tail: own(d.Tail), Ref: own(d.Ref)}
}

// activate marks the path to the leaf and what its edits change.
func (t *tree) activate(byID map[string]int) {
	var edits []int
	for i := t.leaf; i >= 0 && !t.nodes[i].active; i = t.nodes[i].parent {
		t.nodes[i].active = true
		if t.nodes[i].typ == session.TypeContextEdit {
			edits = append(edits, i)
		}
	}
	for _, i := range slices.Backward(edits) {
		at, ok := byID[t.nodes[i].Ref]
		if !ok || !t.nodes[at].active {
			continue
		}
		switch t.nodes[i].Text {
		case editOmits:
			t.nodes[at].edit = "omitted"
		case editNothing:
		default:
			t.nodes[at].edit = "edited"
		}
	}
}

// A treeFilter says which entries are shown.
type treeFilter string

const (
	filterDefault treeFilter = "default"
	filterUser    treeFilter = "user"
	filterLabeled treeFilter = "labeled"
	filterAll     treeFilter = "all"
)

func (f treeFilter) shows(n *treeNode) bool {
	switch f {
	case filterAll:
		return true
	case filterLabeled:
		return n.label != ""
	case filterUser:
		return n.role == message.RoleUser || n.role == message.RoleBashExecution ||
			n.typ == session.TypeCompaction || n.typ == session.TypeBranchSummary
	case filterDefault:
	}
	switch n.typ {
	case session.TypeLabel, session.TypeSessionInfo, session.TypeModelChange, session.TypeThinkingLevel, session.TypeUsage:
		return false
	case session.TypeCustom:
		return n.Kind == "pass" || n.Kind == "leaf"
	default:
		return true
	}
}

// arrange hangs each shown entry under its nearest shown ancestor.
func (t *tree) arrange(f treeFilter) *outline.Tree {
	parents := make([]int, len(t.nodes))
	for i := range t.nodes {
		t.nodes[i].shown = f.shows(&t.nodes[i])
		parents[i] = t.nodes[i].parent
	}
	return outline.New(parents, t.leaf, func(i int) bool { return t.nodes[i].shown }, func(i int) bool { return t.nodes[i].active })
}

// idWidth is how many characters tell the ids of the session apart.
func (t *tree) idWidth() int {
	ids := make([]string, len(t.nodes))
	for i := range t.nodes {
		ids[i] = t.nodes[i].id
	}
	return shortest(ids, 8)
}
