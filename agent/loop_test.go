package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/anthropic"
	"github.com/clew-dev/clew/model/gemini"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/model/openai"
	"github.com/clew-dev/clew/session"
)

// apis open a model of each API at a server.
var apis = map[string]func(*modeltest.Server) (model.Model, error){
	"anthropic": func(s *modeltest.Server) (model.Model, error) {
		return anthropic.New(anthropic.Config{Endpoint: s.Endpoint(modelName)})
	},
	"openai-responses": func(s *modeltest.Server) (model.Model, error) {
		return openai.NewResponses(openai.Config{Endpoint: s.OpenAI("gpt-5")})
	},
	"openai-chat": func(s *modeltest.Server) (model.Model, error) {
		return openai.NewChat(openai.Config{Endpoint: s.OpenAI("gpt-5")})
	},
	"gemini": func(s *modeltest.Server) (model.Model, error) {
		return gemini.New(gemini.Config{Endpoint: s.Gemini("gemini-3-pro-preview")})
	},
}

// TestLoopsInASmallWindow: 60 calls in a window of 32,000 tokens, with passes in the middle of tool loops. No request is
// refused: also not where a message was typed meanwhile, an answer was cut short, or the program was started again.
func TestLoopsInASmallWindow(t *testing.T) {
	t.Parallel()
	for api, open := range apis {
		for _, thinks := range []bool{true, false} {
			if testing.Short() && !thinks && api != "anthropic" {
				continue
			}
			t.Run(fmt.Sprint(api, "/thinking ", thinks), func(t *testing.T) {
				t.Parallel()
				loopInASmallWindow(t, open, thinks, compact.PresetClew)
			})
		}
	}
	for _, preset := range compact.PresetNames() {
		if preset != compact.PresetClew {
			t.Run(preset, func(t *testing.T) {
				t.Parallel()
				loopInASmallWindow(t, apis["anthropic"], true, preset)
			})
		}
	}
}

func loopInASmallWindow(t *testing.T, open func(*modeltest.Server) (model.Model, error), thinks bool, preset string) {
	const window = 32_000
	n, calls := 0, 60
	if testing.Short() {
		calls = 40
	}
	var r *rig
	closed := make(chan error, 1)
	read := &fake{name: "read", kind: tool.Read, do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		switch n++; {
		case n%9 == 0:
			r.send(fmt.Sprint("typed at call ", n))
		case n == 33: // the program ends in the middle of a call
			go func(a *agent.Agent) { closed <- a.Close() }(r.Agent)
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}
		return tool.Text(words(500 + n*7919%9_000)), nil
	}}
	r = newRig(t, func(r *rig) {
		r.srv = modeltest.Start(modeltest.Config{StablePrefix: true, BindThinking: true, Window: window})
		t.Cleanup(r.srv.Close)
		m, err := open(r.srv)
		if err != nil {
			t.Fatal(err)
		}
		r.cfg.Model, r.cfg.Tools = m, []tool.Tool{read}
		if thinks {
			r.cfg.Reasoning = model.ReasoningMedium
		}
		if r.cfg.Engine.Policy, err = compact.Preset(preset); err != nil {
			t.Fatal(err)
		}
		r.cfg.Engine.Policy.Window = window
	})
	answer := func(blocks ...message.Block) modeltest.Reply {
		if thinks {
			blocks = append([]message.Block{modeltest.Think("I wonder. " + words(300))}, blocks...)
		}
		return modeltest.Answer(blocks...)
	}
	for i := range calls {
		if i%10 == 7 { // in the middle of a loop, and for want of room
			cut := answer(message.TextBlock("It begins, and then"))
			cut.Finish = model.FinishLength
			r.srv.Add(cut)
		}
		r.srv.Add(answer(modeltest.Call(fmt.Sprint("call_", i), "read", `{}`)))
		if i%25 == 24 {
			r.srv.Add(answer(message.TextBlock("Done so far.")))
		}
	}
	r.srv.Add(answer(message.TextBlock("Done.")))
	r.say("read the files")
	for run := 0; r.srv.Left() > 0 && run < 20; run++ {
		if n == 33 {
			n++
			if err := <-closed; err != nil {
				t.Fatal(err)
			}
			r.open()
		}
		r.say(fmt.Sprint("go on ", run))
	}
	for _, x := range r.srv.Exchanges() {
		if x.Status != 200 {
			t.Errorf("refused with %d: %s\nthe request: %.300s ... %s", x.Status, x.Response, x.Request, tail(x.Request, 600))
		}
	}
	for i, x := range r.srv.Exchanges() { // it is not turned off either
		if on := bytes.Contains(x.Request, []byte(`"thinking":{"type":"enabled"`)); strings.HasSuffix(x.Path, "/messages") && on != thinks {
			t.Errorf("request %d: thinking is on: %v", i+1, on)
		}
	}
	r.fine()
	for _, e := range r.all(agent.KindTurnEnd) {
		if e.Outcome == agent.OutcomeFailed {
			t.Error(e.Error)
		}
	}
	reasons := map[compact.Reason]int{}
	for _, e := range r.all(agent.KindCompactionEnd) {
		if e.Compaction.Done {
			reasons[e.Compaction.Reason]++
		}
	}
	if preset == compact.PresetClew && (reasons[compact.Threshold] < calls/30 || reasons[compact.Length] < 3) {
		t.Errorf("the passes were %v", reasons)
	}
	t.Logf("%d requests, passes %v", r.tried(), reasons)
}

func tail(b json.RawMessage, n int) json.RawMessage { return b[max(0, len(b)-n):] }

// TestUndoInAnOpenLoop: a pass in a loop is taken back while the loop is open. What the loop has thought goes along, and
// is taken out when the loop is closed.
func TestUndoInAnOpenLoop(t *testing.T) {
	t.Parallel()
	n := 0
	var r *rig
	var before string
	read := &fake{name: "read", kind: tool.Read, do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		switch n++; n {
		case 2:
			before = r.Session().Leaf()
			if err := r.CompactSoon(""); err != nil {
				t.Error(err)
			}
		case 3:
			go func() { _, _ = r.Cancel(context.Background()) }()
			<-ctx.Done()
		}
		return tool.Text(words(5_000)), nil
	}}
	r = newRig(t, func(r *rig) {
		r.srv = modeltest.Start(modeltest.Config{BindThinking: true, Window: 32_000})
		t.Cleanup(r.srv.Close)
		m, err := apis["anthropic"](r.srv)
		if err != nil {
			t.Fatal(err)
		}
		r.cfg.Model, r.cfg.Tools, r.cfg.Reasoning = m, []tool.Tool{read}, model.ReasoningMedium
		r.cfg.Engine.Policy.Window = 32_000
	})
	think := modeltest.Think("I wonder.")
	r.srv.Add(modeltest.Answer(think, message.TextBlock(words(40_000))))
	for i := range 3 {
		r.srv.Add(modeltest.Answer(think, modeltest.Call(fmt.Sprint("call_", i), "read", `{}`)))
	}
	r.srv.Add(modeltest.Answer(think, message.TextBlock("I was stopped.")), modeltest.Answer(think, message.TextBlock("Gladly.")))
	r.say("tell me all")
	r.say("read the files")
	u, err := r.Undo(context.Background(), session.UndoOptions{KeepLater: true})
	if err != nil || u.Kept == 0 || before == "" {
		t.Fatal(u, err)
	}
	for _, text := range []string{"go on", "thanks"} {
		r.say(text)
	}
	for i, x := range r.srv.Exchanges() {
		if x.Status != 200 {
			t.Errorf("request %d is refused: %s", i+1, x.Response)
		}
	}
	if left := r.srv.Left(); left > 0 {
		t.Errorf("%d answers were not asked for", left)
	}
}
