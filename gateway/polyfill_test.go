package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/clew-dev/clew/gateway"
)

// Where an upstream does not know context_management the gateway does what it asks for:
// learnt from one refusal, or configured. What is sent between two clearings begins alike.
func TestContextManagementByRules(t *testing.T) {
	edits := func(body []byte, edit string) []byte {
		return bytes.Replace(body, []byte(`"system"`), []byte(`"context_management":{"edits":[`+edit+`]},"system"`), 1)
	}
	clears := func(n int) []byte {
		return edits(long(n, fmt.Sprintf("Request %d: change the file src/part%d.go and keep the tests green", n, n)), `{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":10000},"keep":{"type":"tool_uses","value":2},"exclude_tools":["write"]}`)
	}
	u := newUpstream(t)
	u.answer = func(w http.ResponseWriter, n int) {
		if bytes.Contains(u.bodies[n-1], []byte("context_management")) {
			w.WriteHeader(400)
			write(w, `{"type":"error","error":{"type":"invalid_request_error","message":"context_management: Extra inputs are not permitted"}}`)
			return
		}
		write(w, `{}`)
	}
	made := 0
	rt := gateway.Transport(nil, gateway.Config{Window: window(200_000), OnEvent: func(e gateway.Event) {
		if e.Outcome == gateway.Compacted {
			made++
		}
	}})
	for n := 20; n < 40; n++ {
		if status, answer := send(t, rt, u.URL+"/v1/messages", clears(n)); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
	}
	if len(u.bodies) != 21 {
		t.Fatalf("%d requests", len(u.bodies))
	}
	first := u.bodies[1]
	if got := bytes.Count(first, []byte("[cleared; ")); got != 18 || !bytes.Contains(first, []byte("func part19()")) || bytes.Contains(first, []byte("func part17()")) || !json.Valid(first) {
		t.Errorf("%d results were cleared: %.1500s", got, first)
	}
	changes := 0
	for i, b := range u.bodies[2:] {
		before, _, _ := bytes.Cut(u.bodies[i+1], []byte(`]}`+"\x00"))
		if !bytes.HasPrefix(b, bytes.TrimSuffix(before, []byte("]}"))) {
			changes++
		}
	}
	if made < 2 || made > 4 || changes > made-1 {
		t.Errorf("%d changes of the beginning, %d clearings", changes, made)
	}

	// What can't be taken out of a body is refused once more, and that is the answer.
	for name, more := range map[string]string{"twice": `"context_management":{"edits":[{"type":"x"}]},"context_management":{"edits":[{"type":"x"}]},`, "escaped": `"context\u005fmanagement":{"edits":[{"type":"x"}]},`} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			u.answer = func(w http.ResponseWriter, n int) {
				if n > 5 {
					write(w, `{}`)
					return
				}
				w.WriteHeader(400)
				write(w, `{"type":"error","error":{"type":"invalid_request_error","message":"context_management: Extra inputs are not permitted"}}`)
			}
			body := bytes.Replace(long(1, "x"), []byte(`"system"`), []byte(more+`"system"`), 1)
			if status, _ := send(t, gateway.Transport(nil, gateway.Config{}), u.URL+"/v1/messages", body); status != 400 || len(u.bodies) != 2 {
				t.Errorf("%d after %d requests", status, len(u.bodies))
			}
		})
	}

	t.Run("compact", func(t *testing.T) {
		u := newUpstream(t)
		rt := gateway.Transport(nil, gateway.Config{Window: window(200_000), ByRules: func(host string) bool { return "http://"+host == u.URL }})
		body := edits(long(100, "x"), `{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000}}`)
		send(t, rt, u.URL+"/v1/messages", body)
		if len(u.bodies[0]) > len(body)/2 || bytes.Contains(u.bodies[0], []byte("context_management")) {
			t.Errorf("%d bytes of %d: %.300s", len(u.bodies[0]), len(body), u.bodies[0])
		}
		short := edits(long(10, "x"), `{"type":"compact_20260112"}`)
		send(t, rt, u.URL+"/v1/messages", short)
		if !bytes.Equal(u.bodies[1], long(10, "x")) {
			t.Errorf("a short list became %.300s", u.bodies[1])
		}
	})
}

// input is a list of the Responses API with n turns.
func input(n int, more string) string {
	var b strings.Builder
	b.WriteString(`{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]},`)
	for i := range n {
		fmt.Fprintf(&b, `{"type":"message","role":"user","content":[{"type":"input_text","text":"Request %d: change the file src/part%d.go"}]},`, i, i)
		fmt.Fprintf(&b, `{"type":"function_call","call_id":"c%d","name":"read","arguments":"{}"},{"type":"function_call_output","call_id":"c%d","output":"%s"},`, i, i, strings.Repeat(fmt.Sprintf(`func part%d()\n`, i), 150))
		fmt.Fprintf(&b, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Changed src/part%d.go."}]},`, i)
	}
	return b.String() + more
}

// Where an upstream can't make summaries the gateway does, in one item, as Codex wants it.
// The item that comes back is the list that it stands for, with a gateway that knows nothing
// of it too, and the same bytes each time.
func TestCompactByRules(t *testing.T) {
	for _, c := range []struct {
		name, path, more, refusal string
		status                    int
		stream                    bool
	}{
		{"path", "/v1/responses/compact", `{"type":"message","role":"user","content":"last"}`, `{"error":"no such path"}`, 404, false},
		{"trigger", "/v1/responses", `{"type":"compaction_trigger"}`, `{"error":{"message":"Invalid value: 'compaction_trigger'"}}`, 400, false},
		{"trigger, streamed", "/v1/responses", `{"type":"compaction_trigger"}`, `{"error":{"message":"Invalid value: 'compaction_trigger'"}}`, 400, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			u.answer = func(w http.ResponseWriter, n int) {
				if n == 1 {
					w.WriteHeader(c.status)
					write(w, c.refusal)
					return
				}
				write(w, `{}`)
			}
			rt := gateway.Transport(nil, gateway.Config{Window: window(200_000)})
			body := fmt.Appendf(nil, `{"model":"m","stream":%v,"input":[%s]}`, c.stream, input(40, c.more))
			status, answer := send(t, rt, u.URL+c.path, body)
			if again, second := send(t, rt, u.URL+c.path, body); again != status || len(u.bodies) != 1 || sealedIn(t, second) != sealedIn(t, answer) {
				t.Errorf("asked again: %d after %d requests", again, len(u.bodies))
			}
			sealed := sealedIn(t, answer)
			if status != 200 || strings.HasPrefix(answer, "event: response.created") != c.stream {
				t.Fatalf("%d %.300s", status, answer)
			}
			next := fmt.Appendf(nil, `{"model":"m","input":[{"type":"message","role":"developer","content":"rules"},{"type":"compaction","id":"x","encrypted_content":%q},{"type":"message","role":"user","content":"next"}]}`, sealed)
			send(t, rt, u.URL+"/v1/responses", next)
			send(t, gateway.Transport(nil, gateway.Config{}), u.URL+"/v1/responses", next)
			sent := string(u.bodies[1])
			if sent != string(u.bodies[2]) {
				t.Error("another gateway makes something else of the item")
			}
			for _, want := range []string{"Request 0: change the file", "src/part39.go", `{"type":"message","role":"user","content":"next"}]}`} {
				if !strings.Contains(sent, want) {
					t.Errorf("nothing says %q: %.2000s", want, sent)
				}
			}
			if strings.Contains(sent, "clew1.") || strings.Contains(sent, "compaction_trigger") || len(sent) > len(body)*3/4 || !json.Valid(u.bodies[1]) || strings.Count(sent, "rules") != 1 {
				t.Errorf("%d bytes of %d: %.300s", len(sent), len(body), sent)
			}
		})
	}
	t.Run("an upstream that can", func(t *testing.T) {
		u := newUpstream(t)
		body := []byte(`{"model":"m","input":[` + input(40, `{"type":"compaction_trigger"}`) + `]}`)
		for _, path := range []string{"/v1/responses", "/v1/responses/compact"} {
			if _, answer := send(t, gateway.Transport(nil, gateway.Config{Window: window(200_000)}), u.URL+path, body); answer != plainAnswer || !bytes.Equal(u.bodies[len(u.bodies)-1], body) {
				t.Errorf("%s: %s", path, answer)
			}
		}
	})
	t.Run("an item that is damaged", func(t *testing.T) {
		u := newUpstream(t)
		for _, content := range []string{"clew1.", "clew1.!!", "clew1.Zm9v", "clew1.e30sewo="} {
			body := []byte(`{"model":"m","input":[{"type":"compaction","encrypted_content":"` + content + `"},{"type":"message","role":"user","content":"next"}]}`)
			if status, _ := send(t, gateway.Transport(nil, gateway.Config{}), u.URL+"/v1/responses", body); status != 200 || !bytes.Equal(u.bodies[len(u.bodies)-1], body) {
				t.Errorf("%s: %d, %s", content, status, u.bodies[len(u.bodies)-1])
			}
		}
	})
}

// sealedIn returns the content of the one item that an answer has.
func sealedIn(t *testing.T, answer string) string {
	t.Helper()
	if _, last, ok := strings.Cut(answer, "event: response.completed\ndata: "); ok {
		var e struct{ Response json.RawMessage }
		if err := json.Unmarshal([]byte(strings.TrimSpace(last)), &e); err != nil {
			t.Fatal(err)
		}
		answer = string(e.Response)
	}
	var v struct {
		Output []struct {
			Type    string
			Content string `json:"encrypted_content"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &v); err != nil || len(v.Output) != 1 || v.Output[0].Type != "compaction" {
		t.Fatalf("%v: %.300s", err, answer)
	}
	return v.Output[0].Content
}

// A request for a summary of a list that the server holds goes to the server.
func TestHeldListIsNotCompacted(t *testing.T) {
	u := newUpstream(t)
	var log bytes.Buffer
	rt := gateway.Transport(nil, gateway.Config{ByRules: func(string) bool { return true }, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, body := range []string{`{"model":"m","previous_response_id":"r","input":[{"role":"user","content":"x"}]}`, `{"model":"m","input":[]}`} {
		if status, _ := send(t, rt, u.URL+"/v1/responses/compact", []byte(body)); status != 200 || log.Len() > 0 {
			t.Errorf("%d: %s", status, log.String())
		}
	}
	if len(u.bodies) != 2 {
		t.Errorf("%d requests", len(u.bodies))
	}
}
