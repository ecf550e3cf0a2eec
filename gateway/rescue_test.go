package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/gateway"
)

// An upstream that answers 200 and says in the first event, or in the body, that the request
// is too long is treated as if it had refused it, until there is content. Of the first answer
// the client gets what came before that, which is no content.
func TestOverflowInsideTheAnswer(t *testing.T) {
	const (
		ok      = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\ndata: [DONE]\n\n"
		tooLong = `{"error":{"message":"This model's maximum context length is 20000 tokens. However, your messages resulted in 30000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`
		limited = `{"error":{"message":"Rate limit reached, try again in 2 s","code":"rate_limit_exceeded"}}`
		created = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"error\":null}}\n\n"
	)
	for _, c := range []struct {
		name, kind, seen, first string
		rescued                 bool
	}{
		{"chat", "text/event-stream", "", "data: " + tooLong + "\n\n", true},
		{"a comment first", "text/event-stream", ": processing\n\n: processing\n\n", "data: " + tooLong + "\n\ndata: [DONE]\n\n", true},
		{"anthropic", "text/event-stream; charset=utf-8", "", "event: error\ndata: " + refusal + "\n\n", true},
		{"responses", "text/event-stream", created, "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":" + tooLong + "}\n\n", true},
		{"responses, error event", "text/event-stream", created, "event: error\ndata: {\"type\":\"error\",\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model.\"}\n\n", true},
		{"no stream", "application/json", "", " " + tooLong, true},
		{"gemini without alt=sse", "application/json", "", "[" + tooLong + "\n]", true},
		{"without a last blank line", "text/event-stream", created, "data: {\"error\":\ndata: " + tooLong[len(`{"error":`):] + "\n", true},
		{"another error", "text/event-stream", "", "data: " + limited + "\n\n", false},
		{"another error, no stream", "application/json", "", limited, false},
		{"after content", "text/event-stream", "", ok[:strings.Index(ok, "data: [")] + "data: " + tooLong + "\n\n", false},
		{"quoted", "application/json", "", `{"id":"m","content":[{"type":"text","text":"prompt is too long: 2 tokens > 1 maximum"}]}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			u.answer = func(w http.ResponseWriter, n int) {
				w.Header().Set("Content-Type", c.kind)
				if n == 2 {
					write(w, ok)
					return
				}
				first := c.seen + c.first
				for i := range len(first) { // in the smallest pieces
					write(w, first[i:i+1])
					if i%16 == 0 {
						w.(http.Flusher).Flush()
					}
				}
			}
			var last gateway.Event
			rt := gateway.Transport(nil, gateway.Config{OnEvent: func(e gateway.Event) { last = e }})
			status, answer := send(t, rt, u.URL+"/v1/messages", long(50, "x"))
			want := c.seen + c.first
			if c.rescued {
				want = c.seen + ok
			}
			if status != 200 || answer != want || (last.Outcome == gateway.Rescued) != c.rescued {
				t.Errorf("%d %s; %+v", status, answer, last)
			}
			if c.rescued && (len(u.bodies) != 2 || len(u.bodies[1]) >= len(u.bodies[0])) {
				t.Errorf("%d requests", len(u.bodies))
			}
		})
	}
	t.Run("too long twice", func(t *testing.T) {
		u := newUpstream(t)
		first := "data: " + tooLong + "\n\n"
		u.answer = func(w http.ResponseWriter, n int) {
			w.Header().Set("Content-Type", "text/event-stream")
			write(w, first+strings.Repeat(" ", n-1))
		}
		if _, answer := send(t, gateway.Transport(nil, gateway.Config{}), u.URL+"/v1/messages", long(50, "x")); answer != first || len(u.bodies) != 2 {
			t.Errorf("after %d requests: %s", len(u.bodies), answer)
		}
	})
}

// The events of the Responses API that announce an answer reach the client when they come, and
// an overflow after them is rescued all the same: the second answer goes on where the first one
// broke off. Where that fails too the client sees the first failure.
func TestFirstEventsAreNotHeldBack(t *testing.T) {
	event := func(typ, more string) string {
		return "event: " + typ + "\ndata: {\"type\":\"" + typ + "\"" + more + "}\n\n"
	}
	created, progress := event("response.created", `,"response":{"instructions":"`+strings.Repeat("x", 100_000)+`"}`), event("response.in_progress", "")
	content := event("response.output_item.added", "") + event("response.completed", `,"response":{"usage":{"input_tokens":77}}`)
	failed := event("response.failed", `,"response":{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`)
	for _, c := range []struct {
		name, first, second, want string
		status                    int
		outcome                   gateway.Outcome
	}{
		{"content", content, "", content, 200, gateway.Passed},
		{"an end", "", "", "", 200, gateway.Passed},
		{"a rescue", failed, created + progress + content, progress + content, 200, gateway.Rescued},
		{"a rescue with fewer events", failed, content, content, 200, gateway.Rescued},
		{"two failures", failed + ": end\n\n", created + failed, failed + ": end\n\n", 200, gateway.TooLong},
		{"a second answer without content", failed, created, failed, 200, gateway.TooLong},
		{"a second answer that is an error", failed, "{}", failed, 500, gateway.TooLong},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			next := make(chan struct{})
			u.answer = func(w http.ResponseWriter, n int) {
				w.Header().Set("Content-Type", "text/event-stream")
				if n == 2 {
					w.WriteHeader(c.status)
					write(w, c.second)
					return
				}
				write(w, created)
				w.(http.Flusher).Flush()
				<-next
				write(w, c.first)
			}
			var last gateway.Event
			s := serve(t, gateway.HandlerConfig{Upstreams: map[string]string{"openai": u.URL}, Config: gateway.Config{OnEvent: func(e gateway.Event) { last = e }}})
			body := []byte(`{"model":"m","stream":true,"input":[` + input(40, `{"type":"message","role":"user","content":"x"}]}`))
			resp, err := http.Post(s.URL+"/v1/responses", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got := make([]byte, len(created)); true {
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != created {
					t.Fatalf("%q, %v", got, err)
				}
			}
			next <- struct{}{} // the upstream is silent until the client has the first event
			got, err := io.ReadAll(resp.Body)
			if err != nil || string(got) != c.want || last.Outcome != c.outcome {
				t.Errorf("%v %+v: %s", err, last, got)
			}
			if c.outcome == gateway.Rescued && (last.Usage == nil || last.Usage.Input != 77 || last.After >= last.Before) {
				t.Errorf("%+v", last)
			}
		})
	}
}

// A message of the user that does not fit is shortened in its place, with the beginning and the
// end of it, and stays so in the requests that follow.
func TestUserMessageThatDoesNotFit(t *testing.T) {
	log := "What does this log say? " + strings.Repeat(`a line \"of\" the log\n`, 2_000) + "And what not?"
	for _, c := range []struct{ name, path, before, after, more string }{
		{"anthropic", "/v1/messages", `{"messages":[{"role":"user","content":"`, `"}`, `,{"role":"assistant","content":"Nothing."},{"role":"user","content":"Really?"}`},
		{"anthropic, after others", "/v1/messages", strings.TrimSuffix(string(long(12, "")), `"}]}`), `"}`, `,{"role":"assistant","content":"Nothing."},{"role":"user","content":"Really?"}`},
		{"anthropic, in blocks", "/v1/messages", `{"messages":[{"role":"user","content":[{"type":"text","text":"Look."},{"type":"text","text":"`, `"},{"type":"text","text":"<system-reminder>x</system-reminder>"}]}`, `,{"role":"assistant","content":"Nothing."},{"role":"user","content":"Really?"}`},
		{"chat", "/v1/chat/completions", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"`, `"}`, `,{"role":"assistant","content":"Nothing."},{"role":"user","content":"Really?"}`},
		{"responses", "/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"`, `"}]}`, `,{"role":"assistant","content":"Nothing."},{"role":"user","content":"Really?"}`},
		{"gemini", "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"`, `"}]}`, `,{"role":"model","parts":[{"text":"Nothing."}]},{"role":"user","parts":[{"text":"Really?"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			rt := gateway.Transport(nil, gateway.Config{Window: window(8_000)})
			send(t, rt, u.URL+c.path, []byte(c.before+log+c.after+`]}`))
			send(t, rt, u.URL+c.path, []byte(c.before+log+c.after+c.more+`]}`))
			first, second := string(u.bodies[0]), string(u.bodies[1])
			for _, want := range []string{"What does this log say? a line", "And what not?"} {
				if !strings.Contains(first, want) {
					t.Errorf("nothing says %q any more", want)
				}
			}
			_, tail, behind := strings.Cut(c.after, `},`)
			if !behind {
				tail = c.after
			}
			if len(first) > 22_500 || !json.Valid(u.bodies[0]) || !strings.HasSuffix(first, tail+`]}`) {
				t.Errorf("%d bytes were sent: %.300s ... %s", len(first), first, first[max(0, len(first)-100):])
			}
			if second != strings.TrimSuffix(first, `]}`)+c.more+`]}` {
				t.Errorf("then %d bytes: %.300s", len(second), second)
			}
		})
	}
}

// What surrounds the list can be larger than what has to go: the list gets as small as it can.
func TestTooManyBytesAroundTheList(t *testing.T) {
	for _, encoding := range []string{"", "gzip"} {
		u := newUpstream(t)
		u.answer = func(w http.ResponseWriter, n int) {
			if n == 1 {
				w.WriteHeader(413)
				write(w, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`)
				return
			}
			write(w, plainAnswer)
		}
		body := bytes.Replace(long(60, "x"), []byte(`"system":"s"`), []byte(`"system":"`+strings.Repeat("Rules of the house. ", 20_000)+`"`), 1)
		sent := body
		if encoding != "" {
			sent = packed(t, encoding, body)
		}
		var last gateway.Event
		rt := gateway.Transport(nil, gateway.Config{Window: window(1_000_000), OnEvent: func(e gateway.Event) { last = e }})
		if status, answer := send(t, rt, u.URL+"/v1/messages", sent, "Content-Encoding: "+encoding); status != 200 || last.Outcome != gateway.Rescued || len(u.bodies[1]) > len(body)-100_000 {
			t.Errorf("%q: %d %s %+v", encoding, status, answer, last)
		}
	}
}

// A body that is too large in bytes, as with many images, is made smaller, and the window of
// the model is not taken for smaller than it is.
func TestTooManyBytes(t *testing.T) {
	u := newUpstream(t)
	image := func(i int) string {
		return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"i%d","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]}]},`, i, strings.Repeat("iVBORw0K", 5_000))
	}
	var list strings.Builder
	for i := range 20 {
		fmt.Fprintf(&list, `{"role":"assistant","content":[{"type":"tool_use","id":"i%d","name":"shot","input":{}}]},`, i)
		list.WriteString(image(i))
	}
	body := []byte(strings.Replace(string(long(2, "x")), `"messages":[`, `"messages":[{"role":"user","content":"Look at the pages"},`+list.String()+`{"role":"assistant","content":"seen"},`, 1))
	u.answer = func(w http.ResponseWriter, n int) {
		if len(u.bodies[n-1]) > 500_000 {
			w.WriteHeader(413)
			write(w, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`)
			return
		}
		write(w, plainAnswer)
	}
	var last gateway.Event
	rt := gateway.Transport(nil, gateway.Config{Window: window(200_000), OnEvent: func(e gateway.Event) { last = e }})
	if status, answer := send(t, rt, u.URL+"/v1/messages", body); status != 200 || last.Outcome != gateway.Rescued || last.Window != 200_000 {
		t.Errorf("%d %s %+v", status, answer, last)
	}
	if status, _ := send(t, rt, u.URL+"/v1/messages", body); status != 200 || last.Outcome != gateway.Shortened || last.Window != 200_000 {
		t.Errorf("then %d %+v", status, last)
	}
}

// What is sent after a refusal is never longer than what was refused: a summary of a short list can be.
func TestRescueIsShorter(t *testing.T) {
	for n := range 20 {
		u := newUpstream(t)
		u.answer = func(w http.ResponseWriter, i int) {
			if i == 1 {
				w.WriteHeader(400)
				write(w, refusal)
			}
		}
		list := strings.Repeat(`{"role":"user","content":"Why so?"},{"role":"assistant","content":"`+strings.Repeat("So it is. ", n)+`"},`, n)
		send(t, gateway.Transport(nil, gateway.Config{}), u.URL+"/v1/messages", []byte(`{"model":"m","messages":[`+list+`{"role":"user","content":"x"}]}`))
		if len(u.bodies) > 1 && len(u.bodies[1]) >= len(u.bodies[0]) {
			t.Errorf("%d bytes became %d", len(u.bodies[0]), len(u.bodies[1]))
		}
		if n == 19 && len(u.bodies) != 2 {
			t.Error("nothing was rescued")
		}
	}
}

// What a list would cost is counted as it would be sent, before and after the request itself.
func TestCountsWhatIsSent(t *testing.T) {
	responses := []byte(`{"model":"m","input":[` + input(40, `{"type":"message","role":"user","content":"x"}]}`))
	chat := []byte(`{"contents":[` + strings.Repeat(`{"role":"user","parts":[{"text":"more"}]},{"role":"model","parts":[{"text":"`+strings.Repeat("words ", 100)+`"}]},`, 300) + `{"role":"user","parts":[{"text":"x"}]}]}`)
	for _, c := range []struct {
		name, path, count, list string
		body                    []byte
		fragment                string
	}{
		{"anthropic", "/v1/messages", "/v1/messages/count_tokens", `"messages":`, long(60, "x"), `{"model":"m","messages":[{"role":"user","content":"a fragment"}]}`},
		{"responses", "/v1/responses", "/v1/responses/input_tokens", `"input":`, responses, `{"model":"m","input":"a fragment"}`},
		{"gemini", "/v1beta/models/m:streamGenerateContent?alt=sse", "/v1beta/models/m:countTokens", `"contents":`, chat, `{"generateContentRequest":{"contents":[]}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			rt := gateway.Transport(nil, gateway.Config{Window: window(24_000)})
			count := bytes.Replace(c.body, []byte(`"max_tokens":1000,`), nil, 1)
			send(t, rt, u.URL+c.count, count)
			send(t, rt, u.URL+c.path, c.body)
			send(t, rt, u.URL+c.count+"?beta=true", count)
			list := func(i int) string {
				_, after, _ := bytes.Cut(u.bodies[i], []byte(c.list))
				return string(after)
			}
			if len(u.bodies[1]) >= len(c.body) || list(0) != list(1) || list(2) != list(1) {
				t.Errorf("counted %d bytes, sent %d of %d, counted %d", len(u.bodies[0]), len(u.bodies[1]), len(c.body), len(u.bodies[2]))
			}
			send(t, rt, u.URL+c.count, []byte(c.fragment))
			if string(u.bodies[3]) != c.fragment {
				t.Errorf("a fragment became %s", u.bodies[3])
			}
		})
	}
}

// A conversation that somebody else shortens is left alone until it is refused.
func TestLeavesOthersAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		body   []byte
		header string
	}{
		{"the server, as the client wishes", bytes.Replace(long(50, "x"), []byte(`"system"`), []byte(`"context_management":{"edits":[{"type":"compact_20260112"}]},"system"`), 1), ""},
		{"the server has done it", bytes.Replace(long(50, "x"), []byte(`[{"type":"text"`), []byte(`[{"type":"compaction","content":"what was"},{"type":"text"`), 1), ""},
		{"Claude Code", long(50, "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. Your task is to create a detailed summary"), ""},
		{"Codex", long(50, "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary"), ""},
		{"Codex, by its header", long(50, "x"), `X-Codex-Turn-Metadata: {"request_kind":"compaction"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUpstream(t)
			rt := gateway.Transport(nil, gateway.Config{Window: window(32_000)})
			u.answer = func(w http.ResponseWriter, n int) {
				if n == 2 {
					w.WriteHeader(400)
					write(w, refusal)
					return
				}
				write(w, `{}`)
			}
			var header []string
			if c.header != "" {
				header = []string{c.header}
			}
			for range 2 {
				if status, answer := send(t, rt, u.URL+"/v1/messages", c.body, header...); status != 200 {
					t.Errorf("%d %s", status, answer)
				}
			}
			if len(u.bodies) != 3 || !bytes.Equal(u.bodies[0], c.body) || !bytes.Equal(u.bodies[1], c.body) || len(u.bodies[2]) >= len(c.body) {
				t.Errorf("%d requests", len(u.bodies))
			}
		})
	}
	t.Run("old thinking alone is nothing", func(t *testing.T) {
		u := newUpstream(t)
		body := bytes.Replace(long(50, "x"), []byte(`"system"`), []byte(`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"system"`), 1)
		send(t, gateway.Transport(nil, gateway.Config{Window: window(32_000)}), u.URL+"/v1/messages", body)
		if len(u.bodies[0]) >= len(body) {
			t.Error("the conversation was left alone")
		}
	})
}

// Watching changes nothing and says what would have been done, request by request, and what
// it and the request cost.
func TestWatchingSaysWhatItWouldDo(t *testing.T) {
	u, dir := newUpstream(t), t.TempDir()
	u.answer = func(w http.ResponseWriter, n int) {
		fmt.Fprintf(w, `{"usage":{"input_tokens":10,"cache_read_input_tokens":%d,"cache_creation_input_tokens":700,"output_tokens":50}}`, 30_000+700*n)
	}
	var seen []gateway.Event
	rt := gateway.Transport(nil, gateway.Config{
		Window: window(40_000), Dir: dir, Observe: true, Now: func() time.Time { return time.Unix(1e9, 0) },
		OnEvent: func(e gateway.Event) { seen = append(seen, e) },
	})
	for n := range 3 {
		next := fmt.Sprintf("Request %d: change the file src/part%d.go and keep the tests green", 50+n, 50+n)
		body := long(50+n, next)
		send(t, rt, u.URL+"/v1/messages", body)
		if !bytes.Equal(u.bodies[n], body) {
			t.Fatalf("request %d was changed", n)
		}
	}
	for i, e := range seen {
		if e.Outcome != gateway.WouldBe || e.After >= e.Before || e.Cost <= 0 || e.Otherwise <= 0 {
			t.Errorf("%d: %+v", i, e)
		}
		if switched := e.Otherwise > e.Cost; switched != (i == 0) { // the switch costs, then each request costs less
			t.Errorf("%d: %f instead of %f; %s", i, e.Otherwise, e.Cost, e.Why)
		}
	}
	if files, err := dirNames(dir); err != nil || len(files) > 0 {
		t.Errorf("kept %v, %v", files, err)
	}
}
