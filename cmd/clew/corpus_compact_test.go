package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
)

// TestCorpusCompact compacts real sessions into copies at many windows with every
// preset, as a user does: the original is untouched, the copy is sound and fits,
// explain adds up, and undo gives the context back. When the fixed part alone is too
// large, it says so and leaves no copy.
func TestCorpusCompact(t *testing.T) {
	files := corpusFiles(t, "sessions/pi/*.jsonl", "pi-golden/*.jsonl", "pi-fuzz/*.jsonl")
	windows := []string{"8k", "16k", "32k", "64k", "200k", "1M"}
	every := 36 // of the combinations one in so many; all of them take a minute
	if os.Getenv("CLEW_LONG") != "" {
		every = 1
	}
	if testing.Short() {
		files = files[min(len(files)-1, 2):]
		files = files[:min(len(files), 2)] // those before are larger
	}
	acted, fixed := 0, 0
	for n, file := range files {
		before := mustRead(t, file)
		context := ""
		for i, window := range windows {
			for k, preset := range compact.PresetNames() {
				if (n*5+i*7+k)%every != 0 || every > 1 && n > 0 && len(before) > 1<<20 {
					continue
				}
				if context == "" {
					context, _ = run(t, exitDone, "context", "--wire", "pi", file)
					run(t, exitDone, "summarize", "--budget", "1k", file)
				}
				out := filepath.Join(t.TempDir(), "out.jsonl")
				args := []string{"compact", "--json", "--window", window, "--preset", preset, "--out", out, file}
				var printed, said strings.Builder
				switch code := Main(args, strings.NewReader(""), &printed, &said); {
				case code == exitFailed && strings.Contains(said.String(), "use a larger window") && strings.Count(said.String(), "\n") == 1:
					fixed++
					if left, _ := os.ReadDir(filepath.Dir(out)); len(left) > 0 {
						t.Errorf("%v: left behind %v", args, left)
					}
					continue
				case code != exitDone:
					t.Fatalf("%v: exit code %d: %s", args, code, said.String())
				}
				var r compactReport
				if err := json.Unmarshal([]byte(printed.String()), &r); err != nil {
					t.Fatal(err)
				}
				if left, _ := os.ReadDir(filepath.Dir(out)); len(left) != 1 {
					t.Errorf("%v: beside the copy there is %v", args, left)
				}
				if !r.Plan.Act {
					continue
				}
				acted++
				if r.Closed > 0 { // undo leaves the results of interrupted calls
					checkCompacted(t, out, window, preset, "", r.Plan)
					continue
				}
				checkCompacted(t, out, window, preset, context, r.Plan)
			}
		}
		if mustRead(t, file) != before {
			t.Fatalf("%s was changed", file)
		}
	}
	t.Logf("%d files, %d copies compacted, %d fixed parts too large", len(files), acted, fixed)
	if acted == 0 {
		t.Error("nothing was compacted")
	}
}

// TestPresetsOnOneSession compacts the shipped session by every preset: each has a cut, stages and sections of its own,
// the copy is sound, and undo gives the context back.
func TestPresetsOnOneSession(t *testing.T) {
	context, _ := run(t, exitDone, "context", "--wire", "pi", exampleSession)
	cuts := map[string]string{}
	for preset, want := range map[string]struct{ window, heading, stages, why string }{
		"clew":     {"128k", "## Goal", "offload elide summarize tighten thinking", "are for the tail"},
		"pi":       {"200k", "## Goal", "summarize thinking", "pi cuts where its tail of 20000 is spent"},
		"synapse":  {"200k", "## Technical Context", "summarize", "the newest 5 messages are kept"},
		"turns":    {"200k", "## Goal", "summarize strip", "the newest 6 turns are kept"},
		"semantic": {"200k", "## Summary", "summarize thinking split", "going back, the tail of 20000 tokens is reached at "},
	} {
		if testing.Short() && preset != compact.PresetClew {
			continue
		}
		out := filepath.Join(t.TempDir(), "out.jsonl")
		printed, _ := run(t, exitDone, "compact", "--json", "--window", want.window, "--preset", preset, "--out", out, exampleSession)
		var r compactReport
		if err := json.Unmarshal([]byte(printed), &r); err != nil {
			t.Fatal(err)
		}
		var stages []string
		for _, s := range r.Plan.Stages {
			stages = append(stages, s.Name)
		}
		if got := strings.Join(stages, " "); !r.Plan.Act || r.Plan.Policy != preset || got != want.stages ||
			!strings.HasPrefix(r.Summary, want.heading+"\n") || r.Plan.Cut == nil || !strings.Contains(r.Plan.Cut.Why, want.why) {
			t.Fatalf("%s: by %s, stages %s, cut %+v\n%.60s", preset, r.Plan.Policy, got, r.Plan.Cut, r.Summary)
		}
		if other := cuts[r.Plan.Cut.FirstKept]; other != "" {
			t.Errorf("%s cuts where %s does", preset, other)
		}
		cuts[r.Plan.Cut.FirstKept] = preset
		run(t, exitDone, "verify", out)
		checkCompacted(t, out, want.window, preset, context, r.Plan)
	}
}

func checkCompacted(t *testing.T, out, window, preset, context string, pl *compact.Plan) {
	t.Helper()
	if pl.After.Guarded() > pl.Budget.Limit {
		t.Errorf("%s, %s: %d tokens do not fit %d", window, preset, pl.After.Guarded(), pl.Budget.Limit)
	}
	var e explainReport
	printed, _ := run(t, exitDone, "explain", "--json", "--fates", "--window", window, "--preset", preset, out)
	if err := json.Unmarshal([]byte(printed), &e); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, n := range e.Counts {
		sum += n
	}
	if sum != e.Entries || len(e.Fates) != e.Entries {
		t.Errorf("%s, %s: %d fates in %v for %d entries", window, preset, len(e.Fates), e.Counts, e.Entries)
	}
	run(t, exitDone, "context", "--wire", "anthropic", out)
	run(t, exitDone, "undo", out)
	if again, _ := run(t, exitDone, "context", "--wire", "pi", out); again != context && context != "" {
		t.Errorf("%s, %s: undo gives another context", window, preset)
	}
}
