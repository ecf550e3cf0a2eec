package clew

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// What a session keeps of its context is what the log gives, whatever was done.
func TestSnapshotIsWhatTheLogGives(t *testing.T) {
	ctx := context.Background()
	done := map[string]int{}
	seeds := 25
	if testing.Short() {
		seeds = 5
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 11))
		cfg := Config{Policy: compact.Policy{Window: 6_000}, Models: map[string]Override{"small": {Window: 5_000}}}
		at := time.Unix(1_700_000_000, 0)
		cfg.Clock = func() time.Time { at = at.Add(time.Second); return at }
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for k := range 80 {
			var err error
			var ids []string
			what := ""
			switch n := r.IntN(14); n {
			case 0, 1, 2, 3, 4, 5:
				what = "turn"
				id := fmt.Sprint("c", k)
				answer := message.Assistant(at, message.ToolCallBlock(id, "read", []byte(`{"path":"a"}`)))
				if r.IntN(3) == 0 {
					answer.Provider, answer.Model = "anthropic", "claude-opus-4-5"
					answer.Usage = &message.Usage{Input: int64(r.IntN(4000)), Output: 5}
				}
				ids, err = s.Append(ctx, message.User("do this", at), answer,
					message.ToolResult(id, "read", fmt.Sprint(r.Perm(r.IntN(300)+1)), false, at))
			case 6:
				what = "system"
				ids, err = s.Append(ctx, message.System(fmt.Sprint("rule ", k), at))
			case 7:
				what = "prepare"
				var p *Prepared
				if p, err = s.Prepare(ctx); err == nil && p.Plan.Act {
					what = "pass"
				}
			case 8:
				what = "compact"
				_, err = s.Compact(ctx, CompactOptions{Keep: compact.Tokens(300)})
			case 9:
				what = "undo"
				if _, e := s.Undo(ctx, session.UndoOptions{KeepLater: true}); e != nil {
					what = "nothing to undo"
				}
			case 10:
				what = "navigate"
				if len(all) > 0 {
					err = s.Navigate(ctx, all[r.IntN(len(all))], "")
				}
				if err == nil {
					_, err = s.CloseOpenCalls(ctx)
				}
			case 11:
				what = "pin"
				if len(all) > 0 {
					err = s.Pin(ctx, all[r.IntN(len(all))])
				}
			case 12:
				what = "model"
				err = s.SetModel(ctx, "p", []string{"small", "large"}[r.IntN(2)])
			case 13:
				what = "edit"
				if len(all) > 0 {
					_, err = s.append(ctx, true, session.NewContextEdit(session.ContextEdit{
						TargetID: all[r.IntN(len(all))], Content: []byte(`"edited"`), Omit: false,
					}))
				}
			}
			if err != nil {
				t.Fatalf("seed %d, step %d, %s: %v", seed, k, what, err)
			}
			all = append(all, ids...)
			done[what]++
			extended := s.snap != nil && s.snap.Leaf == s.log.Leaf()
			got, err := s.load(ctx)
			if err != nil {
				t.Fatal(err)
			}
			want, err := compact.Load(ctx, s.log.Store(), s.log.Leaf(), s.cfg.setup())
			if err != nil {
				t.Fatal(err)
			}
			if extended {
				done["extended"]++
			}
			compareSnapshots(t, fmt.Sprintf("seed %d, step %d, %s", seed, k, what), got, want)
			if t.Failed() {
				return
			}
		}
	}
	t.Log(done)
	for what, least := range map[string]int{"pass": 10, "compact": 30, "undo": 10, "extended": 500, "model": 30, "edit": 30} {
		if done[what] < least && !testing.Short() {
			t.Errorf("%s: only %d of at least %d", what, done[what], least)
		}
	}
}

func compareSnapshots(t *testing.T, where string, got, want *compact.Snapshot) {
	t.Helper()
	differ := func(what string, a, b any) {
		t.Helper()
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %s differ:\n got %v\nwant %v", where, what, a, b)
		}
	}
	differ("leaves", got.Leaf, want.Leaf)
	differ("newest entries", got.Last, want.Last)
	differ("models", got.Model, want.Model)
	differ("windows", got.Policy.Window, want.Policy.Window)
	differ("readings", got.Reading, want.Reading)
	differ("costs", got.Costs, want.Costs)
	differ("paths", entryIDs(got.Path), entryIDs(want.Path))
	differ("active entries", entryIDs(got.Context.Active), entryIDs(want.Context.Active))
	differ("boundaries", got.Context.Boundary, want.Context.Boundary)
	differ("items", items(got), items(want))
	differ("messages", len(got.Messages), len(want.Context.Items))
	for i, m := range got.Messages {
		if m != got.Context.Items[i].Message {
			t.Errorf("%s: message %d is not that of the item", where, i)
		}
	}
}

func entryIDs(entries []*session.Entry) []string {
	out := []string{}
	return append(out, ids(entries)...)
}

func items(v *compact.Snapshot) []string {
	var out []string
	for _, it := range v.Context.Items {
		edit := ""
		if it.Edit != nil {
			edit = it.Edit.ID
		}
		out = append(out, fmt.Sprint(it.At, " ", it.Entry.ID, " ", edit, " ", string(it.Message.JSON())))
	}
	return out
}
