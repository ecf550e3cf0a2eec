// Package mcpserver gives an agent a memory over MCP: the tools recall, context_status and
// timeline over the session files that the agent's own program writes. It only reads.
//
//	s, err := mcpserver.New(mcpserver.Config{Dir: cwd, Getenv: os.Getenv, UserHome: home})
//	err = s.Stdio(ctx, os.Stdin, os.Stdout)
package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// Config says which sessions are read.
type Config struct {
	// Dir is the project. Its newest session is the current one.
	Dir string
	// Programs are those whose sessions count. Default: all that are known.
	Programs []transcript.Format
	// File is one session, and no other is read.
	File string
	// Folder is that of a gateway. Its sessions are read by their whole ids alone, which stand
	// in the summaries that their agents get: who asks has presented the history. Dir and
	// Programs do not count then.
	Folder string
	// Open opens such a session elsewhere than in Folder, for a request with this header.
	Open func(ctx context.Context, h http.Header, conversation string) (session.Store, error)
	// Secrets leaves secrets in what is answered. They are masked else.
	Secrets bool

	Getenv   func(string) string
	UserHome string
	Version  string // of the program
}

// Server answers calls.
type Server struct {
	*mcp.Server
	shelf     *shelf
	catalogue *model.Catalogue
}

// New makes a server.
func New(cfg Config) (*Server, error) {
	cat, err := model.BuiltIn()
	if err != nil {
		return nil, err
	}
	s := &Server{
		Server: mcp.NewServer(&mcp.Implementation{Name: "clew", Version: cfg.Version}, &mcp.ServerOptions{
			Instructions: "Everything that was said and done in this conversation and in earlier ones of the project can be read word for word, " +
				"also what a compaction has taken out. After a compaction, ask recall before you read a file again or repeat a search.",
		}),
		shelf: &shelf{cfg: cfg, open: map[string]*book{}}, catalogue: cat,
	}
	tool := recall.AgentTool()
	s.add(tool.Name, tool.Description+` Without hits here, other sessions of the project are searched; "session" names one.`,
		withSession(tool.Schema), s.recall)
	s.add("context_status", "How full the context of this session is, when it was compacted, and what that has taken out.", withSession(noArguments), s.status)
	s.add("timeline", "The requests of this session in order, each with what was done for it: files changed, commands that failed, how it ended.",
		withSession(pageArguments), s.timeline)
	return s, nil
}

var (
	noArguments   = json.RawMessage(`{"type":"object","properties":{}}`)
	pageArguments = json.RawMessage(`{"type":"object","properties":{"offset":{"type":"integer","minimum":0,"description":"Requests to pass over. Default: the last 10 are shown."},"limit":{"type":"integer","minimum":1}}}`)
)

// withSession adds the argument session to a schema.
func withSession(schema json.RawMessage) json.RawMessage {
	props := jsonx.Set(jsonx.Get(schema, "properties"), "session", []byte(`{"type":"string","description":"Id of another session of the project, or its beginning."}`))
	return jsonx.Set(schema, "properties", props)
}

// call is what a tool is given.
type call struct {
	arguments     json.RawMessage
	header        http.Header // of the request, where there is one
	Session       string
	Offset, Limit *int
}

// add adds a tool. An error is an answer, for the model to read.
func (s *Server) add(name, description string, schema json.RawMessage, run func(ctx context.Context, c call) (string, error)) {
	tool := &mcp.Tool{Name: name, Description: description, InputSchema: schema, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}}
	s.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := call{arguments: req.Params.Arguments}
		if req.Extra != nil {
			c.header = req.Extra.Header
		}
		out, err := "", error(nil)
		if len(c.arguments) > 0 {
			if err = json.Unmarshal(c.arguments, &c); err != nil {
				err = fmt.Errorf("the arguments are not what %s takes: %w", name, err)
			}
		} else {
			c.arguments = json.RawMessage("{}")
		}
		if err == nil {
			out, err = run(ctx, c)
		}
		if err != nil {
			out = err.Error()
		}
		if !s.shelf.cfg.Secrets {
			out = redact.Text(out)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out}}, IsError: err != nil}, nil
	})
}

// Stdio answers on a pair of streams, a JSON-RPC message a line, until the agent closes
// them or ctx ends.
func (s *Server) Stdio(ctx context.Context, r io.Reader, w io.Writer) error {
	err := s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(r), Writer: kept{w}})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

// kept is a writer that is not closed.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }

// Handler answers over streamable HTTP. On a loopback address requests with another Host
// are refused, so that no web page can ask.
func (s *Server) Handler() http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.Server }, nil)
}
