package rpc_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/model/modeltest"
)

// grammar holds events to what a client may rely on. Where the agent is idle at the end,
// everything that was begun has ended.
func grammar(t testing.TB, events []agent.Event) {
	t.Helper()
	turn, pass, last := false, false, int64(0)
	asked := map[string]bool{}
	tools := map[string]bool{}
	for i, e := range events {
		bad := func(what string) { t.Errorf("event %d of %d, %s: %s", i, len(events), e.Kind, what) }
		if e.Seq <= last {
			bad(fmt.Sprintf("its number is %d after %d", e.Seq, last))
		}
		last = e.Seq
		if e.Time.IsZero() {
			bad("it has no time")
		}
		switch e.Kind {
		case agent.KindTurnStart:
			if turn {
				bad("a turn is under way")
			}
			turn = true
		case agent.KindTurnEnd:
			if !turn || pass || len(asked)+len(tools) > 0 {
				bad(fmt.Sprintf("turn %v, compaction %v, %d questions, %d calls", turn, pass, len(asked), len(tools)))
			}
			if e.Outcome == "" || (e.Error != "") != (e.Outcome == agent.OutcomeFailed) {
				bad(fmt.Sprintf("outcome %q, error %q", e.Outcome, e.Error))
			}
			turn = false
		case agent.KindRequest, agent.KindDelta, agent.KindDiscard:
			if !turn || pass {
				bad("no turn is under way, or a compaction is")
			}
		case agent.KindCompactionStart:
			if pass || e.Compaction.Reason == "" {
				bad("a compaction is under way, or there is no reason")
			}
			pass = true
		case agent.KindCompactionEnd:
			c := e.Compaction
			if !pass || c.Reason == "" || !c.Done && c.Error == "" && c.Why == "" || c.Done && (c.After <= 0 || len(c.Entries) == 0) {
				bad(fmt.Sprintf("compaction %v, %+v", pass, c))
			}
			pass = false
		case agent.KindAsk:
			if asked[e.Question.ID] || !turn {
				bad("it is asked already, or nobody works")
			}
			asked[e.Question.ID] = true
		case agent.KindAsked:
			if !asked[e.Question.ID] {
				bad("nothing was asked")
			}
			delete(asked, e.Question.ID)
		case agent.KindRefused:
			if !turn || e.Question == nil || tools[e.Question.Tool.ID] {
				bad("no call is about to be made")
			}
		case agent.KindToolStart:
			if tools[e.Tool.ID] {
				bad("the call is under way")
			}
			tools[e.Tool.ID] = true
		case agent.KindToolOutput, agent.KindToolEnd:
			if !tools[e.Tool.ID] {
				bad("the call is not under way")
			}
			if e.Kind == agent.KindToolEnd {
				delete(tools, e.Tool.ID)
			}
		case agent.KindRetry:
			if e.Retry.Attempt < 1 || e.Retry.Error == "" || e.Retry.Wait < 0 {
				bad(fmt.Sprintf("%+v", e.Retry))
			}
		case agent.KindState:
			if e.State.Doing == agent.DoingNothing && (turn || pass || len(asked) > 0) {
				bad(fmt.Sprintf("idle, with turn %v, compaction %v, %d questions", turn, pass, len(asked)))
			}
		default:
		}
	}
	if turn || pass || len(asked) > 0 {
		t.Errorf("at the end: turn %v, compaction %v, %d questions", turn, pass, len(asked))
	}
}

// TestPi84EventGrammar lets chance decide what is asked and what the model answers.
func TestPi84EventGrammar(t *testing.T) {
	t.Parallel()
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	var mu sync.Mutex
	seen := map[agent.Kind]int{}
	one := func(seed uint64) func(*testing.T) {
		return func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 84))
			r := newRig(t, options{
				settings: `{"window": 16000, "summarizer.model": "same", "permissions": {"allow": ["bash(echo *)"]}}`,
				models:   modeltest.Config{Window: 24_000},
				change:   func(c *chat.Config) { c.Interactive = seed%4 != 2 },
			}, chance(rnd)...)
			for range 40 {
				step(t, r, rnd)
			}
			r.ask("cancel", nil)
			r.until("idle", func(agent.Event) bool { return r.host.Agent().State().Doing == agent.DoingNothing })
			r.Close()
			events := r.all()
			mu.Lock()
			for _, e := range events {
				seen[e.Kind]++
			}
			mu.Unlock()
			if n := len(events); n == 0 || events[n-1].Kind != agent.KindClosed {
				t.Error("the last event is not closed")
			}
			grammar(t, events)
		}
	}
	t.Run("seed", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), one(seed))
		}
	})
	for _, k := range agent.Kinds() {
		if seen[k] == 0 && k != agent.KindError && k != agent.KindToolOutput && !testing.Short() {
			t.Errorf("no run had %s: %v", k, seen)
		}
	}
}

// chance are answers of a model.
func chance(rnd *rand.Rand) []modeltest.Reply {
	var out []modeltest.Reply
	for i := range 200 {
		id := fmt.Sprintf("call_%d", i)
		switch rnd.IntN(12) {
		case 0:
			out = append(out, modeltest.Answer(modeltest.Call(id, "bash", `{"command":"echo hello"}`)))
		case 1:
			out = append(out, modeltest.Answer(modeltest.Call(id, "bash", `{"command":"touch x"}`), modeltest.Call(id+"b", "read", `{"path":"notes.txt"}`)))
		case 2:
			out = append(out, modeltest.Answer(modeltest.Call(id, "read", `{"path":"notes.txt"}`)))
		case 3:
			out = append(out, modeltest.Overflow(21_000, 12_000))
		case 4:
			out = append(out, modeltest.Text("slow").With(modeltest.Faults{Delay: 30 * time.Millisecond}))
		case 5:
			out = append(out, modeltest.RateLimited(10*time.Millisecond))
		case 6:
			out = append(out, modeltest.Status(400, `{"error":{"type":"invalid_request_error","message":"no"}}`))
		case 7:
			out = append(out, modeltest.Text("cut off in the middle").With(modeltest.Faults{Drop: true, DropAt: 400}))
		case 8:
			out = append(out, modeltest.Truncated("as far as I can"))
		default:
			out = append(out, long(i))
		}
	}
	return out
}

// step does one thing that a user may do. What can't be done is refused.
func step(t testing.TB, r *rig, rnd *rand.Rand) {
	call := func(name string, params any) { _ = r.Call(t.Context(), name, params, nil) }
	switch rnd.IntN(14) {
	case 0, 1, 2, 3:
		call("send", p{"text": fmt.Sprintf("question %d", rnd.IntN(1000))})
	case 4:
		call("send", p{"text": "later", "when": "done"})
	case 5:
		call("cancel", nil)
	case 6:
		go call("compact", nil)
	case 7:
		go call("compact", p{"preview": true})
	case 8:
		go call("undo", p{"keepLater": rnd.IntN(2) == 0})
	case 9:
		for _, n := range as[struct{ Nodes []agent.Node }](r, "tree", nil).Nodes {
			if rnd.IntN(6) == 0 {
				go call("navigate", p{"to": n.ID, "summarize": rnd.IntN(2) == 0})
				break
			}
		}
	case 10:
		call("take_back", nil)
	case 11:
		call("set_mode", p{"mode": []string{"ask", "edits", "plan"}[rnd.IntN(3)]})
	default:
		for range 50 {
			last := int64(0) // that the client knows of
			if known := r.all(); len(known) > 0 {
				last = known[len(known)-1].Seq
			}
			if r.host.Agent().State().Doing == agent.DoingNothing {
				break
			}
			for _, q := range as[[]agent.Question](r, "questions", nil) {
				call("answer", p{"id": q.ID, "allow": rnd.IntN(2) == 0, "remember": rnd.IntN(3) == 0})
			}
			r.until("something to happen", func(e agent.Event) bool { return e.Seq > last })
		}
	}
}
