package gateway_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/gateway"
)

// The answers that stand for those of the vendors, with what a careless reader loses: comments,
// events that end in other ways, spaces in JSON, escapes that need not be, characters that
// are cut in two by the pieces that come, and no line's end at the end.
var (
	oddStream = "event: message_start\ndata: {\"type\": \"message_start\", \"message\": {\"usage\": {\"input_tokens\": 9}}}\n\n: ping\r\n\r\ndata: {\"text\":\"gr\u00f6\u00dfer \\ud83d\\ude00 \U0001F600 \\u00e9\\/\"}\r\n\r\nid: 7\ndata:{\"usage\":{\"output_tokens\":1e0}}\n\ndata: [DONE]"
	oddAnswer = "{ \"content\" : [ {\"text\":\"gr\u00f6\u00dfer \\u00e9\\/ \U0001F600\", \"type\":\"text\"} ],\r\n \"usage\": {\"input_tokens\": 9, \"output_tokens\":1e0} }\n"
	oddError  = "{\"error\" : {\"type\":\"rate_limit_error\", \"message\":\"slowly \\u2013 caf\u00e9\"} }\n"
)

// A request of each program passes byte by byte, and so do a stream, an answer at once, and an
// error: through Transport, and through a gateway of its own. The gateway has read them all.
// go run ./scripts/trials -gateway -record FOLDER makes the files.
func TestPassesOnWhatProgramsSend(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.http")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		program := strings.TrimSuffix(filepath.Base(file), ".http")
		for _, answer := range []struct {
			kind, contentType, body string
			status                  int
		}{
			{"stream", "text/event-stream; charset=utf-8", oddStream, http.StatusOK},
			{"answer", "application/json", oddAnswer, http.StatusOK},
			{"error", "application/json", oddError, http.StatusTooManyRequests},
		} {
			u := newUpstream(t)
			u.answer = func(w http.ResponseWriter, _ int) {
				w.Header().Set("Content-Type", answer.contentType)
				w.WriteHeader(answer.status)
				for i := 0; i < len(answer.body); i += 7 {
					write(w, answer.body[i:min(i+7, len(answer.body))])
					w.(http.Flusher).Flush()
				}
			}
			var told []gateway.Event
			cfg := gateway.Config{OnEvent: func(e gateway.Event) { told = append(told, e) }}
			h, err := gateway.NewHandler(gateway.HandlerConfig{Config: cfg, Upstreams: map[string]string{"anthropic": u.URL, "openai": u.URL, "gemini": u.URL}})
			if err != nil {
				t.Fatal(err)
			}
			front := httptest.NewServer(h)
			defer front.Close()
			for i, way := range []struct {
				url string
				rt  http.RoundTripper
			}{{front.URL, http.DefaultTransport}, {u.URL, gateway.Transport(nil, cfg)}} {
				req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
				if err != nil {
					t.Fatal(program, err)
				}
				body, err := io.ReadAll(req.Body)
				if err != nil {
					t.Fatal(program, err)
				}
				header := []string{}
				for name := range req.Header {
					header = append(header, name+": "+req.Header.Get(name))
				}
				status, got := send(t, way.rt, way.url+req.RequestURI, body, header...)
				if len(u.bodies) != i+1 || sha256.Sum256(u.bodies[i]) != sha256.Sum256(body) {
					t.Errorf("%s, %s: %d requests arrived, the last with %d bytes of %d", program, answer.kind, len(u.bodies), len(u.bodies[len(u.bodies)-1]), len(body))
				}
				if status != answer.status || sha256.Sum256([]byte(got)) != sha256.Sum256([]byte(answer.body)) {
					t.Errorf("%s: the %s became %d %q", program, answer.kind, status, got)
				}
				for name := range req.Header {
					if sent := u.header[i].Get(name); sent != req.Header.Get(name) {
						t.Errorf("%s: header %s became %q", program, name, sent)
					}
				}
			}
			for _, e := range told {
				if e.Outcome != gateway.Passed || e.Why != "" || e.Before == 0 || e.Conversation == "" {
					t.Errorf("%s: it was not read: %+v", program, e)
				}
			}
			if len(told) != 2 {
				t.Errorf("%s: %d events", program, len(told))
			}
		}
	}
}
