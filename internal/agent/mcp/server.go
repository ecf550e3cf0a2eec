package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/internal/procgroup"
	"github.com/clew-dev/clew/internal/settings"
)

const (
	// waitToConnect is how long a server may take to be there, with its tools.
	waitToConnect = 10 * time.Second
	// maxMessage is the most that a server may send in one message, in bytes.
	maxMessage = 16 << 20
)

var errClosed = errors.New("it was closed")

// server is a server by its name, whether it is there or not.
type server struct {
	name string
	cfg  settings.MCPServer
	c    *Config
	life context.Context // ends with the set, and with it every call

	// What begin found.
	offers   []offer
	warnings []error
	err      error

	calls atomic.Int32  // under way
	busy  chan struct{} // holds one value while link is being changed
	link  *link         // nil before the first connection
	over  bool          // the set is closed
}

func newServer(name string, cfg settings.MCPServer, c *Config, life context.Context) *server {
	return &server{name: name, cfg: cfg, c: c, life: life, busy: make(chan struct{}, 1)}
}

// link is a connection to a server.
type link struct {
	session *sdk.ClientSession
	proc    *process // of a command
	kill    func()   // ends the connection at once
	free    func()   // gives back what it needed
	secrets []string
	ended   chan struct{} // closed when the session has ended
}

// begin connects for the first time and asks for the tools.
func (s *server) begin(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.wait(), fmt.Errorf("it was not there within %s", s.wait()))
	defer cancel()
	l, err := s.dial(ctx)
	if err == nil {
		s.offers, s.warnings, err = l.list(ctx, s.cfg.Tools)
		if err = s.explain(ctx, l, err); err != nil {
			l.close()
		} else {
			s.link = l
		}
	}
	for i, w := range s.warnings {
		s.warnings[i] = fmt.Errorf("MCP server %s: %w", s.name, w)
	}
	if err != nil {
		s.err = fmt.Errorf("MCP server %s gives no tools: %w; mend mcpServers.%s in the settings, or set its enabled to false", s.name, err, s.name)
		s.warnings = append(s.warnings, s.err)
	}
}

func (s *server) wait() time.Duration { return cmp.Or(s.cfg.Timeout, waitToConnect) }

// dial connects.
func (s *server) dial(ctx context.Context) (*link, error) {
	l := &link{ended: make(chan struct{}), free: func() {}}
	transport, err := s.transport(l)
	if err != nil {
		return nil, s.explain(ctx, l, err)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "clew", Version: s.c.Version}, &sdk.ClientOptions{
		// Nothing is offered to the server: no roots, no model, no questions to the user.
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	})
	// A server that takes nothing, or answers nothing, can hold up whoever tells it that
	// he goes.
	stop := context.AfterFunc(ctx, l.kill)
	defer stop()
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		err = s.explain(ctx, l, err)
		l.close()
		return nil, err
	}
	l.session = session
	go func() {
		_ = session.Wait()
		close(l.ended)
	}()
	return l, nil
}

// transport returns the way to the server, and starts its program.
func (s *server) transport(l *link) (sdk.Transport, error) {
	if s.cfg.URL != "" {
		header := http.Header{}
		for name, text := range s.cfg.Headers {
			value, err := l.expand(text, s.getenv)
			if err != nil {
				return nil, fmt.Errorf("header %s: %w", name, err)
			}
			header.Set(name, value)
		}
		// Not with the life of the set, for a server is told when its session ends.
		life, cut := context.WithCancel(context.WithoutCancel(s.life))
		client, err := newWeb(life, s.cfg.URL, header)
		if err != nil {
			cut()
			return nil, err
		}
		l.kill = cut
		l.free = func() {
			cut()
			client.CloseIdleConnections()
		}
		// The stream of what the server says unasked is not opened: nobody listens.
		return &sdk.StreamableClientTransport{Endpoint: s.cfg.URL, HTTPClient: client, DisableStandaloneSSE: true, MaxEventSize: maxMessage}, nil
	}
	cmd := exec.Command(s.cfg.Command, s.cfg.Args...)
	cmd.Dir = cmp.Or(s.cfg.Cwd, s.c.Dir)
	cmd.Env = needed(s.c.Environ)
	for _, name := range slices.Sorted(maps.Keys(s.cfg.Env)) {
		value, err := l.expand(s.cfg.Env[name], s.getenv)
		if err != nil {
			return nil, fmt.Errorf("env %s: %w", name, err)
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var err error
	if l.proc, err = start(cmd); err != nil {
		return nil, err
	}
	l.kill = l.proc.kill
	l.free = func() { _ = l.proc.out.Close() }
	return &sdk.IOTransport{Reader: l.proc.out, Writer: nopClose{l.proc.in}, MaxLineLength: maxMessage}, nil
}

// nopClose leaves it to the process to close its input.
type nopClose struct{ io.Writer }

// Close implements io.Closer.
func (nopClose) Close() error { return nil }

func (s *server) getenv(name string) string { return procgroup.Getenv(s.c.Environ, name) }

// expand is settings.Expand that remembers what must not stand in an error.
func (l *link) expand(text string, getenv func(string) string) (string, error) {
	value, err := settings.Expand(text, func(name string) string {
		v := getenv(name)
		if len(v) >= 4 { // a shorter one would take letters out of words
			l.secrets = append(l.secrets, v)
		}
		return v
	})
	return value, err
}

// call asks the server to do something with what lies behind a tool.
func (s *server) call(ctx context.Context, p *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(errClosed) })()
	s.calls.Add(1)
	defer s.calls.Add(-1)
	l, err := s.alive(ctx)
	if err != nil {
		return nil, fmt.Errorf("MCP server %s: %w", s.name, err)
	}
	res, err := l.call(ctx, p)
	if errors.Is(err, sdk.ErrSessionMissing) {
		// The server knows nothing of the session any more, so it has done nothing.
		if l, err = s.renew(ctx, l); err != nil {
			return nil, fmt.Errorf("MCP server %s: %w", s.name, err)
		}
		res, err = l.call(ctx, p)
	}
	if err != nil {
		return nil, fmt.Errorf("MCP server %s: %w", s.name, s.explain(ctx, l, err))
	}
	return res, nil
}

// alive returns the connection, and makes a new one where it has ended.
func (s *server) alive(ctx context.Context) (*link, error) {
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.busy }()
	if s.over {
		return nil, errClosed
	}
	if s.link != nil {
		if !s.link.over() {
			return s.link, nil
		}
		s.link.close()
		s.link = nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.wait(), fmt.Errorf("it was not there again within %s", s.wait()))
	defer cancel()
	l, err := s.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("it had ended, and did not start again: %w", err)
	}
	s.link = l
	return l, nil
}

// renew is alive after a connection was found to be of no use.
func (s *server) renew(ctx context.Context, l *link) (*link, error) {
	l.close()
	select {
	case <-l.ended:
		return s.alive(ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// call calls a tool and returns soon after ctx is done, also where the server does not even take what it is sent.
func (l *link) call(ctx context.Context, p *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	done := make(chan struct{})
	defer close(done)
	defer context.AfterFunc(ctx, func() {
		select {
		case <-done:
		case <-time.After(grace):
			l.kill()
		}
	})()
	return l.session.CallTool(ctx, p)
}

// close ends the connection and the program.
func (l *link) close() {
	if l.proc != nil {
		l.proc.stop()
	}
	if l.session != nil {
		late := time.AfterFunc(2*grace, l.kill)
		_ = l.session.Close()
		late.Stop()
	}
	l.free()
}

// close ends what there is.
func (s *server) close() {
	s.busy <- struct{}{} // a connection under way ends with the life of the set
	defer func() { <-s.busy }()
	s.over = true
	if s.link == nil {
		return
	}
	if s.link.proc == nil && s.calls.Load() > 0 {
		// The SDK tells the server beside us that a call is cancelled. Who is not told
		// goes on.
		time.Sleep(grace / 2)
	}
	s.link.close()
	<-s.link.ended
}

// explain says in an error what is known beside it, and takes out secrets. It must be
// called before the link is closed.
func (s *server) explain(ctx context.Context, l *link, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil { // what else went wrong came of that
		err = context.Cause(ctx)
		if errors.Is(err, context.Canceled) {
			return err
		}
	}
	text := err.Error()
	answered := errors.As(err, new(*jsonrpc.Error))
	if ctx.Err() == nil && !answered && l.session != nil {
		// Whether the connection goes on is known a moment later, and then the next call
		// finds it so.
		select {
		case <-l.ended:
		case <-time.After(grace):
		}
	}
	if l.proc != nil && !answered {
		if ctx.Err() == nil {
			text = because(text, l.proc.how())
		}
		if said := l.proc.stderr.last(); said != "" {
			text += fmt.Sprintf("; it said last: %q", said)
		}
	}
	for _, secret := range l.secrets {
		text = strings.ReplaceAll(text, secret, "(secret)")
	}
	if text == err.Error() {
		return err
	}
	return &explained{text, err}
}

// because puts together what went wrong and how the program ended. That it has ended is
// all there is to say where nothing else is known than that it wrote no more.
func because(text, how string) string {
	switch {
	case how == "":
		return text
	case strings.HasSuffix(text, "EOF"), strings.HasSuffix(text, "pipe"), strings.HasSuffix(text, "closed"):
		return how
	}
	return text + "; " + how
}

// over reports whether the session has ended.
func (l *link) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// explained is an error with a text that says more.
type explained struct {
	text string
	err  error
}

func (e *explained) Error() string { return e.text }

// Is reports whether the error is of a kind, without giving away its text.
func (e *explained) Is(target error) bool { return errors.Is(e.err, target) }
