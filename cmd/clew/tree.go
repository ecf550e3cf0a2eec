package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/outline"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

func newTree(cmd *cobra.Command) runFunc {
	f := filterDefault
	choiceFlag(cmd, (*string)(&f), "filter", "what to show: default, user, labeled or all",
		[]string{string(filterDefault), string(filterUser), string(filterLabeled), string(filterAll)})
	all := cmd.Flags().Bool("all", false, "show every entry: the same as --filter all")
	cmd.Flags().String("leaf", "", "take this entry as the leaf (an id or the beginning of one)")
	return func(args []string) (result, error) {
		if *all {
			if cmd.Flags().Changed("filter") && f != filterAll {
				return nil, usagef("tree: --all and --filter %s ask for different things", f)
			}
			f = filterAll
		}
		return withLeaf(cmd, args[0], "leaf", func(s kept, at string) (result, error) {
			defer working(cmd, "reading %s", args[0])()
			t, err := loadTree(cmd.Context(), s, at)
			if err != nil {
				return nil, err
			}
			return &shownTree{t, t.arrange(f)}, nil
		})
	}
}

// leafOf returns the id of the entry that a flag names, or where it names none of the leaf of the
// session; "" for a session without entries.
func leafOf(cmd *cobra.Command, s session.Store, flag string) (string, error) {
	if f := cmd.Flags().Lookup(flag); f != nil && f.Changed {
		return findID(cmd.Context(), s, f.Value.String())
	}
	last, err := s.Last(cmd.Context())
	if err != nil || last == nil {
		return "", err
	}
	return last.ID, nil
}

// shownTree is what tree prints.
type shownTree struct {
	*tree
	*outline.Tree
}

func (s *shownTree) text(rep *report) {
	s.Session.head(rep)
	line := count(s.Total, "entry", "entries") + ", " + count(s.Messages, "message") + ", " + count(s.Branches, "branch", "branches")
	if v := s.Session.Version; v != session.Version {
		line += ", format version " + strconv.Itoa(v)
	}
	rep.line(rep.p.paint(styleDim, line))
	leaf, hidden := s.leaf, s.Total
	if leaf >= 0 && !s.nodes[leaf].shown { // it is marked at what is shown of its path
		leaf = s.Above[leaf]
	}
	n := shortestOf(s.nodes, func(n *treeNode) string { return n.ID })
	for r := range s.Rows() {
		hidden--
		s.nodes[r.Node].row(rep, r, n, r.Node == leaf)
	}
	if hidden > 0 {
		rep.line(rep.p.paint(styleDim, count(hidden, "entry", "entries")+" not shown; --all shows them"))
	}
}

// timesFrom is how wide the output must be for times to be shown.
const timesFrom = 100

// row writes the line of an entry, with so many characters of ids.
func (n *treeNode) row(rep *report, r outline.Row, ids int, leaf bool) {
	p := rep.p
	mark, id, end := "  ", styleDim, ""
	if n.Active {
		mark, id = "* ", styleYellow
	}
	if leaf {
		mark, end = "> ", p.paint(styleBold, "  ← leaf")
	}
	line := p.paint(styleBold, mark) + p.paint(styleDim, indent(r, rep.wide)) + p.paint(id, pad(short(n.ID, ids), ids)) + "  "
	if rep.wide >= timesFrom {
		at := "--- -- --:--"
		if !n.at.IsZero() {
			at = n.at.Local().Format("Jan 02 15:04")
		}
		line += p.paint(styleDim, at) + "  "
	}
	line += p.paint(kindStyle(n), pad(cut(n.Kind, 10), 10)) + "  " + p.paint(styleYellow, n.notes())
	text := fit(n.withRef(ids), n.said.Tail, max(rep.wide-textWidth(line+end), 10))
	if !n.Active {
		text = p.paint(styleDim, text)
	}
	rep.line(line, text, end)
}

// notes are the label of an entry, what an edit made of it, and whether a task ended there.
func (n *treeNode) notes() (s string) {
	if n.Label != "" {
		s += "[" + cut(n.Label, 24) + "] "
	}
	if n.Edit != "" {
		s += "(" + n.Edit + ") "
	}
	if n.Checkpoint != "" {
		s += "(checkpoint: " + n.Checkpoint + ") "
	}
	return s
}

// indent draws the branches that a line is in. Deep ones would leave no room for
// the text: the outer ones of them are not drawn.
func indent(r outline.Row, columns int) (s string) {
	const step, first, on = 3, "├─ ", "│  "
	depth, last := r.Depth, on
	if most := max(columns/3/step, 1); depth > most {
		s, depth = "…  ", most
	}
	if r.First {
		last = first
	}
	if depth == 0 {
		return ""
	}
	return s + strings.Repeat(on, depth-1) + last
}

// withRef is the text of an entry with the one that it is about.
func (n *treeNode) withRef(ids int) string {
	ref := short(n.Ref, ids)
	switch {
	case ref == "":
		return n.said.Text
	case n.Type == session.TypeContextEdit, n.Type == session.TypeLabel:
		return "of " + ref + ": " + n.said.Text
	case n.Type == session.TypeCompaction:
		return "kept from " + ref + ", " + n.said.Text
	}
	return "from " + ref + ": " + n.said.Text
}

func kindStyle(n *treeNode) style {
	if n.Type == session.TypeCompaction || n.Type == session.TypeBranchSummary || slices.Contains([]string{"pass", "leaf", "edit"}, n.Kind) {
		return stylePurple
	}
	return roleStyle(n.Role)
}

// A tree is a session as tree prints it. Nodes are numbered in the order of the
// log; -1 stands for none.
type tree struct {
	treeJSON // but for its entries
	nodes    []treeNode
	leaf     int // where the conversation stands
}

type treeNode struct {
	treeEntry
	said   described
	at     time.Time
	parent int
	shown  bool // passes the filter
}

// loadTree reads a whole session.
func loadTree(ctx context.Context, s kept, leaf string) (*tree, error) {
	t := &tree{leaf: -1}
	t.Session = sessionOf(s)
	byID := map[string]int{}
	labels := map[string]string{}
	for e, err := range s.All(ctx) {
		if err != nil {
			return nil, err
		}
		n := treeNode{said: describe(e).own(), at: e.Time(), parent: -1}
		n.treeEntry = treeEntry{
			ID: own(e.ID), ParentID: own(e.ParentID), Type: session.Type(own(string(e.Type))), Time: jsonTime(n.at),
			Kind: n.said.Kind, Text: n.said.line(), Ref: n.said.Ref,
		}
		switch e.Type {
		case session.TypeMessage:
			t.Messages++
			if m, err := e.Message(); err == nil {
				n.Role = message.Role(own(string(m.Role)))
			}
		case session.TypeLabel:
			l, _ := e.Label()
			labels[own(l.TargetID)] = own(l.Label)
		case session.TypeSessionInfo:
			name, _ := e.SessionName()
			t.Session.Name = own(name)
		case session.TypeCompaction:
			c, _ := e.Compaction()
			n.FirstKept = own(c.FirstKeptEntryID)
		default:
		}
		byID[n.ID] = len(t.nodes)
		t.nodes = append(t.nodes, n)
	}
	hasChild := make([]bool, len(t.nodes))
	for i := range t.nodes {
		n := &t.nodes[i]
		n.Label = headline(labels[n.ID])
		if p, ok := byID[n.ParentID]; ok && n.ParentID != "" {
			n.parent = p
			hasChild[p] = true
		}
	}
	for i := range t.nodes {
		if !hasChild[i] {
			t.Branches++
		}
	}
	t.Total = len(t.nodes)
	if at, ok := byID[leaf]; ok {
		t.leaf, t.Leaf = at, leaf
	}
	t.activate(byID)
	path, err := session.ContextPath(ctx, s, leaf)
	for id, why := range compact.Checkpoints(path) {
		if i, ok := byID[id]; ok && t.nodes[i].Active {
			t.nodes[i].Checkpoint = string(why)
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
	for i := t.leaf; i >= 0 && !t.nodes[i].Active; i = t.nodes[i].parent {
		t.nodes[i].Active = true
		if t.nodes[i].Type == session.TypeContextEdit {
			edits = append(edits, i)
		}
	}
	for _, i := range slices.Backward(edits) {
		at, ok := byID[t.nodes[i].Ref]
		if !ok || !t.nodes[at].Active {
			continue
		}
		switch t.nodes[i].said.Text {
		case editOmits:
			t.nodes[at].Edit = "omitted"
		case editNothing:
		default:
			t.nodes[at].Edit = "edited"
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
		return n.Label != ""
	case filterUser:
		return n.Role == message.RoleUser || n.Role == message.RoleBashExecution ||
			n.Type == session.TypeCompaction || n.Type == session.TypeBranchSummary
	case filterDefault:
	}
	switch n.Type {
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
	return outline.New(parents, t.leaf, func(i int) bool { return t.nodes[i].shown }, func(i int) bool { return t.nodes[i].Active })
}

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

func sessionOf(s kept) sessionJSON {
	h := s.Header()
	return sessionJSON{s.Path(), h.ID, "", jsonTime(h.Timestamp), h.Cwd, h.ParentSession, s.Version()}
}

// head writes which session it is.
func (s *sessionJSON) head(rep *report) {
	line := "session " + printable(s.ID)
	if name := headline(s.Name); name != "" {
		line += " (" + name + ")"
	}
	if cwd := printable(tilde(s.Cwd)); cwd != "" {
		line += " of " + cwd
	}
	rep.line(rep.p.paint(styleBold, cut(line, rep.wide)))
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
	ID         string       `json:"id"`
	ParentID   string       `json:"parentId,omitempty"`
	Above      string       `json:"above,omitempty"`
	Depth      int          `json:"depth"`
	Children   int          `json:"children"`
	Active     bool         `json:"active"`
	Type       session.Type `json:"type"`
	Role       message.Role `json:"role,omitempty"`
	Time       string       `json:"time,omitempty"`
	Kind       string       `json:"kind"`
	Text       string       `json:"text,omitempty"`
	Ref        string       `json:"ref,omitempty"`
	Label      string       `json:"label,omitempty"`
	Edit       string       `json:"edit,omitempty"`
	FirstKept  string       `json:"firstKept,omitempty"`
	Checkpoint string       `json:"checkpoint,omitempty"`
}

func (s *shownTree) json() any {
	t, out := s.tree, s.treeJSON
	out.Entries = []treeEntry{}
	for r := range s.Rows() {
		n := &t.nodes[r.Node]
		e := n.treeEntry
		e.Depth, e.Children = r.Depth, len(s.Children[r.Node])
		if n.parent < 0 {
			e.ParentID = ""
		}
		if above := s.Above[r.Node]; above >= 0 {
			e.Above = t.nodes[above].ID
		}
		out.Entries = append(out.Entries, e)
	}
	return out
}
