package model_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/model"
)

// answered returns what an adapter makes of a body; one that begins with "data:"
// is a stream.
func answered(t testing.TB, name, body string, on ...func(model.Event) error) (*model.Response, error) {
	t.Helper()
	for _, a := range adapters {
		if a.name != name {
			continue
		}
		m, err := a.open(model.Endpoint{
			Model: a.model, BaseURL: "http://localhost", Transport: answering([]byte(body)),
			Now: func() time.Time { return at }, NewID: func() string { return "made" },
		})
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(body, "data:") {
			return m.Stream(context.Background(), ask("hi"), append(on, nil)[0])
		}
		return m.Complete(context.Background(), ask("hi"))
	}
	t.Fatalf("no adapter %s", name)
	return nil, nil
}

// chunks makes a stream of Chat Completions of deltas, with a last event that
// says why it ended.
func chunks(finish string, deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"choices":[{"index":0,"delta":` + d + "}]}\n\n")
	}
	b.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + finish + "\"}]}\n\ndata: [DONE]\n\n")
	return b.String()
}

func completion(message, usage string) string {
	return `{"choices":[{"message":` + message + `,"finish_reason":"stop"}],"usage":` + usage + `}`
}

// What compatible servers do otherwise than the API they are compatible with.
func TestQuirks(t *testing.T) {
	for _, c := range []struct{ name, adapter, body, want string }{
		{
			"Mistral: reasoning in parts, the answer as text", "chat",
			chunks("stop", `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"so "}]}]}`,
				`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"be "},{"type":"text","text":"it"}]}]}`, `{"content":"Hel"}`, `{"content":"lo"}`),
			`end stop thinking("so be it") text("Hello")`,
		},
		{
			"Mistral: text, then parts", "chat", chunks("stop", `{"content":"Hel"}`, `{"content":[{"type":"text","text":"lo"},{"type":"reference","reference_ids":[1]}]}`, `{"content":"!"}`),
			`end stop text("Hello") text("!")`,
		},
		{
			"Mistral: whole", "chat", completion(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"so "},{"type":"text","text":"be it"}]},{"type":"text","text":"Hello"}]}`, `null`),
			`end stop thinking("so be it") text("Hello")`,
		},
		{"DeepSeek: reasoning_content", "chat", chunks("stop", `{"reasoning_content":"h"}`, `{"reasoning_content":"m","content":null}`, `{"content":"Hi"}`), `end stop thinking("hm") text("Hi")`},
		{"reasoning under two names", "chat", chunks("stop", `{"reasoning":"hm","reasoning_content":"hm"}`, `{"content":"Hi"}`), `end stop thinking("hm") text("Hi")`},
		{"arguments as an object", "chat", completion(`{"tool_calls":[{"function":{"name":"read","arguments":{"path":"a"}}}]}`, `null`), `toolUse toolUse call(made read {"path":"a"})`},
		{
			"arguments as an object, streamed", "chat", chunks("stop", `{"tool_calls":[{"id":"c1","function":{"name":"read","arguments":{"path":"a"}}}]}`),
			`toolUse toolUse call(c1 read {"path":"a"})`,
		},
		{
			"pieces of a call without an index", "chat",
			chunks("tool_calls", `{"tool_calls":[{"id":"c1","function":{"name":"read","arguments":"{\"a\""}}]}`, `{"tool_calls":[{"function":{"arguments":":1}"}}]}`,
				`{"tool_calls":[{"id":"c2","function":{"name":"write","arguments":"{}"}}]}`),
			`toolUse toolUse call(c1 read {"a":1}) call(c2 write {})`,
		},
		{
			"two calls with one index", "chat",
			chunks("tool_calls", `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`, `{"tool_calls":[{"index":0,"id":"c2","function":{"name":"write","arguments":"{}"}}]}`),
			`toolUse toolUse call(c1 read {}) call(c2 write {})`,
		},
		{
			"the id with each piece", "chat",
			chunks("tool_calls", `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\""}}]}`, `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":":1}"}}]}`),
			`toolUse toolUse call(c1 read {"a":1})`,
		},
		{"no arguments", "chat", completion(`{"tool_calls":[{"id":"c1","function":{"name":"now","arguments":""}}]}`, `null`), `toolUse toolUse call(c1 now {})`},
		{"arguments that are none", "chat", completion(`{"tool_calls":[{"id":"c1","function":{"name":"now","arguments":"[1]"}}]}`, `null`), `badCall error bad(now [1])`},
		{"no [DONE]", "chat", `data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}` + "\n\n", `end stop text("Hi")`},
		{"no finish reason", "chat", `data: {"choices":[{"delta":{"content":"Hi"}}]}` + "\n\ndata: [DONE]\n\n", ` error text("Hi")`},
		{"Azure: a chunk without a choice", "chat", `data: {"choices":[],"prompt_filter_results":[]}` + "\n\n" + chunks("stop", `{"content":"Hi"}`), `end stop text("Hi")`},
		{"z.ai: the window is full", "chat", chunks("model_context_window_exceeded", `{"content":"Hi"}`), `window length text("Hi")`},
		{"a refusal", "chat", completion(`{"content":null,"refusal":"No."}`, `null`), `refusal error refusal("No.")`},
		{"a call that the limit cut and that looks whole", "chat", chunks("length", `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{}"}}]}`), `length length bad(read {})`},

		{"older Gemini: calls without an id", "gemini", `{"responseId":"r","candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{}}},{"functionCall":{"name":"read","args":{}}}]},"finishReason":"STOP"}]}`, `toolUse toolUse call(call_r_0 read {}) call(call_r_1 read {})`},
		{"a call without args", "gemini", `{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c1","name":"now"}}]},"finishReason":"STOP"}]}`, `toolUse toolUse call(c1 now {})`},
		{"a prompt that is blocked", "gemini", `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`, `refusal error`},
		{"an answer without parts", "gemini", `{"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS"}]}`, `length length`},
		{"a call that can't be read", "gemini", `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"read(path=)"}]}`, `badCall error refusal("read(path=)")`},
		{
			"pieces of a text", "gemini",
			`data: {"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}` + "\n\n" + `data: {"candidates":[{"content":{"parts":[{"text":"lo"},{"text":"","thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}` + "\n\n",
			`end stop text("Hello")`,
		},

		{"a stop reason of tomorrow", "anthropic", `{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"bored"}`, `unknown stop text("Hi")`},
		{"no stop reason", "anthropic", `{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":null}`, ` error text("Hi")`},
		{"a turn that is paused", "anthropic", `{"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"pause_turn"}`, `paused stop text("Hi")`},
	} {
		r, err := answered(t, c.adapter, c.body)
		if err != nil || sketch(r) != c.want {
			t.Errorf("%s: %s: %v\ngot  %s\nwant %s", c.adapter, c.name, err, sketch(r), c.want)
		}
	}
}

// A call that comes without an id has the same one in its events and its block.
func TestCallsWithoutID(t *testing.T) {
	for name, body := range map[string]string{
		"gemini": `data: {"responseId":"r","candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{}},"thoughtSignature":"c2ln"}]}}]}` + "\n\n" +
			`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{}}}]},"finishReason":"STOP"}]}` + "\n\n",
		"chat": chunks("stop", `{"tool_calls":[{"index":0,"function":{"name":"read","arguments":"{}"}}]}`),
	} {
		var events, blocks []string
		r, err := answered(t, name, body, func(e model.Event) error {
			if e.Kind == model.EventCall {
				events = append(events, e.ID)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range r.Message.Content {
			blocks = append(blocks, b.ID)
		}
		if fmt.Sprint(events) != fmt.Sprint(blocks) || len(blocks) == 0 || blocks[0] == "" || name == "gemini" && blocks[0] == blocks[1] {
			t.Errorf("%s: %q and %q", name, events, blocks)
		}
	}
}

// Each server's way to count, in the log's: input without what the cache had,
// output with reasoning.
func TestUsageOfServers(t *testing.T) {
	for _, c := range []struct{ name, adapter, body, want string }{
		{"OpenAI", "chat", completion(`{"content":"x"}`, `{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":15}}`), "40+60+0 -> 20 (15)"},
		{"OpenRouter", "chat", completion(`{"content":"x"}`, `{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}`), "10+60+30 -> 20 (0)"},
		{"DeepSeek", "chat", completion(`{"content":"x"}`, `{"prompt_tokens":100,"completion_tokens":20,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}`), "36+64+0 -> 20 (0)"},
		{"xAI: reasoning apart", "chat", completion(`{"content":"x"}`, `{"prompt_tokens":100,"completion_tokens":20,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":15}}`), "100+0+0 -> 35 (15)"},
		{"Moonshot: in the choice", "chat", `{"choices":[{"message":{"content":"x"},"finish_reason":"stop","usage":{"prompt_tokens":100,"completion_tokens":20,"cached_tokens":10}}]}`, "90+10+0 -> 20 (0)"},
		{"more cached than sent", "chat", completion(`{"content":"x"}`, `{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":600}}`), "0+100+0 -> 20 (0)"},
		{"nothing", "chat", completion(`{"content":"x"}`, `null`), "none"},
		{"Anthropic", "anthropic", `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":7,"cache_read_input_tokens":60,"cache_creation_input_tokens":30}}`, "5+60+30 -> 7 (0)"},
		{"Anthropic: null", "anthropic", `{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":7,"cache_read_input_tokens":null}}`, "5+0+0 -> 7 (0)"},
		{
			"servers that count in the last event alone", "anthropic",
			"data: {\"type\":\"message_start\",\"message\":{\"type\":\"message\",\"content\":[],\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}}\n\n" +
				"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"input_tokens\":50,\"output_tokens\":7}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
			"50+0+0 -> 7 (0)",
		},
		{
			"servers that forget in the last event", "anthropic",
			"data: {\"type\":\"message_start\",\"message\":{\"type\":\"message\",\"content\":[],\"usage\":{\"input_tokens\":50,\"output_tokens\":1,\"cache_read_input_tokens\":9}}}\n\n" +
				"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"input_tokens\":0,\"output_tokens\":7,\"cache_read_input_tokens\":0}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
			"50+9+0 -> 7 (0)",
		},
		{"Responses", "responses", `{"object":"response","status":"completed","output":[],"usage":{"input_tokens":100,"output_tokens":20,"input_tokens_details":{"cached_tokens":60},"output_tokens_details":{"reasoning_tokens":15}}}`, "40+60+0 -> 20 (15)"},
		{"Gemini: thoughts apart", "gemini", `{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":5,"thoughtsTokenCount":15,"totalTokenCount":120}}`, "40+60+0 -> 20 (15)"},
		{"Gemini: tools apart", "gemini", `{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"toolUsePromptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":115}}`, "110+0+0 -> 5 (0)"},
	} {
		r, err := answered(t, c.adapter, c.body)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := "none"
		if u := r.Message.Usage; u != nil {
			got = fmt.Sprintf("%d+%d+%d -> %d (%d)", u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Errors that come with status 200.
func TestErrorsInAnswers(t *testing.T) {
	for _, c := range []struct {
		name, adapter, body string
		want                model.Kind
	}{
		{"OpenRouter", "chat", `{"error":{"code":429,"message":"Provider returned error"}}`, model.KindRateLimit},
		{"OpenRouter, streamed", "chat", `data: {"id":"x","choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"Provider disconnected"}}` + "\n\n", model.KindServer},
		{"an overflow, streamed", "chat", `data: {"error":{"code":"context_length_exceeded","message":"too long"}}` + "\n\n", model.KindOverflow},
		{"Responses", "responses", `data: {"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}` + "\n\n", model.KindOverflow},
		{"Responses, whole", "responses", `{"object":"response","status":"failed","output":[],"error":{"code":"server_error","message":"sorry"}}`, model.KindServer},
		{"Anthropic", "anthropic", `data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}` + "\n\n", model.KindOverloaded},
		{"Gemini", "gemini", `data: {"error":{"code":503,"message":"high demand","status":"UNAVAILABLE"}}` + "\n\n", model.KindOverloaded},
	} {
		r, err := answered(t, c.adapter, c.body)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != c.want {
			t.Errorf("%s: %s, %v", c.name, sketch(r), err)
		}
	}
}

// A long answer in many pieces takes memory as its length.
func TestManyPieces(t *testing.T) {
	n := 40_000
	if underRace {
		n = 4_000
	}
	many := func(before, piece, after string) string {
		return before + strings.Repeat("data: "+piece+"\n\n", n) + after
	}
	for name, body := range map[string]string{
		"anthropic": many("data: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a few words more "}}`, "data: {\"type\":\"message_stop\"}\n\n"),
		"chat":   many("", `{"choices":[{"delta":{"content":[{"type":"text","text":"a few words more "}]}}]}`, "data: [DONE]\n\n"),
		"gemini": many("", `{"candidates":[{"content":{"parts":[{"text":"a few words more "}]}}]}`, "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := answered(t, name, body)
		runtime.ReadMemStats(&after)
		if err != nil || r.Text() != strings.Repeat("a few words more ", n) {
			t.Fatalf("%s: %v", name, err)
		}
		took := (after.TotalAlloc - before.TotalAlloc) / uint64(len(body))
		t.Logf("%s: %d bytes of memory for each byte of the answer", name, took)
		if took > 100 { // thousands, if each piece copied all before it
			t.Errorf("%s: %d bytes of memory for each byte of the answer", name, took)
		}
	}
}
