package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/outline"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/session/jsonl"
)

// TestTreeIsWhatItDraws reads the drawn rows back: every shown entry is there
// once, hangs where the row says under its nearest shown ancestor, and the path
// to the leaf is never indented.
func TestTreeIsWhatItDraws(t *testing.T) {
	ctx := context.Background()
	branched, cyclic, indented, seeds := 0, 0, 0, 60
	if testing.Short() {
		seeds = 12
	}
	for seed := range uint64(seeds) {
		opts := sessiongen.Options{}
		opts.Odds.Branch = 0.15
		opts.Odds.Cycle = 0.02
		opts.Odds.Root = 0.03
		data := sessiongen.Generate(seed, opts).Bytes()
		f, err := jsonl.Read(ctx, "generated", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		last, _ := f.Last(ctx)
		for _, filter := range []treeFilter{filterAll, filterDefault, filterUser, filterLabeled} {
			tr, err := loadTree(ctx, f, last.ID)
			if err != nil {
				t.Fatal(err)
			}
			hung := tr.arrange(filter)
			want := 0
			for i := range tr.nodes {
				if tr.nodes[i].shown {
					want++
				}
			}
			drawn := map[int]bool{}
			lastAt := map[int]int{} // depth → the row drawn last at it
			for r := range hung.Rows() {
				n := &tr.nodes[r.Node]
				if drawn[r.Node] || !n.shown {
					t.Fatalf("seed %d, filter %s: entry %s is drawn twice or hidden", seed, filter, n.ID)
				}
				drawn[r.Node] = true
				from := r.Depth
				if r.First {
					from--
				}
				above, ok := lastAt[from]
				if !ok {
					above = -1
				}
				if above != hung.Above[r.Node] {
					t.Fatalf("seed %d, filter %s: entry %s is drawn under %d, its nearest shown ancestor is %d", seed, filter, n.ID, above, hung.Above[r.Node])
				}
				if n.Active && r.Depth > 0 {
					t.Fatalf("seed %d, filter %s: entry %s is on the path to the leaf and indented by %d", seed, filter, n.ID, r.Depth)
				}
				if r.Depth > 0 {
					indented++
				}
				for d := range lastAt {
					if d > r.Depth {
						delete(lastAt, d)
					}
				}
				lastAt[r.Depth] = r.Node
			}
			if len(drawn) != want {
				t.Fatalf("seed %d, filter %s: %d of %d entries drawn", seed, filter, len(drawn), want)
			}
			if tr.Branches > 1 {
				branched++
			}
			parents := make([]int, len(tr.nodes))
			for i := range tr.nodes {
				parents[i] = tr.nodes[i].parent
			}
			if !slices.Equal(outline.Cut(parents, tr.leaf), parents) {
				cyclic++
			}
		}
	}
	t.Logf("%d branched trees, %d with cycles, %d indented rows", branched, cyclic, indented)
	if branched < 100*seeds/60 || cyclic < 10*seeds/60 || indented < 1000*seeds/60 {
		t.Error("too few of them to show anything")
	}
}

// TestDeepTree draws a chain and a comb of 200,000 entries: neither the stack
// nor the time grows with the depth out of proportion.
func TestDeepTree(t *testing.T) {
	n := 200_000
	if testing.Short() {
		n = 5_000
	}
	for _, shape := range []string{"chain", "comb"} {
		if shape == "comb" {
			n = min(n, 50_000)
		}
		var file bytes.Buffer
		file.WriteString(`{"type":"session","version":3,"id":"deep","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n")
		for i := range n {
			parent := "null"
			switch {
			case i == 0:
			case shape == "chain":
				parent = fmt.Sprintf(`"%08x"`, i-1)
			default: // every other entry ends a branch, one deeper each time
				parent = fmt.Sprintf(`"%08x"`, (i-1)&^1)
			}
			fmt.Fprintf(&file, `{"type":"custom","id":"%08x","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","customType":"x"}`+"\n", i, parent)
		}
		start := time.Now()
		var out, errOut bytes.Buffer
		if code := Main([]string{"tree", "--all", "-"}, &file, &out, &errOut); code != 0 {
			t.Fatalf("%s: %d: %s", shape, code, &errOut)
		}
		if lines := bytes.Count(out.Bytes(), []byte("\n")); lines != n+2 {
			t.Errorf("%s: %d lines for %d entries", shape, lines, n)
		}
		longest := 0
		for line := range strings.Lines(out.String()) {
			longest = max(longest, textWidth(strings.TrimRight(line, "\n")))
		}
		if longest > defaultWidth {
			t.Errorf("%s: a line of %d columns", shape, longest)
		}
		t.Logf("%s of %d entries: %v, %d bytes", shape, n, time.Since(start).Round(time.Millisecond), out.Len())
	}
}

// TestTreeJSONMatches shows that --json has the rows of the drawn tree.
func TestTreeJSONMatches(t *testing.T) {
	data := sessiongen.Generate(4, sessiongen.Options{}).Bytes()
	run := func(args ...string) string {
		var out, errOut bytes.Buffer
		if code := Main(args, bytes.NewReader(data), &out, &errOut); code != 0 {
			t.Fatalf("%v: %d: %s", args, code, &errOut)
		}
		return out.String()
	}
	var got treeJSON
	if err := json.Unmarshal([]byte(run("tree", "--all", "--json", "-")), &got); err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(run("tree", "--all", "-")), "\n")[2:]
	if len(rows) != len(got.Entries) || len(rows) != got.Total {
		t.Fatalf("%d rows, %d entries of %d in JSON", len(rows), len(got.Entries), got.Total)
	}
	for i, e := range got.Entries {
		if !strings.Contains(rows[i], short(e.ID, 8)) || e.Active != (rows[i][0] != ' ') {
			t.Errorf("row %d is %q, entry %+v", i, rows[i], e)
		}
	}
}
