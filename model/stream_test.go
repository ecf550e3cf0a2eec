package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

// randomReply returns an answer that every API can give: at most one reasoning
// and one text before the calls.
func randomReply(r *rand.Rand) modeltest.Reply {
	words := []string{"world", "世界", "emoji 🧶", "\"quoted\"", "back\\slash", "line\nbreak", "\t", "<b>&amp;", "\u2028", "data: x", ": y", "[DONE]", "}{"}
	text := func(n int) string {
		var b strings.Builder
		for range 1 + r.IntN(n) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		return b.String()
	}
	var blocks []message.Block
	if r.IntN(2) == 0 {
		blocks = append(blocks, modeltest.Think(text(20)))
	}
	if r.IntN(3) > 0 {
		blocks = append(blocks, message.TextBlock(text(60)))
	}
	for i := range r.IntN(4) {
		args, _ := json.Marshal(map[string]any{"path": text(5), "n": r.IntN(1e6), "deep": map[string]any{"list": []string{text(2), text(3)}}})
		blocks = append(blocks, modeltest.Call(fmt.Sprintf("call_%d_%d", i, r.IntN(1e9)), "read", string(args)))
	}
	reply := modeltest.Answer(blocks...)
	if r.IntN(6) == 0 {
		reply.Finish = model.FinishLength
	}
	reply.Usage = &message.Usage{Input: int64(r.IntN(1e5)), Output: int64(1 + r.IntN(1e4)), CacheRead: int64(r.IntN(1e5))}
	return reply
}

// An answer is the same whole and streamed, however the stream is cut, spelled
// and padded; and what the events say is what the answer says.
func TestPropertyStreamIsComplete(t *testing.T) {
	const cases = 40
	each(t, modeltest.Config{}, func(t *testing.T, a adapter, s *modeltest.Server, m model.Model) {
		calls, long := 0, 0
		for seed := range cases {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			reply := randomReply(r)
			// A call that an answer's end has cut looks different whole and streamed.
			if reply.Finish == model.FinishLength {
				reply.Blocks = slices.DeleteFunc(reply.Blocks, func(b message.Block) bool { return b.Type == message.BlockToolCall })
				long++
			}
			for i := range reply.Blocks {
				if b := &reply.Blocks[i]; a.name != "chat" && a.name != "gemini" && b.Type == message.BlockThinking {
					b.Signature = fmt.Sprintf("c2ln%04d", seed) // the same for both answers
				} else if a.name == "gemini" && b.Type != message.BlockThinking {
					b.Signature = fmt.Sprintf("c2ln%04d", seed)
				}
			}
			streamed := reply.With(modeltest.Faults{Chunk: 3 + r.IntN(60), CRLF: r.IntN(2) == 0, Comments: r.IntN(2) == 0})
			id := json.RawMessage(`"one"`)
			key := map[string]string{"gemini": "responseId"}[a.name]
			if key == "" {
				key = "id"
			}
			reply.Extra = map[string]json.RawMessage{key: id}
			streamed.Extra = reply.Extra
			s.Add(reply, streamed)
			whole, err := m.Complete(context.Background(), ask("hi"))
			if err != nil {
				t.Fatal(err)
			}
			said := map[model.EventKind]*strings.Builder{model.EventText: {}, model.EventThinking: {}, model.EventArguments: {}}
			blocks := -1
			got, err := m.Stream(context.Background(), ask("hi"), func(e model.Event) error {
				if b := said[e.Kind]; b != nil {
					b.WriteString(e.Text)
				}
				if e.Block > blocks+1 {
					return fmt.Errorf("block %d begins after block %d", e.Block, blocks)
				}
				if e.Kind != model.EventUsage && e.Kind != model.EventDone {
					blocks = max(blocks, e.Block)
				}
				return nil
			})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if w, g := namesOut(canonical(whole)), namesOut(canonical(got)); w != g {
				t.Fatalf("seed %d\nwhole    %s\nstreamed %s", seed, w, g)
			}
			var text, thinking, args string
			for _, b := range got.Message.Content {
				switch b.Type {
				case message.BlockText:
					text += b.Text
				case message.BlockThinking:
					thinking += b.Text
				case message.BlockToolCall:
					args += string(b.Arguments)
					calls++
				default:
				}
			}
			if said[model.EventText].String() != text || said[model.EventThinking].String() != thinking || said[model.EventArguments].String() != args {
				t.Fatalf("seed %d: the events say %q %q %q", seed, said[model.EventText], said[model.EventThinking], said[model.EventArguments])
			}
		}
		if calls < cases/3 || long < 3 {
			t.Errorf("only %d calls and %d long answers", calls, long)
		}
	})
}

// namesOut takes the ids of items out, which differ from answer to answer.
func namesOut(s string) string {
	for i := range 10_000 {
		id := fmt.Sprintf("test%04d", i)
		if strings.Contains(s, id) {
			s = strings.ReplaceAll(s, id, "test")
		}
		if i > 400 {
			break
		}
	}
	return s
}

// A stream that is cut anywhere gives an error with what had arrived, or, when
// only the padding was lost, the answer.
func TestDropAnywhere(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, a adapter, s *modeltest.Server, m model.Model) {
		reply := modeltest.Answer(modeltest.Think("hm, 世"), message.TextBlock("Hello, 世界."), modeltest.Call("call_1", "read", `{"path":"a"}`))
		s.Add(reply)
		want, err := m.Stream(context.Background(), ask("hi"), nil)
		if err != nil {
			t.Fatal(err)
		}
		xs := s.Exchanges()
		size := len(xs[len(xs)-1].Response)
		step := 5
		if testing.Short() || underRace {
			step = 37
		}
		once := a.connect(t, s, func(e *model.Endpoint) {
			e.Transport = model.NewTransport(model.TransportConfig{Retry: model.Retry{Attempts: 1}})
		})
		whole, partial := 0, 0
		for at := 0; at < size; at += step {
			s.Add(reply.With(modeltest.Faults{Drop: true, DropAt: at}))
			said := ""
			got, err := once.Stream(context.Background(), ask("hi"), func(e model.Event) error {
				if e.Kind == model.EventText {
					said += e.Text
				}
				return nil
			})
			if err == nil {
				whole++
				if sketch(got) != sketch(want) {
					t.Fatalf("cut at %d of %d: got %s", at, size, sketch(got))
				}
				continue
			}
			var e *model.Error
			if !errors.As(err, &e) || !e.Kind.Transient() || !errors.Is(err, model.ErrTransient) {
				t.Fatalf("cut at %d: %v", at, err)
			}
			if said != e.Partial.Text() || !strings.HasPrefix(want.Text(), said) {
				t.Fatalf("cut at %d: the events said %q, the partial answer %q", at, said, e.Partial.Text())
			}
			if e.Partial != nil {
				partial++
				if e.Partial.Message.StopReason != message.StopError {
					t.Fatalf("cut at %d: %s", at, sketch(e.Partial))
				}
			}
		}
		if partial == 0 || whole > size/step/2 {
			t.Errorf("%d whole and %d partial answers of %d", whole, partial, size/step)
		}
	})
}

// A stream that is cut anywhere and asked for again: the answer is there once.
func TestDropAndRepeat(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, _ adapter, s *modeltest.Server, m model.Model) {
		reply := modeltest.Answer(modeltest.Think("hm"), message.TextBlock("Hello."), modeltest.Call("call_1", "read", `{"path":"a"}`))
		s.Add(reply)
		want, err := m.Stream(context.Background(), ask("hi"), nil)
		if err != nil {
			t.Fatal(err)
		}
		xs := s.Exchanges()
		size := len(xs[len(xs)-1].Response)
		repeated := 0
		for at := 0; at < size; at += 29 {
			s.Add(reply.With(modeltest.Faults{Drop: true, DropAt: at}), reply)
			said := ""
			got, err := m.Stream(context.Background(), ask("hi"), func(e model.Event) error {
				if e.Kind == model.EventText || e.Kind == model.EventThinking {
					said += e.Text
				}
				return nil
			})
			if err == nil && (namesOut(sketch(got)) != namesOut(sketch(want)) || said != "hmHello.") {
				t.Fatalf("cut at %d of %d: %q, %s", at, size, said, sketch(got))
			}
			if err == nil && got.Attempts == 2 {
				repeated++
				continue
			}
			if s.Left() != 1 {
				t.Fatalf("cut at %d: %d replies are left, %v", at, s.Left(), err)
			}
			if _, err := m.Complete(context.Background(), ask("hi")); err != nil {
				t.Fatal(err)
			}
		}
		if repeated == 0 {
			t.Error("no stream was cut before something was passed on")
		}
	})
}

// A call of a stream that broke is not run, though its arguments look whole.
func TestBrokenCall(t *testing.T) {
	for name, body := range map[string]string{
		"anthropic": `data: {"type":"message_start","message":{"content":[]}}` + "\n\n" +
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"rm","input":{}}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"/\"}"}}` + "\n\n",
		"chat": `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"rm","arguments":"{\"path\":\"/\"}"}}]}}]}` + "\n\n",
		"responses": `data: {"type":"response.created","response":{"id":"r","output":[]}}` + "\n\n" +
			`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c1","name":"rm","arguments":""}}` + "\n\n" +
			`data: {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f","delta":"{\"path\":\"/\"}"}` + "\n\n",
	} {
		_, err := answered(t, name, body)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindDropped || e.Partial == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := sketch(e.Partial), ` error bad(rm {"path":"/"})`; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A stream that ends as if it were whole, without its end, is not whole.
func TestStreamWithoutEnd(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, _ adapter, s *modeltest.Server, m model.Model) {
		s.Add(modeltest.Text("Hello there.").With(modeltest.Faults{NoEnd: true}))
		_, err := m.Stream(context.Background(), ask("hi"), nil)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindDropped || e.Partial.Text() != "Hello there." {
			t.Fatalf("%v", err)
		}
	})
}

// An answer that is none of the API's is an error, and no panic.
func TestUnreadable(t *testing.T) {
	each(t, modeltest.Config{}, func(t *testing.T, _ adapter, s *modeltest.Server, m model.Model) {
		for _, body := range []string{
			"<html><body>Welcome to nginx</body></html>", "{", `null`, `[]`, `"text"`, `{}`, `{"content":5}`,
			`{"choices":[]}`, `{"choices":[5]}`, `{"candidates":[]}`, `{"output":{}}`, strings.Repeat("[", 20_000),
		} {
			s.Add(modeltest.Reply{Faults: modeltest.Faults{Body: body}})
			r, err := m.Complete(context.Background(), ask("hi"))
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != model.KindUnreadable {
				t.Errorf("%.40q: %s, %v", body, sketch(r), err)
			}
			if err != nil && len(err.Error()) > 600 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
		}
		for _, body := range []string{"data: {\n\n", "data: 5\n\n", "event: error\ndata: boom\n\n", "hello\n\n"} {
			for range 4 { // what may pass is repeated
				s.Add(modeltest.Reply{Faults: modeltest.Faults{Body: body}})
			}
			if r, err := m.Stream(context.Background(), ask("hi"), nil); err == nil {
				t.Errorf("%q as a stream: %s", body, sketch(r))
			}
			for s.Left() > 0 {
				_, _ = m.Complete(context.Background(), ask("hi"))
			}
		}
	})
}

// What the caller returns from an event ends the call and comes back as it is.
func TestCallerStops(t *testing.T) {
	enough := errors.New("enough")
	each(t, modeltest.Config{}, func(t *testing.T, _ adapter, s *modeltest.Server, m model.Model) {
		for _, kind := range []model.EventKind{model.EventText, model.EventUsage, model.EventDone} {
			s.Add(modeltest.Text("a longer answer than is wanted"))
			n := 0
			r, err := m.Stream(context.Background(), ask("hi"), func(e model.Event) error {
				if e.Kind == kind {
					n++
					return enough
				}
				return nil
			})
			if r != nil || err != enough || n != 1 { //nolint:errorlint // it is to come back bare
				t.Errorf("%s: %v, %v after %d events", kind, r, err, n)
			}
		}
		if s.Left() != 0 {
			t.Error("a call was repeated")
		}
	})
}
