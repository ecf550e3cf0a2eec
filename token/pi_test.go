package token_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// piNumbers is what pi says about a context.
type piNumbers struct {
	Tokens         int64 `json:"tokens"`
	UsageTokens    int64 `json:"usageTokens"`
	TrailingTokens int64 `json:"trailingTokens"`
	LastUsageIndex *int  `json:"lastUsageIndex"`
}

// piLeaf is what pi says about a leaf. Messages are pairs of role and tokens.
type piLeaf struct {
	Leaf      string               `json:"leaf"`
	Messages  [][2]json.RawMessage `json:"messages"`
	Estimate  *piNumbers           `json:"estimate"`
	Projected *piNumbers           `json:"projected"`
}

type piGolden struct {
	File   string   `json:"file"`
	Leaves []piLeaf `json:"leaves"`
}

func piMeter(t testing.TB) *token.Meter {
	t.Helper()
	m, err := token.NewMeter(token.Config{Counter: token.Chars4(), AnyUsage: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Counting as pi does gives the numbers that pi gave, for every message and every
// leaf of the recorded sessions, with and without regard to what is stale.
func TestSameNumbersAsPi(t *testing.T) {
	t.Run("committed", func(t *testing.T) {
		files := glob(t, "..", "testdata", "pi", "*.golden.json")
		if len(files) == 0 {
			t.Fatal("there are no recorded answers in testdata/pi")
		}
		comparePi(t, files)
	})
	t.Run("corpus", func(t *testing.T) {
		files := glob(t, corpusDir(t), "pi-fuzz", "*.golden.json")
		if len(files) == 0 {
			t.Fatal("the corpus has no pi-fuzz sessions")
		}
		comparePi(t, files)
	})
}

func comparePi(t *testing.T, files []string) {
	var leaves, messages, anchored, stale, bare int
	meter := piMeter(t)
	for _, path := range files {
		var golden piGolden
		if err := json.Unmarshal(readFile(t, path), &golden); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		store := open(t, strings.TrimSuffix(path, ".golden.json")+".jsonl")
		for _, want := range golden.Leaves {
			leaves++
			messages += len(want.Messages)
			switch {
			case want.Estimate == nil || want.Projected == nil:
			case want.Projected.LastUsageIndex != nil:
				anchored++
			case want.Estimate.LastUsageIndex != nil:
				stale++
			default:
				bare++
			}
			msgs, fresh := project(t, store, entryID(t, store, want.Leaf))
			if diff := comparePiLeaf(meter, msgs, fresh, want); diff != "" {
				t.Errorf("%s, leaf %s: %s", filepath.Base(path), want.Leaf, diff)
			}
		}
	}
	t.Logf("%d sessions, %d leaves (%d anchored on usage, %d with stale usage, %d without), %d messages",
		len(files), leaves, anchored, stale, bare, messages)
	if leaves == 0 || messages == 0 || anchored == 0 || stale == 0 || bare == 0 {
		t.Error("a kind of leaf is missing, so this test shows less than it says")
	}
}

func comparePiLeaf(meter *token.Meter, msgs []*message.Message, fresh int, want piLeaf) string {
	if len(msgs) != len(want.Messages) {
		return fmt.Sprintf("the context has %d messages, pi has %d", len(msgs), len(want.Messages))
	}
	for i, m := range msgs {
		var role string
		var tokens int64
		if json.Unmarshal(want.Messages[i][0], &role) != nil || json.Unmarshal(want.Messages[i][1], &tokens) != nil {
			return fmt.Sprintf("message %d of the answer is unreadable", i)
		}
		if string(m.Role) != role {
			return fmt.Sprintf("message %d is %s, pi has %s", i, m.Role, role)
		}
		if got := meter.Message(m); got != tokens {
			return fmt.Sprintf("message %d (%s) costs %d, pi has %d", i, role, got, tokens)
		}
	}
	if want.Estimate != nil {
		r := meter.Measure(msgs, 0)
		if r.Anchor < 0 {
			// Without usage pi's estimate counts each system message where it
			// stands; only its projected number replays them.
			r.Tokens = oneByOne(meter, msgs)
			r.Estimated = r.Tokens
		}
		if diff := compareNumbers(r, *want.Estimate); diff != "" {
			return "estimate: " + diff
		}
	}
	if want.Projected != nil {
		if diff := compareNumbers(meter.Measure(msgs, fresh), *want.Projected); diff != "" {
			return "projected: " + diff
		}
	}
	return ""
}

func compareNumbers(r token.Reading, want piNumbers) string {
	anchor := -1
	if want.LastUsageIndex != nil {
		anchor = *want.LastUsageIndex
	}
	if r.Tokens == want.Tokens && r.Measured == want.UsageTokens && r.Estimated == want.TrailingTokens && r.Anchor == anchor {
		return ""
	}
	return fmt.Sprintf("got %d (%d measured, %d estimated, anchor %d), pi has %d (%d, %d, %d)",
		r.Tokens, r.Measured, r.Estimated, r.Anchor, want.Tokens, want.UsageTokens, want.TrailingTokens, anchor)
}

// The same for a real session of a thousand entries, at the settings it was
// recorded with.
func TestSameNumbersAsPiOnARealSession(t *testing.T) {
	dir := filepath.Join(corpusDir(t), "pi-golden")
	files := glob(t, dir, "*.json")
	if len(files) == 0 {
		t.Fatal("the corpus has no pi-golden answers")
	}
	store := open(t, filepath.Join(dir, "before-compaction.v3.jsonl"))
	meter := piMeter(t)
	for _, path := range files {
		var want struct {
			Session struct{ LeafID string }
			Context struct{ Messages int }
			Tokens  struct {
				HeuristicSum        int64
				Estimate, Projected piNumbers
			}
		}
		if err := json.Unmarshal(readFile(t, path), &want); err != nil {
			t.Fatal(err)
		}
		msgs, fresh := project(t, store, want.Session.LeafID)
		if len(msgs) != want.Context.Messages {
			t.Errorf("%d messages, pi has %d", len(msgs), want.Context.Messages)
		}
		if got := oneByOne(meter, msgs); got != want.Tokens.HeuristicSum {
			t.Errorf("sum %d, pi has %d", got, want.Tokens.HeuristicSum)
		}
		if diff := compareNumbers(meter.Measure(msgs, 0), want.Tokens.Estimate); diff != "" {
			t.Errorf("estimate: %s", diff)
		}
		if diff := compareNumbers(meter.Measure(msgs, fresh), want.Tokens.Projected); diff != "" {
			t.Errorf("projected: %s", diff)
		}
	}
}
