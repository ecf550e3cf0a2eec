package widget

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
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

// ParseTreeFilter reads the name of a filter; "" is TreeDefault.
func ParseTreeFilter(s string) (TreeFilter, error) {
	if s == "" {
		return TreeDefault, nil
	}
	if f := TreeFilter(s); slices.Contains(treeFilters, f) {
		return f, nil
	}
	return "", fmt.Errorf("tree filter %q: it is one of default, no-tools, user-only, labeled-only and all", s)
}

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
// Typing searches: all words must match. Alt+Left folds what hangs under an entry or
// goes to the beginning of its branch, Alt+Right unfolds or goes to the next
// branch. Left and Right move what is shown of deep trees.
type Tree struct {
	theme         *Theme
	width, height int

	nodes  []Node
	ids    map[string]int
	parent []int    // -1 for none
	order  []int    // all nodes, parents first and the path to the leaf before its siblings
	place  []int    // of a node in order
	lower  []string // what is searched, made at the first search
	folded map[string]bool
	filter TreeFilter
	query  string

	rows    []treeRow
	segs    []treeSeg
	rowOf   []int // of a node, -1 for none
	want    int   // the node that the user has gone to, shown or not; -1 for none
	sel     int   // the selected row, -1 for none
	leafRow int   // the row at which the leaf is marked, -1 for none
	top     int   // the first row on the screen
	pan     int   // columns that the user has moved the picture by
}

// A treeRow is a line of the tree.
type treeRow struct {
	node   int
	seg    int  // -1 for the trunk
	first  bool // of its segment
	above  int  // the row that it hangs under, -1 for none
	kids   int
	hidden int // entries that are folded away under it
}

// A treeSeg is a run of rows without branches, one level deeper than the one it
// leaves.
type treeSeg struct {
	up    int // -1 for the trunk
	level int // from 1
	last  bool
}

// NewTree returns an empty tree of 80 columns and 24 lines.
func NewTree(t *Theme) *Tree {
	return &Tree{theme: t, width: 80, height: 24, folded: map[string]bool{}, filter: TreeDefault, want: -1, sel: -1, leafRow: -1}
}

// SetTheme changes how the tree looks.
func (t *Tree) SetTheme(th *Theme) { t.theme = th }

// SetSize says how many columns and lines the tree has.
func (t *Tree) SetSize(width, height int) {
	t.width, t.height = max(width, 1), max(height, 1)
	t.scroll()
}

// SetNodes replaces the entries. The selection and the folds stay with their
// ids; at first the leaf is selected.
func (t *Tree) SetNodes(nodes []Node) {
	selected := ""
	if t.want >= 0 {
		selected = t.nodes[t.want].ID
	}
	t.nodes, t.lower = slices.Clone(nodes), nil
	t.link()
	t.want = -1
	if i, ok := t.ids[selected]; ok && selected != "" {
		t.want = i
	} else {
		for i := range t.nodes {
			if t.nodes[i].Leaf {
				t.want = i
			}
		}
	}
	if t.want < 0 && len(t.nodes) > 0 {
		t.want = t.order[len(t.order)-1]
	}
	t.rebuild()
}

// link works out who hangs under whom.
func (t *Tree) link() {
	n := len(t.nodes)
	t.ids = make(map[string]int, n)
	for i := range t.nodes {
		if _, twice := t.ids[t.nodes[i].ID]; !twice {
			t.ids[t.nodes[i].ID] = i
		}
	}
	t.parent = make([]int, n)
	kids := make([][]int, n)
	var roots []int
	for i := range t.nodes {
		p, ok := t.ids[t.nodes[i].Parent]
		if !ok || t.nodes[i].Parent == "" || p == i {
			t.parent[i] = -1
			roots = append(roots, i)
			continue
		}
		t.parent[i] = p
		kids[p] = append(kids[p], i)
	}
	pathFirst := func(list []int) []int {
		slices.SortStableFunc(list, func(a, b int) int {
			switch x, y := t.nodes[a].OnPath, t.nodes[b].OnPath; {
			case x == y:
				return 0
			case x:
				return -1
			}
			return 1
		})
		return list
	}
	t.order, t.place = make([]int, 0, n), make([]int, n)
	seen := make([]bool, n)
	var stack []int
	walk := func(root int) {
		stack = append(stack[:0], root)
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[i] {
				continue
			}
			seen[i] = true
			t.place[i] = len(t.order)
			t.order = append(t.order, i)
			for _, k := range slices.Backward(pathFirst(kids[i])) {
				stack = append(stack, k)
			}
		}
	}
	for _, r := range pathFirst(roots) {
		walk(r)
	}
	for i := range t.nodes { // what hangs in a circle is cut somewhere
		if !seen[i] {
			t.parent[i] = -1
			walk(i)
		}
	}
}

// Filter returns the filter.
func (t *Tree) Filter() TreeFilter { return t.filter }

// SetFilter changes the filter. The selection stays where it is or, while its
// entry is hidden, at what is nearest.
func (t *Tree) SetFilter(f TreeFilter) {
	if f != t.filter {
		t.filter = f
		t.rebuild()
	}
}

// Selected returns the id of the selected entry, "" for none.
func (t *Tree) Selected() string {
	if t.sel < 0 {
		return ""
	}
	return t.nodes[t.rows[t.sel].node].ID
}

// Select goes to an entry; one that is hidden is remembered.
func (t *Tree) Select(id string) {
	if i, ok := t.ids[id]; ok {
		t.want = i
		t.choose()
	}
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
	if len(t.rowOf) != n {
		t.rowOf = make([]int, n)
	}
	t.rows, t.segs = t.rows[:0], t.segs[:0]
	roots, lastRoot := 0, -1
	lastKid := make([]int, 0, n) // of a row: the row of its last child
	hangs := make([]int, n)      // of a node: the row that it hangs under
	gone := make([]int, n)       // of a node: the row that it is folded into, -1 for none
	for _, i := range t.order {
		above, into := -1, -1
		if p := t.parent[i]; p >= 0 {
			above, into = t.rowOf[p], gone[p]
			if above < 0 {
				above = hangs[p]
			}
			if into < 0 && above >= 0 && t.rowOf[p] >= 0 && t.folded[t.nodes[p].ID] {
				into = above
			}
		}
		hangs[i], gone[i], t.rowOf[i] = above, into, -1
		if !t.filter.shows(&t.nodes[i]) || len(words) > 0 && !containsAll(t.lower[i], words) {
			continue
		}
		if into >= 0 {
			t.rows[into].hidden++
			continue
		}
		row := len(t.rows)
		t.rowOf[i] = row
		t.rows = append(t.rows, treeRow{node: i, above: above})
		lastKid = append(lastKid, -1)
		if above >= 0 {
			t.rows[above].kids++
			lastKid[above] = row
		} else {
			roots++
			lastRoot = row
		}
	}
	for i := range t.rows {
		r := &t.rows[i]
		siblings, last, seg, level := roots, lastRoot, -1, 0
		if r.above >= 0 {
			siblings, last, seg = t.rows[r.above].kids, lastKid[r.above], t.rows[r.above].seg
		}
		if seg >= 0 {
			level = t.segs[seg].level
		}
		r.seg = seg
		if siblings > 1 {
			r.first = true
			r.seg = len(t.segs)
			t.segs = append(t.segs, treeSeg{up: seg, level: level + 1, last: last == i})
		}
	}
	t.leafRow = -1
	for i := range t.nodes {
		if t.nodes[i].Leaf {
			t.leafRow = t.nearest(i)
		}
	}
	t.choose()
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
	t.sel, t.pan = -1, 0
	if len(t.rows) > 0 && t.want >= 0 {
		if t.sel = t.nearest(t.want); t.sel < 0 {
			k, _ := slices.BinarySearchFunc(t.rows, t.place[t.want], func(r treeRow, place int) int { return t.place[r.node] - place })
			t.sel = min(k, len(t.rows)-1)
		}
	}
	t.scroll()
}

// goTo selects a row.
func (t *Tree) goTo(row int) {
	if len(t.rows) == 0 {
		return
	}
	t.sel = min(max(row, 0), len(t.rows)-1)
	t.want = t.rows[t.sel].node
	t.pan = 0
	t.scroll()
}

func (t *Tree) scroll() {
	n := t.pageRows()
	t.top = min(t.top, max(len(t.rows)-n, 0), max(t.sel, 0))
	t.top = max(t.top, t.sel-n+1, 0)
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
	switch k.String() {
	case "up", "ctrl+p":
		t.goTo(t.sel - 1)
	case "down", "ctrl+n":
		t.goTo(t.sel + 1)
	case "pgup":
		t.goTo(t.sel - t.pageRows())
	case "pgdown":
		t.goTo(t.sel + t.pageRows())
	case "home":
		t.goTo(0)
	case "end":
		t.goTo(len(t.rows) - 1)
	case "left":
		t.pan -= panStep
		t.pan = max(t.pan, -t.autoPan())
	case "right":
		t.pan = min(t.pan+panStep, panMost)
	case "alt+left", "ctrl+left":
		t.fold()
	case "alt+right", "ctrl+right":
		t.unfold()
	case "ctrl+d":
		t.SetFilter(TreeDefault)
	case "ctrl+t":
		t.SetFilter(TreeNoTools)
	case "ctrl+u":
		t.SetFilter(TreeUser)
	case "ctrl+l":
		t.SetFilter(TreeLabeled)
	case "ctrl+a":
		t.SetFilter(TreeAll)
	case "ctrl+o":
		t.SetFilter(treeFilters[(slices.Index(treeFilters, t.filter)+1)%len(treeFilters)])
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(t.query)
		t.search(t.query[:len(t.query)-n])
	case "esc":
		if t.query == "" {
			return TreeCancelMsg{}
		}
		t.search("")
	case "enter", "L", "ctrl+x":
		return t.act(k.String())
	default:
		if k.Text != "" {
			t.search(t.query + strings.ReplaceAll(Sanitize(k.Text), "\n", " "))
		}
	}
	return nil
}

// act says what the user wants of the selected entry.
func (t *Tree) act(key string) tea.Msg {
	if t.sel < 0 {
		return nil
	}
	n := &t.nodes[t.rows[t.sel].node]
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
	if t.sel < 0 {
		return
	}
	r := t.rows[t.sel]
	id := t.nodes[r.node].ID
	if r.kids > 0 && !t.folded[id] && (r.first || r.kids > 1 || r.above < 0) {
		t.folded[id] = true
		t.rebuild()
		return
	}
	row := r.above
	for row >= 0 && !t.rows[row].first && t.rows[row].kids == 1 && t.rows[row].above >= 0 {
		row = t.rows[row].above
	}
	if row >= 0 {
		t.goTo(row)
	}
}

// unfold shows what hangs under the selected entry; if that is shown, it goes to
// where the branch splits or ends.
func (t *Tree) unfold() {
	if t.sel < 0 {
		return
	}
	if id := t.nodes[t.rows[t.sel].node].ID; t.folded[id] {
		delete(t.folded, id)
		t.rebuild()
		return
	}
	row := t.sel
	if t.rows[row].kids > 0 {
		row++ // the first child
	}
	for t.rows[row].kids == 1 {
		row++
	}
	t.goTo(row)
}
