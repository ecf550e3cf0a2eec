package widget

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"charm.land/bubbles/v2/list"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/clew-dev/clew/internal/outline"
)

// A NodeKind says what an entry of a session is to a reader of its tree.
type NodeKind string

// The kinds.
const (
	NodeUser       NodeKind = "user"
	NodeAssistant  NodeKind = "assistant"
	NodeTool       NodeKind = "tool"
	NodeSummary    NodeKind = "summary" // of a branch
	NodeCompaction NodeKind = "compaction"
	NodeLabel      NodeKind = "label"
	NodeOther      NodeKind = "other"
)

// A Node is an entry of a session. Parents may come after their children; an
// entry whose parent is missing is a root.
type Node struct {
	ID, Parent string
	Kind       NodeKind
	Text       string // what it says; the beginning is enough
	Label      string
	OnPath     bool // on the path to the leaf
	Leaf       bool
	Time       time.Time // shown in its own zone
}

// A TreeFilter says which entries a tree shows.
type TreeFilter string

// The filters.
const (
	TreeDefault TreeFilter = "default"      // what was said and done
	TreeNoTools TreeFilter = "no-tools"     // the same without tool calls and their results
	TreeUser    TreeFilter = "user-only"    // what the user said, and summaries
	TreeLabeled TreeFilter = "labeled-only" // what has a label
	TreeAll     TreeFilter = "all"
)

var treeFilters = []TreeFilter{TreeDefault, TreeNoTools, TreeUser, TreeLabeled, TreeAll}

func (f TreeFilter) shows(n *Node) bool {
	switch f {
	case TreeAll:
		return true
	case TreeLabeled:
		return n.Label != ""
	case TreeUser:
		return n.Kind == NodeUser || n.Kind == NodeSummary || n.Kind == NodeCompaction
	case TreeNoTools:
		if n.Kind == NodeTool {
			return false
		}
	default:
	}
	// An assistant message without text is its tool calls.
	return n.Kind != NodeLabel && n.Kind != NodeOther && (n.Kind != NodeAssistant || n.Text != "")
}

// What a tree says.
type (
	// TreeSelectMsg says that the user goes to an entry.
	TreeSelectMsg struct{ ID string }
	// TreeLabelMsg says that the user wants to label an entry. Label is the present one.
	TreeLabelMsg struct{ ID, Label string }
	// TreeCopyMsg says that the user wants the text of an entry copied.
	TreeCopyMsg struct{ ID string }
	// TreeCancelMsg says that the user leaves the tree.
	TreeCancelMsg struct{}
)

// A Tree shows the entries of a session as a tree: runs without branches are not
// indented, branches are, that of the leaf comes first. An entry stands under its
// nearest ancestor that is shown.
//
// Typing searches: all words must match. Left folds what hangs under an entry or
// goes to the beginning of its branch, Right unfolds or goes to the next branch.
type Tree struct {
	theme         *Theme
	width, height int

	nodes  []Node
	ids    map[string]int
	parent []int    // -1 for none
	lower  []string // what is searched, made at the first search
	folded map[string]bool
	filter TreeFilter
	query  string

	list    rows
	rows    []treeRow
	rowOf   []int // of a node, -1 for none
	want    int   // the node that the user has gone to, shown or not; -1 for none
	leafRow int   // the row at which the leaf is marked, -1 for none
}

// A treeRow is a line of the tree.
type treeRow struct {
	node   int
	above  int // the row that it hangs under, -1 for none
	kids   int
	hidden int  // entries that are folded away under it
	branch bool // it is one of several that hang under the same row
	last   bool // of these
	stem   int  // where its branch begins: the row itself or one above; -1 for the trunk
	level  int  // how many branches it is inside
}

// NewTree returns an empty tree of 80 columns and 24 lines.
func NewTree(t *Theme) *Tree {
	tr := &Tree{theme: t, list: newRows(), folded: map[string]bool{}, filter: TreeDefault, want: -1, leafRow: -1}
	tr.SetSize(80, 24)
	return tr
}

// SetTheme changes how the tree looks.
func (t *Tree) SetTheme(th *Theme) { t.theme = th }

// SetSize says how many columns and lines the tree has.
func (t *Tree) SetSize(width, height int) {
	t.width, t.height = max(width, 1), max(height, 1)
	page := t.height
	if t.height >= 4 {
		page -= 2 // what is filtered, keys
	}
	t.list.setPage(t.width, page)
}

// SetNodes replaces the entries. The selection and the folds stay with their
// ids; at first the leaf is selected.
func (t *Tree) SetNodes(nodes []Node) {
	selected := ""
	if t.want >= 0 {
		selected = t.nodes[t.want].ID
	}
	t.nodes, t.lower, t.want = slices.Clone(nodes), nil, -1
	t.link()
	if i, ok := t.ids[selected]; ok && selected != "" {
		t.want = i
	} else if len(nodes) > 0 {
		t.want = len(nodes) - 1
		if i := slices.IndexFunc(nodes, func(n Node) bool { return n.Leaf }); i >= 0 {
			t.want = i
		}
	}
	t.rebuild()
}

// link works out who hangs under whom.
func (t *Tree) link() {
	t.ids = make(map[string]int, len(t.nodes))
	leaf := -1
	for i := range t.nodes {
		if _, twice := t.ids[t.nodes[i].ID]; !twice {
			t.ids[t.nodes[i].ID] = i
		}
		if t.nodes[i].Leaf {
			leaf = i
		}
	}
	parents := make([]int, len(t.nodes))
	for i := range t.nodes {
		p, ok := t.ids[t.nodes[i].Parent]
		if !ok || t.nodes[i].Parent == "" {
			p = -1
		}
		parents[i] = p
	}
	t.parent = outline.Cut(parents, leaf)
}

// SetFilter changes the filter. The selection stays where it is or, while its
// entry is hidden, at what is nearest.
func (t *Tree) SetFilter(f TreeFilter) {
	t.filter = f
	t.rebuild()
}

// sel is the selected row, -1 for none.
func (t *Tree) sel() int { return min(t.list.Index(), len(t.rows)-1) }

// Selected returns the id of the selected entry, "" for none.
func (t *Tree) Selected() string {
	if len(t.rows) == 0 {
		return ""
	}
	return t.nodes[t.rows[t.sel()].node].ID
}

// rebuild works out the rows.
func (t *Tree) rebuild() {
	n := len(t.nodes)
	words := strings.Fields(strings.ToLower(t.query))
	if len(words) > 0 && t.lower == nil {
		t.lower = make([]string, n)
		for i := range t.nodes {
			x := &t.nodes[i]
			t.lower[i] = strings.ToLower(string(x.Kind) + " " + x.Label + " " + head(x.Text, 2000))
		}
	}
	hung := outline.New(t.parent, -1, func(i int) bool {
		return t.filter.shows(&t.nodes[i]) && (len(words) == 0 || containsAll(t.lower[i], words))
	}, nil)
	t.rows, t.rowOf = t.rows[:0], slices.Repeat([]int{-1}, n)
	var stack []treeRow
	push := func(above int, kids []int) {
		slices.SortStableFunc(kids, func(a, b int) int { return t.offPath(a) - t.offPath(b) })
		for i, kid := range slices.Backward(kids) {
			stack = append(stack, treeRow{node: kid, above: above, branch: len(kids) > 1, last: i == len(kids)-1, stem: -1})
		}
	}
	for push(-1, hung.Roots); len(stack) > 0; {
		r, at := stack[len(stack)-1], len(t.rows)
		stack = stack[:len(stack)-1]
		if r.above >= 0 {
			r.stem, r.level = t.rows[r.above].stem, t.rows[r.above].level
		}
		if r.branch {
			r.stem, r.level = at, r.level+1
		}
		kids := hung.Children[r.node]
		if t.folded[t.nodes[r.node].ID] {
			for away := slices.Clone(kids); len(away) > 0; r.hidden++ {
				last := away[len(away)-1]
				away = append(away[:len(away)-1], hung.Children[last]...)
			}
			kids = nil
		}
		r.kids, t.rowOf[r.node] = len(kids), at
		t.rows = append(t.rows, r)
		push(at, kids)
	}
	t.leafRow = -1
	for i := range t.nodes {
		if t.nodes[i].Leaf {
			t.leafRow = t.nearest(i)
		}
	}
	t.list.SetItems(make([]list.Item, len(t.rows)))
	t.choose()
}

// offPath is 0 for a node on the path to the leaf, which comes first, else 1.
func (t *Tree) offPath(i int) int {
	if t.nodes[i].OnPath {
		return 0
	}
	return 1
}

// nearest returns the row of a node, else of its nearest ancestor that has one;
// -1 for none.
func (t *Tree) nearest(i int) int {
	for ; i >= 0; i = t.parent[i] {
		if t.rowOf[i] >= 0 {
			return t.rowOf[i]
		}
	}
	return -1
}

// choose selects the row of the wanted node, or the nearest one.
func (t *Tree) choose() {
	row := -1
	if t.want >= 0 {
		row = t.nearest(t.want)
		for i := t.want; row < 0 && i < len(t.nodes); i++ { // the first that is shown behind it
			row = t.rowOf[i]
		}
		if row < 0 {
			row = len(t.rows) - 1
		}
	}
	t.list.Select(max(min(row, len(t.rows)-1), 0))
}

// goTo selects a row.
func (t *Tree) goTo(row int) {
	if len(t.rows) > 0 {
		t.list.Select(min(max(row, 0), len(t.rows)-1))
		t.want = t.rows[t.sel()].node
	}
}

// Update takes a key or a paste. The result is a message of the tree or nil.
func (t *Tree) Update(msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		t.search(t.query + OneLine(msg.Content))
	case tea.KeyPressMsg:
		return t.key(msg)
	}
	return nil
}

func (t *Tree) key(k tea.KeyPressMsg) tea.Msg {
	s := k.String()
	if t.list.move(s) {
		t.goTo(t.list.Index())
		return nil
	}
	switch s {
	case "left", "alt+left", "ctrl+left":
		t.fold()
	case "right", "alt+right", "ctrl+right":
		t.unfold()
	case "ctrl+o":
		t.SetFilter(treeFilters[(slices.Index(treeFilters, t.filter)+1)%len(treeFilters)])
	case "esc":
		if t.query == "" {
			return TreeCancelMsg{}
		}
		t.search("")
	case "enter", "L", "ctrl+x":
		return t.act(s)
	default:
		if f, ok := filterKeys[s]; ok {
			t.SetFilter(f)
		} else if query, ok := typeQuery(t.query, k); ok {
			t.search(query)
		}
	}
	return nil
}

var filterKeys = map[string]TreeFilter{"ctrl+d": TreeDefault, "ctrl+t": TreeNoTools, "ctrl+u": TreeUser, "ctrl+l": TreeLabeled, "ctrl+a": TreeAll}

// act says what the user wants of the selected entry.
func (t *Tree) act(key string) tea.Msg {
	if len(t.rows) == 0 {
		return nil
	}
	n := &t.nodes[t.rows[t.sel()].node]
	switch key {
	case "L":
		return TreeLabelMsg{ID: n.ID, Label: n.Label}
	case "ctrl+x":
		return TreeCopyMsg{ID: n.ID}
	default:
		return TreeSelectMsg{ID: n.ID}
	}
}

func (t *Tree) search(query string) {
	if query != t.query {
		t.query = query
		t.rebuild()
	}
}

// fold hides what hangs under the selected entry if a branch begins there or
// splits; else it goes to where the branch begins.
func (t *Tree) fold() {
	if len(t.rows) == 0 {
		return
	}
	r := t.rows[t.sel()]
	if id := t.nodes[r.node].ID; r.kids > 0 && (r.branch || r.kids > 1 || r.above < 0) {
		t.folded[id] = true
		t.rebuild()
		return
	}
	row := r.above
	for row >= 0 && !t.rows[row].branch && t.rows[row].kids == 1 && t.rows[row].above >= 0 {
		row = t.rows[row].above
	}
	if row >= 0 {
		t.goTo(row)
	}
}

// unfold shows what hangs under the selected entry; if that is shown, it goes to
// where the branch splits or ends.
func (t *Tree) unfold() {
	if len(t.rows) == 0 {
		return
	}
	row := t.sel()
	if id := t.nodes[t.rows[row].node].ID; t.folded[id] {
		delete(t.folded, id)
		t.rebuild()
		return
	}
	if t.rows[row].kids > 0 {
		row++ // the first child
	}
	for t.rows[row].kids == 1 {
		row++
	}
	t.goTo(row)
}

const (
	cell      = 3   // columns of a level
	timesFrom = 100 // columns from which on times are shown
)

// View draws the tree: what is filtered and searched, the rows, the keys.
func (t *Tree) View() string { return strings.Join(t.lines(), "\n") }

// Cursor returns nil: what is searched for stands in the head.
func (t *Tree) Cursor() *tea.Cursor { return nil }

func (t *Tree) lines() []string {
	var out []string
	if t.height >= 4 {
		out = append(out, t.header())
	}
	from, to := t.list.shown()
	left := t.levelsLeft()
	for i := from; i < to; i++ {
		out = append(out, t.row(i, left))
	}
	if len(t.rows) == 0 {
		text := "  the session has no entries"
		if len(t.nodes) > 0 {
			text = "  no entry fits; Ctrl+A shows all, Backspace shortens the search"
		}
		out = append(out, t.theme.Paint(t.theme.Dim, Cut(text, t.width)))
	}
	for len(out) < t.height-1 {
		out = append(out, "")
	}
	if t.height >= 4 {
		out = append(out, Hints(t.theme, t.width, "Enter", "go", "Esc", "leave", "type", "to search", "Ctrl+O", "filter", "L", "label", "Ctrl+X", "copy", "←→", "fold, jump"))
	}
	return out
}

func (t *Tree) header() string {
	line := "entry " + strconv.Itoa(t.sel()+1) + " of " + strconv.Itoa(len(t.rows))
	if n := len(t.nodes) - len(t.rows); n > 0 {
		line += " · " + strconv.Itoa(n) + " not shown"
	}
	line += " · filter: " + string(t.filter)
	if t.query != "" {
		line += " · search: " + OneLine(t.query)
	}
	return t.theme.Paint(t.theme.Accent, Cut(line, t.width))
}

// levelsLeft is how many levels stand left of the screen, so that the selected row is seen.
func (t *Tree) levelsLeft() int {
	if len(t.rows) == 0 {
		return 0
	}
	room := (t.width - 2) / cell
	if at := t.rows[t.sel()].level; at > room/2 {
		return at - room/3
	}
	return 0
}

// row draws a row without its first levels.
func (t *Tree) row(i, left int) string {
	r := t.rows[i]
	n := &t.nodes[r.node]
	th := t.theme
	mark, markStyle, style := "  ", th.Text, th.Dim
	if n.OnPath {
		style = th.Text
	}
	if i == t.sel() {
		mark, markStyle, style = "> ", th.Match, th.Bold
	}
	if left > 0 {
		mark = mark[:1] + "‹"
	}
	dot, end := "· ", ""
	switch {
	case i == t.leafRow:
		dot, end = "● ", "  ← leaf"
	case n.OnPath:
		dot = "• "
	}
	line := th.Paint(th.Dim, t.guides(i, left)) + th.Paint(th.Accent, dot)
	if r.hidden > 0 {
		line += th.Paint(th.Warning, fmt.Sprintf("[+%d] ", r.hidden))
	}
	if t.width >= timesFrom {
		clock := "--- -- --:--"
		if !n.Time.IsZero() {
			clock = n.Time.Format("Jan 02 15:04")
		}
		line += th.Paint(th.Dim, clock+" ")
	}
	line += th.Paint(th.kindStyle(n.Kind), OneLine(string(n.Kind))+": ")
	if n.Label != "" {
		line += th.Paint(th.Warning, "["+Cut(OneLine(head(n.Label, 200)), 30)+"] ")
	}
	line += th.Paint(style, OneLine(head(n.Text, 2000)))
	return Cut(th.Paint(markStyle, mark)+trimStyled(Cut(line, max(t.width-2-Width(end), 0)))+th.Paint(th.Match, end), t.width)
}

// guides draws the lines left of a row that join it to its branch, without the first levels.
func (t *Tree) guides(row, left int) string {
	var cells []string
	for stem := t.rows[row].stem; stem >= 0 && t.rows[stem].level > left; {
		s := t.rows[stem]
		switch {
		case stem == row && s.last:
			cells = append(cells, "└─ ")
		case stem == row:
			cells = append(cells, "├─ ")
		case s.last:
			cells = append(cells, "   ")
		default:
			cells = append(cells, "│  ")
		}
		stem = -1
		if s.above >= 0 {
			stem = t.rows[s.above].stem
		}
	}
	slices.Reverse(cells)
	return strings.Join(cells[:min(len(cells), t.width/cell+1)], "")
}

func (th *Theme) kindStyle(k NodeKind) lipgloss.Style {
	switch k {
	case NodeUser:
		return th.User
	case NodeTool:
		return th.Tool
	case NodeCompaction, NodeSummary:
		return th.Box
	case NodeAssistant:
		return th.Accent
	default:
		return th.Dim
	}
}
