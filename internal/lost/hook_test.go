package lost_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/lost"
)

// TestHookLogIsBounded: the log keeps its newest runs, in whole lines, and no more than it
// may.
func TestHookLogIsBounded(t *testing.T) {
	h := lost.Hook{Program: "codex", Log: filepath.Join(t.TempDir(), "d", "hooks.log"), Now: time.Now}
	for range 1500 {
		if out := h.Answer(t.Context(), strings.NewReader(`{"hook_event_name":"PreCompact","session_id":"`+strings.Repeat("x", 50)+`"}`)); out != "" {
			t.Fatal(out)
		}
	}
	h.Answer(t.Context(), strings.NewReader(`{"hook_event_name":"SessionStart","source":"resume","session_id":"last","transcript_path":"nowhere"}`))
	info, err := os.Stat(h.Log)
	if err != nil || info.Size() > 128<<10 {
		t.Fatalf("%v, %v", info, err)
	}
	runs, err := lost.Runs(h.Log)
	if err != nil || len(runs) < 100 || runs[len(runs)-1].Session != "last" || runs[len(runs)-1].Error == "" {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	data, _ := os.ReadFile(h.Log)
	if n := strings.Count(string(data), "\n"); n != len(runs) {
		t.Errorf("%d lines and %d runs: a line is torn", n, len(runs))
	}
}

// never is an input that says nothing and does not end.
type never struct{ stop <-chan struct{} }

func (n never) Read([]byte) (int, error) {
	<-n.stop
	return 0, io.EOF
}

// TestHookEndsInTime: a program that waits for its hook does not wait for ever.
func TestHookEndsInTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := lost.Hook{Log: filepath.Join(t.TempDir(), "hooks.log"), Now: time.Now}
	if out := h.Answer(ctx, never{t.Context().Done()}); out != "" {
		t.Error(out)
	}
	if runs, err := lost.Runs(h.Log); err != nil || len(runs) != 1 || !strings.Contains(runs[0].Error, "too long") {
		t.Errorf("%+v, %v", runs, err)
	}
}
