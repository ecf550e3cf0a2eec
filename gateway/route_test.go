package gateway_test

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/clew-dev/clew/gateway"
)

func dirNames(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Requests with the credential of a subscription, and those whose body is signed, are the
// client's own whatever their length and whatever the upstream says: body, query and headers.
func TestUntouched(t *testing.T) {
	chat := []byte(strings.NewReplacer(`{"role":"assistant","content":[{"type":"tool_use"`, `{"role":"assistant","x":[{"type":"tool_use"`).Replace(string(long(60, "x"))))
	for _, c := range []struct {
		name, path string
		body       []byte
		header     []string
	}{
		{"login of Claude", "/v1/messages?beta=true", long(60, "x"), []string{"Authorization: Bearer sk-ant-oat01-x"}},
		{"login of Claude in the other header", "/v1/messages", long(60, "x"), []string{"X-Api-Key: sk-ant-oat01-x"}},
		{"login of Claude by its beta", "/v1/messages", long(60, "x"), []string{"Authorization: Bearer opaque", "Anthropic-Beta: oauth-2025-04-20,claude-code-20250219"}},
		{"its count", "/v1/messages/count_tokens", long(60, "x"), []string{"Authorization: Bearer sk-ant-oat01-x"}},
		{"login of ChatGPT", "/backend-api/codex/responses", []byte(`{"model":"gpt-5","input":[` + strings.Repeat(`{"role":"user","content":"`+strings.Repeat("words ", 100)+`"},`, 100) + `{"role":"user","content":"x"}]}`), []string{"Authorization: Bearer eyJ", "Chatgpt-Account-Id: a"}},
		{"signed for Amazon", "/anthropic/v1/messages", long(60, "x"), []string{"Authorization: AWS4-HMAC-SHA256 Credential=x"}},
		{"Bedrock", "/model/anthropic.claude-sonnet-4-5-v1:0/invoke", long(60, "x"), []string{"Authorization: Bearer bedrock-api-key"}},
		{"Bedrock, Converse", "/model/anthropic.claude-sonnet-4-5-v1:0/converse-stream", chat, []string{"Authorization: AWS4-HMAC-SHA256 Credential=x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			u.answer = func(w http.ResponseWriter, _ int) { w.WriteHeader(400); write(w, refusal) }
			rt := gateway.Transport(nil, gateway.Config{Window: window(8_000), Dir: t.TempDir()})
			header := append(c.header, "Accept-Encoding: gzip, br", "User-Agent: client/1", "X-Stainless-Lang: js")
			for range 2 {
				if status, answer := send(t, rt, u.URL+c.path, c.body, header...); status != 400 || answer != refusal {
					t.Errorf("%d %s", status, answer)
				}
			}
			if len(u.bodies) != 2 {
				t.Fatalf("%d requests", len(u.bodies))
			}
			for i, b := range u.bodies {
				if !bytes.Equal(b, c.body) {
					t.Errorf("request %d was changed: %d bytes of %d", i, len(b), len(c.body))
				}
				for _, h := range header {
					k, v, _ := strings.Cut(h, ": ")
					if got := u.header[i].Get(k); got != v {
						t.Errorf("%s became %q", k, got)
					}
				}
				if len(u.header[i]) != len(header)+1 { // and the length
					t.Errorf("headers %v", u.header[i])
				}
			}
		})
	}
}

// Azure and Vertex say in the path which model is asked.
func TestCloudsAreShortened(t *testing.T) {
	chat := []byte(`{"messages":[` + strings.Repeat(`{"role":"user","content":"more"},{"role":"assistant","content":"`+strings.Repeat("words ", 100)+`"},`, 300) + `{"role":"user","content":"x"}]}`)
	anthropic := bytes.Replace(long(60, "x"), []byte(`"model":"claude-sonnet-4-5",`), []byte(`"anthropic_version":"vertex-2023-10-16",`), 1)
	for _, c := range []struct {
		path, model string
		body        []byte
	}{
		{"/openai/deployments/my-gpt/chat/completions?api-version=2025-01-01", "my-gpt", chat},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict", "claude-sonnet-4-5@20250929", anthropic},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", "count-tokens", anthropic},
		{
			"/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro",
			[]byte(`{"contents":[` + strings.Repeat(`{"role":"user","parts":[{"text":"more"}]},{"role":"model","parts":[{"text":"`+strings.Repeat("words ", 100)+`"}]},`, 300) + `{"role":"user","parts":[{"text":"x"}]}]}`),
		},
	} {
		u := newUpstream(t)
		asked := ""
		rt := gateway.Transport(nil, gateway.Config{Window: func(_, model string) int64 { asked = model; return 32_000 }})
		send(t, rt, u.URL+c.path, c.body)
		if asked != c.model || len(u.bodies[0]) >= len(c.body) {
			t.Errorf("%s: model %q, %d bytes of %d", c.path, asked, len(u.bodies[0]), len(c.body))
		}
	}
}

// Requests without a list pass, and a key of Anthropic goes to Anthropic where two vendors
// have the same path.
func TestModelsPass(t *testing.T) {
	a, o := newUpstream(t), newUpstream(t)
	s := serve(t, gateway.HandlerConfig{Upstreams: map[string]string{"anthropic": a.URL, "openai": o.URL}})
	for _, c := range []struct {
		header string
		to     *upstream
	}{{"Anthropic-Version", a}, {"X-Other", o}} {
		req, _ := http.NewRequest(http.MethodGet, s.URL+"/v1/models?limit=1000", nil)
		req.Header.Set(c.header, "2023-06-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != 200 || len(c.to.bodies) != 1 {
			t.Errorf("%s: %d, %d at Anthropic, %d at OpenAI", c.header, resp.StatusCode, len(a.bodies), len(o.bodies))
		}
	}
}

// A server of the user's own network says which window it serves a model with, which is often
// less than the model could; others are not asked.
func TestAsksForTheServedWindow(t *testing.T) {
	body := bytes.Replace(long(60, "x"), []byte("claude-sonnet-4-5"), []byte("qwen"), 1)
	for _, c := range []struct {
		name, path, says string
		known, want      int64
	}{
		{"llama.cpp", "/props", `{"default_generation_settings":{"n_ctx":16384}}`, 0, 16384},
		{"Ollama", "/api/ps", `{"models":[{"name":"other","context_length":1},{"name":"qwen:latest","context_length":8192}]}`, 0, 8192},
		{"LM Studio", "/api/v0/models", `{"data":[{"id":"qwen","max_context_length":131072,"loaded_context_length":12000}]}`, 200_000, 12000},
		{"vLLM", "/v1/models", `{"data":[{"id":"qwen","max_model_len":20000}]}`, 0, 20000},
		{"more than is known", "/v1/models", `{"data":[{"id":"qwen","max_model_len":200000}]}`, 32_000, 32000},
		{"nothing", "/v1/models", `{"data":[{"id":"qwen"}]}`, 0, 0},
		{"no JSON", "/props", `<html>`, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			var asked []string
			inner := u.Config.Handler
			u.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					inner.ServeHTTP(w, r)
					return
				}
				asked = append(asked, r.URL.Path+r.Header.Get("Authorization"))
				if r.URL.Path != "/base"+c.path {
					w.WriteHeader(404)
				}
				write(w, c.says)
			})
			var last gateway.Event
			rt := gateway.Transport(nil, gateway.Config{Ask: true, Window: window(c.known), OnEvent: func(e gateway.Event) { last = e }})
			for range 2 {
				send(t, rt, u.URL+"/base/v1/messages", body, "Authorization: k")
			}
			if last.Window != c.want || len(asked) > 4 || asked[0] != "/base/propsk" {
				t.Errorf("window %d, asked %v", last.Window, asked)
			}
		})
	}
	far := &asksNothing{t: t}
	send(t, gateway.Transport(far, gateway.Config{Ask: true}), "https://api.example.com/v1/messages", body)
}

type asksNothing struct{ t *testing.T }

func (a *asksNothing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		a.t.Errorf("%s %s", r.Method, r.URL)
	}
	_ = r.Body.Close()
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}
