package widget

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

var nodeKinds = []NodeKind{NodeUser, NodeAssistant, NodeAssistant, NodeTool, NodeTool, NodeSummary, NodeCompaction, NodeLabel, NodeOther}

// randomNodes makes a tree in which now and then a parent is missing, comes later, or
// is the entry itself.
func randomNodes(r *rand.Rand, n int) []Node {
	words := []string{"fix", "parser", "test", "中文", "🙂", "Done", "deploy"}
	nodes := make([]Node, n)
	for i := range nodes {
		x := &nodes[i]
		x.ID, x.Kind = fmt.Sprintf("n%d", i), nodeKinds[r.IntN(len(nodeKinds))]
		switch k := r.IntN(50); {
		case i == 0, k == 0:
		case k == 1:
			x.Parent = "missing"
		case k == 2:
			x.Parent = fmt.Sprintf("n%d", r.IntN(n)) // maybe later, maybe a circle
		case k < 12:
			x.Parent = fmt.Sprintf("n%d", r.IntN(i))
		default:
			x.Parent = fmt.Sprintf("n%d", i-1)
		}
		if r.IntN(6) > 0 {
			x.Text = fmt.Sprintf("<%s> %s %s", x.ID, words[r.IntN(len(words))], words[r.IntN(len(words))])
		}
		if r.IntN(8) == 0 {
			x.Label = words[r.IntN(len(words))]
		}
	}
	if n > 0 {
		leaf := r.IntN(n)
		nodes[leaf].Leaf = true
		for i, steps := leaf, 0; steps < n; steps++ {
			nodes[i].OnPath = true
			j := slices.IndexFunc(nodes, func(x Node) bool { return x.ID == nodes[i].Parent })
			if j < 0 {
				break
			}
			i = j
		}
	}
	return nodes
}

var rowShape = regexp.MustCompile(`^(> |  )((?:│  |   |├─ |└─ )*)([·•●]) `)

// drawnParents reads from the picture under which line each line hangs, -1 for none.
func drawnParents(t *testing.T, lines []string) []int {
	t.Helper()
	parents := make([]int, len(lines))
	levels := make([]int, len(lines))
	for i, l := range lines {
		m := rowShape.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("no row: %q", l)
		}
		guides := []rune(m[2])
		levels[i] = len(guides) / cell
		first := levels[i] > 0 && strings.ContainsRune("├└", guides[len(guides)-cell])
		parents[i] = i - 1
		if first {
			for parents[i] >= 0 && levels[parents[i]] >= levels[i] {
				parents[i]--
			}
		} else if i > 0 && levels[i-1] != levels[i] {
			t.Fatalf("line %d goes on, at another level than the one before:\n%s", i, strings.Join(lines, "\n"))
		}
		// What is drawn left of a line goes on from the line above, or begins under it.
		for k := 0; k < len(guides); k += cell {
			if guides[k] == ' ' {
				continue
			}
			begins := i == 0 && guides[k] == '├'
			if i > 0 {
				above := []rune(rowShape.FindStringSubmatch(lines[i-1])[2])
				begins = k >= len(above) || above[k] == '│' || above[k] == '├'
			}
			if !begins {
				t.Fatalf("line %d: a guide breaks off:\n%s", i, strings.Join(lines, "\n"))
			}
		}
	}
	return parents
}

// TestPi115TreeDrawsNearestVisibleAncestors: over random trees, filters, searches
// and folds, each line hangs under its nearest ancestor that is shown, and the
// selection is where the user left it or at what is nearest.
func TestPi115TreeDrawsNearestVisibleAncestors(t *testing.T) {
	r := newRand(t, 11)
	branches, folds, hidden := 0, 0, 0
	for round := range rounds(300) {
		nodes := randomNodes(r, 1+r.IntN(60))
		byID := map[string]*Node{}
		for i := range nodes {
			byID[nodes[i].ID] = &nodes[i]
		}
		tr := NewTree(none())
		tr.SetSize(3*200+200, len(nodes)+6)
		tr.SetNodes(nodes)
		for range 25 {
			was := tr.Selected()
			wasWant := tr.want
			moved := false
			switch r.IntN(8) {
			case 0, 1:
				tr.SetFilter(treeFilters[r.IntN(len(treeFilters))])
			case 2:
				do(tr, []string{"f", "test", "中", " ", "<backspace>", "<esc>", "<ctrl+o>"}[r.IntN(7)])
			case 3, 4:
				do(tr, "<alt+left>")
				moved = true
			case 5:
				do(tr, "<alt+right>")
				moved = true
			default:
				do(tr, []string{"<up>", "<down>", "<pgup>", "<pgdown>", "<home>", "<end>"}[r.IntN(6)])
				moved = true
			}
			// What must be shown, from the definition.
			fits := func(n *Node) bool {
				text := strings.ToLower(string(n.Kind) + " " + n.Label + " " + n.Text)
				return tr.filter.shows(n) && containsAll(text, strings.Fields(strings.ToLower(tr.query)))
			}
			ancestors := func(n *Node) (list []*Node) {
				for i := tr.parent[tr.ids[n.ID]]; i >= 0; i = tr.parent[i] {
					list = append(list, &nodes[i])
				}
				return list
			}
			visible := map[string]bool{}
			for i := range nodes {
				n := &nodes[i]
				in := slices.ContainsFunc(ancestors(n), func(a *Node) bool { return fits(a) && tr.folded[a.ID] })
				if fits(n) && in {
					hidden++
				}
				if fits(n) && !in {
					visible[n.ID] = true
				}
			}
			if len(visible) != len(tr.rows) {
				t.Fatalf("round %d: %d rows, want %d", round, len(tr.rows), len(visible))
			}
			if len(tr.rows) == 0 {
				if tr.Selected() != "" || do(tr, "<enter>") != nil {
					t.Fatal("something is selected where nothing is")
				}
				continue
			}
			lines := tr.lines()[1 : 1+len(tr.rows)]
			parents := drawnParents(t, lines)
			for i, row := range tr.rows {
				n := &nodes[row.node]
				if n.Text != "" && !strings.Contains(lines[i], "<"+n.ID+">") {
					t.Fatalf("line %d is not of %s: %q", i, n.ID, lines[i])
				}
				if !visible[n.ID] {
					t.Fatalf("%s is shown", n.ID)
				}
				want := ""
				for _, a := range ancestors(n) {
					if visible[a.ID] {
						want = a.ID
						break
					}
				}
				got := ""
				if parents[i] >= 0 {
					got = nodes[tr.rows[parents[i]].node].ID
				}
				if want == "" && got != "" || got != want {
					t.Fatalf("round %d: %s hangs under %q, want %q:\n%s", round, n.ID, got, want, strings.Join(lines, "\n"))
				}
				if row.branch {
					branches++
				}
			}
			folds += len(tr.folded)
			// The selection.
			sel := tr.Selected()
			if sel == "" || !visible[sel] {
				t.Fatalf("round %d: %q is selected", round, sel)
			}
			if !moved {
				if tr.want != wasWant {
					t.Fatalf("round %d: the user's place was lost", round)
				}
				wanted := nodes[tr.want].ID
				if visible[wanted] && sel != wanted {
					t.Fatalf("round %d: %s is shown, %s is selected (before: %s)", round, wanted, sel, was)
				}
				if k := slices.IndexFunc(ancestors(byID[wanted]), func(a *Node) bool { return visible[a.ID] }); !visible[wanted] && k >= 0 {
					if near := ancestors(byID[wanted])[k].ID; sel != near {
						t.Fatalf("round %d: %s is hidden, %s is selected instead of %s", round, wanted, sel, near)
					}
				}
			}
			if strings.Count(strings.Join(lines, "\n"), "\n> ")+btoi(strings.HasPrefix(lines[0], "> ")) != 1 {
				t.Fatalf("not one line is marked:\n%s", strings.Join(lines, "\n"))
			}
		}
	}
	t.Logf("%d branches drawn, %d folds, %d folded away", branches, folds, hidden)
	if branches < rounds(5000) || folds < rounds(500) || hidden < rounds(500) {
		t.Errorf("too little was tried: %d branches, %d folds, %d folded away", branches, folds, hidden)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestTreeWidth draws hostile trees at all sizes.
func TestTreeWidth(t *testing.T) {
	r := newRand(t, 12)
	for range rounds(150) {
		nodes := randomNodes(r, r.IntN(120))
		for i := range nodes {
			if r.IntN(2) == 0 {
				nodes[i].Text, nodes[i].Label = randomText(r, 20), randomText(r, 2)
			}
			if r.IntN(4) == 0 && i > 0 { // deep
				nodes[i].Parent = nodes[i-1].ID
			}
			nodes[i].Kind = NodeKind([]string{"user", "tool", "assistant", "\x1b[2J中"}[r.IntN(4)])
		}
		tr := NewTree(none())
		if r.IntN(2) == 0 {
			tr = NewTree(NewTheme(ModeDark, true))
		}
		tr.SetNodes(nodes)
		for range 20 {
			tr.SetSize(1+r.IntN(130), 1+r.IntN(40))
			do(tr, "<"+[]string{"up", "down", "pgup", "pgdown", "home", "end", "left", "right", "alt+left", "alt+right", "ctrl+o", "ctrl+a", "x", "backspace", "esc", "L", "ctrl+x", "enter"}[r.IntN(18)]+">")
			tr.Update(tea.PasteMsg{Content: []string{"", "a", "\x1b[2J"}[r.IntN(3)]})
			lines := strings.Split(tr.View(), "\n")
			checkWidth(t, "tree", lines, tr.width)
			if len(lines) > tr.height {
				t.Fatalf("%d lines in %d", len(lines), tr.height)
			}
		}
	}
}

func sampleTree() []Node {
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	var nodes []Node
	add := func(id, parent string, kind NodeKind, text string, path bool) {
		at = at.Add(7 * time.Minute)
		nodes = append(nodes, Node{ID: id, Parent: parent, Kind: kind, Text: text, OnPath: path, Time: at})
	}
	add("1", "", NodeUser, "fix the flaky test in agent/loop_test.go", true)
	add("2", "1", NodeAssistant, "I look at the test first.", true)
	add("3", "2", NodeTool, "read agent/loop_test.go", true)
	add("4", "3", NodeAssistant, "", true)
	add("5", "4", NodeTool, "bash go test -race -count=20 ./agent", true)
	add("6", "5", NodeAssistant, "The second goroutine may win. Two ways: a mutex, or an order.", true)
	add("7", "6", NodeUser, "try the mutex", false)
	add("8", "7", NodeTool, "edit agent/loop.go", false)
	add("9", "8", NodeUser, "no: that deadlocks", false)
	add("10", "8", NodeUser, "又试一次:用另一个锁", false)
	add("11", "10", NodeOther, "model: opus", false)
	add("12", "6", NodeSummary, "Tried a mutex; it deadlocks because Close holds it.", true)
	add("13", "12", NodeUser, "then an order", true)
	add("14", "13", NodeCompaction, "152k → 38k tokens", true)
	add("15", "14", NodeAssistant, "Done: Close waits for the reader.\x1b[2J", true)
	nodes[5].Label = "two ways"
	nodes[14].Leaf = true
	return nodes
}

func TestTreeGolden(t *testing.T) {
	golden(t, "tree", func(theme *Theme, width, height int) (out []string) {
		for _, keys := range []string{"", "<ctrl+a>", "<ctrl+t><up>", "<ctrl+u>", "<ctrl+l>", "mutex", "nothing like it", "<home><alt+right><down><down><down><down><alt+left><alt+left>", "<right>"} {
			tr := NewTree(theme)
			tr.SetSize(width, 20)
			tr.SetNodes(sampleTree())
			do(tr, keys)
			out = append(append(out, "# "+keys), tr.lines()...)
		}
		return out
	})
}

func TestTreeMessages(t *testing.T) {
	tr := NewTree(none())
	tr.SetNodes(sampleTree())
	if out := do(tr, "<enter>"); out != (TreeSelectMsg{"15"}) {
		t.Errorf("at first: %#v", out)
	}
	if out := do(tr, "two ways<enter>"); out != (TreeSelectMsg{"6"}) {
		t.Errorf("after a search: %#v", out)
	}
	if out := do(tr, "L"); out != (TreeLabelMsg{"6", "two ways"}) {
		t.Errorf("label: %#v", out)
	}
	if out := do(tr, "<ctrl+x>"); out != (TreeCopyMsg{"6"}) {
		t.Errorf("copy: %#v", out)
	}
	if out := do(tr, "<esc>"); out != nil || tr.query != "" {
		t.Errorf("the first escape: %#v", out)
	}
	if out := do(tr, "<esc>"); out != (TreeCancelMsg{}) {
		t.Errorf("the second escape: %#v", out)
	}
	if out := do(tr, "<enter>"); out != (TreeSelectMsg{"15"}) {
		t.Errorf("after the search was cleared, the leaf is selected no more: %#v", out)
	}
	do(tr, "try the<home><esc>")
	tr.SetNodes(sampleTree()[:9])
	if tr.Selected() != "7" {
		t.Errorf("new entries: %q is selected", tr.Selected())
	}
	tr.SetNodes(nil)
	if out := do(tr, "<up><down><pgdown><alt+left><alt+right><enter>L"); out != nil {
		t.Errorf("an empty tree says %#v", out)
	}
}

func TestTreeLeafOfAFilteredTree(t *testing.T) {
	tr := NewTree(none())
	tr.SetNodes(sampleTree())
	tr.SetFilter(TreeUser)
	var marked []string
	for _, l := range tr.lines() {
		if strings.Contains(l, "← leaf") {
			marked = append(marked, l)
		}
	}
	if len(marked) != 1 || !strings.Contains(marked[0], "152k") {
		t.Errorf("the leaf is marked at %q", marked)
	}
}

// deepTree is a session of n entries with a branch at every tenth, each
// inside the one before.
func deepTree(n int) []Node {
	nodes := make([]Node, n)
	for i := range nodes {
		nodes[i] = Node{ID: fmt.Sprint(i), Kind: nodeKinds[i%len(nodeKinds)], Text: fmt.Sprintf("entry %d of a long session about parsers and tests", i), OnPath: true}
		if i > 0 {
			nodes[i].Parent = fmt.Sprint(i - 1)
		}
		if i%10 == 9 {
			nodes[i].Parent, nodes[i].OnPath = fmt.Sprint(max(i-15, 0)), false
		}
		if i%10 == 0 && i > 1 {
			nodes[i].Parent = fmt.Sprint(i - 2)
		}
	}
	nodes[n-2].Leaf = true
	return nodes
}

func TestTreeDeep(t *testing.T) {
	tr := NewTree(none())
	nodes := deepTree(40_000)
	tr.SetNodes(nodes)
	if n := tr.rows[tr.sel()].level; n < 1000 {
		t.Fatalf("the leaf is %d levels deep", n)
	}
	for _, keys := range []string{"", "<up>", "<pgup>", "<home>", "<end>", "<left><left>", "<right>"} {
		do(tr, keys)
		lines := tr.lines()
		checkWidth(t, "tree", lines, 80)
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, ">") && strings.Contains(l, "entry ") }) {
			t.Errorf("after %q the selected entry can't be read:\n%s", keys, strings.Join(lines, "\n"))
		}
	}
}

func BenchmarkTreeKey(b *testing.B) {
	for _, keys := range []string{"<up>", "<pgup>", "<end><home>", "<ctrl+o>", "p<backspace>", "<alt+left>"} {
		b.Run(keys, func(b *testing.B) {
			tr := NewTree(NewTheme(ModeDark, true))
			tr.SetSize(200, 50)
			tr.SetNodes(deepTree(40_000))
			do(tr, "p<backspace>")
			b.ReportAllocs()
			for b.Loop() {
				do(tr, keys)
				tr.View()
			}
		})
	}
}
