package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/clew-dev/clew/gateway"
)

// An event says what a conversation is about, by the first words that its user has typed, for
// a display; keys in them are masked, and nothing of it is written.
func TestSaysWhatItIsAbout(t *testing.T) {
	const key = "sk-ant-api03-canaryCANARYcanaryCANARYcanary0123"
	for body, want := range map[string]string{
		`[{"role":"user","content":"Fix the  clock\nplease"}]`: "Fix the clock please",
		`[{"role":"user","content":[{"type":"text","text":"<system-reminder>Be nice.</system-reminder>"},{"type":"text","text":"Fix the clock"}]},{"role":"assistant","content":"Done."},{"role":"user","content":"Thanks"}]`: "Fix the clock",
		`[{"role":"user","content":"Use ` + key + ` to fix it"}]`:                         "Use [redacted",
		`[{"role":"user","content":"` + strings.Repeat("long ", 100) + key + `"}]`:        "long long",
		`[{"role":"user","content":[{"type":"image","source":{"type":"url","url":""}}]}]`: "",
	} {
		var got gateway.Event
		u := newUpstream(t)
		send(t, gateway.Transport(nil, gateway.Config{OnEvent: func(e gateway.Event) { got = e }}), u.URL+"/v1/messages",
			[]byte(`{"model":"claude-sonnet-4-5","max_tokens":10,"messages":`+body+`}`), "User-Agent: claude-cli/2.1.197 (external, cli)")
		if !strings.HasPrefix(got.About, want) || want == "" && got.About != "" || len([]rune(got.About)) > 121 || strings.Contains(got.About, "canary") || got.Client != "claude-cli/2.1.197" {
			t.Errorf("%.80s: about %q, of %q", body, got.About, got.Client)
		}
		line, err := json.Marshal(got)
		if err != nil || strings.Contains(string(line), "clock") || strings.Contains(string(line), "claude-cli") {
			t.Errorf("%s, %v", line, err)
		}
	}
}

// What an event says stays as it is when the memory of the body is used for the next request, of whomever that is.
func TestAboutIsACopy(t *testing.T) {
	var seen []gateway.Event
	u := newUpstream(t)
	rt := gateway.Transport(nil, gateway.Config{OnEvent: func(e gateway.Event) { seen = append(seen, e) }})
	word := func(i int) string { return strings.Repeat(string(rune('a'+i)), 40) }
	const rounds = 20
	for range 2 { // the second time each conversation is a known one
		for i := range rounds {
			send(t, rt, u.URL+"/v1/messages", []byte(`{"model":"claude-sonnet-4-5","max_tokens":10,"messages":[{"role":"user","content":"`+word(i)+`"}]}`))
		}
	}
	for i, e := range seen {
		if want := word(i % rounds); e.About != want {
			t.Fatalf("the event of request %d is about %q, want %q", i, e.About, want)
		}
	}
}

// TestCountThatStreams: a server that answers a count of tokens with a stream has its answer passed on.
func TestCountThatStreams(t *testing.T) {
	const answer = "event: message\ndata: {\"input_tokens\":3}\n\n"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, answer)
	}))
	defer srv.Close()
	resp, err := gateway.Transport(nil, gateway.Config{}).RoundTrip(httptest.NewRequest(http.MethodPost, srv.URL+"/v1/messages/count_tokens",
		strings.NewReader(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"x"}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != answer {
		t.Errorf("%q %v", got, err)
	}
}
