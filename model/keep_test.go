package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

// What an answer holds that no one here knows goes back to its provider byte for
// byte, whole or streamed, and after it was written to a log and read again.
func TestUnknownBlocksSurvive(t *testing.T) {
	unknown := map[string][]string{
		"anthropic": {
			`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"clew","z":1.50,"a":"\u00e9"}}`,
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.com","encrypted_content":"xyz"}]}`,
			`{"type":"from_the_future","n":12345678901234567890,"nested":{"b":[],"a":null}}`,
		},
		"responses": {
			`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"clew","z":1.50}}`,
			`{"type":"compaction","id":"cmp_1","encrypted_content":"gAAAAA=="}`,
		},
		"gemini": {
			`{"executableCode":{"language":"PYTHON","code":"print(1)"}}`,
			`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"},"z":1.50}`,
		},
	}
	each(t, modeltest.Config{StablePrefix: true}, func(t *testing.T, a adapter, s *modeltest.Server, m model.Model) {
		blocks := unknown[a.name]
		if blocks == nil {
			t.Skip("the API has nothing of the kind")
		}
		for _, stream := range []bool{false, true} {
			s.NewConversation()
			reply := modeltest.Text("I searched.")
			for _, b := range blocks {
				reply.Raw = append(reply.Raw, json.RawMessage(b))
			}
			s.Add(reply, modeltest.Text("ok"))
			req := ask("search")
			r, err := call(m, req, stream)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := message.Parse(r.Message.JSON())
			if err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, stored, message.User("go on", at))
			if _, err := call(m, req, stream); err != nil {
				t.Fatal(err)
			}
			xs := s.Exchanges()
			sent := string(xs[len(xs)-1].Request)
			for _, b := range blocks {
				if !strings.Contains(sent, b) {
					t.Errorf("stream %v: %s\nis not in\n%s", stream, b, sent)
				}
			}
		}
		if bad := s.Violations(); bad != nil {
			t.Error(bad)
		}
	})
}

// Citations beside a text stay in the log.
func TestCitationsAreKept(t *testing.T) {
	s := modeltest.Start(modeltest.Config{})
	defer s.Close()
	m := adapters[0].connect(t, s)
	text := `{"type":"text","text":"The grass is green.","citations":[{"type":"char_location","cited_text":"green","document_index":0}]}`
	s.Add(modeltest.Reply{Raw: []json.RawMessage{json.RawMessage(text)}})
	r, err := m.Complete(context.Background(), ask("hi"))
	if err != nil || r.Text() != "The grass is green." || !bytes.Contains(r.Message.JSON(), []byte(text)) {
		t.Errorf("%s, %v", r.Message.JSON(), err)
	}
	// In a stream they come one by one.
	frames := []string{
		`event: message_start` + "\n" + `data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}`,
		`data: {"type":"content_block_start","index":3,"content_block":{"type":"text","text":"","citations":[]}}`,
		`data: {"type":"content_block_delta","index":3,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"green"}}}`,
		`data: {"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"Green."}}`,
		`data: {"type":"content_block_stop","index":3}`,
		`data: {"type":"content_block_start","index":4,"content_block":{"type":"news","body":"a"}}`,
		`data: {"type":"content_block_delta","index":4,"delta":{"type":"news_delta","body":"b","more":{"x":1}}}`,
		`data: {"type":"content_block_stop","index":4}`,
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`,
		`data: {"type":"message_stop"}`,
	}
	s.Add(modeltest.Reply{Faults: modeltest.Faults{Body: strings.Join(frames, "\n\n") + "\n\n"}})
	if r, err = m.Stream(context.Background(), ask("hi"), nil); err != nil {
		t.Fatal(err)
	}
	js := string(r.Message.JSON())
	for _, want := range []string{`"citations":[{"type":"char_location","cited_text":"green"}]`, `"text":"Green."`, `{"type":"news","body":"ab","more":{"x":1}}`} {
		if !strings.Contains(js, want) {
			t.Errorf("%s is not in %s", want, js)
		}
	}
	if u := r.Message.Usage; u.Input != 5 || u.Output != 9 {
		t.Errorf("%+v", u)
	}
}

// generated returns the messages of a random session that a model takes.
func generated(t testing.TB, seed uint64) (out []*message.Message) {
	t.Helper()
	s := sessiongen.Generate(seed, sessiongen.Options{Version: 3, WellFormed: true})
	for line := range bytes.Lines(s.Bytes()) {
		if typ, _ := jsonx.String(jsonx.Get(line, "type")); typ != "message" {
			continue
		}
		m, err := message.Parse(jsonx.Get(line, "message"))
		if err != nil || m.Role == message.RoleSystem {
			continue
		}
		out = append(out, m)
	}
	return out
}

// The start of a request does not change while messages are added: any session,
// any API, with cache marks, as the server sees it.
func TestPropertyPrefixIsStable(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 3
	}
	each(t, modeltest.Config{StablePrefix: true, ForeignSignatures: true}, func(t *testing.T, _ adapter, s *modeltest.Server, m model.Model) {
		sent, kept := 0, 0
		for seed := range uint64(seeds) {
			msgs := generated(t, seed)
			s.NewConversation()
			for n := 1; n <= min(len(msgs), 40); n++ {
				if seen := msgs[:n]; seen[n-1].Role == message.RoleAssistant || n < len(msgs) && msgs[n].Role == message.RoleToolResult {
					continue // between a call and its results nothing is sent
				}
				req := &model.Request{System: "Be brief.", Messages: msgs[:n], Cache: model.CacheShort, MaxOutput: 100}
				s.Add(modeltest.Text("ok"))
				if _, err := m.Complete(context.Background(), req); err != nil {
					t.Fatalf("seed %d, %d messages: %v", seed, n, err)
				}
				sent++
			}
		}
		for _, x := range s.Exchanges() {
			if x.Kept {
				kept++
			}
		}
		if bad := s.Violations(); bad != nil {
			t.Error(bad)
		}
		if sent < 8*seeds || kept < sent*3/4 {
			t.Errorf("%d requests, %d of them begin with the one before", sent, kept)
		}
	})
}

// A tool loop that began without reasoning, because another model answered or it was off, goes on without it: the
// Messages API refuses to turn it on in the middle. With the next thing that the user says it is on.
func TestLoopThatBeganWithoutThinking(t *testing.T) {
	s := modeltest.Start(modeltest.Config{}, modeltest.Text("done"), modeltest.Text("again"))
	defer s.Close()
	m := open(t, "anthropic", "claude-sonnet-4-5", s.URL)
	req := &model.Request{Reasoning: model.ReasoningMedium, Messages: []*message.Message{
		message.User("read it", at),
		message.Assistant(at, message.ToolCallBlock("c1", "read", []byte(`{}`))),
		message.ToolResult("c1", "read", "contents", false, at),
	}}
	for i, want := range []bool{false, true} {
		r, err := call(m, req, false)
		if err != nil {
			t.Fatal(err)
		}
		if on := bytes.Contains(s.Exchanges()[i].Request, []byte(`"thinking":`)); on != want {
			t.Errorf("request %d: thinking is on: %v", i+1, on)
		}
		req.Messages = append(req.Messages, r.Message, message.User("and now?", at))
	}
}
