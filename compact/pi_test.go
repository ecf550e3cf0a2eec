package compact

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/token"
)

// explained are the places where a cut is not that of pi, with the reason: "file
// leaf keep". There are none.
var explained = map[string]string{}

// piAnswer is what pi says about one leaf and one tail.
type piAnswer struct {
	Keep int64
	Raw  piRaw
	Prep *piPrepared
}

type piRaw struct {
	FirstKeptEntryIndex, TurnStartIndex int
	IsSplitTurn                         bool
}

type piPrepared struct {
	FirstKept         string
	Split             bool
	TokensBefore      int64
	Prev              *string // hash of the previous summary
	Sum, Prefix       int
	SumSha, PrefixSha string
	Files             piFileLists
}

type piFileLists struct{ ReadFiles, ModifiedFiles []string }

// piCounts counts what a comparison ran on.
type piCounts struct {
	files, leaves, cuts, prepared, split, previous, pastInput, texts, branches int
	moved, forward, nothing, unsplit                                           int // by the guard
}

// For every leaf and every tail the cut is that of pi, and so is what is made of
// it: entries, split turn, numbers of messages, their text, previous summary,
// tokens before and files. All this before the guard.
func TestPiCutIsThatOfPi(t *testing.T) {
	t.Run("committed", func(t *testing.T) {
		got := comparePiFiles(t, filepath.Join("..", "testdata", "pi"))
		if got.prepared < 450 || got.split < 250 || got.previous < 200 || got.pastInput < 20 || got.texts < 400 || got.moved < 2 || got.forward+got.nothing < 2 || got.unsplit < 10 {
			t.Errorf("too few cases: %+v", got)
		}
	})
	t.Run("corpus", func(t *testing.T) {
		comparePiFiles(t, filepath.Join(piCorpus(t), "pi-fuzz"))
	})
	for place := range explained {
		t.Errorf("%s is explained, and no such place differs", place)
	}
}

func piCorpus(t *testing.T) string {
	t.Helper()
	dir, promised := os.LookupEnv("CLEW_CORPUS")
	if !promised {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) == 0 {
		if promised {
			t.Fatalf("CLEW_CORPUS is %q, and there is nothing: %v", dir, err)
		}
		t.Skip("no recorded sessions: set CLEW_CORPUS to their folder")
	}
	return dir
}

func comparePiFiles(t *testing.T, dir string) piCounts {
	files, err := filepath.Glob(filepath.Join(dir, "*.golden.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no answers of pi in %s (%v)", dir, err)
	}
	var counts piCounts
	for _, file := range files {
		comparePiFile(t, file, &counts)
	}
	t.Logf("%+v", counts)
	return counts
}

func comparePiFile(t *testing.T, file string, counts *piCounts) {
	var golden struct {
		Leaves []struct {
			Leaf string
			Cuts []piAnswer
		}
	}
	piReadJSON(t, file, &golden)
	name := strings.TrimSuffix(file, ".golden.json")
	store := piOpen(t, name+".jsonl")
	id := piNames(t, store)
	counts.files++
	for _, leaf := range golden.Leaves {
		path, err := session.Path(t.Context(), store, id(leaf.Leaf))
		if err != nil {
			t.Fatal(err)
		}
		counts.leaves++
		for _, want := range leaf.Cuts {
			place := fmt.Sprintf("%s %s %d", filepath.Base(name), leaf.Leaf, want.Keep)
			diff := comparePi(t, path, want, id, counts)
			if _, known := explained[place]; known && diff != "" {
				delete(explained, place)
				continue
			}
			if diff != "" {
				t.Errorf("%s: %s", place, diff)
			}
		}
	}
}

func comparePi(t *testing.T, path []*session.Entry, want piAnswer, id func(string) string, counts *piCounts) string {
	counts.cuts++
	cut := findPiCutIn(path, 0, len(path), want.Keep)
	if raw := (piRaw{cut.FirstKept, cut.TurnStart, cut.SplitTurn}); raw != want.Raw {
		return fmt.Sprintf("raw cut %+v, pi has %+v", raw, want.Raw)
	}
	prep, ok := preparePi(path, want.Keep)
	if ok != (want.Prep != nil) {
		return fmt.Sprintf("prepared %v, pi has %+v", ok, want.Prep)
	}
	if !ok {
		return ""
	}
	got := piPrepared{
		FirstKept: prep.FirstKeptEntryID, Split: prep.SplitTurn, TokensBefore: prep.TokensBefore,
		Sum: len(prep.History), Prefix: len(prep.TurnPrefix),
		Files: piFileLists{prep.ReadFiles, prep.ModifiedFiles},
	}
	if before := prep.context.Items[:itemAt(prep.context, prep.at)]; slices.ContainsFunc(before, toldOfBranch) {
		counts.branches++ // whose files count here, and not in pi
		got.Files.ReadFiles, got.Files.ModifiedFiles = ledger.PiFiles(slices.DeleteFunc(slices.Clone(before), toldOfBranch))
	}
	if prep.HasPrevious {
		hash := piHash(prep.PreviousSummary)
		got.Prev = &hash
		counts.previous++
	}
	w := *want.Prep
	w.FirstKept = id(w.FirstKept)
	counts.text(prep.History, &got.SumSha, &w.SumSha)
	counts.text(prep.TurnPrefix, &got.PrefixSha, &w.PrefixSha)
	if a, b := piJSON(t, got), piJSON(t, w); a != b {
		return fmt.Sprintf("\n%s, pi has\n%s", a, b)
	}
	counts.prepared++
	if got.Split {
		counts.split++
	}
	if c := prep.asCut(); c.Kept == 0 {
		counts.pastInput++
	}
	counts.guard(t, &prep)
	return ""
}

func toldOfBranch(it session.Item) bool { return it.Message.Role == message.RoleBranchSummary }

// text takes over the hash of the messages where pi's own words are in them.
func (counts *piCounts) text(items []session.Item, got, want *string) {
	text, ok := piSerialized(items)
	if !ok {
		*got = *want
		return
	}
	*got = piHash(text)
	counts.texts++
}

// guard counts what becomes of pi's cut.
func (counts *piCounts) guard(t *testing.T, prep *piPreparation) {
	cost := token.Chars4().Message
	cut := prep.asCut()
	safe := safeCut(prep.context, unitsOf(prep.context.Items, cost), cut, cost)
	switch {
	case safe.Summarized == 0:
		counts.nothing++
	case safe.at > cut.at:
		counts.forward++
	case safe.at < cut.at:
		counts.moved++
	case safe.SplitTurn != cut.SplitTurn:
		counts.unsplit++
	}
	checkPair(t, prep.context.Items, safe)
}

// checkPair holds a safe cut against pairing: what is kept has no result of a call
// that is not kept.
func checkPair(t *testing.T, items []session.Item, cut *Cut) {
	t.Helper()
	if cut.Summarized == 0 {
		return
	}
	open := map[string]int{}
	for i, it := range items {
		for _, call := range it.Message.ToolCalls() {
			open[call.ID] = i
		}
		if it.Message.Role != message.RoleToolResult || i < cut.at {
			continue
		}
		if call, ok := open[it.Message.ToolCallID]; ok && call < cut.at {
			t.Errorf("kept from %s on: result %s without its call %s", cut.FirstKept, it.Entry.ID, items[call].Entry.ID)
		}
	}
}

// The same for a real session of a thousand entries and five tails.
func TestPiCutOfARealSession(t *testing.T) {
	dir := filepath.Join(piCorpus(t), "pi-golden")
	files, err := filepath.Glob(filepath.Join(dir, "*.keep*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no answers of pi in %s (%v)", dir, err)
	}
	store := piOpen(t, filepath.Join(dir, "before-compaction.v3.jsonl"))
	for _, file := range files {
		var want struct {
			Settings struct{ KeepRecentTokens, ReserveTokens, ContextWindow int64 }
			Session  struct{ LeafID string }
			Tokens   struct {
				ShouldCompact bool
				Projected     struct{ Tokens int64 }
			}
			RawCutPoint struct {
				piRaw
				BoundaryStart string
			}
			Preparation *struct {
				FirstKeptEntryID, FirstKept             string
				IsSplitTurn                             bool
				TokensBefore                            int64
				PreviousSummary                         struct{ UTF16 int }
				MessagesToSummarize, TurnPrefixMessages struct{ Count, Tokens int64 }
				Files                                   piFileLists
			}
		}
		piReadJSON(t, file, &want)
		path, err := session.Path(t.Context(), store, want.Session.LeafID)
		if err != nil {
			t.Fatal(err)
		}
		keep := want.Settings.KeepRecentTokens
		start := 0
		if _, err := fmt.Sscanf(want.RawCutPoint.BoundaryStart, "@%d", &start); err != nil {
			t.Fatal(err)
		}
		cut := findPiCutIn(path, start, len(path), keep)
		if raw := (piRaw{cut.FirstKept, cut.TurnStart, cut.SplitTurn}); raw != want.RawCutPoint.piRaw {
			t.Errorf("keep %d: raw cut %+v, pi has %+v", keep, raw, want.RawCutPoint)
		}
		if got := piTrigger(want.Tokens.Projected.Tokens, want.Settings.ContextWindow, want.Settings.ReserveTokens); got != want.Tokens.ShouldCompact {
			t.Errorf("keep %d: trigger %v, pi has %v", keep, got, want.Tokens.ShouldCompact)
		}
		prep, ok := preparePi(path, keep)
		if w := want.Preparation; ok != (w != nil) {
			t.Errorf("keep %d: prepared %v, pi has %v", keep, ok, w != nil)
		} else if ok && (prep.FirstKeptEntryID != w.FirstKeptEntryID || prep.SplitTurn != w.IsSplitTurn || prep.TokensBefore != w.TokensBefore ||
			token.Chars4().Text(prep.PreviousSummary) != int64(w.PreviousSummary.UTF16+3)/4 ||
			piCost(prep.History) != w.MessagesToSummarize.Tokens || int64(len(prep.History)) != w.MessagesToSummarize.Count ||
			piCost(prep.TurnPrefix) != w.TurnPrefixMessages.Tokens || int64(len(prep.TurnPrefix)) != w.TurnPrefixMessages.Count ||
			!slices.Equal(prep.ReadFiles, w.Files.ReadFiles) || !slices.Equal(prep.ModifiedFiles, w.Files.ModifiedFiles)) {
			t.Errorf("keep %d: from %s on, split %v, %d and %d messages, %d tokens before, %v %v; pi has %+v", keep,
				prep.FirstKeptEntryID, prep.SplitTurn, len(prep.History), len(prep.TurnPrefix), prep.TokensBefore, prep.ReadFiles, prep.ModifiedFiles, w)
		}
	}
	t.Logf("%d tails", len(files))
}

func piCost(items []session.Item) (sum int64) {
	for _, it := range items {
		sum += token.Chars4().Message(it.Message)
	}
	return sum
}

func piOpen(t *testing.T, file string) *jsonl.File {
	t.Helper()
	f, err := jsonl.Open(context.Background(), file, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// piNames returns ids for the names in pi's answers: "@17" is entry 17 of a file
// whose entries have no ids.
func piNames(t *testing.T, s session.Store) func(string) string {
	t.Helper()
	ids := map[string]string{}
	for e, err := range s.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids[fmt.Sprintf("@%d", len(ids))] = e.ID
	}
	return func(name string) string {
		if id, ok := ids[name]; ok {
			return id
		}
		return name
	}
}

func piReadJSON(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func piJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// findPiCutIn looks for a cut among entries[start:end] as pi does: each entry is
// taken for what it adds to a context by itself, with no regard to edits and to
// which compaction is the latest. keep is the tail in tokens, as token.Chars4
// counts them. preparePi is what pi compacts by.
func findPiCutIn(entries []*session.Entry, start, end int, keep int64) piCut {
	end = min(max(end, 0), len(entries))
	start = min(max(start, 0), end)
	slots := make([]piSlot, len(entries))
	for i := start; i < end; i++ {
		slots[i].entry = entries[i]
		slots[i].messages = ownMessages(entries[i])
	}
	return findPiCut(slots, start, end, keep)
}
