package compact

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// piTails are tails that fall on all kinds of places in generated sessions.
var piTails = []int64{0, 20, 60, 150, 400, 1000, 2500}

// eachPiCut calls fn for every leaf of generated sessions and every tail.
func eachPiCut(t *testing.T, opts sessiongen.Options, fn func(place string, path []*session.Entry, keep int64)) {
	for seed := range uint64(30) {
		data := sessiongen.Generate(seed, opts).Bytes()
		var entries []*session.Entry
		parents := map[string]bool{}
		for line := range bytes.Lines(data) {
			e, err := session.ParseEntry(bytes.TrimSpace(line))
			if err != nil || e.ID == "" || e.Type == "session" {
				continue
			}
			entries = append(entries, e)
			parents[e.ParentID] = true
		}
		store := session.NewMemory(session.Header{}, entries...)
		for _, e := range entries {
			if parents[e.ID] {
				continue
			}
			path, err := session.Path(t.Context(), store, e.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, keep := range piTails {
				fn(fmt.Sprintf("seed %d leaf %s keep %d", seed, e.ID, keep), path, keep)
			}
		}
	}
}

// What is summarized and what is kept are the two parts of the context: history,
// the prefix of the split turn, and from the first kept entry on what pi, and
// clew, will show after the compaction. That holds whatever the session, and the
// path that the context needs is enough to know it.
//
// Files in which an id comes twice are not among them: there an edit can stand
// before its target, and be left behind by any cut between the two.
func TestPiParts(t *testing.T) {
	cuts, split := 0, 0
	eachPiCut(t, sessiongen.Options{PiSafe: true}, func(place string, path []*session.Entry, keep int64) {
		prep, ok := preparePi(path, keep)
		if !ok {
			return
		}
		cuts++
		cut := prep.asCut()
		c := prep.context
		if got, want := piIDs(slices.Concat(prep.History, prep.TurnPrefix)), piIDs(withoutSystem(c.Items[cut.from:cut.at])); got != want {
			t.Errorf("%s: summarized\n%s, before the cut are\n%s", place, got, want)
		}
		if got, want := piIDs(prep.TurnPrefix), piIDs(withoutSystem(c.Items[cut.turn:cut.at])); got != want {
			t.Errorf("%s: prefix\n%s, of the turn before the cut are\n%s", place, got, want)
		}
		if cut.SplitTurn {
			split++
			if cut.turn >= cut.at || cut.TurnStart != c.Items[cut.turn].Entry.ID || !c.Items[cut.turn].Message.StartsTurn() {
				t.Errorf("%s: split turn %+v", place, cut)
			}
		}
		if cut.Summarized != cut.at-cut.from || cut.Kept != len(c.Items)-cut.at || cut.Tokens != piCost(c.Items[cut.at:]) {
			t.Errorf("%s: counts of %+v", place, cut)
		}
		if got, want := keptAfter(path, cut), withoutSystem(c.Items[cut.at:]); piIDs(got) != piIDs(want) {
			t.Errorf("%s: after the compaction\n%s, kept are\n%s", place, piIDs(got), piIDs(want))
		}
		part, ok := preparePi(contextPath(path), keep)
		if !ok || part.FirstKeptEntryID != prep.FirstKeptEntryID || part.TokensBefore != prep.TokensBefore ||
			len(part.History) != len(prep.History) || len(part.TurnPrefix) != len(prep.TurnPrefix) {
			t.Errorf("%s: the path that the context needs gives another cut", place)
		}
	})
	t.Logf("%d cuts, %d inside a turn", cuts, split)
	if cuts < 300 || split < 150 {
		t.Error("too few cases")
	}
}

// keptAfter returns what a compaction at a cut leaves of the context, without its
// own items.
func keptAfter(path []*session.Entry, cut *Cut) []session.Item {
	after := session.Project(session.Preview(path, session.NewCompaction(session.Compaction{Summary: "s", FirstKeptEntryID: cut.FirstKept})))
	items := after.Items
	for len(items) > 0 && items[0].Entry == after.Compaction {
		items = items[1:]
	}
	return items
}

func withoutSystem(items []session.Item) (out []session.Item) {
	for _, it := range items {
		if it.Message.Role != message.RoleSystem {
			out = append(out, it)
		}
	}
	return out
}

// contextPath is what session.ContextPath gives of a path.
func contextPath(path []*session.Entry) []*session.Entry {
	for i := len(path) - 1; i >= 0; i-- {
		view, ok := path[i].Compaction()
		if !ok {
			continue
		}
		for k := range path[:i] {
			if path[k].ID == view.FirstKeptEntryID {
				return path[k:]
			}
		}
		if view.FirstKeptEntryID == path[i].ID {
			return path[i:]
		}
		break
	}
	return path
}

func piIDs(items []session.Item) string {
	ids := make([]string, len(items))
	for i, it := range items {
		ids[i] = it.Entry.ID
	}
	return strings.Join(ids, " ")
}
