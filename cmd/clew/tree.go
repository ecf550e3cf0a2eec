package main

import (
	"bufio"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
		return withSession(cmd, args[0], true, func(s kept) (result, error) {
			at, err := leafOf(cmd, s, "leaf")
			if err != nil {
				return nil, err
			}
			defer working(cmd, "reading %s", args[0])()
			t, err := loadTree(cmd.Context(), s, at)
			if err != nil {
				return nil, err
			}
			return &shownTree{t, t.arrange(f), sessionOf(s, t.name)}, nil
		})
	}
}

// leafOf returns the id of the entry that a flag names, or of the leaf of the
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
	session sessionJSON
}

func (s *shownTree) text(rep *report) {
	w, t := rep.w, s.tree
	d := drawer{w: w, p: rep.p, t: t, ids: t.idWidth(), leaf: t.leaf, columns: rep.wide}
	if t.leaf >= 0 && !t.nodes[t.leaf].shown { // it is marked at what is shown of its path
		d.leaf = s.Above[t.leaf]
	}
	d.title(&s.session)
	shown := 0
	for r := range s.Rows() {
		shown++
		d.row(r)
	}
	if hidden := len(t.nodes) - shown; hidden > 0 {
		w.WriteString(d.p.paint(styleDim, count(hidden, "entry", "entries")+" not shown; --all shows them") + "\n")
	}
}

// drawer writes the lines of a tree.
type drawer struct {
	w       *bufio.Writer
	p       painter
	t       *tree
	ids     int // characters of an id
	leaf    int
	columns int
}

func (d *drawer) title(s *sessionJSON) {
	line := "session " + printable(s.ID)
	if name := headline(s.Name); name != "" {
		line += " (" + name + ")"
	}
	if cwd := printable(tilde(s.Cwd)); cwd != "" {
		line += " of " + cwd
	}
	d.w.WriteString(d.p.paint(styleBold, cut(line, d.columns)) + "\n")
	line = count(len(d.t.nodes), "entry", "entries") + ", " + count(d.t.messages, "message") + ", " + count(d.t.branches, "branch", "branches")
	if s.Version != session.Version {
		line += ", format version " + strconv.Itoa(s.Version)
	}
	d.w.WriteString(d.p.paint(styleDim, line) + "\n")
}

// timesFrom is how wide the output must be for times to be shown.
const timesFrom = 100

func (d *drawer) row(r outline.Row) {
	n := &d.t.nodes[r.Node]
	mark, id := "  ", styleDim
	if n.Active {
		mark, id = "* ", styleYellow
	}
	if r.Node == d.leaf {
		mark = "> "
	}
	indent := d.indent(r)
	left := textWidth(mark+indent) + d.ids + 2
	line := d.p.paint(styleBold, mark) + d.p.paint(styleDim, indent) + d.p.paint(id, pad(short(n.ID, d.ids), d.ids)) + "  "
	if d.columns >= timesFrom {
		line += d.p.paint(styleDim, shortClock(n.at)) + "  "
		left += len(shortClock(n.at)) + 2
	}
	kind := cut(n.Kind, 10)
	line += d.p.paint(kindStyle(n), pad(kind, 10)) + "  "
	left += 12
	notes, text := d.notes(n), n.said.Text
	if n.Ref != "" {
		text = withRef(n, d.ids)
	}
	end := ""
	if r.Node == d.leaf {
		end = "  ← leaf"
	}
	room := max(d.columns-left-textWidth(notes)-textWidth(end), 10)
	text = fit(text, n.said.Tail, room)
	if !n.Active {
		text = d.p.paint(styleDim, text)
	}
	line += d.p.paint(styleYellow, notes) + text + d.p.paint(styleBold, end)
	d.w.WriteString(strings.TrimRight(line, " ") + "\n")
}

// notes are the label of an entry, what an edit made of it, and whether a task ended there.
func (d *drawer) notes(n *treeNode) string {
	s := ""
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
func (d *drawer) indent(r outline.Row) string {
	const step, first, on = 3, "├─ ", "│  "
	depth, most := r.Depth, max(d.columns/3/step, 1)
	if depth == 0 {
		return ""
	}
	s := ""
	if depth > most {
		s, depth = "…  ", most
	}
	last := on
	if r.First {
		last = first
	}
	return s + strings.Repeat(on, depth-1) + last
}

func shortClock(t time.Time) string {
	if t.IsZero() {
		return "--- -- --:--"
	}
	return t.Local().Format("Jan 02 15:04")
}

// withRef is the text of an entry with the one that it is about.
func withRef(n *treeNode, ids int) string {
	ref := short(n.Ref, ids)
	switch n.Type {
	case session.TypeContextEdit, session.TypeLabel:
		return "of " + ref + ": " + n.said.Text
	case session.TypeCompaction:
		return "kept from " + ref + ", " + n.said.Text
	default:
		return "from " + ref + ": " + n.said.Text
	}
}

func kindStyle(n *treeNode) style {
	switch {
	case n.Role == message.RoleUser:
		return styleGreen
	case n.Role == message.RoleAssistant:
		return styleCyan
	case n.Type == session.TypeCompaction, n.Type == session.TypeBranchSummary, n.Kind == "pass", n.Kind == "leaf", n.Kind == "edit":
		return stylePurple
	}
	return styleDim
}
