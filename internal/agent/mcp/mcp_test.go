package mcp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/internal/agent/mcp"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/settings"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/message"
)

// program is a server of the test program.
func program(do string, env map[string]string) settings.MCPServer {
	all := map[string]string{"MCPTEST_DO": do, "GORACE": os.Getenv("GORACE")}
	for k, v := range env {
		all[k] = v
	}
	return settings.MCPServer{Command: os.Args[0], Env: all}
}

// web is a server behind an address.
func web(t *testing.T, h http.Handler) settings.MCPServer {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return settings.MCPServer{URL: srv.URL + "/mcp"}
}

func handle(t *testing.T, opt *sdk.StreamableHTTPOptions) http.Handler {
	t.Helper()
	s := newTestServer(nil)
	t.Cleanup(func() { // what clients have left behind
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, opt)
}

// connect connects without a warning.
func connect(t *testing.T, servers map[string]settings.MCPServer) *mcp.Set {
	t.Helper()
	set, warnings := mcp.Connect(t.Context(), mcp.Config{Servers: servers})
	t.Cleanup(func() { set.Close() })
	if len(warnings) > 0 {
		t.Fatalf("warnings: %v", warnings)
	}
	return set
}

func find(t *testing.T, set *mcp.Set, name string) tool.Tool {
	t.Helper()
	for _, one := range set.Tools() {
		if one.Spec().Name == name {
			return one
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

// schemaIs checks that the schema of echo says what was sent, in the bytes that it always has: a
// request that begins with other bytes than the last one is not in the provider's cache.
func schemaIs(t *testing.T, echo tool.Tool) {
	t.Helper()
	var got, want any
	p := echo.Spec().Parameters
	if err := errors.Join(json.Unmarshal(p, &got), json.Unmarshal([]byte(sent), &want)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the schema does not say what was sent: %s", p)
	}
	if string(p) != written {
		t.Errorf("the schema is %s, want %s", p, written)
	}
}

func run(t *testing.T, set *mcp.Set, name, args string) (tool.Result, error) {
	t.Helper()
	return find(t, set, name).Run(t.Context(), tool.Call{ID: "1", Arguments: json.RawMessage(args)})
}

func mustRun(t *testing.T, set *mcp.Set, name, args string) tool.Result {
	t.Helper()
	r, err := run(t, set, name, args)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// eachWay runs a test with a program, and with an address that answers in each of the
// ways that there are.
func eachWay(t *testing.T, test func(t *testing.T, cfg settings.MCPServer)) {
	t.Run("program", func(t *testing.T) { test(t, program("sdk", nil)) })
	t.Run("events", func(t *testing.T) { test(t, web(t, handle(t, nil))) })
	t.Run("json", func(t *testing.T) { test(t, web(t, handle(t, &sdk.StreamableHTTPOptions{JSONResponse: true}))) })
	t.Run("stateless", func(t *testing.T) { test(t, web(t, handle(t, &sdk.StreamableHTTPOptions{Stateless: true}))) })
}

func TestListAndCall(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, cfg settings.MCPServer) {
		set := connect(t, map[string]settings.MCPServer{"test": cfg})
		echo := find(t, set, "test__echo")
		if s := echo.Spec().Description; s != "Says it again." {
			t.Errorf("the description is %q", s)
		}
		for range 4 {
			schemaIs(t, find(t, connect(t, map[string]settings.MCPServer{"test": cfg}), "test__echo"))
		}
		for args, want := range map[string]string{`{"b": 1, "a": "ü<>"}`: `{"b":1,"a":"ü<>"}`, ``: `{}`, ` {} `: `{}`} {
			r := mustRun(t, set, "test__echo", args)
			if len(r.Content) != 1 || strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(r.Content[0].Text) != want || r.IsError {
				t.Errorf("%s: %+v", args, r)
			}
		}
		for _, bad := range []string{`[]`, `{`, `null`, `"x"`, `{} {}`} {
			if _, err := echo.Effect(json.RawMessage(bad)); err == nil {
				t.Errorf("%s is no object", bad)
			}
			if _, err := run(t, set, "test__echo", bad); err == nil {
				t.Errorf("%s is no object", bad)
			}
		}
		e, err := echo.Effect(json.RawMessage("{\"x\":\n\"a\\u202e\"}"))
		if err != nil || e.Kind != tool.Other || e.Line != `test: echo (says that it only reads) {"x":"a\u202e"}` {
			t.Errorf("%+v %v", e, err)
		}
		if e, err := find(t, set, "test__crash").Effect(nil); err != nil || e.Kind != tool.Other || e.Line != "test: crash" {
			t.Errorf("%+v %v", e, err)
		}
		if r := mustRun(t, set, "test__fail", `{}`); !r.IsError || r.Content[0].Text != "it went wrong" {
			t.Errorf("%+v", r)
		}
		if _, err := run(t, set, "test__refuse", `{}`); err == nil || !strings.HasPrefix(err.Error(), "MCP server test: ") || !strings.Contains(err.Error(), "never") || strings.Contains(err.Error(), "is up") {
			t.Errorf("%v", err)
		}
		if st := set.Servers(); len(st) != 1 || st[0].Name != "test" || st[0].Tools != len(set.Tools()) || st[0].Err != nil {
			t.Errorf("%+v", st)
		}
		set.Close()
		if _, err := run(t, set, "test__echo", `{}`); err == nil || !strings.Contains(err.Error(), "it was closed") {
			t.Errorf("after closing: %v", err)
		}
		set.Close()
	})
}

func TestResults(t *testing.T) {
	t.Parallel()
	set := connect(t, map[string]settings.MCPServer{"s": program("sdk", nil)})
	image := message.ImageBlock("image/png", base64.StdEncoding.EncodeToString(png))
	want := []message.Block{
		message.TextBlock("a \x1b[2J picture:\uFFFD"), image, // the type is what it is, not what it is called
		message.TextBlock("[an image of a kind that models don't take, 6 bytes]"),
		message.TextBlock(fmt.Sprintf("[an image of %d bytes, which is more than models take]", len(png)+6<<20)),
		message.TextBlock("[a sound of type audio/wav, 2 bytes, which can't be shown]"),
		message.TextBlock("[a link to doc: file:///x]"),
		message.TextBlock("[file:///a.txt]\nhello"), image,
		message.TextBlock("[file:///a.zip  of type application/zip, 4 bytes, which can't be shown]"),
	}
	got := mustRun(t, set, "s__mixed", `{}`).Content
	if a, b := message.EncodeBlocks(got), message.EncodeBlocks(want); string(a) != string(b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
	if r := mustRun(t, set, "s__structured", `{}`); len(r.Content) != 1 || r.Content[0].Text != `{"n":5,"s":"<&>"}` {
		t.Errorf("%+v", r)
	}
	if r := mustRun(t, set, "s__nothing", `{}`); len(r.Content) != 1 || r.Content[0].Text != "(the server has answered with nothing)" {
		t.Errorf("%+v", r)
	}
}

// A result of 5 MB comes whole: what of it goes into the context is for the agent to say,
// as for any tool. Beyond 16 MiB there is an error, and the next call works.
func TestD64LargeResults(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, cfg settings.MCPServer) {
		set := connect(t, map[string]settings.MCPServer{"s": cfg})
		size := 5_000_000
		if testing.Short() {
			size = 500_000
		}
		if r := mustRun(t, set, "s__large", fmt.Sprintf(`{"size": %d}`, size)); len(r.Content) != 1 || len(r.Content[0].Text) != size {
			t.Errorf("%d blocks", len(r.Content))
		}
		if testing.Short() && cfg.Command == "" {
			return // too much for it takes a second for each way
		}
		r, err := run(t, set, "s__large", fmt.Sprintf(`{"size": %d}`, 17<<20))
		if err == nil {
			t.Errorf("%d bytes came through", len(r.Content[0].Text))
		} else if !regexp.MustCompile("16 MiB|16777216 bytes|maximum line length").MatchString(err.Error()) {
			t.Errorf("the error does not say why: %v", err)
		}
		if r := mustRun(t, set, "s__large", `{"size": 16}`); len(r.Content[0].Text) != 16 {
			t.Errorf("%+v", r)
		}
	})
}

// A call that is cancelled ends, and the server is told.
func TestCancel(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, cfg settings.MCPServer) {
		if strings.HasSuffix(t.Name(), "stateless") {
			t.Skip("the SDK's server without sessions has no way to hear of it")
		}
		set := connect(t, map[string]settings.MCPServer{"s": cfg})
		file := filepath.Join(t.TempDir(), "state")
		is := func(want string) func() bool {
			return func() bool { data, _ := os.ReadFile(file); return string(data) == want }
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			waittest.Until(t, "the call", is("called"))
			cancel()
		}()
		_, err := find(t, set, "s__hang").Run(ctx, tool.Call{Arguments: fmt.Appendf(nil, `{"file": %q}`, file)})
		if !errors.Is(err, context.Canceled) { // the call would go on for ever
			t.Errorf("%v", err)
		}
		waittest.Until(t, "the server to learn of it", is("canceled"))
		if r := mustRun(t, set, "s__echo", `{"a": 1}`); r.Content[0].Text != `{"a":1}` {
			t.Errorf("afterwards: %+v", r)
		}
		// Closing ends a call under way too.
		ended := make(chan error, 1)
		go func() {
			_, err := find(t, set, "s__hang").Run(context.Background(), tool.Call{Arguments: fmt.Appendf(nil, `{"file": %q}`, file)})
			ended <- err
		}()
		waittest.Until(t, "the call", is("called"))
		set.Close()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "it was closed") {
			t.Errorf("%v", err)
		}
	})
}

// A server that does not read what it is sent can't hold up who cancels, or closes.
func TestCancelOfADeafServer(t *testing.T) {
	t.Parallel()
	set := connect(t, map[string]settings.MCPServer{"s": program("deaf", nil)})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	large := fmt.Sprintf(`{"x": %q}`, strings.Repeat("x", 1<<20)) // more than a pipe holds
	_, err := find(t, set, "s__t").Run(ctx, tool.Call{Arguments: json.RawMessage(large)})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	set.Close()
}

// A program that ends is started again at the next call, each time; the call that it
// ended in is not repeated.
func TestCrash(t *testing.T) {
	t.Parallel()
	set := connect(t, map[string]settings.MCPServer{"s": program("sdk", nil)})
	pid := func() string { return mustRun(t, set, "s__pid", `{}`).Content[0].Text }
	before := pid()
	for range 2 {
		_, err := run(t, set, "s__crash", `{}`)
		if err == nil || err.Error() != `MCP server s: its program has ended: exit status 3; it said last: "the server is up out of cheese"` {
			t.Errorf("%v", err)
		}
		after := pid()
		if after == before {
			t.Error("it is the same process")
		}
		before = after
	}
	// Calls at the same time start one.
	_, _ = run(t, set, "s__crash", `{}`)
	var pids sync.Map
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { pids.Store(pid(), true) })
	}
	all.Wait()
	n := 0
	pids.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d programs for eight calls", n)
	}
}

// A program that can't be started again is an error, each time, and no hang.
func TestNoRestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "server")
	if err := os.Symlink(os.Args[0], file); err != nil {
		t.Skip(err)
	}
	cfg := program("sdk", nil)
	cfg.Command = file
	set := connect(t, map[string]settings.MCPServer{"s": cfg})
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, _ = run(t, set, "s__crash", `{}`)
	for range 2 {
		if _, err := run(t, set, "s__pid", `{}`); err == nil || !strings.Contains(err.Error(), "MCP server s: it had ended, and did not start again: ") {
			t.Errorf("%v", err)
		}
	}
	if err := os.Symlink(os.Args[0], file); err != nil {
		t.Fatal(err)
	}
	mustRun(t, set, "s__pid", `{}`)
}

// An address that has forgotten the session gets a new one, within the call.
func TestForgottenSession(t *testing.T) {
	t.Parallel()
	var now atomic.Pointer[http.Handler]
	swap := func() { h := handle(t, nil); now.Store(&h) }
	swap()
	cfg := web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) }))
	set := connect(t, map[string]settings.MCPServer{"s": cfg})
	for range 3 {
		mustRun(t, set, "s__echo", `{}`)
		swap()
	}
}

// What is wrong with a server is a warning that says which and what to do, and the
// others are there.
func TestServersThatFail(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refusing.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	silent := program("silent", nil)
	silent.Timeout = 300 * time.Millisecond
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else it is not seen that the other side has gone
		<-r.Context().Done()
	}))
	defer slow.Close()
	deaf := program("garbage", nil)
	servers := map[string]settings.MCPServer{
		"absent":   {Command: filepath.Join(t.TempDir(), "no-such-program")},
		"badurl":   {URL: "ftp://x"},
		"dies":     program("dies", map[string]string{"TOKEN": "${SECRET}"}),
		"garbage":  deaf,
		"gone":     {URL: gone.URL},
		"off":      {Command: "never-run", Disabled: true},
		"good":     program("sdk", nil),
		"refusing": {URL: refusing.URL},
		"silent":   silent,
		"slow":     {URL: slow.URL, Timeout: 300 * time.Millisecond},
		"unset":    program("sdk", map[string]string{"A": "${NOT_SET_ANYWHERE}"}),
		"unset2":   {URL: gone.URL, Headers: map[string]string{"A": "${NOT_SET_ANYWHERE}"}},
	}
	set, warnings := mcp.Connect(t.Context(), mcp.Config{Servers: servers, Environ: append(os.Environ(), "SECRET=hunter2hunter2")})
	defer set.Close()
	all := ""
	for _, w := range warnings {
		all += w.Error() + "\n"
	}
	for name, want := range map[string]string{
		"absent":   "no such file",
		"badurl":   `url must be like https://example.com/mcp, and is "ftp://x"`,
		"dies":     `its program has ended: exit status 7; it said last: "no license for (secret)"`,
		"garbage":  "invalid character 'L'",
		"gone":     "connection refused",
		"refusing": "Unauthorized",
		"silent":   "it was not there within 300ms",
		"slow":     "it was not there within 300ms",
		"unset":    "env A: not set in the environment: NOT_SET_ANYWHERE",
		"unset2":   "header A: not set in the environment: NOT_SET_ANYWHERE",
	} {
		line := regexp.MustCompile("(?m)^MCP server " + name + " gives no tools: .*; mend mcpServers." + name + " in the settings, or set its enabled to false$").FindString(all)
		if !strings.Contains(line, want) {
			t.Errorf("%s: %q, want %s", name, line, want)
		}
	}
	if len(warnings) != 10 || strings.Contains(all, "hunter2") {
		t.Errorf("%d warnings:\n%s", len(warnings), all)
	}
	for _, st := range set.Servers() {
		if (st.Err == nil) != (st.Name == "good") || (st.Tools > 0) != (st.Name == "good") {
			t.Errorf("%+v", st)
		}
	}
	mustRun(t, set, "good__echo", `{}`)
}

// A server that answers no more can't hold up who leaves.
func TestCloseOfAStuckAddress(t *testing.T) {
	t.Parallel()
	inner := handle(t, nil)
	var stuck atomic.Bool
	set := connect(t, map[string]settings.MCPServer{"s": web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stuck.Load() {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(w, r)
	}))})
	stuck.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := find(t, set, "s__echo").Run(ctx, tool.Call{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	set.Close()
}

// A chat that is left while servers are being reached does not wait for them.
func TestConnectIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	set, warnings := mcp.Connect(ctx, mcp.Config{Servers: map[string]settings.MCPServer{"a": program("silent", nil), "b": program("garbage", nil)}})
	defer set.Close()
	if len(set.Tools()) != 0 || len(warnings) != 2 {
		t.Errorf("%v", warnings)
	}
}

// Schemas that would make every request invalid, and tools that are offered twice, are
// left out with a warning.
func TestBadTools(t *testing.T) {
	t.Parallel()
	const tools = `{"tools":[
		{"name":"good","inputSchema":{"type":"object","properties":{"b":{},"a":true}}},
		{"name":"string","inputSchema":"object"},
		{"name":"array","inputSchema":{"type":"array"}},
		{"name":"untyped","inputSchema":{}},
		{"name":"none"},
		{"name":"props","inputSchema":{"type":"object","properties":[]}},
		{"name":"prop","inputSchema":{"type":"object","properties":{"a":5}}},
		{"name":"required","inputSchema":{"type":"object","required":"a"}},
		{"name":"good","inputSchema":{"type":"object"}},
		{"name":"","inputSchema":{"type":"object"}},
		{"name":"big","inputSchema":{"type":"object","description":"BIG"}}
	]}`
	do := strings.NewReplacer("\n", "", "\t", "", "BIG", strings.Repeat("x", 70_000)).Replace(tools)
	set, warnings := mcp.Connect(t.Context(), mcp.Config{Servers: map[string]settings.MCPServer{"s": program(do, nil)}})
	defer set.Close()
	if n := len(set.Tools()); n != 1 || string(set.Tools()[0].Spec().Parameters) != `{"properties":{"a":true,"b":{}},"type":"object"}` {
		t.Errorf("%d tools, %v", n, warnings)
	}
	all := fmt.Sprint(warnings)
	for _, want := range []string{
		"its tool string is left out: its schema is no JSON schema", "its tool array is left out: its schema is not of type", "its tool untyped is left out", "its tool none is left out",
		"its tool props is left out", "its tool prop is left out: its schema has no schema for a", "its tool required is left out", "it offers good twice; the first counts", "its tool big is left out",
	} {
		if !strings.Contains(all, "MCP server s: "+want) {
			t.Errorf("no warning: %s", want)
		}
	}
	if len(warnings) != 10 {
		t.Errorf("%d warnings: %v", len(warnings), warnings)
	}
}

// All pages are asked for, only tools that are listed are taken, and one that is
// misspelt is named.
func TestPagesAndAllowList(t *testing.T) {
	t.Parallel()
	s := newTestServer(&sdk.ServerOptions{PageSize: 2})
	cfg := web(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	whole := connect(t, map[string]settings.MCPServer{"s": cfg})
	if n := len(whole.Tools()); n < 10 {
		t.Errorf("%d tools", n)
	}
	schemaIs(t, find(t, whole, "s__echo"))
	cfg.Tools = []string{"pid", "ehco", "echo"}
	set, warnings := mcp.Connect(t.Context(), mcp.Config{Servers: map[string]settings.MCPServer{"s": cfg}})
	defer set.Close()
	var names []string
	for _, one := range set.Tools() {
		names = append(names, one.Spec().Name)
	}
	if !slices.Equal(names, []string{"s__echo", "s__pid"}) || len(warnings) != 1 || warnings[0].Error() != "MCP server s: it has no tool ehco; did you mean echo?" {
		t.Errorf("%v %v", names, warnings)
	}
	cfg.Tools = []string{}
	none, warnings := mcp.Connect(t.Context(), mcp.Config{Servers: map[string]settings.MCPServer{"s": cfg}})
	defer none.Close()
	if len(none.Tools()) != 0 || len(warnings) != 0 {
		t.Errorf("an empty list allows %d tools, %v", len(none.Tools()), warnings)
	}
}

// Names are what all providers take, each once, and the same each time.
func TestNames(t *testing.T) {
	t.Parallel()
	const tools = `{"tools":[{"name":"a.b","inputSchema":{"type":"object"}},{"name":"a_b","inputSchema":{"type":"object"}},{"name":"a b","inputSchema":{"type":"object"}},{"name":"LONG","inputSchema":{"type":"object"}},{"name":"LONG2","inputSchema":{"type":"object"}}]}`
	do := strings.ReplaceAll(tools, "LONG", strings.Repeat("l", 100))
	servers := map[string]settings.MCPServer{"x.y": program(do, nil), "x_y": program(do, nil), "日本": program(do, nil), "9": program(do, nil), strings.Repeat("s", 80): program(do, nil)}
	valid := regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)
	var first []string
	for range 2 {
		set := connect(t, servers)
		var names []string
		for _, one := range set.Tools() {
			names = append(names, one.Spec().Name)
			if !valid.MatchString(one.Spec().Name) {
				t.Errorf("%q", one.Spec().Name)
			}
		}
		set.Close()
		if first == nil {
			first = slices.Clone(names)
		}
		if !slices.Equal(names, first) || len(names) != 25 {
			t.Errorf("%v, before %v", names, first)
		}
		slices.Sort(names)
		if len(slices.Compact(names)) != 25 {
			t.Errorf("names twice: %v", names)
		}
	}
	if !slices.Contains(first, "x_y__a_b") || !slices.Contains(first, "_9__a_b") {
		t.Errorf("%v", first)
	}
}

// A program runs where it should, with what it is given, and without the user's keys.
func TestPlaceAndEnvironment(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	there := program("sdk", map[string]string{"GIVEN": "x${SECRET_KEY}y"})
	there.Cwd = own
	set, warnings := mcp.Connect(t.Context(), mcp.Config{
		Dir: dir, Environ: append(os.Environ(), "SECRET_KEY=s3cr3t", "LC_TEST=de"),
		Servers: map[string]settings.MCPServer{"here": program("sdk", nil), "there": there},
	})
	defer set.Close()
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	here, where := mustRun(t, set, "here__where", `{}`).Content[0].Text, mustRun(t, set, "there__where", `{}`).Content[0].Text
	if !strings.HasPrefix(here, dir+"\n") || !strings.HasPrefix(where, own+"\n") {
		t.Errorf("%.200s\n%.200s", here, where)
	}
	if strings.Contains(here, "s3cr3t") || !strings.Contains(here, "\nLC_TEST=de") || !strings.Contains(here, "\nPATH=") || !strings.Contains(where, "\nGIVEN=xs3cr3ty") || strings.Contains(where, "SECRET_KEY") {
		t.Errorf("%s\n%s", here, where)
	}
}

// Headers are sent to the address that was named, and to no other that it points to.
func TestHeaders(t *testing.T) {
	t.Parallel()
	var leaked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		leaked.Store(leaked.Load() || r.Header.Get("Authorization") != "")
	}))
	defer other.Close()
	inner := handle(t, nil)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer t0ken":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case r.URL.Path == "/mcp":
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	defer srv.Close()
	header := map[string]string{"authorization": "Bearer ${TOKEN}"}
	set, warnings := mcp.Connect(t.Context(), mcp.Config{
		Environ: []string{"TOKEN=old", "TOKEN=t0ken"},
		Servers: map[string]settings.MCPServer{"s": {URL: srv.URL + "/mcp", Headers: header}, "away": {URL: srv.URL + "/away", Headers: header}},
	})
	defer set.Close()
	mustRun(t, set, "s__echo", `{}`)
	if len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "MCP server away") || leaked.Load() {
		t.Errorf("%v, leaked %v", warnings, leaked.Load())
	}
}

func TestNoServers(t *testing.T) {
	t.Parallel()
	set, warnings := mcp.Connect(t.Context(), mcp.Config{})
	set.Close()
	if len(warnings) != 0 || len(set.Tools()) != 0 {
		t.Errorf("%v", warnings)
	}
}
