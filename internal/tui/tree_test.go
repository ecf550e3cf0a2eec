package tui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/tui/widget"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// entry makes a node of a kind: a role, or the type of an entry.
func entry(id, parent, kind, text string, path bool) agent.Node {
	n := agent.Node{ID: id, Parent: parent, Type: session.TypeMessage, Role: message.Role(kind), Text: text, OnPath: path}
	if slices.Contains([]session.Type{session.TypeCompaction, session.TypeBranchSummary, session.TypeLabel, session.TypeModelChange}, session.Type(kind)) {
		n.Type, n.Role = session.Type(kind), ""
	}
	return n
}

const (
	roleUser, roleAnswer, roleResult                   = "user", "assistant", "toolResult"
	typeCompaction, typeBranch, typeModel, typeLabelOf = "compaction", "branch_summary", "model_change", "label"
)

var nodeKinds = []string{roleUser, roleAnswer, roleAnswer, roleResult, roleResult, typeBranch, typeCompaction, typeLabelOf, typeModel}

// randomNodes makes a tree in which now and then a parent is missing, comes later, or
// is the entry itself.
func randomNodes(r *rand.Rand, n int) []agent.Node {
	words := []string{"fix", "parser", "test", "中文", "🙂", "Done", "deploy"}
	nodes := make([]agent.Node, n)
	for i := range nodes {
		parent := fmt.Sprintf("n%d", i-1)
		switch k := r.IntN(50); {
		case i == 0, k == 0:
			parent = ""
		case k == 1:
			parent = "missing"
		case k == 2:
			parent = fmt.Sprintf("n%d", r.IntN(n)) // maybe later, maybe a circle
		case k < 12:
			parent = fmt.Sprintf("n%d", r.IntN(i))
		}
		text := ""
		if r.IntN(6) > 0 {
			text = words[r.IntN(len(words))] + " " + words[r.IntN(len(words))]
		}
		nodes[i] = entry(fmt.Sprintf("n%d", i), parent, nodeKinds[r.IntN(len(nodeKinds))], text, false)
		if r.IntN(8) == 0 {
			nodes[i].Label = words[r.IntN(len(words))]
		}
	}
	i := r.IntN(n)
	nodes[i].Leaf = true
	for i >= 0 && !nodes[i].OnPath {
		nodes[i].OnPath = true
		i = slices.IndexFunc(nodes, func(x agent.Node) bool { return x.ID == nodes[i].Parent })
	}
	return nodes
}

// newTestTree makes a tree that is not on a screen.
func newTestTree(nodes []agent.Node) *tree {
	return newTree(&ui{theme: widget.NewTheme(widget.ModeNone, false)}, nodes)
}

// types presses keys, as a program would that shows the tree.
func (t *tree) types(names ...string) (out tea.Msg) {
	for _, name := range names {
		k, ok := keys[name]
		if !ok {
			k = tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
		}
		if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
			k = tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
		}
		out = t.Update(k)
		if k, ok := out.(widget.KeyMsg); ok && k.Key == "ctrl+o" {
			t.showAll()
		}
	}
	return out
}

// TestPi115TreeShowsWhatFits: over random trees, filters and searches, what fits is shown, and
// the selection is where the user left it or at what is nearest.
func TestPi115TreeShowsWhatFits(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 7))
	hidden := 0
	for round := range 200 {
		nodes := randomNodes(r, 1+r.IntN(60))
		tr := newTestTree(nodes)
		tr.SetSize(100, len(nodes)+6)
		query, want := "", nodes[slices.IndexFunc(nodes, func(n agent.Node) bool { return n.Leaf })].ID
		for range 25 {
			moved := false
			switch r.IntN(8) {
			case 0, 1:
				tr.types("ctrl+o")
			case 2:
				query = []string{"", "f", "test", "中 d"}[r.IntN(4)]
				tr.Find(query)
			default:
				tr.types([]string{"up", "down", "pgup", "pgdown", "home", "end"}[r.IntN(6)])
				moved = true
			}
			fits := func(i int) bool {
				e := &tr.entries[i]
				for _, w := range strings.Fields(query) {
					if !strings.Contains(strings.ToLower(e.kind+" "+e.Label+" "+e.said), w) {
						return false
					}
				}
				return tr.shows(e)
			}
			above := func(i int) (list []int) { // what fits above an entry, the nearest first
				for seen := map[int]bool{}; ; {
					seen[i] = true
					if i = tr.at(nodes[i].Parent); i < 0 || seen[i] {
						return list
					}
					if fits(i) {
						list = append(list, i)
					}
				}
			}
			var rows []string
			for _, it := range tr.Shown() {
				rows = append(rows, it.ID)
			}
			for i := range nodes {
				if !fits(i) {
					hidden++
				}
				if want := fits(i); slices.Contains(rows, nodes[i].ID) != want {
					t.Fatalf("round %d: %s is shown: %v\n%s", round, nodes[i].ID, !want, strings.Join(tr.Lines(), "\n"))
				}
			}
			circle := slices.ContainsFunc(nodes, func(n agent.Node) bool { return tr.at(n.Parent) >= tr.at(n.ID) })
			sel := tr.Selected()
			if (sel == "") != (len(rows) == 0) || sel != "" && !slices.Contains(rows, sel) {
				t.Fatalf("round %d: %q is selected", round, sel)
			}
			if moved && sel != "" {
				want = sel
			}
			if near := above(tr.at(want)); !circle && sel != want && len(rows) > 0 && !moved {
				if slices.Contains(rows, want) || len(near) > 0 && slices.Contains(rows, nodes[near[0]].ID) && sel != nodes[near[0]].ID {
					t.Fatalf("round %d: %s is selected, not what is nearest to %s:\n%s", round, sel, want, strings.Join(tr.Lines(), "\n"))
				}
			}
		}
	}
	if t.Logf("%d entries hidden", hidden); hidden < 200 {
		t.Error("too little was tried")
	}
}

func sampleTree() []agent.Node {
	nodes := []agent.Node{
		entry("1", "", roleUser, "fix the flaky test in agent/loop_test.go", true),
		entry("2", "1", roleAnswer, "I look at the test first.", true),
		entry("3", "2", roleResult, "agent/loop_test.go", true),
		entry("4", "3", roleAnswer, "", true),
		entry("5", "4", roleResult, "go test -race -count=20 ./agent", true),
		entry("6", "5", roleAnswer, "The second goroutine may win. Two ways: a mutex, or an order.", true),
		entry("7", "6", roleUser, "try the mutex", false),
		entry("8", "7", roleResult, "agent/loop.go", false),
		entry("9", "8", roleUser, "no: that deadlocks", false),
		entry("10", "8", roleUser, "又试一次:用另一个锁", false),
		entry("11", "10", typeModel, "model: opus", false),
		entry("12", "6", typeBranch, "Tried a mutex; it deadlocks because Close holds it.", true),
		entry("13", "12", roleUser, "then an order", true),
		entry("14", "13", typeCompaction, "152k → 38k tokens", true),
		entry("15", "14", roleAnswer, "Done: Close waits for the reader.\x1b[2J", true),
	}
	for i := range nodes {
		nodes[i].Time = time.Date(2026, 3, 1, 9, 7*i, 0, 0, time.Local)
	}
	nodes[2].Tool, nodes[4].Tool, nodes[7].Tool = "read", "bash", "edit"
	nodes[5].Label, nodes[14].Leaf = "two ways", true
	return nodes
}

func TestTreeGolden(t *testing.T) {
	var b strings.Builder
	for _, names := range [][]string{nil, {"ctrl+o"}, {"ctrl+o", "ctrl+o", "up"}, {"m", "u", "t", "e", "x"}, {"q", "q"}, {"home"}} {
		for _, width := range []int{80, 40} {
			tr := newTestTree(sampleTree())
			tr.SetSize(width, 18)
			tr.types(names...)
			fmt.Fprintf(&b, "# %s\n%s\n", strings.Join(names, " "), strings.Join(tr.Lines(), "\n"))
		}
	}
	compareGolden(t, "tree-keys", b.String())
}

func TestTreeMessages(t *testing.T) {
	tr := newTestTree(sampleTree())
	for _, c := range []struct {
		keys []string
		want tea.Msg
	}{
		{[]string{"enter"}, widget.DoneMsg{Value: "15"}},
		{[]string{"t", "w", "o", " ", "w", "enter"}, widget.DoneMsg{Value: "6"}},
		{[]string{"L"}, widget.KeyMsg{Key: "L", ID: "6"}},
		{[]string{"ctrl+x"}, widget.KeyMsg{Key: "ctrl+x", ID: "6"}},
		{[]string{"esc"}, nil},
		{[]string{"enter"}, widget.DoneMsg{Value: "15"}}, // the search is over, and the place is as it was
		{[]string{"esc"}, widget.LeaveMsg{}},
	} {
		if out := tr.types(c.keys...); out != c.want {
			t.Errorf("%q: %#v, want %#v", c.keys, out, c.want)
		}
	}
	tr.Select("7")
	if tr.set(sampleTree()[:9]); tr.Selected() != "7" {
		t.Errorf("new entries: %q is selected", tr.Selected())
	}
	tr.set(nil)
	if out := tr.types("up", "down", "pgdown", "left", "right", "enter"); out != nil {
		t.Errorf("an empty tree says %#v", out)
	}
}

// TestTreeDeep: in a session of branches in branches the selected entry can be read.
func TestTreeDeep(t *testing.T) {
	nodes := make([]agent.Node, 20_000)
	for i := range nodes {
		nodes[i] = entry(fmt.Sprint(i), fmt.Sprint(i-1), roleUser, fmt.Sprintf("entry %d of a long session about parsers and tests", i), false)
		if i%10 == 9 {
			nodes[i].Parent = fmt.Sprint(max(i-15, 0))
		}
		if i%10 == 0 {
			nodes[i].Parent = fmt.Sprint(i - 2)
		}
	}
	nodes[0].OnPath, nodes[0].Leaf = true, true
	tr := newTestTree(nodes)
	for _, key := range []string{"up", "down", "pgdown", "end", "pgup", "left", "right", "home"} {
		tr.types(key)
		for _, l := range tr.Lines() {
			if widget.Width(l) > 80 {
				t.Fatalf("a line is too long: %q", l)
			}
			if strings.HasPrefix(l, ">") && !strings.Contains(l, "entry ") {
				t.Errorf("after %s the selected entry can't be read: %q", key, l)
			}
		}
	}
}
