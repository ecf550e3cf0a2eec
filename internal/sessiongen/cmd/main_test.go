package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
)

// The sessions that pi is asked about must have what its answers depend on.
func TestPiSetHasEveryFeature(t *testing.T) {
	var all sessiongen.Stats
	names := map[string]bool{}
	for _, j := range piSet() {
		if !j.opts.PiSafe {
			t.Errorf("%s may have what pi throws on", j.name)
		}
		names[j.name] = true
		all.Merge(sessiongen.Generate(j.seed, j.opts).Stats)
	}
	if len(names) != all.Sessions || all.Sessions < 20 {
		t.Errorf("%d names for %d sessions", len(names), all.Sessions)
	}
	least := map[sessiongen.Feature]float64{}
	for _, f := range []sessiongen.Feature{
		sessiongen.TwoCompactions, sessiongen.ParallelCalls, sessiongen.ShuffledResults, sessiongen.MissingResults, sessiongen.OrphanResults,
		sessiongen.EditsOnKept, sessiongen.EditsOnFixed, sessiongen.Omissions, sessiongen.Replacements, sessiongen.Branches,
		sessiongen.SeveralRoots, sessiongen.Images, sessiongen.CJK, sessiongen.Emoji, sessiongen.LoneSurrogates, sessiongen.LabelFirstKept,
		sessiongen.RetainNone, sessiongen.DanglingFirstKept, sessiongen.NestedCompaction, sessiongen.CustomMessages, sessiongen.BashRuns,
		sessiongen.BashExcluded, sessiongen.SystemSections, sessiongen.SystemTools, sessiongen.UsageRecords, sessiongen.BranchSummaries,
		sessiongen.FailedAnswers, sessiongen.SignedThinking, sessiongen.OddArguments, sessiongen.DanglingRefs, sessiongen.UnknownRecords,
	} {
		least[f] = 0.07 // two of 27
	}
	for _, short := range all.Below(least) {
		t.Error(short)
	}
}

// Answers that belong to other sessions would make a conformance test pass or
// fail for no reason.
func TestKeptAnswersBelongToTheirSessions(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "testdata", "pi")
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d sessions in testdata/pi, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		answers, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".golden.json")
		if err != nil {
			t.Fatal(err)
		}
		var golden struct {
			File    string
			Entries int
			LastID  string
			Leaves  []struct{ Leaf string }
		}
		if err := json.Unmarshal(answers, &golden); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var entries int
		var last struct{ ID string }
		for line := range bytes.Lines(data) {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			last.ID = ""
			if err := json.Unmarshal(line, &last); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			entries++
		}
		entries-- // the header
		if golden.File != filepath.Base(file) || golden.Entries != entries || len(golden.Leaves) < 4 || golden.Leaves[0].Leaf != golden.LastID {
			t.Errorf("%s has %d entries; the answers are for %s with %d", filepath.Base(file), entries, golden.File, golden.Entries)
		}
		if last.ID != "" && last.ID != golden.LastID {
			t.Errorf("%s ends with %s; the answers say %s", filepath.Base(file), last.ID, golden.LastID)
		}
	}
}
