package chat_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/model/modeltest"
)

// slowServer gives the tool clock once it is let go.
func slowServer(t *testing.T) (url string, letGo func()) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "clock", Description: "Tells the time."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "It is late."}}}, nil, nil
	})
	gate := make(chan struct{})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gate:
			handler.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() { close(gate) }
}

// asked reports for each request of the conversation whether it offered the tool.
func asked(p *place) (out []bool) {
	for _, x := range p.models.Exchanges() {
		out = append(out, strings.Contains(string(x.Request), "slow__clock"))
	}
	return out
}

// A server that is slow makes nobody wait, and its tools come after a pass: what a provider
// has cached of the conversation stays until then.
func TestToolsThatComeLate(t *testing.T) {
	url, letGo := slowServer(t)
	long := modeltest.Text(strings.Repeat("The lock is taken in the reader and given back in the writer. ", 360))
	p := newPlace(t, long, long, long, modeltest.Text("Four."), modeltest.Answer(modeltest.Call("c1", "slow__clock", `{}`)), modeltest.Text("It is late, it says."))
	p.write("config/settings.json", `{"window": 32000, "mcpServers": {"slow": {"url": "`+url+`"}}, "permissions": {"allow": ["slow__*"]}}`)
	s := p.open(nil)
	if lines := s.Hooks(); len(lines) != 1 || lines[0] != "server slow: it is being connected" {
		t.Errorf("%q", lines)
	}
	say(t, s, "first")
	letGo()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	say(t, s, "second")
	say(t, s, "third")
	if res, err := s.Agent().Compact(t.Context(), agent.CompactRequest{}); err != nil || !res.Act {
		t.Fatalf("%+v %v", res, err)
	}
	waittest.Until(t, "the tools are taken", func() bool { return s.Agent().State().Doing == agent.DoingNothing })
	say(t, s, "fourth")
	say(t, s, "what time is it")
	got := asked(p)
	for i, want := range []bool{false, false, false, true, true, true} {
		if i >= len(got) || got[i] != want {
			t.Fatalf("offered in the requests: %v; %s", got, p.warnings())
		}
	}
	if lines := s.Hooks(); len(lines) != 1 || lines[0] != "server slow: 1 tools" {
		t.Errorf("%q", lines)
	}
}

// In a session that was asked nothing they are there at once.
func TestToolsBeforeTheFirstRequest(t *testing.T) {
	url, letGo := slowServer(t)
	p := newPlace(t, modeltest.Text("One."), modeltest.Text("Two."))
	p.write("config/settings.json", `{"mcpServers": {"slow": {"url": "`+url+`"}}}`)
	s := p.open(nil)
	letGo()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	say(t, s, "first")
	if err := s.New(t.Context()); err != nil {
		t.Fatal(err)
	}
	say(t, s, "second")
	s = p.open(func(c *chat.Config) { c.Tools = []string{"read", "slow__clock"} })
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.models.Add(modeltest.Text("Three."))
	say(t, s, "third")
	for i, got := range asked(p) {
		if !got {
			t.Errorf("request %d does not offer it", i+1)
		}
	}
	if last := string(p.models.Exchanges()[2].Request); strings.Contains(last, `"bash"`) || !strings.Contains(last, `"read"`) {
		t.Error("the tools are not those that were chosen")
	}
}
