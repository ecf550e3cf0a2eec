package compact_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// The logs in testdata/logs were written by an earlier version of clew, with passes of
// every preset, undo, redo, pins and branches in them, and each has beside it what that
// version made of it. Stored data outlives the names in the code: a later version must
// read the same contexts, stages of edits, excerpts and fates from these files. Never
// write them anew to make this test pass.
func TestLogsOfEarlierVersionsReadTheSame(t *testing.T) {
	files, err := filepath.Glob("../testdata/logs/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	seen := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		got := readLog(t, data, seen)
		for i, line := range strings.Split(got, "\n") {
			if wants := strings.Split(string(want), "\n"); i >= len(wants) || wants[i] != line {
				t.Errorf("%s: line %d is\n%s\nand was\n%s", filepath.Base(file), i+1, line, wants[min(i, len(wants)-1)])
				break
			}
		}
	}
	t.Log(seen)
	for _, stage := range []string{"offload", "elide", "thinking", "strip", "clip", "excerpt", "pass"} {
		if seen[stage] == 0 {
			t.Errorf("no log has a %s", stage)
		}
	}
}

// readLog writes down what is read from a log at every entry that could be a leaf of
// interest: those that change the context, and the last.
func readLog(t *testing.T, data []byte, seen map[string]int) string {
	t.Helper()
	ctx := context.Background()
	f, err := jsonl.Read(ctx, "log", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	last := ""
	for e, err := range f.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		last = e.ID
		switch e.Type {
		case session.TypeContextEdit, session.TypeCompaction, session.TypeBranchSummary:
			if stage := compact.StageOf(e); stage != "" {
				seen[stage]++
			}
		case session.TypeCustom:
			if info, ok := e.Pass(); ok {
				seen["pass"]++
				fmt.Fprintf(&b, "%s pass of %d lines, policy %s, edits %v, thinking alone %v\n", e.ID, info.Lines, info.Policy, info.Edits, compact.SidePass(e))
			}
		case session.TypeCustomMessage:
			if of := compact.ExcerptOf(e); of != "" {
				seen["excerpt"]++
				fmt.Fprintf(&b, "%s excerpt of %s\n", e.ID, of)
			}
			continue
		default:
			continue
		}
		b.WriteString(readAt(t, f, e.ID))
	}
	b.WriteString(readAt(t, f, last))
	return b.String()
}

func readAt(t *testing.T, store session.Store, leaf string) string {
	t.Helper()
	ctx := context.Background()
	c, err := session.ContextAt(ctx, store, leaf)
	if err != nil {
		t.Fatal(err)
	}
	path, err := session.Path(ctx, store, leaf)
	if err != nil {
		t.Fatal(err)
	}
	messages, fates := sha256.New(), sha256.New()
	stages := map[string]int{}
	for _, it := range c.Items {
		fmt.Fprintf(messages, "%s %s\n", it.Entry.ID, it.Message.JSON())
		if stage := compact.StageOf(it.Edit); stage != "" {
			stages[stage]++
		}
	}
	for _, f := range compact.Fates(path) {
		fmt.Fprintf(fates, "%s %s %s %s %v\n", f.Entry, f.Fate, f.By, f.Why, f.Pinned)
	}
	return fmt.Sprintf("%s: %d of %d entries shown, stages %v, context %x, fates %x\n", leaf, len(c.Items), len(path), stages, messages.Sum(nil)[:8], fates.Sum(nil)[:8])
}
