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

func newTree() *cobra.Command {
	cmd := newCommand("tree", groupLook)
	f := filterDefault
	choiceFlag(cmd, (*string)(&f), "filter", "what to show: default, user, labeled or all",
		[]string{string(filterDefault), string(filterUser), string(filterLabeled), string(filterAll)})
	all := cmd.Flags().Bool("all", false, "show every entry: the same as --filter all")
	leaf := cmd.Flags().String("leaf", "", "take this entry as the leaf (an id or the beginning of one)")
	jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *all {
			if cmd.Flags().Changed("filter") && f != filterAll {
				return usagef("tree: --all and --filter %s ask for different things", f)
			}
			f = filterAll
		}
		return withSession(cmd, args[0], true, func(s kept) (result, error) {
			at, err := leafOf(cmd, s, "leaf", *leaf)
			if err != nil {
				return nil, err
			}
			bar := newProgress(cmd)
			defer bar.done()
			bar.say("reading %s", args[0])
			t, err := loadTree(cmd.Context(), s, at)
			if err != nil {
				return nil, err
			}
			return &shownTree{t, t.arrange(f), s}, nil
		})
	}
	return cmd
}

// leafOf returns the id of the entry that a flag names, or of the leaf of the
// session; "" for a session without entries.
func leafOf(cmd *cobra.Command, s session.Store, flag, value string) (string, error) {
	if cmd.Flags().Changed(flag) {
		e, err := findEntry(cmd.Context(), s, value)
		if err != nil {
			return "", err
		}
		return e.ID, nil
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
	file kept
}

func (s *shownTree) text(rep *report) {
	w, t := rep.w, s.tree
	d := drawer{w: w, p: rep.p, t: t, ids: t.idWidth(), leaf: t.leaf, columns: rep.wide}
	if t.leaf >= 0 && !t.nodes[t.leaf].shown { // it is marked at what is shown of its path
		d.leaf = s.Above[t.leaf]
	}
	d.title(s.file)
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

func (d *drawer) title(s kept) {
	h := s.Header()
	line := "session " + printable(h.ID)
	if name := headline(d.t.name); name != "" {
		line += " (" + name + ")"
	}
	if cwd := printable(tilde(h.Cwd)); cwd != "" {
		line += " of " + cwd
	}
	d.w.WriteString(d.p.paint(styleBold, cut(line, d.columns)) + "\n")
	line = count(len(d.t.nodes), "entry", "entries") + ", " + count(d.t.messages, "message") + ", " + count(d.t.branches, "branch", "branches")
	if v := s.Version(); v != session.Version {
		line += ", format version " + strconv.Itoa(v)
	}
	d.w.WriteString(d.p.paint(styleDim, line) + "\n")
}

// timesFrom is how wide the output must be for times to be shown.
const timesFrom = 100

func (d *drawer) row(r outline.Row) {
	n := &d.t.nodes[r.Node]
	mark, id := "  ", styleDim
	if n.active {
		mark, id = "* ", styleYellow
	}
	if r.Node == d.leaf {
		mark = "> "
	}
	indent := d.indent(r)
	left := textWidth(mark+indent) + d.ids + 2
	line := d.p.paint(styleBold, mark) + d.p.paint(styleDim, indent) + d.p.paint(id, pad(short(n.id, d.ids), d.ids)) + "  "
	if d.columns >= timesFrom {
		line += d.p.paint(styleDim, shortClock(n.at)) + "  "
		left += len(shortClock(n.at)) + 2
	}
	kind := cut(n.Kind, 10)
	line += d.p.paint(kindStyle(n), pad(kind, 10)) + "  "
	left += 12
	notes, text := d.notes(n), n.Text
	if n.Ref != "" {
		text = withRef(n.described, n.typ, d.ids)
	}
	end := ""
	if r.Node == d.leaf {
		end = "  ← leaf"
	}
	room := max(d.columns-left-textWidth(notes)-textWidth(end), 10)
	text = fit(text, n.Tail, room)
	if !n.active {
		text = d.p.paint(styleDim, text)
	}
	line += d.p.paint(styleYellow, notes) + text + d.p.paint(styleBold, end)
	d.w.WriteString(strings.TrimRight(line, " ") + "\n")
}

// notes are the label of an entry, what an edit made of it, and whether a task ended there.
func (d *drawer) notes(n *treeNode) string {
	s := ""
	if n.label != "" {
		s += "[" + cut(n.label, 24) + "] "
	}
	if n.edit != "" {
		s += "(" + n.edit + ") "
	}
	if n.ended != "" {
		s += "(checkpoint: " + n.ended + ") "
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
func withRef(d described, t session.Type, ids int) string {
	ref := short(d.Ref, ids)
	switch t {
	case session.TypeContextEdit, session.TypeLabel:
		return "of " + ref + ": " + d.Text
	case session.TypeCompaction:
		return "kept from " + ref + ", " + d.Text
	default:
		return "from " + ref + ": " + d.Text
	}
}

func kindStyle(n *treeNode) style {
	switch {
	case n.role == message.RoleUser:
		return styleGreen
	case n.role == message.RoleAssistant:
		return styleCyan
	case n.typ == session.TypeCompaction, n.typ == session.TypeBranchSummary, n.Kind == "pass", n.Kind == "leaf", n.Kind == "edit":
		return stylePurple
	}
	return styleDim
}
