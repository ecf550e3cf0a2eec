package jsonl

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// keepers is a session of n messages and n compactions that all keep the first of them.
func keepers(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T00:00:00.000Z","cwd":"/x"}` + "\n")
	parent := "null"
	for i := range 2 * n {
		what := `"type":"message","message":{"role":"user","content":"x"}`
		if i >= n {
			what = `"type":"compaction","summary":"x","firstKeptEntryId":"00000000","tokensBefore":1`
		}
		fmt.Fprintf(&b, `{"id":"%08x","parentId":%s,"timestamp":"2026-01-02T00:00:00.000Z",%s}`+"\n", i, parent, what)
		parent = fmt.Sprintf(`"%08x"`, i)
	}
	return b.Bytes()
}

// TestRepairIsLinear: compactions that keep what is far away cost no more for that. A walk from
// each to what it keeps would take ten times as long for each record where there are ten times
// as many.
func TestRepairIsLinear(t *testing.T) {
	perRecord := func(n int) time.Duration {
		dir := t.TempDir()
		in := filepath.Join(dir, "in.jsonl")
		if err := os.WriteFile(in, keepers(n), 0o600); err != nil {
			t.Fatal(err)
		}
		best := time.Hour
		for i := range 3 {
			begun := time.Now()
			r, err := Repair(t.Context(), in, filepath.Join(dir, fmt.Sprint(i)))
			if err != nil || r.Entries != 2*n || len(r.Fixes) > 0 {
				t.Fatal(r, err)
			}
			best = min(best, time.Since(begun))
		}
		return best / time.Duration(2*n)
	}
	n := 2000
	if testing.Short() {
		n = 1000
	}
	few, many := perRecord(n), perRecord(10*n)
	t.Logf("%v for a record of %d, %v of %d", few, 2*n, many, 20*n)
	if many > 4*few {
		t.Errorf("%v for a record of %d, %v of %d", few, 2*n, many, 20*n)
	}
}
