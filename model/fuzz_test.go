package model_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"unicode/utf8"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/model/modeltest"
)

// answering returns a transport that answers every call with a body.
func answering(body []byte) *model.Transport {
	return model.NewTransport(model.TransportConfig{
		Retry: model.Retry{Attempts: 1},
		Base: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}, nil
		}),
	})
}

// FuzzAnswers: whatever a server answers, an adapter gives a message that can be
// stored and sent back, or an error of the package.
func FuzzAnswers(f *testing.F) {
	s := modeltest.Start(modeltest.Config{})
	defer s.Close()
	for i, a := range adapters {
		m := a.connect(f, s)
		for _, r := range []modeltest.Reply{
			modeltest.Answer(modeltest.Think("hm"), message.TextBlock("Hello"), modeltest.Call("c1", "read", `{"path":"a"}`)),
			modeltest.Refused("no"), modeltest.Truncated("cut"),
		} {
			s.Add(r, r)
			for _, stream := range []bool{false, true} {
				if _, err := call(m, ask("hi"), stream); err != nil {
					f.Fatal(err)
				}
				xs := s.Exchanges()
				f.Add(uint8(i), stream, []byte(xs[len(xs)-1].Response))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, stream bool, body []byte) {
		a := adapters[int(which)%len(adapters)]
		m, err := a.open(model.Endpoint{Model: a.model, BaseURL: "http://localhost", Transport: answering(body)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := call(m, ask("hi"), stream)
		var e *model.Error
		if err != nil {
			if !asError(err, &e) || e.Kind == "" || e.Provider == "" || !utf8.ValidString(e.Error()) {
				t.Fatalf("%#v", err)
			}
			r = e.Partial
			if r == nil {
				return
			}
		}
		stored, err := message.Parse(r.Message.JSON())
		if err != nil {
			t.Fatalf("%v in %s", err, r.Message.JSON())
		}
		if u := stored.Usage; u != nil && (u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0) {
			t.Fatalf("%+v", u)
		}
		req := ask("hi")
		req.Messages = append(req.Messages, stored)
		for _, c := range stored.ToolCalls() {
			req.Messages = append(req.Messages, message.ToolResult(c.ID, c.Name, "x", false, at))
		}
		req.Messages = append(req.Messages, message.User("go on", at))
		if _, err := m.(model.Renderer).Render(req); err != nil {
			t.Fatalf("it can't be sent back: %v\n%s", err, r.Message.JSON())
		}
	})
}
