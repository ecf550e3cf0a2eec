package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/message"
)

// TestOutputBesideTheSession: every command that copies, checks, cleans or removes
// a session takes the output along that is kept beside it.
func TestOutputBesideTheSession(t *testing.T) {
	ctx := context.Background()
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "s.jsonl")
	s, err := clew.Open(ctx, file, clew.Config{})
	if err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("line of output\n", 100_000)
	for _, id := range []string{"c1", "c2"} {
		if _, err := s.Append(ctx,
			message.User("run "+id, at), message.Assistant(at, message.ToolCallBlock(id, "bash", []byte(`{"command":"make"}`))),
			message.ToolResult(id, "bash", body+"key=zq47y11 of "+id+"\n"+body, false, at), message.Assistant(at, message.TextBlock("Done with "+id)),
		); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	out := filepath.Join(filepath.Dir(file), "out.jsonl")
	run(t, exitDone, "compact", "--window", "8k", "--out", out, file)
	run(t, exitDone, "verify", file, out)
	var got, errOut strings.Builder
	if code := Main([]string{"purge", "--text", "--dry-run", "--json", file}, strings.NewReader("key=zq47y11 of c1"), &got, &errOut); code != exitDone || strings.Count(got.String(), ".blobs") != 1 {
		t.Errorf("purge --dry-run, exit code %d: %s%s", code, &got, &errOut)
	}
	run(t, exitDone, "rm", "--yes", file)
	if left, _ := filepath.Glob(file + "*"); len(left) > 0 {
		t.Errorf("rm leaves %v", left)
	}
	run(t, exitDone, "verify", out) // stands alone
	if err := os.RemoveAll(out + ".blobs"); err != nil {
		t.Fatal(err)
	}
	if got, _ := run(t, exitFailed, "verify", out); !strings.Contains(got, "lost-output") {
		t.Errorf("verify does not see that output is lost: %s", got)
	}
}
