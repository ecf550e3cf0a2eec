package gateway_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/wire"
)

// upstream is a server that keeps what it gets and answers the same each time.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	header []http.Header
	answer func(w http.ResponseWriter, n int)
}

const plainAnswer = `{"id":"m","content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":10,"output_tokens":2}}`

func write(w io.Writer, s string) { _, _ = io.WriteString(w, s) }

func newUpstream(t *testing.T) *upstream {
	u := &upstream{answer: func(w http.ResponseWriter, _ int) { write(w, plainAnswer) }}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.bodies, u.header = append(u.bodies, body), append(u.header, r.Header.Clone())
		n := len(u.bodies)
		u.mu.Unlock()
		u.answer(w, n)
	}))
	t.Cleanup(u.Close)
	return u
}

func send(t *testing.T, rt http.RoundTripper, url string, body []byte, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, v)
	}
	resp, err := (&http.Client{Transport: rt}).Do(req)
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

// long is a body of the Messages API with n turns of about 700 tokens.
func long(n int, more string) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":1000,"system":"s","messages":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"role":"user","content":"Request %d: change the file src/part%d.go and keep the tests green"},`, i, i)
		fmt.Fprintf(&b, `{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"read","input":{"path":"src/part%d.go"}}]},`, i, i)
		fmt.Fprintf(&b, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]},`, i, strings.Repeat(fmt.Sprintf(`func part%d() error { return nil }\n`, i), 70))
		fmt.Fprintf(&b, `{"role":"assistant","content":[{"type":"text","text":"Changed src/part%d.go, and all tests pass."}]},`, i)
	}
	b.WriteString(`{"role":"user","content":"` + more + `"}]}`)
	return []byte(b.String())
}

func window(n int64) func(string, string) int64 { return func(string, string) int64 { return n } }

// Nothing but what has to be shortened changes on the way, in neither direction: not what
// is no request with a list, what can't be read, what a subscription pays for, what is
// watched only, and what fits.
func TestPassesOnByteByByte(t *testing.T) {
	var packed, marked bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(long(2, "go on"))
	_ = z.Close()
	z.Reset(&marked)
	_, _ = z.Write([]byte(`{"model":"gpt-5","input":[{"role":"user","content":"what begins with clew1.?"}]}`))
	_ = z.Close()
	var large []byte
	if !testing.Short() {
		large = append(bytes.TrimSuffix(long(1, "x"), []byte(`"}]}`)), strings.Repeat("x", 100<<20)+`"}]}`...)
	}
	for _, c := range []struct {
		name, path string
		body       []byte
		header     []string
		cfg        gateway.Config
	}{
		{"what fits", "/v1/messages", long(3, "go on"), nil, gateway.Config{}},
		{"odd spelling", "/v1/messages", []byte("{ \"messages\" : [ {\"content\":\"\\u00e9\\/\", \"role\":\"user\"} ],\n \"x\": 1.0e2, \"max_tokens\":1 }"), nil, gateway.Config{}},
		{"no JSON", "/v1/messages", []byte("not JSON"), nil, gateway.Config{}},
		{"names twice", "/v1/messages", []byte(`{"messages":[],"messages":[]}`), nil, gateway.Config{}},
		{"no UTF-8", "/v1/chat/completions", []byte("{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}"), nil, gateway.Config{}},
		{"deep", "/v1/messages", []byte(`{"messages":[{"role":"user","content":` + strings.Repeat(`[`, 200_000) + strings.Repeat(`]`, 200_000) + `}]}`), nil, gateway.Config{}},
		{"not closed", "/v1/messages", []byte(strings.Repeat(`{"messages":[`, 100_000)), nil, gateway.Config{}},
		{"names twice in a block", "/v1/messages", []byte(`{"messages":[{"role":"user","role":"assistant","content":"x"}]}`), nil, gateway.Config{Window: window(10)}},
		{"100 MB", "/v1/messages", large, nil, gateway.Config{Window: window(10)}},
		{"another path", "/v1/embeddings", []byte(`{"input":"x"}`), nil, gateway.Config{}},
		{"packed", "/v1/messages", packed.Bytes(), []string{"Content-Encoding: gzip"}, gateway.Config{}},
		{"packed, with the gateway's mark in it", "/v1/responses", marked.Bytes(), []string{"Content-Encoding: gzip"}, gateway.Config{}},
		{"packed in a way that is not known", "/v1/messages", []byte("xyz"), []string{"Content-Encoding: zstd"}, gateway.Config{}},
		{"a subscription", "/v1/messages", long(60, "go on"), []string{"Authorization: Bearer sk-ant-oat01-x"}, gateway.Config{Window: window(32_000)}},
		{"watching", "/v1/messages", long(60, "go on"), nil, gateway.Config{Window: window(32_000), Observe: true}},
		{"larger than is read", "/v1/messages", long(60, "go on"), nil, gateway.Config{Window: window(32_000), MaxBody: 1000}},
		{"an empty list", "/v1/messages", []byte(`{"messages":[]}`), nil, gateway.Config{Window: window(10)}},
		{"a text in place of a list", "/v1/responses", []byte(`{"model":"gpt-5","input":"hello"}`), nil, gateway.Config{Window: window(10)}},
		{"state on the server", "/v1/responses", []byte(`{"previous_response_id":"r","input":[{"role":"user","content":"x"}]}`), nil, gateway.Config{Window: window(10)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.body == nil {
				t.Skip("takes seconds")
			}
			u := newUpstream(t)
			_, answer := send(t, gateway.Transport(nil, c.cfg), u.URL+c.path, c.body, c.header...)
			if len(u.bodies) != 1 || sha256.Sum256(u.bodies[0]) != sha256.Sum256(c.body) {
				t.Fatalf("%d requests arrived, the first with %d bytes, want %d", len(u.bodies), len(u.bodies[0]), len(c.body))
			}
			if answer != plainAnswer {
				t.Errorf("the answer became %s", answer)
			}
			for _, h := range c.header {
				k, v, _ := strings.Cut(h, ": ")
				if got := u.header[0].Get(k); got != v {
					t.Errorf("header %s became %q", k, got)
				}
			}
		})
	}
}

// Everything outside of what an epoch replaces is what the client sent: the envelope, and
// the list from the cut on.
func TestShortenedBodyIsSpliced(t *testing.T) {
	u := newUpstream(t)
	rt := gateway.Transport(nil, gateway.Config{Window: window(32_000)})
	body := long(60, "now the last thing")
	send(t, rt, u.URL+"/v1/messages", body)
	got := u.bodies[0]
	if len(got) >= len(body)/2 {
		t.Fatalf("%d bytes of %d were sent on", len(got), len(body))
	}
	again := newUpstream(t) // a second gateway on the way leaves it alone
	send(t, gateway.Transport(nil, gateway.Config{Window: window(8_000)}), again.URL+"/v1/messages", got, "X-Clew-Gateway: "+u.header[0].Get("X-Clew-Gateway"))
	if !bytes.Equal(again.bodies[0], got) {
		t.Error("a second gateway has shortened it once more")
	}
	head := body[:bytes.Index(body, []byte(`"messages":[`))]
	if !bytes.HasPrefix(got, head) {
		t.Error("the envelope changed")
	}
	tail := 0
	for tail < len(got) && got[len(got)-1-tail] == body[len(body)-1-tail] {
		tail++
	}
	if tail < 5000 {
		t.Errorf("only the last %d bytes are the client's", tail)
	}
	in, err := wire.Parse(wire.Anthropic, got)
	if err != nil {
		t.Fatal(err)
	}
	open := 0
	for _, n := range in.Nodes {
		switch n.Kind {
		case wire.PartCall:
			open++
		case wire.PartResult:
			if open--; open < 0 {
				t.Fatalf("result %s has no call", n.ID)
			}
		default:
		}
	}
	if open > 0 {
		t.Errorf("%d calls have no result", open)
	}
	for _, want := range []string{"Request 0: change the file src/part0.go", "src/part59.go"} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("nothing says %q any more", want)
		}
	}
}

// The next requests of a conversation begin with the same bytes, after a restart too, and
// what left the context is in the session of the conversation.
func TestEpochsOutliveTheProcess(t *testing.T) {
	u, dir := newUpstream(t), t.TempDir()
	cfg := gateway.Config{Window: window(32_000), Dir: dir}
	send(t, gateway.Transport(nil, cfg), u.URL+"/v1/messages", long(40, "first"))
	longer := bytes.Replace(long(40, "first"), []byte(`"first"}]}`), []byte(`"first"},{"role":"assistant","content":"done"},{"role":"user","content":"second"}]}`), 1)
	send(t, gateway.Transport(nil, cfg), u.URL+"/v1/messages", longer)
	first := bytes.TrimSuffix(u.bodies[0], []byte("]}"))
	if !bytes.HasPrefix(u.bodies[1], first) {
		t.Fatalf("after the restart the request begins otherwise:\n%.300s\n%.300s", u.bodies[0], u.bodies[1])
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(files) != 1 {
		t.Fatalf("files: %v", files)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read %v: %v", info.Mode(), err)
	}
	f, err := jsonl.Open(context.Background(), files[0], jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if p := f.Problems(); len(p) > 0 {
		t.Errorf("the session has problems: %v", p)
	}
	said := map[string]bool{}
	for e, err := range f.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if m, err := e.Message(); err == nil && e.Type == session.TypeMessage && m.Role == message.RoleToolResult {
			said[m.ToolCallID] = true
		}
	}
	for i := range 40 {
		if !said[fmt.Sprintf("c%d", i)] {
			t.Fatalf("the result of call c%d is not in the session", i)
		}
	}
}

// A client puts a reminder behind what it sends and leaves it out of the next request. The
// summary stays, and so does the beginning, in a new process too.
func TestRemindersDoNotCostTheSummary(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		u := newUpstream(t)
		made := 0
		cfg := gateway.Config{Window: window(32_000), Dir: t.TempDir(), OnEvent: func(e gateway.Event) {
			if e.Outcome == gateway.Compacted {
				made++
			}
		}}
		rt := gateway.Transport(nil, cfg)
		for n := 40; n < 50; n++ {
			if restarts {
				rt = gateway.Transport(nil, cfg)
			}
			body := bytes.TrimSuffix(long(n, "x"), []byte(`,{"role":"user","content":"x"}]}`))
			body = append(body, fmt.Sprintf(`,{"role":"user","content":[{"type":"text","text":"Request %d: change the file src/part%d.go and keep the tests green"},{"type":"text","text":"<system-reminder>It is %d o'clock.</system-reminder>"}]}]}`, n, n, n)...)
			send(t, rt, u.URL+"/v1/messages", body)
		}
		if made != 1 {
			t.Errorf("%d epochs for 10 requests", made)
		}
		for i, b := range u.bodies[1:] {
			stays, _, _ := bytes.Cut(u.bodies[i], []byte(fmt.Sprintf(`[{"type":"text","text":"Request %d:`, 40+i)))
			if len(stays) == len(u.bodies[i]) || !bytes.HasPrefix(b, stays) {
				t.Errorf("request %d begins otherwise than the one before", i+1)
			}
		}
	}
}

// Of a list whose last message is another one, an epoch has no word of that message, and one
// that is too large for the window gets an epoch of its own.
func TestAnotherLastMessage(t *testing.T) {
	u := newUpstream(t)
	rt := gateway.Transport(nil, gateway.Config{Window: window(32_000)})
	send(t, rt, u.URL+"/v1/messages", long(40, "the parrot is called Quagga"))
	send(t, rt, u.URL+"/v1/messages", long(40, "x"))
	if want := bytes.Replace(u.bodies[0], []byte("the parrot is called Quagga"), []byte("x"), 1); !bytes.Equal(u.bodies[1], want) {
		t.Error("another last message has changed what stands before it")
	}
	for range 2 {
		send(t, rt, u.URL+"/v1/messages", long(40, strings.Repeat("What does this log say? ", 3000)))
	}
	if first, again := u.bodies[2], u.bodies[3]; len(first) > 100_000 || !bytes.Equal(first, again) {
		t.Errorf("%d bytes, then %d", len(first), len(again))
	}
	send(t, rt, u.URL+"/v1/messages", long(40, "x"))
	if !bytes.Equal(u.bodies[4], u.bodies[1]) {
		t.Error("the epoch of the other list has changed")
	}
	rt = gateway.Transport(nil, gateway.Config{Window: window(32_000)})
	for _, last := range []string{strings.Repeat("Where is Quagga? ", 9000), "x"} {
		send(t, rt, u.URL+"/v1/messages", long(40, last))
	}
	if bytes.Contains(u.bodies[6], []byte("Quagga")) {
		t.Error("a list has words of another one's last message")
	}
}

// A tool loop is open as well where a reminder stands behind the results: its thinking stays.
func TestThinkingOfALoopWithAReminder(t *testing.T) {
	u := newUpstream(t)
	body := bytes.Replace(long(60, "x"), []byte(`"system":"s"`), []byte(`"thinking":{"type":"enabled","budget_tokens":1024},"system":"s"`), 1)
	body = append(bytes.TrimSuffix(body, []byte("]}")), `,{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"tool_use","id":"z","name":"read","input":{}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"z","content":"ok"},{"type":"text","text":"<system-reminder>Be brief.</system-reminder>"}]}]}`...)
	send(t, gateway.Transport(nil, gateway.Config{Window: window(32_000)}), u.URL+"/v1/messages", body)
	if got := u.bodies[0]; len(got) > len(body)/2 || !bytes.Contains(got, []byte(`"signature":"c2ln"`)) {
		t.Errorf("%d bytes, which end in %s", len(got), got[max(0, len(got)-400):])
	}
}

// An epoch that was refused as too long does not come back in a new process.
func TestRefusedEpochDoesNotComeBack(t *testing.T) {
	u, cfg := newUpstream(t), gateway.Config{Window: window(60_000), Dir: t.TempDir()}
	u.answer = func(w http.ResponseWriter, n int) {
		if len(u.bodies[n-1]) > 60_000 {
			w.WriteHeader(400)
			write(w, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 50000 tokens > 20000 maximum"}}`)
			return
		}
		write(w, `{}`)
	}
	for range 2 {
		send(t, gateway.Transport(nil, cfg), u.URL+"/v1/messages", long(100, "x"))
	}
	if len(u.bodies) != 3 || !bytes.Equal(u.bodies[1], u.bodies[2]) {
		t.Errorf("%d requests", len(u.bodies))
		for _, b := range u.bodies {
			t.Log(len(b))
		}
	}
}

// Two conversations that begin with the same words, and those of two tenants, have nothing
// of each other; who rewinds before an epoch gets what was said there.
func TestConversationsStayApart(t *testing.T) {
	u := newUpstream(t)
	var talks []string
	rt := gateway.Transport(nil, gateway.Config{
		Window: window(32_000), Tenant: func(r *http.Request) string { return r.Header.Get("X-Api-Key") },
		OnEvent: func(e gateway.Event) { talks = append(talks, e.Conversation) },
	})
	secret := bytes.Replace(long(50, "a"), []byte("all tests pass"), []byte("the parrot is called Quagga"), 1)
	send(t, rt, u.URL+"/v1/messages", secret, "X-Api-Key: one")
	if !bytes.Contains(u.bodies[0], []byte("Quagga")) || len(u.bodies[0]) >= len(secret) {
		t.Fatal("the conversation's own summary does not have it")
	}
	send(t, rt, u.URL+"/v1/messages", long(50, "b"), "X-Api-Key: one")
	send(t, rt, u.URL+"/v1/messages", long(50, "a"), "X-Api-Key: two")
	short := long(3, "again from here")
	send(t, rt, u.URL+"/v1/messages", short, "X-Api-Key: one")
	for i, body := range u.bodies[1:] {
		if bytes.Contains(body, []byte("Quagga")) {
			t.Errorf("request %d has what another conversation said", i+1)
		}
	}
	if talks[0] == talks[2] {
		t.Error("one conversation for two tenants")
	}
	if !bytes.Equal(u.bodies[3], short) {
		t.Error("a rewound conversation was changed")
	}
}

// Who forks a conversation goes on with what it had in common, in each branch, and no branch gets
// what the other one said; who rewinds gets again what was sent then.
func TestForks(t *testing.T) {
	u := newUpstream(t)
	u.answer = func(w http.ResponseWriter, _ int) { write(w, `{}`) }
	rt := gateway.Transport(nil, gateway.Config{Window: window(32_000), Dir: t.TempDir()})
	common := bytes.TrimSuffix(long(45, ""), []byte(`,{"role":"user","content":""}]}`))
	branch := func(name string, n int) []byte {
		more, _, _ := bytes.Cut(long(n, name), []byte("\x00"))
		_, more, _ = bytes.Cut(more, []byte(`"messages":[`))
		return slices.Concat(common, []byte(","), bytes.ReplaceAll(more, []byte("tests pass"), []byte("tests pass in "+name)))
	}
	sent := func(body []byte) string {
		send(t, rt, u.URL+"/v1/messages", body)
		return string(u.bodies[len(u.bodies)-1])
	}
	begin := func(s string) string { return s[:strings.Index(s, `"}]},{"role":"user","content":"x"}`)] }
	root := sent(append(bytes.Clone(common), `,{"role":"user","content":"x"}]}`...))
	first := map[string]string{}
	for _, n := range []int{1, 5, 30, 31} {
		for _, name := range []string{"Quagga", "Kakapo"} {
			got := sent(branch(name, n))
			if n < 10 && !strings.HasPrefix(got, begin(root)) {
				t.Errorf("branch %s begins otherwise than what it comes from", name)
			}
			if n > 10 && strings.HasPrefix(got, begin(root)) {
				t.Errorf("branch %s has no epoch of its own after %d turns", name, n)
			}
			for _, other := range []string{"Quagga", "Kakapo"} {
				if strings.Contains(got, other) != (other == name) {
					t.Errorf("branch %s after %d turns: %s in it is %v", name, n, other, other != name)
				}
			}
			if n == 5 {
				first[name] = got
			}
		}
	}
	for name, want := range first {
		if got := sent(branch(name, 5)); got != want {
			t.Errorf("rewound, branch %s is another one", name)
		}
	}
	if early := long(10, "x"); sent(early) != string(early) {
		t.Error("rewound before the first epoch, the list is another one")
	}
}

// An overflow that can't be helped reaches the client as the upstream said it.
func TestRefusalThatCantBeHelped(t *testing.T) {
	u := newUpstream(t)
	const refusal = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`
	u.answer = func(w http.ResponseWriter, _ int) { w.WriteHeader(400); write(w, refusal) }
	var seen []gateway.Event
	rt := gateway.Transport(nil, gateway.Config{OnEvent: func(e gateway.Event) { seen = append(seen, e) }})
	status, body := send(t, rt, u.URL+"/v1/messages", []byte(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
	if status != 400 || body != refusal {
		t.Errorf("the client got %d %s", status, body)
	}
	if len(seen) != 1 || seen[0].Outcome != gateway.TooLong {
		t.Errorf("events: %+v", seen)
	}
	if len(u.bodies) != 1 {
		t.Errorf("%d requests were made", len(u.bodies))
	}
	for i, second := range []int{400, 200} { // the second refusal may come with the status of success
		n := len(u.bodies)
		u.answer = func(w http.ResponseWriter, i int) {
			if i == n+1 {
				w.WriteHeader(400)
				write(w, refusal)
				return
			}
			w.WriteHeader(second)
			write(w, strings.Replace(refusal, "21", "20", 1))
		}
		status, body := send(t, rt, u.URL+"/v1/messages", bytes.Replace(long(100, "x"), []byte("Request 0"), fmt.Appendf(nil, "Request %d", second), 1))
		if e := seen[1+i]; status != 400 || body != refusal || e.Outcome != gateway.TooLong || e.After != e.Before || len(u.bodies) != n+2 {
			t.Errorf("the client got %d %s after %d requests: %+v", status, body, len(u.bodies)-n, e)
		}
	}
}

// A refusal of another kind is passed on and nothing is tried again.
func TestOtherErrorsPass(t *testing.T) {
	u := newUpstream(t)
	const refusal = `{"type":"error","error":{"type":"rate_limit_error","message":"too many tokens a minute"}}`
	u.answer = func(w http.ResponseWriter, _ int) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(429)
		write(w, refusal)
	}
	status, body := send(t, gateway.Transport(nil, gateway.Config{}), u.URL+"/v1/messages", long(10, "x"))
	if status != 429 || body != refusal || len(u.bodies) != 1 {
		t.Errorf("the client got %d %s after %d requests", status, body, len(u.bodies))
	}
}

// While the cache is warm an epoch waits. Once it has run out, or another system text has cost it,
// the switch is free.
func TestSwitchesWhenTheCacheIsCold(t *testing.T) {
	for _, c := range []struct {
		why, system string
		later       time.Duration
	}{
		{"run out", `"system":"s"`, time.Hour},
		{"the system text or the tools have changed", `"system":"t"`, 0},
	} {
		u := newUpstream(t)
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var last gateway.Event
		rt := gateway.Transport(nil, gateway.Config{Window: window(32_000), Now: func() time.Time { return now }, OnEvent: func(e gateway.Event) { last = e }})
		u.answer = func(w http.ResponseWriter, _ int) {
			write(w, `{"usage":{"input_tokens":1000,"cache_read_input_tokens":20000,"output_tokens":5}}`)
		}
		body := long(24, "first")
		next := func(words string) []byte {
			return bytes.Replace(body, []byte(`"first"}]}`), []byte(`"first"},{"role":"assistant","content":"done"},{"role":"user","content":"`+words+`"}]}`), 1)
		}
		send(t, rt, u.URL+"/v1/messages", body)
		send(t, rt, u.URL+"/v1/messages", next("second"))
		if last.Outcome != gateway.Passed || last.Before < 20_900 || last.Before > 21_200 {
			t.Fatalf("with a warm cache: %+v", last)
		}
		now = now.Add(c.later)
		send(t, rt, u.URL+"/v1/messages", bytes.Replace(next("third"), []byte(`"system":"s"`), []byte(c.system), 1))
		if last.Outcome != gateway.Compacted || !strings.Contains(last.Why, c.why) {
			t.Errorf("with a cold cache: %+v", last)
		}
		if last.Usage == nil || last.Usage.Input != 21_000 || last.Usage.CacheRead != 20_000 {
			t.Errorf("usage %+v", last.Usage)
		}
	}
}

// The thinking of an open tool loop is bound to what stands before it, so a switch waits for the
// end of the loop as long as there is room.
func TestSwitchWaitsForTheEndOfALoop(t *testing.T) {
	const thinking, open = `"thinking":{"type":"enabled","budget_tokens":1024},`, `,{"role":"assistant","content":[{"type":"tool_use","id":"z","name":"read","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"z","content":"ok"}]}`
	for _, c := range []struct {
		name, thinking, last string
		share                float64
		want                 gateway.Outcome
	}{
		{"an open loop", thinking, open, .87, gateway.Passed},
		{"an open loop, and the window is full", thinking, open, .97, gateway.Compacted},
		{"without thinking", "", open, .87, gateway.Compacted},
		{"no loop", thinking, "", .87, gateway.Compacted},
	} {
		u := newUpstream(t)
		u.answer = func(w http.ResponseWriter, _ int) { write(w, `{}`) }
		var last gateway.Event
		size := 1_000_000.
		rt := gateway.Transport(nil, gateway.Config{Window: func(string, string) int64 { return int64(size) }, OnEvent: func(e gateway.Event) { last = e }})
		body := bytes.Replace(long(24, "x"), []byte(`"system":"s"`), []byte(c.thinking+`"system":"s"`), 1)
		body = append(bytes.TrimSuffix(body, []byte("]}")), c.last+"]}"...)
		send(t, rt, u.URL+"/v1/messages", body)
		size = float64(last.Before) / c.share * 16 / 15 // a sixteenth is for the answer
		send(t, rt, u.URL+"/v1/messages", body)
		if last.Outcome != c.want {
			t.Errorf("%s: %+v", c.name, last)
		}
	}
}

// What is no part of the conversation, such as the tools that Codex puts into the list, stays
// before the summary as it was.
func TestOpaqueItemsStay(t *testing.T) {
	u := newUpstream(t)
	const tools = `{"type":"additional_tools","tools":[{"name":"read"}]},`
	body := []byte(`{"model":"m","input":[` + strings.Replace(input(60, `{"type":"message","role":"user","content":"x"}]}`), `{"type":"message","role":"user"`, tools+`{"type":"message","role":"user"`, 1))
	send(t, gateway.Transport(nil, gateway.Config{Window: window(32_000)}), u.URL+"/v1/responses", body)
	got := u.bodies[0]
	if at := bytes.Index(got, []byte(tools)); len(got) > len(body)*2/3 || at < 0 || at > bytes.Index(got, []byte("<summary>")) {
		t.Errorf("%d bytes of %d: %.500s", len(got), len(body), got)
	}
}

// The size of a list is what the upstream has measured of its beginning, and an estimate for the
// rest, also for a client that puts a reminder behind each list and leaves it out of the next one;
// what was measured with other tools counts without those.
func TestSizeIsMeasured(t *testing.T) {
	turn := `{"role":"user","content":[{"type":"text","text":"Request %d"}REMIND]},`
	answer := `{"role":"assistant","content":[{"type":"text","text":"` + strings.Repeat("so ", 300) + `"}]},`
	for _, c := range []struct{ name, turn, kept string }{
		{"nothing behind it", strings.Replace(turn, "REMIND", "", 1), strings.Replace(turn, "REMIND", "", 1)},
		{"a block behind it", strings.Replace(turn, "REMIND", `,{"type":"text","text":"<system-reminder>`+strings.Repeat("now ", 1500)+`%d</system-reminder>"}`, 1), strings.Replace(turn, "REMIND", "", 1)},
		{"a message behind it", strings.Replace(turn, "REMIND", "", 1) + `{"role":"user","content":"` + strings.Repeat("now ", 1500) + `%d"},`, strings.Replace(turn, "REMIND", "", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			u.answer = func(w http.ResponseWriter, n int) { // twice the estimate
				tools := bytes.Count(u.bodies[n-1], []byte("a tool "))
				fmt.Fprintf(w, `{"usage":{"input_tokens":%d,"output_tokens":1}}`, (len(u.bodies[n-1])-7*tools)*2/3+tools*5/2)
			}
			var last gateway.Event
			rt := gateway.Transport(nil, gateway.Config{Window: window(1_000_000), OnEvent: func(e gateway.Event) { last = e }})
			list := ""
			ask := func(n int, list, tools string) (before, used int64) {
				more := fmt.Sprintf(strings.Replace(c.turn, "%d", fmt.Sprint(n), 1), n)
				more, _, _ = strings.Cut(more, "%!(EXTRA")
				send(t, rt, u.URL+"/v1/messages", []byte(`{"model":"m","system":"s",`+tools+`"messages":[`+list+strings.TrimSuffix(more, ",")+`]}`))
				if last.Usage == nil {
					t.Fatal("no usage")
				}
				return last.Before, last.Usage.Input
			}
			for n := range 20 {
				before, used := ask(n, list, "")
				if off := float64(used-before) / float64(used); n > 5 && (off > .15 || off < -.15) {
					t.Errorf("request %d: taken for %d tokens, the upstream says %d", n, before, used)
				}
				list += fmt.Sprintf(c.kept, n) + answer
			}
			plain, _ := ask(20, list, "")
			tools, _ := ask(20, list, `"tools":[{"description":"`+strings.Repeat("a tool ", 9000)+`"}],`)
			_, _ = ask(20, list, "")
			u.answer = func(w http.ResponseWriter, _ int) { write(w, `{"usage":{"input_tokens":100}}`) } // without what was in the cache
			again, _ := ask(20, list, "")
			if cached, _ := ask(20, list, ""); cached != again {
				t.Errorf("after a usage that has not all tokens %d, before %d", cached, again)
			}
			if tools-plain < 5_000 || again-plain > 1_000 || plain-again > 1_000 {
				t.Errorf("without tools %d, with tools %d, without again %d", plain, tools, again)
			}
		})
	}
}

// Requests of one conversation that come at once, as those of parallel subagents, get the
// same epoch, byte for byte.
func TestRequestsAtOnce(t *testing.T) {
	u := newUpstream(t)
	rt := gateway.Transport(nil, gateway.Config{Window: window(32_000)})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { send(t, rt, u.URL+"/v1/messages", long(50, "x")) })
	}
	wg.Wait()
	for _, b := range u.bodies[1:] {
		if !bytes.Equal(b, u.bodies[0]) {
			t.Fatal("two renders of one conversation")
		}
	}
}

// Where system text and tools take nearly the whole window, an epoch is not made for each
// request: the prompt cache would never hold.
func TestEpochsAreRareInATightWindow(t *testing.T) {
	u := newUpstream(t)
	u.answer = func(w http.ResponseWriter, _ int) { write(w, `{}`) } // says nothing of usage
	made := 0
	rt := gateway.Transport(nil, gateway.Config{Window: window(32_000), OnEvent: func(e gateway.Event) {
		if e.Outcome == gateway.Compacted {
			made++
		}
	}})
	fixed := []byte(`"system":"` + strings.Repeat("Rules of the house. ", 6_000) + `"`)
	for n := range 30 {
		next := fmt.Sprintf("Request %d: change the file src/part%d.go and keep the tests green", 10+n, 10+n)
		send(t, rt, u.URL+"/v1/messages", bytes.Replace(long(10+n, next), []byte(`"system":"s"`), fixed, 1))
	}
	if made == 0 || made > 10 {
		t.Errorf("%d epochs for 30 requests", made)
	}
}

// What an agent puts into the user's messages is not taken for the user's words.
func TestRemindersAreNotTheUsersWords(t *testing.T) {
	u := newUpstream(t)
	body := bytes.Replace(long(50, "x"), []byte(`"content":"Request 0`), []byte(`"content":[{"type":"text","text":"<system-reminder>\nUse the tool Agent well.\n</system-reminder>"},{"type":"text","text":"Request 0`), 1)
	body = bytes.Replace(body, []byte(`part0.go and keep the tests green"}`), []byte(`part0.go and keep the tests green"}]}`), 1)
	send(t, gateway.Transport(nil, gateway.Config{Window: window(32_000)}), u.URL+"/v1/messages", body)
	sent := string(u.bodies[0])
	if !strings.Contains(sent, "First request: Request 0: change the file") || strings.Contains(sent, "Use the tool Agent well") {
		t.Errorf("the summary begins: %.600s", sent)
	}
}

// A list in which user and assistant take turns is one when it is shortened, wherever the cut is.
func TestRolesAlternate(t *testing.T) {
	for _, c := range []struct {
		p                        wire.Profile
		path, before, user, then string
	}{
		{wire.OpenAIChat, "/v1/chat/completions", `{"role":"system","content":"s"},`, `{"role":"user","content":"%s"},`, `{"role":"assistant","content":"%s"},`},
		{wire.Anthropic, "/v1/messages", ``, `{"role":"user","content":"%s"},`, `{"role":"assistant","content":"%s"},`},
		{wire.Anthropic, "/v1/messages", ``, `{"role":"user","content":[{"type":"text","text":"%s"},{"type":"text","text":"<system-reminder>x</system-reminder>"}]},`, `{"role":"assistant","content":"%s"},`},
		{wire.Gemini, "/v1beta/models/m:streamGenerateContent", ``, `{"role":"user","parts":[{"text":"%s"}]},`, `{"role":"model","parts":[{"text":"%s"}]},`},
	} {
		u := newUpstream(t)
		rt := gateway.Transport(nil, gateway.Config{Window: window(8_000)})
		lists := 30
		if testing.Short() {
			lists = 22
		}
		for n := 20; n < lists; n++ {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, c.user, fmt.Sprintf("Request %d: %s", i, strings.Repeat("more ", 10*(n%3))))
				fmt.Fprintf(&b, c.then, fmt.Sprintf("done %d %s", i, strings.Repeat("so ", 400+100*(n%5))))
			}
			send(t, rt, u.URL+c.path, []byte(`{"model":"m","`+c.p.MessagesField+`":[`+c.before+b.String()+strings.TrimSuffix(fmt.Sprintf(c.user, "x"), ",")+`]}`))
		}
		for n, body := range u.bodies {
			in, err := wire.Parse(c.p, body)
			if err != nil {
				t.Fatal(err)
			}
			items := in.Items
			if c.before != "" {
				items = items[1:]
			}
			for i, it := range items {
				if want := []wire.TurnKind{wire.TurnUser, wire.TurnAssistant}[i%2]; it.Turn != want {
					t.Errorf("%s: list %d: item %d of %d is of %s", c.path, n, i, len(items), it.Turn)
					break
				}
			}
		}
	}
}
