package summary_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/summary"
)

// TestStages: facts are read, the names in them tie statements together, and the text
// holds the statements that are marked as chosen, and no other.
func TestStages(t *testing.T) {
	in := scripted(t, `> Why does the importer in lib/pantry.go drop the last row?
read lib/pantry.go
  func readRows(r io.Reader) ([]Row, error)
< readRows drops the last row and stops at io.EOF before it looks at the line.
$ go test ./lib
  ok  project/lib 0.01s
< readRows now looks at the line before it stops.
fill 30`)
	in.Counter = thirds{}
	made, err := summary.Deterministic{}.Stages(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if f := made.Facts; len(f.Files) == 0 || f.Files[0].Path != "lib/pantry.go" || len(f.Commands) == 0 {
		t.Errorf("facts %+v", f)
	}
	at := slices.IndexFunc(made.Graph.Names, func(n summary.Name) bool { return n.Name == "readRows" })
	if at < 0 || len(made.Graph.Names[at].Entries) < 3 || made.Graph.Names[0].Worth != 1 {
		t.Errorf("names %+v", made.Graph.Names)
	}
	tied, chosen := 0, 0
	for _, st := range made.Graph.Statements {
		if slices.Contains(st.Names, "readRows") {
			tied++
		}
		if slices.Contains(st.Names, "before") || slices.Contains(st.Names, "line") || slices.Contains(st.Names, "looks") {
			t.Errorf("words are told as names: %q", st.Names)
		}
		if st.Chosen {
			chosen++
		}
		if st.Chosen != strings.Contains(made.Text.Text, "- "+st.Text) {
			t.Errorf("%q is chosen: %v, and the text is\n%s", st.Text, st.Chosen, made.Text.Text)
		}
	}
	if tied < 3 || chosen == 0 {
		t.Errorf("%d statements are tied by readRows, %d of all chosen", tied, chosen)
	}
	if out, err := (summary.Deterministic{}).Summarize(context.Background(), in); err != nil || out.Text != made.Text.Text {
		t.Error("another text than that of Summarize", err)
	}
}
