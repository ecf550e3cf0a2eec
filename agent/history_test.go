package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/model/modeltest"
)

// TestFilesOfAnEarlierRun: what an earlier run of the program has changed can be taken back.
func TestFilesOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	write := &fake{name: "write", kind: tool.Write, do: func(ctx context.Context, c tool.Call) (tool.Result, error) {
		if err := c.Record(ctx, tool.Change{Path: path, Before: []byte("old"), After: []byte("new"), Mode: 0o600}); err != nil {
			return tool.Result{}, err
		}
		return tool.Text("ok"), os.WriteFile(path, []byte("new"), 0o600)
	}}
	var a *agent.Agent
	busy := &fake{name: "look", kind: tool.Read, do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		_, err := a.Restore(ctx, "x", false)
		return tool.Text("ok"), err
	}}
	r := newRig(t, func(r *rig) { r.cfg.Tools = []tool.Tool{write, busy} })
	r.srv.Add(call("a", "write"), modeltest.Text("done"), call("b", "look"), modeltest.Text("done"))
	turn := r.send("change it").ID
	r.wait()
	r.reopen()
	a = r.Agent
	turns, err := r.Turns(t.Context())
	if err != nil || len(turns) != 1 || turns[0].ID != turn || turns[0].Text != "change it" {
		t.Fatalf("%+v %v", turns, err)
	}
	if changed, err := r.Changes(t.Context(), turn); err != nil || len(changed) != 1 || changed[0].Diff == "" {
		t.Errorf("%+v %v", changed, err)
	}
	r.say("look")
	if got := r.texts(); got[len(got)-2] != "toolResult: restore files: the agent is at work; wait until it is done, or cancel it first; it is working" {
		t.Errorf("at work it said %q", got)
	}
	forked, err := r.Fork(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.OpenDir(forked.Path + ".blobs")
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"old", "new"} {
		if _, err := blobs.Stat(t.Context(), blob.IDOf([]byte(content))); err != nil {
			t.Errorf("a fork has not what was in the file, %q: %v", content, err)
		}
	}
	done, err := r.Restore(t.Context(), turn, false)
	if data, readErr := os.ReadFile(path); err != nil || readErr != nil || string(data) != "old" || r.State().Leaf != done.ID {
		t.Errorf("%+v %v: %q %v", done, err, data, readErr)
	}
	if again, err := r.Restore(t.Context(), turn, false); err != nil || again.ID != "" {
		t.Errorf("%+v %v", again, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Restore(t.Context(), turn, false); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
