package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

// Each server's way to count, in one form: input with what the cache had, output with
// reasoning.
func TestUsageOfServers(t *testing.T) {
	const chat, messages, responses, gemini = "/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1beta/models/m:generateContent"
	for _, c := range []struct {
		name, path, answer string
		want               gateway.Usage
	}{
		{"OpenAI", chat, `{"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":15}}}`, gateway.Usage{Input: 100, CacheRead: 60, Output: 20}},
		{"OpenRouter", chat, `{"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}`, gateway.Usage{Input: 100, CacheRead: 60, CacheWrite: 30, Output: 20}},
		{"DeepSeek", chat, `{"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}`, gateway.Usage{Input: 100, CacheRead: 64, Output: 20}},
		{"xAI: reasoning apart", chat, `{"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":135,"completion_tokens_details":{"reasoning_tokens":15}}}`, gateway.Usage{Input: 100, Output: 35}},
		{"Moonshot: in the choice", chat, `{"choices":[{"finish_reason":"stop","usage":{"prompt_tokens":100,"completion_tokens":20,"cached_tokens":10}}]}`, gateway.Usage{Input: 100, CacheRead: 10, Output: 20}},
		{"more cached than sent", chat, `{"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":600}}}`, gateway.Usage{Input: 100, CacheRead: 100, Output: 20}},
		{"Anthropic", messages, `{"usage":{"input_tokens":5,"output_tokens":7,"cache_read_input_tokens":60,"cache_creation_input_tokens":30}}`, gateway.Usage{Input: 95, CacheRead: 60, CacheWrite: 30, Output: 7}},
		{"Responses", responses, `{"usage":{"input_tokens":100,"output_tokens":20,"input_tokens_details":{"cached_tokens":60},"output_tokens_details":{"reasoning_tokens":15}}}`, gateway.Usage{Input: 100, CacheRead: 60, Output: 20}},
		{"Gemini: thoughts apart", gemini, `{"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":5,"thoughtsTokenCount":15,"totalTokenCount":120}}`, gateway.Usage{Input: 100, CacheRead: 60, Output: 20}},
		{"Gemini: tools apart", gemini, `{"usageMetadata":{"promptTokenCount":100,"toolUsePromptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":115}}`, gateway.Usage{Input: 110, Output: 5}},
	} {
		u := newUpstream(t)
		u.answer = func(w http.ResponseWriter, _ int) { write(w, c.answer) }
		var got *gateway.Usage
		rt := gateway.Transport(nil, gateway.Config{OnEvent: func(e gateway.Event) { got = e.Usage }})
		send(t, rt, u.URL+c.path, []byte(`{"model":"m","messages":[{"role":"user","content":"x"}],"input":[{"role":"user","content":"x"}],"contents":[{"parts":[{"text":"x"}]}]}`))
		if got == nil || *got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Google's streams without alt=sse are one JSON array. It comes element by element, and its usage is counted.
func TestStreamsAsArrays(t *testing.T) {
	const path, list = "/v1beta/models/gemini-2.5-pro:streamGenerateContent", `{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`
	var told *gateway.Usage
	rt := gateway.Transport(nil, gateway.Config{OnEvent: func(e gateway.Event) { told = e.Usage }})
	srv := modeltest.Start(modeltest.Config{}, modeltest.Text(strings.Repeat("All is done. ", 3_000)))
	defer srv.Close()
	status, answer := send(t, rt, srv.URL+path, []byte(list), "X-Goog-Api-Key: "+modeltest.Key, "Content-Type: application/json")
	var chunks []struct {
		UsageMetadata struct{ PromptTokenCount, CandidatesTokenCount int64 }
	}
	if err := json.Unmarshal([]byte(answer), &chunks); err != nil || status != http.StatusOK || len(chunks) < 2 || answer != srv.Exchanges()[0].Response {
		t.Fatalf("%d %.300s, %v", status, answer, err)
	}
	last := chunks[len(chunks)-1].UsageMetadata
	if want := (gateway.Usage{Input: last.PromptTokenCount, Output: last.CandidatesTokenCount}); told == nil || *told != want || want.Output == 0 {
		t.Errorf("the gateway tells %+v, want %+v", told, want)
	}

	u, next := newUpstream(t), make(chan bool)
	u.answer = func(w http.ResponseWriter, _ int) {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		for _, part := range []string{"[", `{"candidates":[{}]`, "}\n,\r\n{}", "]"} {
			write(w, part)
			w.(http.Flusher).Flush()
			if part != "[" { // which may be the beginning of an error
				<-next
			}
		}
	}
	defer close(next)
	h, err := gateway.NewHandler(gateway.HandlerConfig{Upstreams: map[string]string{"gemini": u.URL}})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(h)
	defer front.Close()
	resp, err := http.Post(front.URL+path, "application/json", strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buf := make([]byte, 100)
	for _, want := range []string{`[{"candidates":[{}]`, "}\n,\r\n{}", "]"} {
		if n, err := io.ReadAtLeast(resp.Body, buf[:len(want)], len(want)); string(buf[:n]) != want {
			t.Fatalf("%q, %v", buf[:n], err)
		}
		next <- true
	}
}

// A client gets to see what the upstream reports for the request that it got, and the gateway
// tells the same, in answers at once and in streams.
func TestUsageIsTheUpstreams(t *testing.T) {
	for _, api := range apis {
		t.Run(api.name, func(t *testing.T) {
			srv := modeltest.Start(modeltest.Config{Window: 32_000})
			defer srv.Close()
			var told gateway.Usage
			m, err := api.open(srv, gateway.Transport(nil, gateway.Config{OnEvent: func(e gateway.Event) { told = *e.Usage }}))
			if err != nil {
				t.Fatal(err)
			}
			reported := message.Usage{Input: 700, CacheRead: 300, CacheWrite: 50, Output: 40, Reasoning: 15}
			if api.name == "gemini" {
				reported.Input, reported.CacheWrite = 750, 0 // it does not tell what was written
			}
			for i := range 2 {
				reply := modeltest.Text("Done.")
				reply.Usage = &reported
				srv.Add(reply)
				req := &model.Request{Messages: []*message.Message{{Role: message.RoleUser, Content: []message.Block{message.TextBlock("Hello.")}}}, MaxOutput: 100}
				ask := m.Complete
				if i == 1 {
					ask = func(ctx context.Context, r *model.Request) (*model.Response, error) {
						return m.Stream(ctx, r, func(model.Event) error { return nil })
					}
				}
				resp, err := ask(context.Background(), req)
				if err != nil {
					t.Fatal(err)
				}
				shown := resp.Message.Usage
				if shown.Prompt() != reported.Prompt() || shown.CacheRead != reported.CacheRead || shown.Output != reported.Output {
					t.Errorf("the client is shown %+v, the upstream reported %+v", shown, reported)
				}
				if want := (gateway.Usage{Input: reported.Prompt(), CacheRead: reported.CacheRead, CacheWrite: reported.CacheWrite, Output: reported.Output}); told != want {
					t.Errorf("the gateway tells %+v, want %+v", told, want)
				}
			}
		})
	}
}
