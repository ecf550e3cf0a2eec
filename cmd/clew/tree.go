package main

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew/internal/outline"
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
	switch {
	case n.Type == session.TypeCompaction, n.Type == session.TypeBranchSummary, n.Kind == "pass", n.Kind == "leaf", n.Kind == "edit":
		return stylePurple
	}
	return roleStyle(n.Role)
}
