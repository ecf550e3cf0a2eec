package agent_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session/jsonl"
)

// syncing counts the syncs of the session's file. In the middle of a call it looks what is safe by then.
func syncing(t *testing.T, during func(r *rig, syncs int32)) (*rig, *atomic.Int32) {
	t.Helper()
	var syncs atomic.Int32
	var r *rig
	look := &fake{name: "read", kind: tool.Read, do: func(context.Context, tool.Call) (tool.Result, error) {
		during(r, syncs.Load())
		return tool.Text("contents"), nil
	}}
	r = newRig(t, func(r *rig) {
		fsys := &vfs.Fault{FS: vfs.OS{}, At: func(_ int, op, path string) (int, error) {
			if op == "sync" && path == r.path {
				syncs.Add(1)
			}
			return 0, nil
		}}
		r.cfg.Tools = []tool.Tool{look}
		r.cfg.Engine.Hooks = append(r.cfg.Engine.Hooks, clew.Hooks{EditContext: func(context.Context, clew.ContextEvent) (clew.Decision, error) {
			if r.asked != nil {
				r.asked(r)
			}
			return clew.Decision{}, nil
		}})
		r.cfg.Open = func(ctx context.Context, c clew.Config) (*clew.Session, error) {
			s, err := clew.Open(ctx, r.path, c) // makes the file
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				return nil, err
			}
			f, err := jsonl.Open(ctx, r.path, jsonl.Options{FS: fsys})
			if err != nil {
				return nil, err
			}
			return clew.OpenFile(ctx, f, c)
		}
	})
	return r, &syncs
}

// TestDurableByTurn: a turn with a call waits twice for the disk. The calls are on it before they run; what the user
// said is in the queue's file until the log is on the disk.
func TestDurableByTurn(t *testing.T) {
	t.Parallel()
	var before, atCall int32
	r, syncs := syncing(t, func(_ *rig, n int32) { atCall = n })
	r.srv.Add(modeltest.Text("hello"))
	r.say("hi") // the first turn writes the prompt down, too
	before = syncs.Load()
	r.srv.Add(call("a", "read"), modeltest.Text("done"))
	r.say("read it")
	if atCall-before != 1 || syncs.Load()-before != 2 {
		t.Errorf("%d syncs before the call ran, %d in the turn; want 1 and 2", atCall-before, syncs.Load()-before)
	}
	if _, err := os.Stat(clew.QueueFile(r.path)); !os.IsNotExist(err) {
		t.Errorf("the queue has a file after the turn: %v", err)
	}
	before = syncs.Load()
	if err := r.Label(context.Background(), r.State().Leaf, "here"); err != nil {
		t.Fatal(err)
	}
	if n := syncs.Load() - before; n != 1 {
		t.Errorf("%d syncs for a label, want 1", n)
	}
	r.fine()
}

// TestTypedIsSafeBeforeTheLog: what was said is in the queue's file until the log is on the disk, which it is before a
// call runs.
func TestTypedIsSafeBeforeTheLog(t *testing.T) {
	t.Parallel()
	var seen []string
	look := func(r *rig) {
		data, _ := os.ReadFile(clew.QueueFile(r.path))
		seen = append(seen, fmt.Sprint(strings.Contains(string(data), "first"), " ", strings.Contains(string(data), "second")))
	}
	r, _ := syncing(t, func(r *rig, _ int32) {
		look(r)
		r.send("second")
	})
	r.srv.Add(call("a", "read"), modeltest.Text("done"))
	r.asked = look
	r.say("first")
	// Before the first request, in the call, and before the second request.
	if want := []string{"true false", "false false", "false true"}; !slices.Equal(seen, want) {
		t.Errorf("the queue's file has %q, want %q", seen, want)
	}
	if got := r.users(); len(got) != 2 {
		t.Errorf("the user has said %q", got)
	}
	r.fine()
}
