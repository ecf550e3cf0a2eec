package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/internal/admin"
)

const (
	secret  = "sk-ant-api03-canaryCANARYcanaryCANARYcanary0123"
	hostile = `<script>document.title="pwned"</script><img src=x onerror=alert(1)>`
)

// body is a list of the Messages API with n requests, each but the last with about 700 tokens
// that follow. What it says would run
// on a page that does not take it for text, and the first result has a key in it.
func body(n int) []byte {
	list := []any{}
	say := func(role string, content any) { list = append(list, map[string]any{"role": role, "content": content}) }
	for i := range n - 1 {
		result := strings.Repeat(fmt.Sprintf("func part%d() error { return nil }\n", i), 70)
		if i == 0 {
			result += "API_KEY=" + secret + "\nthe tokenizer flumox lives here\n"
		}
		say("user", fmt.Sprintf("Request %d: change src/part%d.go %s", i, i, hostile))
		say("assistant", []any{map[string]any{"type": "tool_use", "id": fmt.Sprintf("c%d", i), "name": "read", "input": map[string]any{"path": fmt.Sprintf("src/part%d.go", i)}}})
		say("user", []any{map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprintf("c%d", i), "content": result}})
		say("assistant", []any{map[string]any{"type": "text", "text": fmt.Sprintf("Changed src/part%d.go, and all tests pass.", i)}})
	}
	say("user", fmt.Sprintf("Request %d: change src/part%d.go %s", n-1, n-1, hostile))
	out, _ := json.Marshal(map[string]any{"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": list})
	return out
}

// watched is a gateway with a window of 20,000 tokens that has served a conversation of n
// turns, and the server that shows it.
func watched(t *testing.T, n int) (*admin.Server, *httptest.Server) {
	t.Helper()
	cached := 0
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		now := len(got) / 4
		read := min(cached, now)
		cached = now
		fmt.Fprintf(w, `{"id":"m","content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":3,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":20}}`, read, now-read)
	}))
	t.Cleanup(up.Close)
	dir := t.TempDir()
	s := admin.New(admin.Config{Dir: dir, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
	rt := gateway.Transport(nil, gateway.Config{Dir: dir, Window: func(string, string) int64 { return 20_000 }, OnEvent: s.Event})
	for i := 1; i <= n; i++ {
		req, err := http.NewRequest(http.MethodPost, up.URL+"/v1/messages", bytes.NewReader(body(i)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", secret)
		req.Header.Set("User-Agent", "agent/1.0 (a test)")
		resp, err := (&http.Client{Transport: rt}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	return s, srv
}

func get(t *testing.T, url string) (int, string, http.Header) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header
}

// The list has what the events said, and one conversation has what left its context.
func TestSessions(t *testing.T) {
	_, srv := watched(t, 40)
	var list admin.Listing
	_, text, _ := get(t, srv.URL+"/sessions")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Sessions) != 1 || list.Requests != 40 || list.Single != 0 && list.Single != 1 {
		t.Fatalf("%s", text)
	}
	talk := list.Sessions[0]
	if talk.Epochs == 0 || talk.Unfit == 0 || talk.NotSent <= 0 || talk.After >= talk.Before || talk.After > 20_000 || talk.Full() <= 0 || talk.Full() > 1 {
		t.Errorf("%+v", talk)
	}
	if !strings.HasPrefix(talk.About, "Request 0: change src/part0.go <script>") || talk.Client != "agent/1.0" {
		t.Errorf("it is about %q, of %q", talk.About, talk.Client)
	}
	if share := talk.CacheShare(); share < .5 || share > 1 || talk.Cost <= 0 {
		t.Errorf("%.2f of the input came from the cache, for $%.4f", share, talk.Cost)
	}
	var one admin.One
	_, text, _ = get(t, srv.URL+"/sessions/"+talk.ID)
	if err := json.Unmarshal([]byte(text), &one); err != nil {
		t.Fatal(err)
	}
	if len(one.Points) != talk.Requests || one.Stored == nil || len(one.Passes) != talk.Epochs || one.Left.Total == 0 || one.Kept.Total == 0 || one.Messages < one.Left.Total+one.Kept.Total {
		t.Errorf("%.600s", text)
	}
	if !strings.Contains(one.Left.Lines[0].Text, "Request 0") {
		t.Errorf("the first that left is %q", one.Left.Lines[0].Text)
	}
	for path, want := range map[string]int{"/sessions/0123456789abcdef": 404, "/sessions/..%2f..%2fetc%2fpasswd": 404, "/sessions/*": 404, "/session/" + talk.ID + "/entry/none": 404} {
		if status, text, _ := get(t, srv.URL+path); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// What was said is found by its words and shown whole, as text, with its keys masked; and
// nothing on a page comes from elsewhere.
func TestPages(t *testing.T) {
	_, srv := watched(t, 40)
	_, home, head := get(t, srv.URL+"/")
	m := regexp.MustCompile(`/session/([0-9a-f]{16})"`).FindStringSubmatch(home)
	if m == nil {
		t.Fatalf("%s", home)
	}
	talk := "/session/" + m[1]
	_, one, _ := get(t, srv.URL+talk)
	_, found, _ := get(t, srv.URL+talk+"?q=flumox")
	hit := regexp.MustCompile(`/session/[0-9a-f]+/entry/[0-9a-f]+`).FindString(found)
	_, entry, _ := get(t, srv.URL+hit)
	if !strings.Contains(entry, "the tokenizer flumox lives here\n") || !strings.Contains(entry, "func part0() error { return nil }\nfunc part0()") || strings.Contains(entry, secret) || !strings.Contains(entry, "API_KEY=[redacted:") {
		t.Errorf("the entry: %.300s", entry)
	}
	if !strings.Contains(one, "Left the context") || !strings.Contains(one, "<polyline class=\"after\"") || !strings.Contains(found, "flumox") {
		t.Errorf("the conversation: %.500s", one)
	}
	_, log, logHead := get(t, srv.URL+talk+"/log")
	_, css, cssHead := get(t, srv.URL+"/page.css")
	for name, page := range map[string]string{"home": home, "one": one, "found": found, "entry": entry, "log": log} {
		if strings.Contains(page, "<script>document.title") || strings.Contains(page, "<img src=x") || strings.Contains(page, secret) {
			t.Errorf("%s shows what was said as it is", name)
		}
		if name != "log" && regexp.MustCompile(`(src|href)="(https?:)?//|style="| on[a-z]+="|<style|<script>`).MatchString(page) {
			t.Errorf("%s has what its policy refuses", name)
		}
	}
	if csp := head.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
	if !strings.Contains(log, `http-equiv="Content-Security-Policy"`) || logHead.Get("Content-Type") == "" || css == "" || !strings.HasPrefix(cssHead.Get("Content-Type"), "text/css") {
		t.Error("the log or the style is not served as it should be")
	}
}

// Metrics have no text of a client and no name that it chose.
func TestMetrics(t *testing.T) {
	s, srv := watched(t, 40)
	for i := range 50 {
		s.Event(gateway.Event{API: "anthropic", Model: fmt.Sprintf("model-%s-%d", secret, i), Conversation: fmt.Sprintf("%016x", i), Outcome: gateway.Rescued, Why: "why " + secret, Status: 100 + 50*i})
	}
	_, text, _ := get(t, srv.URL+"/metrics")
	for _, want := range []string{
		`clew_gateway_requests_total{api="anthropic",code="2xx",outcome="shortened"}`, `clew_gateway_requests_total{api="anthropic",code="none",outcome="rescued"}`,
		`clew_gateway_epochs_total{api="anthropic"}`, `clew_gateway_list_tokens_total{api="anthropic",list="after"}`,
		`clew_gateway_usage_tokens_total{api="anthropic",kind="cache_read"}`, `clew_gateway_added_seconds_bucket{api="anthropic",le="0.0001"}`, `clew_gateway_in_flight 0`, `go_goroutines`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("there is no %s", want)
		}
	}
	if n := strings.Count(text, "\nclew_gateway_"); n > 80 || strings.Contains(text, secret) || strings.Contains(text, "model-") {
		t.Errorf("%d series, or a client's words in one:\n%.400s", n, text)
	}
}

// Other hosts and other sites' pages get nothing.
func TestAddressed(t *testing.T) {
	reloaded := 0
	s := admin.New(admin.Config{Dir: t.TempDir(), Reload: func(context.Context) error { reloaded++; return nil }})
	for _, c := range []struct {
		method, path, host, origin, site string
		want                             int
	}{
		{"GET", "/", "127.0.0.1:8791", "", "none", 200},
		{"GET", "/sessions", "localhost:8791", "http://localhost:8791", "same-origin", 200},
		{"GET", "/metrics", "[::1]:8791", "", "", 200},
		{"POST", "/reload", "127.0.0.1:8791", "", "", 200},
		{"GET", "/", "evil.example", "", "none", 403},
		{"GET", "/sessions", "127.0.0.1.evil.example:8791", "", "", 403},
		{"GET", "/sessions", "127.0.0.1:8791", "http://evil.example", "", 403},
		{"GET", "/sessions", "127.0.0.1:8791", "null", "", 403},
		{"GET", "/sessions", "127.0.0.1:8791", "", "cross-site", 403},
		{"POST", "/reload", "127.0.0.1:8791", "http://localhost:3000", "same-site", 403},
		{"GET", "/reload", "127.0.0.1:8791", "", "", 405},
		{"GET", "/nowhere", "127.0.0.1:8791", "", "", 404},
	} {
		req := httptest.NewRequest(c.method, "http://x"+c.path, nil)
		req.Host = c.host
		req.Header.Set("Origin", c.origin)
		req.Header.Set("Sec-Fetch-Site", c.site)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, req)
		if w.Code != c.want {
			t.Errorf("%s %s of %s from %q: %d", c.method, c.path, c.host, c.origin, w.Code)
		}
	}
	if reloaded != 1 {
		t.Errorf("reloaded %d times", reloaded)
	}
}

// A gateway is ready while it can keep what leaves a context, and until it ends.
func TestReady(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sub", "gateway")
	s := admin.New(admin.Config{Dir: dir})
	ask := func(s *admin.Server, method, path string) (int, string) {
		w := httptest.NewRecorder()
		req := httptest.NewRequest(method, "http://127.0.0.1"+path, nil)
		s.Handler().ServeHTTP(w, req)
		return w.Code, w.Body.String()
	}
	if status, _ := ask(s, "GET", "/readyz"); status != 200 {
		t.Errorf("not ready: %d", status)
	}
	if status, text := ask(s, "POST", "/reload"); status != 409 || !strings.Contains(text, "--config") {
		t.Errorf("reload without a file: %d %s", status, text)
	}
	s.Leave()
	if status, _ := ask(s, "GET", "/readyz"); status != 503 {
		t.Errorf("ready at the end: %d", status)
	}
	if status, _ := ask(s, "GET", "/healthz"); status != 200 {
		t.Errorf("not alive at the end: %d", status)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := admin.New(admin.Config{Dir: filepath.Join(file, "gateway"), Reload: func(context.Context) error { return errors.New(`unknown field "windws"`) }})
	if status, _ := ask(bad, "GET", "/readyz"); status != 503 {
		t.Errorf("ready without a folder: %d", status)
	}
	if status, text := ask(bad, "POST", "/reload"); status != 422 || !strings.Contains(text, "windws") || !strings.Contains(text, "old settings stay") {
		t.Errorf("a bad file: %d %s", status, text)
	}
}

// Money saved is what requests would have cost otherwise, less what they cost; a switch may
// cost, and what had not fit counts nothing.
func TestSaved(t *testing.T) {
	s := admin.New(admin.Config{Dir: t.TempDir()})
	srv := httptest.NewServer(s.Handler())
	defer srv.Close()
	for _, e := range []gateway.Event{
		{Outcome: gateway.Passed, Before: 80_000, After: 80_000, Cost: 1},
		{Outcome: gateway.Compacted, Before: 81_000, After: 20_000, Cost: 2, Otherwise: 1.5},
		{Outcome: gateway.Shortened, Before: 82_000, After: 21_000, Cost: .25, Otherwise: 1},
		{Outcome: gateway.Shortened, Before: 120_000, After: 30_000, Cost: .25, Otherwise: 9},
		{Outcome: gateway.WouldBe, Before: 82_000, After: 20_000, Cost: 1, Otherwise: .5},
	} {
		e.API, e.Conversation, e.Status, e.Window, e.Usage = "anthropic", "0123456789abcdef", 200, 100_000, &gateway.Usage{Input: e.After}
		s.Event(e)
	}
	var list admin.Listing
	_, text, _ := get(t, srv.URL+"/sessions")
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Sessions) != 1 {
		t.Fatal(text, err)
	}
	if talk := list.Sessions[0]; talk.Saved != -.5+.75 || talk.Cost != 4.5 || talk.Unfit != 1 || talk.WouldBe != 1 || talk.NotSent != 61_000+61_000+90_000 || talk.After != 82_000 || talk.Totals != list.Totals {
		t.Errorf("%+v", talk)
	}
}
