package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/clew-dev/clew/internal/waittest"
)

// The test program is its own server: with MCPTEST_DO set it does what that says.
func TestMain(m *testing.M) {
	if do := os.Getenv("MCPTEST_DO"); do != "" {
		os.Exit(serve(do))
	}
	goleak.VerifyTestMain(m)
}

// png is the smallest that decoders take for one by its beginning.
var png = append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 20)...)

// sent is a schema whose bytes change when it is read into a map and written again, and
// written is what becomes of it, each time.
const (
	sent    = `{"type":"object","properties":{"zeta":{"type":"integer","maximum":9007199254740991},"alpha":{"type":"string","default":1.0}},"required":["zeta"]}`
	written = `{"properties":{"alpha":{"default":1,"type":"string"},"zeta":{"maximum":9007199254740991,"type":"integer"}},"required":["zeta"],"type":"object"}`
)

// serve is what the server does. It gives the exit code.
func serve(do string) int {
	switch do {
	case "sdk":
		fmt.Fprintln(os.Stderr, "the server is up")
		_ = newTestServer(nil).Run(context.Background(), &sdk.StdioTransport{})
	case "dies":
		fmt.Fprintln(os.Stderr, "no license for", os.Getenv("TOKEN"))
		return 7
	case "silent": // reads, and never answers
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	case "deaf": // reads nothing once it has said what it has
		lines(false, `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
	case "garbage":
		fmt.Println("Listening on port 8080")
		waittest.Forever()
	case "stubborn": // goes on when its input has ended, and when it is told to end; so does its child
		signal.Ignore(os.Interrupt)
		ignoreTermination()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "MCPTEST_DO=sleep")
		if child.Start() == nil {
			_ = os.WriteFile(os.Getenv("PIDS"), fmt.Appendf(nil, "%d %d", os.Getpid(), child.Process.Pid), 0o600)
		}
		lines(true, `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`)
		waittest.Forever()
	case "sleep":
		ignoreTermination()
		waittest.Forever()
	default: // the answer to tools/list
		lines(true, do)
	}
	return 0
}

// lines is a server that answers tools/list with a text of ours, and then ends or reads
// no more when more is false.
func lines(more bool, tools string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lines","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, tools)
			if !more {
				waittest.Forever()
			}
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", m.ID)
		}
	}
}

type handler = func(context.Context, json.RawMessage) (*sdk.CallToolResult, error)

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

func content(c ...sdk.Content) handler {
	return func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: c}, nil
	}
}

// newTestServer is a server with a tool for each thing that can happen.
func newTestServer(opt *sdk.ServerOptions) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, opt)
	add := func(t *sdk.Tool, h handler) {
		if t.InputSchema == nil {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		s.AddTool(t, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return h(ctx, r.Params.Arguments)
		})
	}
	add(&sdk.Tool{Name: "echo", Description: "Says it again.", InputSchema: json.RawMessage(sent), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, args json.RawMessage) (*sdk.CallToolResult, error) {
			return text(string(args)), nil
		})
	add(&sdk.Tool{Name: "fail"}, func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		r := text("it went wrong")
		r.IsError = true
		return r, nil
	})
	add(&sdk.Tool{Name: "refuse"}, func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("never")
	})
	add(&sdk.Tool{Name: "mixed"}, content(
		&sdk.TextContent{Text: "a \x1b[2J picture:\x00"}, &sdk.ImageContent{Data: png, MIMEType: "image/jpeg"},
		&sdk.ImageContent{Data: []byte("<svg/>"), MIMEType: "image/png"}, &sdk.ImageContent{Data: append(bytes.Clone(png), make([]byte, 6<<20)...), MIMEType: "image/png"},
		&sdk.AudioContent{Data: []byte("la"), MIMEType: "audio/wav"}, &sdk.ResourceLink{Name: "doc", URI: "file:///x"},
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a.txt", Text: "hello"}},
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a.png", Blob: png, MIMEType: "image/png"}},
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a.zip\n", Blob: []byte("PK\x03\x04"), MIMEType: "application/zip"}}))
	add(&sdk.Tool{Name: "structured"}, func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]any{"n": 5, "s": "<&>"}}, nil
	})
	add(&sdk.Tool{Name: "nothing"}, content())
	add(&sdk.Tool{Name: "where"}, func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		dir, err := os.Getwd()
		return text(dir + "\n" + strings.Join(os.Environ(), "\n")), err
	})
	add(&sdk.Tool{Name: "pid"}, func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		return text(strconv.Itoa(os.Getpid())), nil
	})
	add(&sdk.Tool{Name: "large"}, func(_ context.Context, args json.RawMessage) (*sdk.CallToolResult, error) {
		var a struct{ Size int }
		err := json.Unmarshal(args, &a)
		return text(strings.Repeat("0123456789abcdef", a.Size/16)), err
	})
	add(&sdk.Tool{Name: "hang"}, func(ctx context.Context, args json.RawMessage) (*sdk.CallToolResult, error) {
		var a struct{ File string }
		if err := json.Unmarshal(args, &a); err != nil {
			return nil, err
		}
		if err := os.WriteFile(a.File, []byte("called"), 0o600); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return text(""), os.WriteFile(a.File, []byte("canceled"), 0o600)
	})
	add(&sdk.Tool{Name: "crash"}, func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
		return nil, nil
	})
	return s
}
