package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/wire"
)

// parsed is a request with a list of the Messages API or of the Responses API.
func parsed(t *testing.T, p wire.Profile, list string) *request {
	t.Helper()
	in, err := wire.Parse(p, []byte(`{"model":"m","`+p.MessagesField+`":[`+list+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	return &request{in: in, route: route{profile: p}}
}

// An epoch is taken into use only where the list can be read under it and no call loses its result.
func TestSound(t *testing.T) {
	const said, call, result = `{"role":"user","content":"go on"}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"read","input":{}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"ok"}]}`
	for _, c := range []struct {
		name string
		e    Epoch
		list string
		want bool
	}{
		{"before the call", Epoch{Cut: 1, Render: said}, said + "," + call + "," + result, true},
		{"behind the result", Epoch{Cut: 3, Render: said}, said + "," + call + "," + result + "," + said, true},
		{"between them", Epoch{Cut: 2, Render: said}, said + "," + call + "," + result, false},
		{"a result that had no call", Epoch{Cut: 1, Render: said}, said + "," + result, true},
		{"no JSON", Epoch{Cut: 1, Render: `{"role"`}, said + "," + said, false},
		{"another content for a call", Epoch{Results: []Result{{Node: 1, With: []byte(`"x"`)}}}, said + "," + call + "," + result, false},
	} {
		if got := parsed(t, wire.Anthropic, c.list).sound(&c.e); got != c.want {
			t.Errorf("%s: sound is %v", c.name, got)
		}
	}
}

// Reasoning and the item that it belongs to, and a call and its result, are on one side of a cut.
func TestBoundary(t *testing.T) {
	const said, reasoning, call, result = `{"role":"user","content":"go on"}`, `{"type":"reasoning","id":"r","encrypted_content":"x"}`,
		`{"type":"function_call","call_id":"c","name":"read","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":"ok"}`
	const answer = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}`
	r := parsed(t, wire.OpenAIResponses, said+","+reasoning+","+call+","+result+","+reasoning+","+answer+","+said)
	var got []int
	for cut := range len(r.in.Items) + 1 {
		got = append(got, r.boundary(cut))
	}
	if want := []int{0, 1, 1, 1, 4, 4, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("cuts at 0 to 7 went to %v, not %v", got, want)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An epoch that had to make room in memory for those of other conversations is read again.
func TestForgottenEpochIsReadAgain(t *testing.T) {
	var sent []byte
	m := newMemory(time.Now)
	m.epochs = newRecent[wire.Digest, *Epoch](1)
	var last Event
	rt := newTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		sent, _ = io.ReadAll(r.Body)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}), Config{Dir: t.TempDir(), Window: func(string, string) int64 { return 32_000 }, OnEvent: func(e Event) { last = e }}, m)
	send := func(who string, turns int, want Outcome) []byte {
		t.Helper()
		var b strings.Builder
		b.WriteString(`{"model":"m","max_tokens":1000,"messages":[`)
		for i := range turns {
			fmt.Fprintf(&b, `{"role":"user","content":"%s asks for part %d"},{"role":"assistant","content":"%s"},`, who, i, strings.Repeat(fmt.Sprintf("part %d says nothing new; ", i), 120))
		}
		b.WriteString(`{"role":"user","content":"go on"}]}`)
		req, err := http.NewRequest(http.MethodPost, "http://upstream/v1/messages", strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); last.Outcome != want {
			t.Errorf("%s: %s", who, last.Outcome)
		}
		return sent
	}
	first := send("one", 60, Compacted)
	for _, who := range []string{"two", "three", "four"} {
		send(who, 60, Compacted)
	}
	if next := send("one", 61, Shortened); !bytes.HasPrefix(next, bytes.TrimSuffix(first, []byte(`{"role":"user","content":"go on"}]}`))) {
		t.Error("the request begins otherwise than the one before")
	}
}
