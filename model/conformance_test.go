package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

// A text answer, whole and streamed: content, usage, names, and what was sent.
func TestText(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, a adapter, s *modeltest.Server, m model.Model) {
		usage := &message.Usage{Input: 70, Output: 12, CacheRead: 30, Reasoning: 0}
		reply := modeltest.Text("Hello, 世界. This is a longer answer.")
		reply.Usage = usage
		s.Add(reply, reply)
		whole, err := m.Complete(context.Background(), ask("hi"))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		var last model.EventKind
		streamed, err := m.Stream(context.Background(), ask("hi"), func(e model.Event) error {
			if e.Kind == model.EventText {
				text.WriteString(e.Text)
			}
			last = e.Kind
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if bad := s.Violations(); bad != nil {
			t.Fatal(bad)
		}
		for _, r := range []*model.Response{whole, streamed} {
			if r.Text() != "Hello, 世界. This is a longer answer." || r.Finish != model.FinishEnd {
				t.Errorf("got %s", sketch(r))
			}
			u := r.Message.Usage
			if u == nil || u.Input != 70 || u.Output != 12 || u.CacheRead != 30 || u.Prompt() != 100 {
				t.Errorf("usage %+v", u)
			}
			if r.Message.Provider != m.Info().Provider || r.Message.API != m.Info().API || r.Message.Model != a.model {
				t.Errorf("the answer says it is from %s %s %s", r.Message.Provider, r.Message.API, r.Message.Model)
			}
			if r.Message.Timestamp != at.UnixMilli() || r.Attempts != 1 || r.BytesSent == 0 || r.ID == "" || r.RequestID == "" {
				t.Errorf("%+v", r)
			}
		}
		if text.String() != streamed.Text() || last != model.EventDone {
			t.Errorf("the events say %q and end with %s", text.String(), last)
		}
		if p := m.Info().Price; p != nil && whole.Message.Usage.Cost <= 0 {
			t.Errorf("there is a price, and the answer cost nothing")
		}
	})
}

// A conversation with reasoning and tool calls over several turns: what the
// answers held comes back signed, in pairs, and the start of each request is the
// request before it.
func TestConversation(t *testing.T) {
	each(t, modeltest.Config{StablePrefix: true, BindThinking: true}, func(t *testing.T, _ adapter, s *modeltest.Server, m model.Model) {
		s.Add(
			modeltest.Answer(modeltest.Think("I must look."), message.TextBlock("I look."),
				modeltest.Call("call_1", "read", `{"path":"a.go"}`), modeltest.Call("call_2", "read", `{"path":"b.go"}`)),
			modeltest.Answer(modeltest.Think("One more."), modeltest.Call("call_3", "read", `{"path":"c.go"}`)),
			modeltest.Text("All read."),
			modeltest.Text("You are welcome."),
		)
		req := ask("read three files")
		req.Cache = model.CacheShort
		step := func(stream bool) *model.Response {
			t.Helper()
			var r *model.Response
			var err error
			if stream {
				r, err = m.Stream(context.Background(), req, nil)
			} else {
				r, err = m.Complete(context.Background(), req)
			}
			if err != nil {
				t.Fatalf("%v\n%v", err, s.Violations())
			}
			req.Messages = append(req.Messages, r.Message)
			for _, c := range r.Message.ToolCalls() {
				req.Messages = append(req.Messages, message.ToolResult(c.ID, c.Name, "package a", false, at))
			}
			return r
		}
		if r := step(true); r.Finish != model.FinishToolUse || len(r.Message.ToolCalls()) != 2 {
			t.Fatalf("got %s", sketch(r))
		}
		step(false)
		if r := step(true); r.Text() != "All read." {
			t.Fatalf("got %s", sketch(r))
		}
		req.Messages = append(req.Messages, message.User("thank you", at))
		step(true)
		if bad := s.Violations(); bad != nil {
			t.Error(bad)
		}
		xs := s.Exchanges()
		for i, x := range xs {
			if i > 0 && !x.Kept {
				t.Errorf("request %d does not begin with the one before:\n%s\n%s", i+1, xs[i-1].Request, x.Request)
			}
		}
		if u := req.Messages[len(req.Messages)-1].Usage; u.CacheRead == 0 {
			t.Errorf("nothing was read from the cache: %+v", u)
		}
	})
}

// Every way an answer can end.
func TestEndings(t *testing.T) {
	long := modeltest.Answer(message.TextBlock("I call"), modeltest.Call("call_1", "read", `{"path":`))
	long.Finish = model.FinishLength
	cases := []struct {
		name  string
		reply modeltest.Reply
		want  string
		not   string // adapters whose API can't say it
	}{
		{"truncated", modeltest.Truncated("half a sen"), `length length text("half a sen")`, ""},
		{"empty", modeltest.Empty(), "end stop", ""},
		{"only thinking", modeltest.OnlyThinking("hm"), `end stop thinking("hm")`, ""},
		{"refused", modeltest.Refused("I can't help with that."), `refusal error refusal("I can't help with that.")`, ""},
		{"cut call", long, `length length text("I call") bad(read `, ""},
		{"blank arguments", modeltest.Answer(modeltest.Call("call_1", "now", `{}`)), "toolUse toolUse call(", ""},
		{"window full", modeltest.Reply{Blocks: []message.Block{message.TextBlock("so f")}, Finish: model.FinishWindow}, `window length text("so f")`, "gemini responses"},
		{"paused", modeltest.Reply{Blocks: []message.Block{message.TextBlock("wait")}, Finish: model.FinishPaused}, `paused stop text("wait")`, "gemini responses chat"},
		{"bad call", modeltest.Reply{Finish: model.FinishBadCall}, `badCall error`, "anthropic chat responses"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			each(t, modeltest.Config{}, func(t *testing.T, a adapter, s *modeltest.Server, m model.Model) {
				if strings.Contains(c.not, a.name) {
					t.Skip("this API has no word for it")
				}
				s.Add(c.reply, c.reply)
				for _, stream := range []bool{false, true} {
					r, err := call(m, ask("hi"), stream)
					if err != nil {
						t.Fatalf("stream %v: %v", stream, err)
					}
					if got := sketch(r); got != c.want && (!strings.HasSuffix(c.want, "(") && !strings.HasSuffix(c.want, "(read ") || !strings.HasPrefix(got, c.want)) {
						t.Errorf("stream %v: got  %s\nwant %s", stream, got, c.want)
					}
				}
			})
		})
	}
}

func call(m model.Model, r *model.Request, stream bool) (*model.Response, error) {
	if stream {
		return m.Stream(context.Background(), r, nil)
	}
	return m.Complete(context.Background(), r)
}

// Every kind of error, as each API says it, and what is done about it.
func TestErrors(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, a adapter, s *modeltest.Server, m model.Model) {
		for _, k := range []model.Kind{
			model.KindOverflow, model.KindRateLimit, model.KindOverloaded, model.KindServer,
			model.KindAuth, model.KindNotFound, model.KindQuota, model.KindInvalid,
		} {
			for _, stream := range []bool{false, true} {
				reply := modeltest.Fail(k)
				reply.Failure.Asked, reply.Failure.Limit = 210_000, 200_000
				times := 1
				if k.Transient() {
					times = 4
				}
				for range times {
					s.Add(reply)
				}
				_, err := call(m, ask("hi"), stream)
				var e *model.Error
				if !errors.As(err, &e) || e.Kind != k || e.Attempts != times || e.Provider != m.Info().Provider || e.Model != a.model {
					t.Errorf("%s, stream %v: %#v", k, stream, err)
					continue
				}
				if errors.Is(err, model.ErrOverflow) != (k == model.KindOverflow) || errors.Is(err, model.ErrTransient) != k.Transient() {
					t.Errorf("%s: errors.Is is wrong for %v", k, err)
				}
				if k == model.KindOverflow && (e.Overflow == nil || a.name != "responses" && (e.Overflow.Asked != 210_000 || e.Overflow.Limit != 200_000)) {
					t.Errorf("overflow %+v", e.Overflow)
				}
				if strings.Contains(err.Error(), modeltest.Key) || e.Op == "" {
					t.Errorf("%v", err)
				}
			}
		}
		if s.Left() != 0 {
			t.Errorf("%d replies were not asked for", s.Left())
		}
	})
}

// A failure that passes is repeated, and the answer is there once.
func TestRetry(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, _ adapter, s *modeltest.Server, m model.Model) {
		dropped := modeltest.Text("lost").With(modeltest.Faults{Drop: true, DropAt: -1})
		s.Add(modeltest.Fail(model.KindOverloaded), modeltest.Fail(model.KindServer), dropped, modeltest.Text("here"))
		var text string
		r, err := m.Stream(context.Background(), ask("hi"), func(e model.Event) error {
			if e.Kind == model.EventText {
				text += e.Text
			}
			return nil
		})
		if err != nil || text != "here" || r.Attempts != 4 {
			t.Fatalf("%q after %+v: %v", text, r, err)
		}
		inStream := modeltest.Reply{Failure: &modeltest.Failure{Kind: model.KindOverloaded, InStream: true}}
		s.Add(inStream, modeltest.Text("here"))
		if r, err = m.Stream(context.Background(), ask("hi"), nil); err != nil || r.Text() != "here" || r.Attempts != 2 {
			t.Fatalf("after an error at the start of a stream: %s, %v", sketch(r), err)
		}
	})
}

// An error in the middle of a stream: what had arrived is there, and nothing is
// asked for twice.
func TestErrorInStream(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, _ adapter, s *modeltest.Server, m model.Model) {
		reply := modeltest.Text("half of the answer")
		reply.Failure = &modeltest.Failure{Kind: model.KindOverloaded, InStream: true}
		s.Add(reply, modeltest.Text("never asked for"))
		_, err := m.Stream(context.Background(), ask("hi"), nil)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindOverloaded || e.Partial.Text() != "half of the answer" {
			t.Fatalf("%v with %s", err, sketch(e.Partial))
		}
		if p := e.Partial; p.Message.StopReason != message.StopError || p.Message.ErrorMessage == "" {
			t.Errorf("the partial answer ends as %s", p.Message.StopReason)
		}
		if s.Left() != 1 {
			t.Error("the call was repeated after part of the answer had been passed on")
		}
	})
}
