package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/outline"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// treeEntry is an entry of the session as the tree shows it.
type treeEntry struct {
	agent.Node
	kind, said string
	search     string // in lower case
}

// kindStyles are the colours of entries on the path to the leaf; the others are dim.
var kindStyles = map[string]func(*widget.Theme) widget.Style{
	"user":       func(t *widget.Theme) widget.Style { return t.User },
	"tool":       func(t *widget.Theme) widget.Style { return t.Tool },
	"summary":    func(t *widget.Theme) widget.Style { return t.Box },
	"compaction": func(t *widget.Theme) widget.Style { return t.Box },
	"assistant":  func(t *widget.Theme) widget.Style { return t.Text },
	"":           func(t *widget.Theme) widget.Style { return t.Dim },
}

func newTreeEntry(n agent.Node) treeEntry {
	e := treeEntry{Node: n, kind: "other", said: n.Text}
	switch {
	case n.Type == session.TypeCompaction:
		e.kind, e.said = "compaction", plainSummary(n.Text)
	case n.Type == session.TypeBranchSummary:
		e.kind, e.said = "summary", plainSummary(n.Text)
	case n.Type == session.TypeLabel:
		e.kind = "label"
	case n.Type != session.TypeMessage:
	case n.Role == message.RoleToolResult:
		e.kind, e.said = "tool", n.Tool+": "+n.Text
	case n.Role == message.RoleBashExecution:
		e.kind = "tool"
	case n.Role == message.RoleUser || n.Role == message.RoleAssistant:
		e.kind = string(n.Role)
	}
	e.search = strings.ToLower(e.kind + " " + e.Label + " " + e.said)
	return e
}

// tree is the list of the entries of the session: of what was said or done, or of all. A run
// without branches is not indented, what leaves it is. An entry stands under its nearest
// ancestor that is shown.
type tree struct {
	*widget.Picker
	reader  bool // it is read aloud: without lines, the newest first
	all     bool
	entries []treeEntry
	ids     map[string]int
}

func newTree(u *ui, nodes []agent.Node) *tree {
	t := &tree{reader: u.cfg.ScreenReader}
	t.Picker = widget.NewPicker(u.theme, widget.PickerOptions{Empty: "no entry fits; Ctrl+O shows all", Take: "go", Keys: []widget.PickerKey{
		{Key: "ctrl+o", Help: "all"}, {Key: "L", Help: "label"}, {Key: "ctrl+x", Help: "copy"},
	}}, nil)
	t.Layout = t.layout
	t.set(nodes)
	if at := slices.IndexFunc(nodes, func(n agent.Node) bool { return n.Leaf }); at >= 0 {
		t.Select(nodes[at].ID)
	}
	return t
}

// shows reports whether an entry is shown where nothing is searched. An assistant message
// without text is its tool calls.
func (t *tree) shows(e *treeEntry) bool {
	switch {
	case t.all:
		return true
	case t.reader:
		return e.Label != "" || e.kind == "user" || e.kind == "assistant" && e.said != ""
	}
	return e.kind != "label" && e.kind != "other" && (e.kind != "assistant" || e.said != "")
}

// showAll shows all entries, or again what was said or done.
func (t *tree) showAll() {
	t.all = !t.all
	t.Refresh()
}

// set replaces the entries. The selection stays with its id.
func (t *tree) set(nodes []agent.Node) {
	t.entries, t.ids = make([]treeEntry, len(nodes)), make(map[string]int, len(nodes))
	for i, n := range nodes {
		t.entries[i], t.ids[n.ID] = newTreeEntry(n), i
	}
	t.Refresh()
}

func (t *tree) at(id string) int {
	if i, ok := t.ids[id]; ok && id != "" {
		return i
	}
	return -1
}

// layout works out the rows for words to search for, and which of them is nearest to an entry.
func (t *tree) layout(query, want string) (items []widget.Item, at string) {
	words := strings.Fields(strings.ToLower(query))
	n := len(t.entries)
	parents, shown, leaf := make([]int, n), make([]bool, n), -1
	for i := range t.entries {
		e := &t.entries[i]
		parents[i] = t.at(e.Parent)
		shown[i] = t.shows(e) && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(e.search, w) })
		if e.Leaf {
			leaf = i
		}
	}
	hung := outline.New(parents, leaf, func(i int) bool { return shown[i] }, func(i int) bool { return t.entries[i].OnPath })
	nearest := func(i int) int {
		if i < 0 || shown[i] {
			return i
		}
		return hung.Above[i]
	}
	here := nearest(leaf)
	for r := range hung.Rows() {
		items = append(items, t.item(r, r.Node == here))
	}
	t.Title = "tree"
	if hidden := n - len(items); hidden > 0 {
		t.Title += fmt.Sprintf(", %d hidden", hidden)
	}
	w := t.at(want)
	near := nearest(w)
	for ; near < 0 && w >= 0 && w < n; w++ { // the first that is shown behind it
		if shown[w] {
			near = w
		}
	}
	switch {
	case near >= 0:
		at = t.entries[near].ID
	case len(items) > 0:
		at = items[len(items)-1].ID
	}
	if t.reader {
		slices.Reverse(items)
		t.Title = "the tree, the newest first"
	}
	return items, at
}

// item draws a row.
func (t *tree) item(r outline.Row, leaf bool) widget.Item {
	e := &t.entries[r.Node]
	dot, style, end := "· ", kindStyles[""], ""
	if e.OnPath {
		dot, style = "• ", kindStyles[e.kind]
	} else if t.reader {
		end = "on another branch"
	}
	if leaf {
		dot, end = "● ", "← leaf"
	}
	said := e.kind + ": "
	if e.Label != "" {
		said += "[" + widget.Cut(widget.OneLine(e.Label), 30) + "] "
	}
	it := widget.Item{ID: e.ID, Cells: []string{said + e.said}, Style: style, Detail: "[#" + e.ID + "] " + e.Time.Local().Format("Jan 02 15:04") + " · " + e.said}
	if end != "" {
		it.Cells = append(it.Cells, end)
	}
	if !t.reader {
		it.Lead = guides(r) + dot
	}
	return it
}

// mostGuides is how many of the branches that a row is in are drawn.
const mostGuides = 8

// guides draws the branches that a row is in.
func guides(r outline.Row) string {
	depth, outer := r.Depth, ""
	if depth > mostGuides {
		depth, outer = mostGuides, "‹ "
	}
	if depth > 0 && r.First {
		return outer + strings.Repeat("│ ", depth-1) + "├─"
	}
	return outer + strings.Repeat("│ ", depth)
}

func openTree(u *ui) {
	get(u, "reading the tree", "tree", u.cfg.Host.Agent().Tree, func(nodes []agent.Node) {
		if !slices.ContainsFunc(nodes, func(n agent.Node) bool { return n.Role != "" }) {
			u.note("nothing was said yet: there is no tree")
			return
		}
		t := newTree(u, nodes)
		o := u.open(t, nil)
		leave := func() { u.close(o) }
		o.stays, o.done = true, func(id string) { goThere(u, leave, &t.entries[t.ids[id]]) }
		o.key = func(key, id string) { onTree(u, t, key, id) }
	})
}

// onTree does what a key means for an entry of the tree.
func onTree(u *ui, t *tree, key, id string) {
	a := u.cfg.Host.Agent()
	i := t.at(id)
	switch {
	case key == "L" && i >= 0:
		u.edit("label (empty: none)", t.entries[i].Label, func(label string) {
			get(u, "", "label", func(ctx context.Context) ([]agent.Node, error) {
				if err := a.Label(ctx, id, strings.TrimSpace(label)); err != nil {
					return nil, err
				}
				return a.Tree(ctx)
			}, t.set)
		})
	case key == "ctrl+x" && i >= 0:
		get(u, "", "copy", func(ctx context.Context) (*clew.Recalled, error) {
			return a.Recall(ctx, id, clew.RecallOptions{Max: -1})
		}, func(r *clew.Recalled) {
			u.do(tea.SetClipboard(r.Text))
			u.note("copied, as far as the terminal lets programs do that")
		})
	case key == "ctrl+o":
		t.showAll()
	}
}

// goThere goes to an entry that was chosen in the tree, or asks what is to be done with it.
func goThere(u *ui, leave func(), n *treeEntry) {
	move := func(opt clew.BranchOptions) {
		leave()
		navigate(u, n.ID, opt)
	}
	if u.cfg.MoveAtOnce {
		move(clew.BranchOptions{})
		return
	}
	options := []widget.Option{
		{Key: "n", Text: "yes, without a summary of the branch you leave", Do: func() { move(clew.BranchOptions{}) }},
		{Key: "s", Text: "yes, with a summary of the branch you leave", Do: func() { move(clew.BranchOptions{Summarize: true}) }},
		{Key: "i", Text: "the same, with your instructions for the summary", Do: func() {
			u.edit("what the summary should pay attention to", "", func(text string) {
				move(clew.BranchOptions{Summarize: true, Instructions: strings.TrimSpace(text)})
			})
		}},
	}
	if n.OnPath {
		options[0].Text = "yes; what follows stays on its own branch"
		options[1].Text = "yes, and summarize from here: a summary tells what follows"
		options = append(options,
			widget.Option{Key: "u", Text: "no; summarize up to here: what is before it becomes a summary", Do: func() { leave(); compactUpTo(u, n.ID) }},
			widget.Option{Key: "o", Text: "no; omit it: the model is not sent it any more", Do: func() { leave(); omit(u, n.ID) }})
	}
	options = append(options, widget.Option{Key: "b", Text: "back to the tree"})
	u.choose(widget.Question{Title: "go there?", Text: where(n), Safe: len(options) - 1, Options: options}, false)
}

// compactUpTo summarizes what is before an entry of the context.
func compactUpTo(u *ui, id string) {
	a := u.cfg.Host.Agent()
	before, there := 0, false
	u.run("reading the context", func(ctx context.Context) error {
		path, err := a.Path(ctx)
		for _, s := range path {
			seen := s.Type != session.TypeCompaction && (s.Fate.Fate == compact.FateVerbatim || s.Fate.Fate == compact.FateEdited)
			if s.ID == id {
				there = seen
				break
			}
			if seen && s.Message != nil && s.Message.Role != message.RoleSystem {
				before++
			}
		}
		return err
	}, func(err error) {
		switch {
		case failed(u, "summarize up to here", err):
		case !there:
			u.note("this entry is not in the context: a summary stands for it already, or it is left out. /undo takes the last compaction back")
		case before == 0:
			u.note("nothing is before this entry that could be summarized")
		default:
			compactFirst(u, agent.CompactRequest{FirstKept: id})
		}
	})
}

func where(n *treeEntry) string {
	s := n.kind + ": " + text.FirstLine(n.said)
	if n.Role == message.RoleUser {
		s += "\nThe conversation continues before it, and its text is put into the editor."
	}
	return s
}

func navigate(u *ui, id string, opt clew.BranchOptions) {
	a := u.cfg.Host.Agent()
	doing := "moving"
	if opt.Summarize {
		doing = "summarizing the branch you leave"
	}
	get(u, doing, "move", func(ctx context.Context) (*clew.Branched, error) { return a.Navigate(ctx, id, opt) }, func(b *clew.Branched) { arrived(u, b) })
}

// summaryMarks are what a line of a summary has for others than its reader here: that it is
// of a list, and the entry that it is of.
var summaryMarks = text.Pattern(`^(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?|\s*\[#[0-9a-f]+\]`)

// plainSummary is a summary in one line: what it says, without its headings.
func plainSummary(s string) string {
	var parts []string
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "<") {
			continue
		}
		if line = summaryMarks().ReplaceAllString(line, ""); line != "" && line != "(none)" {
			parts = append(parts, line)
		}
	}
	if len(parts) == 0 {
		return text.FirstLine(s)
	}
	return strings.Join(parts, " · ")
}
