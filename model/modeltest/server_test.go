package modeltest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/wire"
)

// post sends a body as a careless client would.
func post(t *testing.T, s *modeltest.Server, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, h := range append([]string{"Authorization: Bearer k", "X-Api-Key: k", "X-Goog-Api-Key: k", "Anthropic-Version: 2023-06-01"}, header...) {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

const (
	anthropicPath = "/v1/messages"
	chatPath      = "/v1/chat/completions"
	responsesPath = "/v1/responses"
	geminiPath    = "/v1beta/models/gemini-x:generateContent"
)

// TestRulesThatCount: of a context only the rules that were named are checked, and the reply is
// made from the request.
func TestRulesThatCount(t *testing.T) {
	s := modeltest.Start(modeltest.Config{Rules: []wire.Rule{wire.RuleCallWithout}, Reply: func(x *modeltest.Exchange) modeltest.Reply {
		return modeltest.Text("for " + x.Path)
	}})
	defer s.Close()
	status, body := post(t, s, chatPath, `{"model":"m","messages":[{"role":"user","content":""},{"role":"user","content":"x"}]}`)
	if status != http.StatusOK || !strings.Contains(body, "for "+chatPath) {
		t.Errorf("%d %s", status, body)
	}
	status, body = post(t, s, chatPath, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"y"}]}`)
	if status != http.StatusBadRequest || !strings.Contains(body, "call-without") {
		t.Errorf("%d %s", status, body)
	}
}

// Each rule that a provider has is one that the server has: what breaks it is
// refused, and stands among the violations.
func TestRules(t *testing.T) {
	for _, c := range []struct{ name, path, body, want string }{
		{"no JSON", anthropicPath, `{`, "no JSON object"},
		{"an array", chatPath, `[]`, "no JSON object"},
		{"twice", anthropicPath, `{"model":"m","max_tokens":5,"max_tokens":6,"messages":[{"role":"user","content":"x"}]}`, "there twice"},
		{"no model", anthropicPath, `{"max_tokens":5,"messages":[{"role":"user","content":"x"}]}`, "model"},
		{"no limit", anthropicPath, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		{"no messages", anthropicPath, `{"model":"m","max_tokens":5}`, "messages"},
		{"budget", anthropicPath, `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"x"}]}`, "budget_tokens"},
		{"small budget", anthropicPath, `{"model":"m","max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1000},"messages":[{"role":"user","content":"x"}]}`, "budget_tokens"},
		{"warm thinking", anthropicPath, `{"model":"m","max_tokens":2000,"temperature":0.5,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"x"}]}`, "temperature"},
		{"marks", anthropicPath, `{"model":"m","max_tokens":5,"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"1","cache_control":{}},{"type":"text","text":"2","cache_control":{}},{"type":"text","text":"3","cache_control":{}},{"type":"text","text":"4","cache_control":{}}]}]}`, "maximum of 4"},
		{"first", anthropicPath, `{"model":"m","max_tokens":5,"messages":[{"role":"assistant","content":"x"}]}`, "(start)"},
		{"roles", anthropicPath, `{"model":"m","max_tokens":5,"messages":[{"role":"robot","content":"x"}]}`, "(role)"},
		{"call without", anthropicPath, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},{"role":"user","content":"x"}]}`, "(call-without)"},
		{"result without", anthropicPath, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"x"}]}]}`, "(result-without)"},
		{"signature", anthropicPath, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"bm9uZQ=="},{"type":"text","text":"a"}]},{"role":"user","content":"y"}]}`, "never given"},
		{"chat result", chatPath, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"c","content":"x"}]}`, "(result-without)"},
		{"chat choice", chatPath, `{"model":"m","tool_choice":"none","messages":[{"role":"user","content":"x"}]}`, "tool_choice"},
		{"chat limits", chatPath, `{"model":"m","max_tokens":5,"max_completion_tokens":5,"messages":[{"role":"user","content":"x"}]}`, "max_completion_tokens"},
		{"chat usage", chatPath, `{"model":"m","stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}]}`, "stream_options"},
		{"responses messages", responsesPath, `{"model":"m","messages":[],"input":[{"type":"message","role":"user","content":"x"}]}`, "'input'"},
		{"responses limit", responsesPath, `{"model":"m","max_output_tokens":5,"input":[{"type":"message","role":"user","content":"x"}]}`, "max_output_tokens"},
		{"responses reasoning", responsesPath, `{"model":"m","input":[{"type":"message","role":"user","content":"x"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"eA=="},{"type":"message","role":"user","content":"y"}]}`, "(thinking)"},
		{"gemini model", geminiPath, `{"model":"m","contents":[{"role":"user","parts":[{"text":"x"}]}]}`, "Unknown name"},
		{"gemini key", geminiPath + "?key=k", `{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`, "address"},
		{"gemini roles", geminiPath, `{"contents":[{"role":"assistant","parts":[{"text":"x"}]}]}`, "(role)"},
	} {
		s := modeltest.Start(modeltest.Config{}, modeltest.Text("taken"))
		status, body := post(t, s, c.path, c.body)
		bad := strings.Join(s.Violations(), "\n")
		if status != http.StatusBadRequest || !strings.Contains(bad, c.want) || s.Left() != 1 {
			t.Errorf("%s: status %d, %s\nviolations: %s", c.name, status, body, bad)
		}
		s.Close()
	}
}

// What is right is taken, and the right of every API is the same request.
func TestTaken(t *testing.T) {
	s := modeltest.Start(modeltest.Config{}, modeltest.Text("a"), modeltest.Text("b"), modeltest.Text("c"), modeltest.Text("d"))
	defer s.Close()
	for _, c := range [][2]string{
		{anthropicPath, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}]}`},
		{chatPath, `{"model":"m","messages":[{"role":"user","content":"x"}]}`},
		{responsesPath, `{"model":"m","input":[{"type":"message","role":"user","content":"x"}]}`},
		{geminiPath, `{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`},
	} {
		if status, body := post(t, s, c[0], c[1]); status != http.StatusOK {
			t.Errorf("%s: %d %s", c[0], status, body)
		}
	}
	if s.Left() != 0 || s.Violations() != nil {
		t.Error(s.Violations())
	}
	if status, _ := post(t, s, "/v1/elsewhere", `{}`); status != http.StatusNotFound {
		t.Errorf("an unknown path: %d", status)
	}
	if status, body := post(t, s, chatPath, `{"model":"m","messages":[{"role":"user","content":"x"}]}`); status != 400 || !strings.Contains(body, "no more replies") {
		t.Errorf("after the script: %d %s", status, body)
	}
}

func TestKeyIsWanted(t *testing.T) {
	for _, path := range []string{anthropicPath, chatPath, responsesPath, geminiPath} {
		s := modeltest.Start(modeltest.Config{}, modeltest.Text("x"))
		req, _ := http.NewRequest(http.MethodPost, s.URL+path, strings.NewReader(`{}`))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized && path != geminiPath || resp.StatusCode == http.StatusOK {
			t.Errorf("%s without a key: %d", path, resp.StatusCode)
		}
		s.Close()
	}
}

// Sizes: a request that does not fit the window or the API is refused as such.
func TestSizes(t *testing.T) {
	s := modeltest.Start(modeltest.Config{Window: 100, MaxBytes: 2000}, modeltest.Text("x"))
	defer s.Close()
	long := func(n int) string {
		return `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"` + strings.Repeat("x", n) + `"}]}`
	}
	if status, body := post(t, s, anthropicPath, long(1000)); status != 400 || !strings.Contains(body, "prompt is too long") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post(t, s, anthropicPath, long(3000)); status != 413 || !strings.Contains(body, "request_too_large") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post(t, s, anthropicPath, long(100)); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if s.Violations() != nil {
		t.Error("a size is no broken rule")
	}
}

// A changed start, and changed text before signed reasoning, are noticed.
func TestPrefixAndBinding(t *testing.T) {
	start := func(c modeltest.Config) (*modeltest.Server, string) {
		s := modeltest.Start(c, modeltest.Answer(modeltest.Think("hm"), message.TextBlock("yes")), modeltest.Text("again"), modeltest.Text("again"))
		_, body := post(t, s, anthropicPath, `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"one"}]}`)
		var answer struct{ Content json.RawMessage }
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		return s, string(answer.Content)
	}
	follow := func(first, content string) string {
		return `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"` + first + `"},{"role":"assistant","content":` + content + `},{"role":"user","content":"two"}]}`
	}
	for _, c := range []struct {
		name   string
		config modeltest.Config
		change func(first, content string) (string, string)
		want   string
	}{
		{"nothing", modeltest.Config{StablePrefix: true, BindThinking: true}, func(f, c string) (string, string) { return f, c }, ""},
		{"start", modeltest.Config{StablePrefix: true}, func(_, c string) (string, string) { return "changed", c }, "not the start"},
		{"before thinking", modeltest.Config{BindThinking: true}, func(_, c string) (string, string) { return "changed", c }, "what stands before"},
		{"thinking", modeltest.Config{}, func(f, c string) (string, string) { return f, strings.Replace(c, `"hm"`, `"ah"`, 1) }, "signed text was changed"},
		{"unbound", modeltest.Config{}, func(_, c string) (string, string) { return "changed", c }, ""},
	} {
		s, content := start(c.config)
		first, content := c.change("one", content)
		status, _ := post(t, s, anthropicPath, follow(first, content))
		bad := strings.Join(s.Violations(), "\n")
		if (status == 200) != (c.want == "") || !strings.Contains(bad, c.want) {
			t.Errorf("%s: %d, %s", c.name, status, bad)
		}
		if c.name == "start" {
			s.NewConversation()
			if status, body := post(t, s, anthropicPath, follow(first, content)); status != 200 {
				t.Errorf("after a new conversation: %s", body)
			}
		}
		s.Close()
	}
}

// An answer of the open tool loop comes back with the thinking that it was given with, while thinking is on.
func TestLoopKeepsItsThinking(t *testing.T) {
	for _, c := range []struct {
		name, thinking string
		drop           bool
		ok             bool
	}{
		{"whole", `{"type":"enabled","budget_tokens":1024}`, false, true},
		{"stripped", `{"type":"enabled","budget_tokens":1024}`, true, false},
		{"stripped, adaptive", `{"type":"adaptive"}`, true, false},
		{"stripped, off", `{"type":"disabled"}`, true, true},
	} {
		s := modeltest.Start(modeltest.Config{}, modeltest.Answer(modeltest.Think("hm"), modeltest.Call("c1", "read", "{}")), modeltest.Text("done"))
		head := `{"model":"m","max_tokens":2000,"thinking":` + c.thinking + `,"messages":[{"role":"user","content":"one"}`
		_, body := post(t, s, anthropicPath, head+`]}`)
		var answer struct{ Content []json.RawMessage }
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		if c.drop {
			answer.Content = answer.Content[1:]
		}
		content, _ := json.Marshal(answer.Content)
		status, body := post(t, s, anthropicPath, head+`,{"role":"assistant","content":`+string(content)+
			`},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"x"}]}]}`)
		if (status == 200) != c.ok || !c.ok && !strings.Contains(body, "thinking") {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
		s.Close()
	}
}

// What was recorded can be written, read and played again.
func TestExchanges(t *testing.T) {
	s := modeltest.Start(modeltest.Config{}, modeltest.Text("hello"), modeltest.RateLimited(3*time.Second))
	defer s.Close()
	ask := `{"model":"m","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"<x> & y"}]}`
	_, first := post(t, s, anthropicPath, ask, "X-Api-Key: secret-key")
	_, second := post(t, s, anthropicPath, ask)
	var buf bytes.Buffer
	if err := modeltest.WriteExchanges(&buf, s.Exchanges()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(buf.String(), "secret-key") {
		t.Error("a key was recorded")
	}
	xs, err := modeltest.ReadExchanges(&buf)
	if err != nil || len(xs) != 2 || !strings.Contains(string(xs[0].Request), "<x> & y") {
		t.Fatalf("%v %v", xs, err)
	}
	r := modeltest.StartReplay(xs)
	defer r.Close()
	for i, want := range []string{first, second} {
		resp, err := http.Post(r.URL+anthropicPath, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(got) != want || resp.StatusCode != xs[i].Status || i == 1 && resp.Header.Get("Retry-After") != "3" {
			t.Errorf("exchange %d: %d %s", i, resp.StatusCode, got)
		}
	}
	resp, err := http.Post(r.URL+anthropicPath, "application/json", strings.NewReader("{}"))
	if err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("after the last one: %v %v", resp, err)
	}
	_ = resp.Body.Close()
	if _, err := modeltest.ReadExchanges(strings.NewReader("{}\n{")); err == nil {
		t.Error("half an exchange was read")
	}
}
