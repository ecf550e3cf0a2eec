package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/wire"
)

func allProfiles(t testing.TB) []wire.Profile {
	t.Helper()
	var out []wire.Profile
	for _, name := range wire.ProfileNames() {
		p, err := wire.ProfileByName(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// load reads the records of a session file of version 1 or 3. Lines that are no
// records are left out.
func load(t testing.TB, data []byte) (store *session.Memory, leaves []string) {
	t.Helper()
	var entries []*session.Entry
	var header session.Header
	for line := range bytes.Lines(data) {
		for len(bytes.TrimSpace(line)) > 0 {
			end, err := jsonx.Scan(line, 0)
			if err != nil {
				break
			}
			record := line[jsonx.Space(line, 0):end]
			line = line[end:]
			if h, err := session.ParseHeader(record); err == nil {
				header = h
				continue
			}
			if e, err := session.ParseEntry(record); err == nil {
				entries = append(entries, e)
			}
		}
	}
	if header.Version == 1 {
		upgrade(entries)
	}
	parents := map[string]bool{}
	for _, e := range entries {
		parents[e.ParentID] = true
	}
	for _, e := range entries {
		if e.ID != "" && !parents[e.ID] {
			leaves = append(leaves, e.ID)
		}
	}
	return session.NewMemory(header, entries...), leaves
}

// upgrade gives the records of version 1, a list without ids, ids and parents.
func upgrade(entries []*session.Entry) {
	id := func(i int) string { return fmt.Sprintf("%08x", i) }
	parent := ""
	for i, e := range entries {
		if at, ok := jsonx.Int(e.Field("firstKeptEntryIndex")); ok {
			e, _ = session.ParseEntry(jsonx.Set(e.Raw(), "firstKeptEntryId", jsonx.Quote(id(int(at)-1))))
		}
		entries[i] = e.WithIdentity(id(i), parent)
		parent = id(i)
	}
}

func contextOf(t testing.TB, store *session.Memory, leaf string) []*message.Message {
	t.Helper()
	c, err := session.ContextAt(context.Background(), store, leaf)
	if err != nil {
		t.Fatal(err)
	}
	msgs := make([]*message.Message, len(c.Items))
	for i, it := range c.Items {
		msgs[i] = it.Message
	}
	return msgs
}

// target is the maker of the last answer, so that thinking is sent.
func target(msgs []*message.Message) wire.Target {
	t := wire.Target{TakesImages: true}
	for _, m := range msgs {
		if m.Role == message.RoleAssistant && m.Provider != "" {
			t.Provider, t.Model = m.Provider, m.Model
		}
	}
	return t
}

// build checks that a context is sent soundly: settled, and as it is unless it
// waits for results. It returns how many messages were sent.
func build(t testing.TB, msgs []*message.Message, p wire.Profile) (sent int) {
	t.Helper()
	for _, o := range []wire.Options{{CloseOpenCalls: true}, {}} {
		r, _, err := wire.Build(msgs, p, target(msgs), o)
		var ve *wire.ValidationError
		var pending *wire.PendingError
		switch {
		case err == nil:
			sent = len(r.Messages)
		case errors.As(err, &ve) && len(r.Messages) == 0 && len(ve.Violations) == 1:
		case errors.As(err, &pending) && !o.CloseOpenCalls:
		default:
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	return sent
}

// TestGeneratedSessionsAreValid: every leaf of random sessions, for every profile.
func TestGeneratedSessionsAreValid(t *testing.T) {
	n := uint64(120)
	if testing.Short() || wire.UnderRace {
		n = 30
	}
	var stats sessiongen.Stats
	leaves, sent := 0, 0
	for seed := range n {
		s := sessiongen.Generate(seed, sessiongen.Options{Version: 3, WellFormed: seed%4 == 0, PiSafe: seed%4 == 1})
		stats.Merge(s.Stats)
		store, ends := load(t, s.Bytes())
		for _, leaf := range ends {
			leaves++
			msgs := contextOf(t, store, leaf)
			for _, p := range allProfiles(t) {
				sent += build(t, msgs, p)
			}
			if t.Failed() {
				t.Fatalf("seed %d, leaf %s", seed, leaf)
			}
		}
	}
	t.Logf("%d leaves, %d messages sent\n%s", leaves, sent, stats.Shares())
	for _, short := range stats.Below(map[sessiongen.Feature]float64{
		sessiongen.ParallelCalls: 0.5, sessiongen.ShuffledResults: 0.4, sessiongen.MissingResults: 0.2, sessiongen.OrphanResults: 0.05,
		sessiongen.TwoCompactions: 0.2, sessiongen.Images: 0.5, sessiongen.CJK: 0.5, sessiongen.SignedThinking: 0.4,
		sessiongen.FailedAnswers: 0.4, sessiongen.LoneSurrogates: 0.2, sessiongen.SystemSections: 0.2, sessiongen.BashRuns: 0.4,
		sessiongen.BranchSummaries: 0.2, sessiongen.Replacements: 0.2,
	}) {
		t.Error(short)
	}
}

// corpus returns the files of the corpus that match a pattern.
func corpus(t testing.TB, pattern string) []string {
	t.Helper()
	dir, promised := os.LookupEnv("CLEW_CORPUS")
	if !promised {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".json") })
	if len(files) == 0 {
		if promised {
			t.Fatalf("CLEW_CORPUS is %q, and there is nothing that matches %s", dir, pattern)
		}
		t.Skip("no recorded sessions: set CLEW_CORPUS to their folder")
	}
	return files
}

// TestCorpusIsValid: every leaf of recorded sessions, for every profile.
func TestCorpusIsValid(t *testing.T) {
	for _, pattern := range []string{"pi-fuzz/*.jsonl", "pi-golden/*.jsonl", "sessions/pi/*.jsonl"} {
		t.Run(filepath.Dir(pattern), func(t *testing.T) {
			files := corpus(t, pattern)
			leaves, sent := 0, 0
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				store, ends := load(t, data)
				if testing.Short() || wire.UnderRace {
					ends = ends[:min(1, len(ends))]
				}
				for _, leaf := range ends {
					leaves++
					msgs := contextOf(t, store, leaf)
					for _, p := range allProfiles(t) {
						sent += build(t, msgs, p)
					}
					if t.Failed() {
						t.Fatalf("%s, leaf %s", file, leaf)
					}
				}
			}
			t.Logf("%d files, %d leaves, %d messages sent", len(files), leaves, sent)
		})
	}
}

// TestPiConformance compares, for every leaf that pi recorded, the list that pi
// hands to its provider layer with that of the Pi profile: count and roles of all
// messages, and the text of those that pi does not word itself.
func TestPiConformance(t *testing.T) {
	files := corpus(t, "pi-fuzz/*.jsonl")
	leaves, all, texts := 0, 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		golden, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".golden.json")
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Leaves []struct {
				Leaf string
				LLM  [][2]string `json:"llm"`
			}
		}
		if err := json.Unmarshal(golden, &want); err != nil {
			t.Fatal(err)
		}
		store, _ := load(t, data)
		for _, leaf := range want.Leaves {
			msgs := contextOf(t, store, leaf.Leaf)
			r, _, err := wire.Build(msgs, wire.Pi, wire.Target{}, wire.Options{})
			if err != nil && len(leaf.LLM) > 0 {
				t.Fatalf("%s, leaf %s: %v", file, leaf.Leaf, err)
			}
			if len(r.Messages) != len(leaf.LLM) {
				t.Errorf("%s, leaf %s: %d messages, pi has %d", file, leaf.Leaf, len(r.Messages), len(leaf.LLM))
				continue
			}
			leaves++
			for i, raw := range r.Messages {
				all++
				role, _ := jsonx.String(jsonx.Get(raw, "role"))
				if role != leaf.LLM[i][0] {
					t.Errorf("%s, leaf %s: message %d has role %s, in pi %s", file, leaf.Leaf, i, role, leaf.LLM[i][0])
				}
				switch msgs[r.From[i][0]].Role {
				case message.RoleBashExecution, message.RoleBranchSummary, message.RoleCompactionSummary:
					continue // in words of our own
				default:
				}
				texts++
				if got := piHash(raw); got != leaf.LLM[i][1] {
					t.Errorf("%s, leaf %s: message %d has hash %s, in pi %s", file, leaf.Leaf, i, got, leaf.LLM[i][1])
				}
			}
		}
	}
	t.Logf("%d files, %d leaves, %d messages, %d texts compared", len(files), leaves, all, texts)
	if texts*2 < all {
		t.Errorf("only %d of %d texts were compared", texts, all)
	}
}
