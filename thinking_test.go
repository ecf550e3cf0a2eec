package clew_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session"
)

// A talk is a session with a server that refuses signed reasoning before which
// something was changed, and requests that do not begin as the one before.
type talk struct {
	t     *testing.T
	s     *clew.Session
	srv   *modeltest.Server
	model model.Model
	n     int
	done  map[string]int
}

func newTalk(t *testing.T, cfg clew.Config) *talk {
	t.Helper()
	srv := modeltest.Start(modeltest.Config{StablePrefix: true, BindThinking: true})
	t.Cleanup(srv.Close)
	at := srv.Endpoint("claude-sonnet-4-5")
	at.Info = &model.Info{Provider: "anthropic", Model: at.Model, Window: 200_000, MaxOutput: 1_000, API: "anthropic-messages"}
	m, err := anthropic.New(anthropic.Config{Endpoint: at})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Provider, cfg.Model = "anthropic", at.Model
	return &talk{t: t, s: newSession(t, cfg), srv: srv, model: m, done: map[string]int{}}
}

// ask prepares the context, sends it, and appends the answer.
func (k *talk) ask(blocks ...message.Block) *clew.Prepared {
	k.t.Helper()
	ctx := context.Background()
	p := prepare(k.t, k.s)
	if len(p.Entries) > 0 {
		k.done["passes"]++
		k.srv.NewConversation()
	}
	if p.Plan.OnlyThinking {
		k.done["passes for reasoning"]++
	}
	k.done["warnings"] += len(p.Warnings)
	k.srv.Add(modeltest.Answer(blocks...))
	resp, err := k.model.Complete(ctx, &model.Request{Messages: p.Messages})
	if err != nil {
		k.t.Fatalf("request %d: %v", len(k.srv.Exchanges()), err)
	}
	add(k.t, k.s, resp.Message)
	return p
}

// call is an answer with signed reasoning that reads a file, and the result.
func (k *talk) call(result string) {
	k.t.Helper()
	k.n++
	id := fmt.Sprint("call", k.n)
	k.ask(modeltest.Think(fmt.Sprint("step ", k.n)), modeltest.Call(id, "read", fmt.Sprintf(`{"path":"f%d.go"}`, k.n)))
	add(k.t, k.s, message.ToolResult(id, "read", result, false, start))
}

func (k *talk) user(text string) string {
	k.t.Helper()
	return add(k.t, k.s, message.User(text, start))[0]
}

// D-11: a pass inside a tool loop leaves the reasoning of the loop, which is bound to
// what is gone. When the loop is closed the next Prepare takes it out, whatever the
// settings say, and does so again after an undo.
func TestD11LoopThatAPassWasMadeIn(t *testing.T) {
	ctx := context.Background()
	for name, cfg := range map[string]clew.Config{
		"default": {}, "no auto": {NoAuto: true}, "max passes": {Policy: compact.Policy{MaxPasses: 1}},
		"over, no auto": {NoAuto: true, Policy: compact.Policy{Trigger: compact.Tokens(50)}},
	} {
		t.Run(name, func(t *testing.T) {
			var ended []clew.Event
			cfg.Hooks = append(cfg.Hooks, clew.Hooks{OnEvent: func(_ context.Context, e clew.Event) {
				if e.Kind == clew.EventPassEnd {
					ended = append(ended, e)
				}
			}})
			k := newTalk(t, cfg)
			for range 3 {
				k.user("look")
				k.ask(modeltest.Think("hm"), message.TextBlock(strings.Repeat("I see more words. ", 200)))
			}
			k.user("and now read them all")
			k.call("one")
			k.call("two")
			r, err := k.s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(300)})
			if err != nil || !r.Plan.Act {
				t.Fatal(err, r)
			}
			k.srv.NewConversation()
			k.call("three")
			if n := k.done["passes"]; n != 0 {
				t.Fatalf("%d passes in the open loop", n)
			}
			k.ask(modeltest.Think("done"), message.TextBlock("All read."))
			k.user("thanks; next")
			before := shown(prepared(t, k.s))
			p := k.ask(message.TextBlock("Yes?"))
			if !p.Plan.OnlyThinking || !strings.Contains(p.Plan.Why, "signed reasoning of 2 answers") || len(p.Entries) == 0 {
				t.Fatalf("%s", p.Plan.Why)
			}
			e := ended[len(ended)-1]
			if len(ended) != 2 || e.Reason != compact.Threshold || e.Why != p.Plan.Why || len(e.Plan.Stages) != 1 || e.Plan.Stages[0].Name != "thinking" {
				t.Errorf("told was %+v", ended)
			}
			if _, err := k.s.Undo(ctx, session.UndoOptions{KeepLater: true}); err != nil {
				t.Fatal(err)
			}
			k.srv.NewConversation()
			if now := shown(prepared(t, k.s)); !strings.HasPrefix(now, before) {
				t.Errorf("I7: the context was\n%s\nand is\n%s", before, now)
			}
			k.user("go on")
			if p = k.ask(message.TextBlock("Done.")); !p.Plan.OnlyThinking {
				t.Errorf("after the undo: %s", p.Plan.Why)
			}
			k.user("and the last one")
			if p = k.ask(message.TextBlock("Done.")); len(p.Entries) != 0 {
				t.Errorf("it is made again: %s", p.Plan.Why)
			}
		})
	}
}

// prepared is the context as it is.
func prepared(t *testing.T, s *clew.Session) []*message.Message {
	t.Helper()
	items, err := s.Context(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var out []*message.Message
	for _, it := range items {
		out = append(out, it.Message)
	}
	return out
}

// A hook is asked about that pass as about any, and may stop it.
func TestHookStopsPassForReasoning(t *testing.T) {
	asked := 0
	s := newSession(t, clew.Config{Hooks: []clew.Hooks{
		{BeforeCompact: func(_ context.Context, e clew.BeforeCompactEvent) (clew.Decision, error) {
			prep, err := e.Preparation()
			if err != nil || !prep.Plan.OnlyThinking {
				t.Errorf("%+v %v", prep, err)
			}
			asked++
			return clew.Decision{Cancel: asked == 1}, nil
		}},
		{AfterCompact: func(context.Context, clew.Event) (clew.Decision, error) {
			return clew.Decision{Add: "a note"}, nil
		}},
	}})
	ids := add(t, s, message.User("one", start), message.Assistant(start, message.TextBlock("remind me")),
		message.User("two", start), message.Assistant(start, message.ThinkingBlock("hm", "sig"), message.TextBlock("well")), message.User("three", start))
	if err := s.Omit(context.Background(), ids[1]); err != nil {
		t.Fatal(err)
	}
	if p := prepare(t, s); len(p.Entries) != 0 || !strings.Contains(p.Plan.Why, "a hook stopped it") || !strings.Contains(shown(p.Messages), `"sig"`) {
		t.Errorf("%s", p.Plan.Why)
	}
	if p := prepare(t, s); len(p.Entries) != 3 || strings.Contains(shown(p.Messages), `"sig"`) || !strings.Contains(shown(p.Messages), "a note") {
		t.Errorf("%d entries: %s\n%s", len(p.Entries), p.Plan.Why, shown(p.Messages))
	}
}

// Where a hook adds text after a pass in a tool loop, the loop is closed before the
// request leaves.
func TestD11LoopThatAHookCloses(t *testing.T) {
	k := newTalk(t, clew.Config{Policy: compact.Policy{Window: 8_000}, Hooks: []clew.Hooks{
		{AfterCompact: func(context.Context, clew.Event) (clew.Decision, error) {
			return clew.Decision{Add: "keep the rules"}, nil
		}},
	}})
	k.user("read them all")
	for range 40 {
		k.call(strings.Repeat("more words ", 150))
	}
	k.ask(message.TextBlock("All read."))
	if k.done["passes"] < 2 || k.done["warnings"] > 0 || !strings.Contains(shown(prepared(t, k.s)), "keep the rules") {
		t.Errorf("%v: the test shows nothing", k.done)
	}
}

// The passes that are allowed for a message of the user are those that make room.
func TestMaxPassesAndPassForReasoning(t *testing.T) {
	k := newTalk(t, clew.Config{Policy: compact.Policy{MaxPasses: 1, Trigger: compact.Tokens(4_000), Target: compact.Tokens(3_000)}})
	k.user("one")
	k.ask(message.TextBlock("remind me"))
	reminder := k.s.Leaf()
	k.user("two")
	k.ask(modeltest.Think("hm"), message.TextBlock("well"))
	k.user("three")
	if err := k.s.Omit(context.Background(), reminder); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		k.call(strings.Repeat("more words ", 250))
	}
	if k.done["passes for reasoning"] != 1 || k.done["passes"] != 2 {
		t.Errorf("%v", k.done)
	}
}

// I5 and D-11 over random talks: every request begins as the one before or follows a
// pass, and nothing stands before signed reasoning but what stood there when it was
// given. What changes a prefix: passes in and between tool loops, hooks that edit,
// messages taken out, undo, other branches.
func TestI5D11OverRandomTalks(t *testing.T) {
	total := map[string]int{}
	seeds := 24
	if testing.Short() {
		seeds = 2
	}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 11))
		var edit *clew.Edit
		cfg := clew.Config{
			Policy: compact.Policy{Window: []int64{6_000, 10_000}[r.IntN(2)]},
			NoAuto: r.IntN(6) == 0,
			Hooks: []clew.Hooks{{EditContext: func(_ context.Context, e clew.ContextEvent) (clew.Decision, error) {
				var d clew.Decision
				if edit != nil {
					d.Edits, edit = []clew.Edit{*edit}, nil
				}
				return d, nil
			}}},
		}
		if cfg.NoAuto {
			cfg.Policy.Window = 200_000
		}
		cfg.Policy.Name = compact.PresetNames()[r.IntN(len(compact.PresetNames()))]
		if p, err := compact.Preset(cfg.Policy.Name); err == nil {
			p.Window = cfg.Policy.Window
			cfg.Policy = p
		}
		k := newTalk(t, cfg)
		k.life(r, &edit)
		for what, n := range k.done {
			total[what] += n
		}
		for _, v := range k.srv.Violations() {
			t.Errorf("seed %d: %s", seed, v)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%v; a pass was made in %d of %d tool loops", total, total["loops with a pass"], total["loops"])
	for what, least := range map[string]int{
		"passes": 40, "passes for reasoning": 20, "loops with a pass": 20, "edits": 20, "omitted": 10, "undo": 5, "navigate": 5,
	} {
		if !testing.Short() && total[what] < least {
			t.Errorf("%s: only %d of at least %d", what, total[what], least)
		}
	}
}

// life is a number of turns, and what a user and programs do between the requests.
func (k *talk) life(r *rand.Rand, edit **clew.Edit) {
	k.t.Helper()
	ctx := context.Background()
	var users []string
	for range 24 {
		users = append(users, k.user(text(r, 30)))
		passes := k.done["passes"]
		calls := r.IntN(6)
		for range calls {
			k.call(text(r, 500))
			k.between(r, edit)
		}
		if calls > 1 {
			k.done["loops"]++
			if k.done["passes"] > passes {
				k.done["loops with a pass"]++
			}
		}
		final := []message.Block{message.TextBlock(text(r, 30))}
		if r.IntN(2) == 0 {
			final = append([]message.Block{modeltest.Think("so")}, final...)
		}
		k.ask(final...)
		k.between(r, edit)
		switch r.IntN(10) {
		case 0:
			_, err := k.s.Undo(ctx, session.UndoOptions{KeepLater: true})
			if err == nil {
				k.done["undo"]++
			} else if !errors.Is(err, clew.ErrNothingToUndo) {
				k.t.Fatal(err)
			}
			k.srv.NewConversation()
		case 1:
			if _, err := k.s.Branch(ctx, users[r.IntN(len(users))], clew.BranchOptions{Summarize: r.IntN(2) == 0}); err != nil {
				k.t.Fatal(err)
			}
			k.srv.NewConversation()
			k.done["navigate"]++
		}
	}
}

// between changes something in the middle of the context.
func (k *talk) between(r *rand.Rand, edit **clew.Edit) {
	k.t.Helper()
	ctx := context.Background()
	items, err := k.s.Context(ctx)
	if err != nil {
		k.t.Fatal(err)
	}
	it := items[r.IntN(len(items))]
	switch m := it.Message; {
	case r.IntN(6) != 0:
	case m.Role == message.RoleToolResult:
		*edit = &clew.Edit{Entry: it.Entry.ID, Content: []message.Block{message.TextBlock("(gone)")}}
		k.srv.NewConversation()
		k.done["edits"]++
	case m.Role == message.RoleAssistant && it.Entry.ID != k.s.Leaf() && len(m.ToolCalls()) == 0:
		if err := k.s.Omit(ctx, it.Entry.ID); err != nil {
			k.t.Fatal(err)
		}
		k.srv.NewConversation()
		k.done["omitted"]++
	}
}
