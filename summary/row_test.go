package summary

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/token"
)

// TestTablesOfIDs: of the rows of one table a summary has only some, however the table is
// drawn, and what was said beside it stands there.
func TestTablesOfIDs(t *testing.T) {
	foods := strings.Fields("almonds apples barley basil beans butter cabbage carrots cheese chives cloves coconut cocoa coffee couscous cumin dates fennel garlic ginger honey lentils lemons mint nutmeg olives onions oregano parsley peas pepper plums rice saltfish sesame spinach sugar thyme tomatoes turmeric vanilla vinegar walnuts yoghurt")
	row := map[string]string{
		"pipes":   "| stock_%s_%d | %s from the %s market | shelf-%03d |",
		"inside":  "stock_%s_%d | %s from the %s market | shelf-%03d",
		"tabs":    "stock_%s_%d\t%s from the %s market\tshelf-%03d",
		"gaps":    "stock_%s_%d   %s from the %s market    shelf-%03d",
		"commas":  "stock_%s_%d,%s from the %s market,shelf-%03d",
		"members": `{"id": "stock_%s_%d", "what": "%s from the %s market", "rack": "shelf-%03d"},`,
	}
	for name, row := range row {
		var table strings.Builder
		for i, food := range foods {
			fmt.Fprintf(&table, row+"\n", food, i, food, foods[(i*7+3)%len(foods)], i*3)
		}
		conv := testchat.New()
		conv.User("Why is there no saffron?")
		conv.Call("read", `{"path":"pantry.txt"}`, table.String())
		conv.Bash("sh list.sh", table.String())
		conv.Call("read", `{"path":"order.go"}`, "package order\n\n// orderSaffron is called by refillPantry when nothing is left.\nfunc orderSaffron() error { return errNoBudget }\n")
		conv.Say("orderSaffron() gives errNoBudget, so refillPantry never gets any.")
		out, err := Deterministic{}.Summarize(context.Background(), Input{Items: conv.Items(), Budget: 4000, Counter: token.Chars4()})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.Text, " market"); n == 0 || n > 16 {
			t.Errorf("%s: %d rows of two tables:\n%s", name, n, out.Text)
		}
		if !strings.Contains(out.Text, "refillPantry when nothing is left") {
			t.Errorf("%s: what was read beside it is gone:\n%s", name, out.Text)
		}
	}
}

func TestRowShape(t *testing.T) {
	same := [][]string{
		{"| a | b |", "|x|yy zz|", "  | 1 | 2 |  "},
		{"a | b | c", "1 | 2 2 | 3"},
		{"a\tb\tc", "1\t\t2 3"},
		{"a   b      c", "1  2  3"},
		{"a,b b,c", "1,2,"},
		{`{"a": 1, "b": "x"}`, `{"a":22,"b":"y z"},`},
	}
	seen := map[int32]int{}
	for i, lines := range same {
		for _, line := range lines {
			shape := rowShape(line)
			if shape != rowShape(lines[0]) || shape == 0 {
				t.Errorf("%q has the shape %d, %q has %d", line, shape, lines[0], rowShape(lines[0]))
			}
		}
		if k, ok := seen[rowShape(lines[0])]; ok {
			t.Errorf("%q and %q look the same", lines[0], same[k][0])
		}
		seen[rowShape(lines[0])] = i
	}
	for _, line := range []string{
		"", "|", "a word", "one, two, three", "if a || b || c {", "f(a,b,c)", "x := map[string]int{a,b,c}", "cat x | grep y", "a  b",
		`{"a": 1}`, "\tID     string `json:\"id\"`  // of it", "The parser, the reader and, at last, the writer.",
	} {
		if shape := rowShape(line); shape != 0 {
			t.Errorf("%q is no row, and has the shape %d", line, shape)
		}
	}
}
