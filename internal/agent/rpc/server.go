// Package rpc lets another program drive an agent over lines of JSON: all that a user
// can do at the terminal. clew help rpc describes every method and event.
//
//	srv := rpc.NewServer(os.Stdout)
//	host, err := open(srv.Event) // events go where answers go
//	err = srv.Serve(ctx, host, os.Stdin)
//
// The other side, in Go, is agent.Client.
//
// A line that can't be understood is answered with an error, and nothing else happens.
package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/commands"
	"github.com/clew-dev/clew/internal/sessions"
)

// maxRequests is how many requests may be under way.
const maxRequests = 256

// Server answers requests, and tells of events. It is used for one client.
type Server struct {
	host   Host
	events *agent.EventQueue

	mu     sync.Mutex // of all that follows
	out    io.Writer
	kinds  []agent.Kind // that the client wants; nil for all
	failed error        // writing did
	fail   context.CancelCauseFunc

	under atomic.Int64 // requests under way
	wg    sync.WaitGroup
	lane  chan func() // what is done in the order in which it came
}

// NewServer returns a server that writes to out.
func NewServer(out io.Writer) *Server { return &Server{out: out, events: agent.NewEventQueue()} }

// Event tells the client of an event; it is for agent.Config.Events. Those that come before or after Serve wait for it,
// or for Flush.
func (s *Server) Event(e agent.Event) { s.events.Send(e) }

// Flush writes the events that wait. It is for those that come after Serve, when the host is closed.
func (s *Server) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	return s.failed
}

// flush is Flush while the lock is held.
func (s *Server) flush() {
	for _, e := range s.events.Take() {
		if s.kinds == nil || slices.Contains(s.kinds, e.Kind) {
			s.write(struct {
				Event agent.Event `json:"event"`
			}{e})
		}
	}
}

// write writes a line. The lock is held.
func (s *Server) write(v any) {
	if s.failed != nil {
		return
	}
	data, err := json.Marshal(v)
	if err == nil {
		_, err = s.out.Write(append(data, '\n'))
	}
	if err != nil {
		s.failed = fmt.Errorf("nothing more can be written to the client: %w", err)
		s.fail(s.failed)
	}
}

// Serve answers the requests that in has, each in a goroutine of its own, but for
// messages, which are sent in the order in which they came. It returns when in ends, after
// "close", when ctx ends or when nothing more can be written; then requests under way
// are cancelled and answered. The host is the caller's to close, and Flush then tells of that. A
// reader that blocks is left to itself.
func (s *Server) Serve(ctx context.Context, h Host, in io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.begin(h, cancel)
	s.wg.Go(func() {
		for do := range s.lane {
			do()
		}
	})
	s.wg.Go(func() {
		for {
			select {
			case <-s.events.Ready():
				_ = s.Flush() // Serve returns the error
			case <-ctx.Done():
				return
			}
		}
	})
	err := s.read(ctx, in)
	close(s.lane)
	cancel(nil)
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	return err
}

// begin writes the first line.
func (s *Server) begin(h Host, fail context.CancelCauseFunc) {
	s.host, s.lane = h, make(chan func(), maxRequests)
	first := map[string]agent.Hello{"hello": {Version: agent.Protocol, Dir: h.Dir(), State: h.Agent().State(), Methods: Methods()}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
	s.write(first)
}

type line struct {
	data []byte
	err  error
}

// read takes requests until there are no more.
func (s *Server) read(ctx context.Context, in io.Reader) error {
	lines := make(chan line)
	go func() {
		r := newLineReader(in)
		for {
			var l line
			l.data, l.err = r.next()
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
			if l.err != nil && !errors.Is(l.err, errLong) {
				return
			}
		}
	}()
	for {
		var l line
		select {
		case l = <-lines:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		switch {
		case errors.Is(l.err, io.EOF):
			return nil
		case errors.Is(l.err, errLong), errors.Is(l.err, errTorn):
			s.answer(nil, nil, refuse(CodeBadLine, l.err.Error(), "end each request with a line feed"))
			if errors.Is(l.err, errTorn) {
				return nil
			}
		case l.err != nil:
			return fmt.Errorf("the client's requests can't be read: %w", l.err)
		default:
			if s.take(ctx, l.data) {
				return nil
			}
		}
	}
}

// take begins to answer a request. It reports whether it was the last.
func (s *Server) take(ctx context.Context, data []byte) (last bool) {
	r, bad := parseRequest(data)
	if bad != nil {
		s.answer(r.ID, nil, bad)
		return false
	}
	m, ok := methods()[r.Method]
	switch {
	case r.Method == "close":
		_, err := decode(reflect.TypeFor[none](), r.Params)
		s.answer(r.ID, none{}, err)
		return err == nil
	case !ok:
		hint := meant(r.Method, Methods(), "there are "+fmt.Sprint(Methods()))
		s.answer(r.ID, nil, refuse(CodeUnknownMethod, fmt.Sprintf("there is no method %q", r.Method), hint))
		return false
	case s.under.Add(1) > maxRequests:
		s.under.Add(-1)
		s.answer(r.ID, nil, refuse(CodeTooMany, fmt.Sprintf("%d requests are under way", maxRequests), "wait for answers"))
		return false
	}
	do := func() {
		defer s.under.Add(-1)
		result, err := s.run(ctx, m, r.Params)
		s.answer(r.ID, result, err)
	}
	if m.inOrder {
		s.lane <- do // it has room for all that may be under way
	} else {
		s.wg.Go(do)
	}
	return false
}

// run runs a method. A panic is an answer that failed.
func (s *Server) run(ctx context.Context, m method, params json.RawMessage) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it failed in a way that should not be: %v", p)
		}
	}()
	return m.run(ctx, s, params)
}

// answer writes an answer.
func (s *Server) answer(id json.RawMessage, result any, err error) {
	a := answer{ID: id, Result: result}
	if err != nil {
		a.Result, a.Error = nil, errorOf(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush() // an answer comes after the events of what it answers
	s.write(a)
}

// Host has one agent at a time, and changes it for another when another session is taken
// into use. It is used from several goroutines.
type Host interface {
	// Agent is the one in use.
	Agent() *agent.Agent
	// Ready returns when all tools are there, or can't be.
	Ready(ctx context.Context) error
	// New begins a session, Resume goes on with one in a file, Fork makes a new one of
	// the path to an entry, "" for the leaf, and goes there. It returns what the user
	// typed there.
	New(ctx context.Context) error
	Resume(ctx context.Context, path string) error
	Fork(ctx context.Context, at string) (text string, err error)
	// Sessions lists those of the project, or all. Remove deletes one that is not in
	// use, Rename gives one a name.
	Sessions(ctx context.Context, all bool) ([]sessions.Found, error)
	Remove(ctx context.Context, path string) error
	Rename(ctx context.Context, path, name string) error
	// Models lists what can answer.
	Models() []ModelChoice
	// Export writes the session to a file and returns its name.
	Export(ctx context.Context, format, path string) (string, error)
	// Settings lists what is set, Set changes one for the user, Allow adds rules to the
	// user's settings.
	Settings() []Setting
	Set(ctx context.Context, name, value string) (note string, err error)
	Allow(ctx context.Context, rules []string) error
	// Untrusted says what the project may not do unless it is trusted, Trust trusts it.
	Untrusted() []string
	Trust(ctx context.Context) error
	// Hooks describes the hooks and servers in use.
	Hooks() []string
	// Files completes a path of the project.
	Files(ctx context.Context, prefix string, most int) []string
	// Commands lists the user's and the project's own slash commands and skills. Expand
	// turns one that a message begins with into its prompt, and adds what @file and
	// !`command` in it stand for.
	Commands() []Command
	Expand(ctx context.Context, text string) (Expanded, error)
	// History returns what was typed before in this project, oldest first, Remember adds
	// to it.
	History() []string
	Remember(line string)
	// Dir is the project.
	Dir() string
	// Close ends the work, and with it the host.
	Close() error
}

// Command is a slash command, or a skill, that a file defines.
type Command = commands.Command

// Expanded is a message with what it names.
type Expanded struct {
	Text   string        `json:"text"`
	Images []agent.Image `json:"images,omitempty"`
	// Notes say what was not added, and why.
	Notes []string `json:"notes,omitempty"`
}

// ModelChoice is a model that can be chosen.
type ModelChoice struct {
	// Name is "provider/id".
	Name string `json:"name"`
	// Window is in tokens, 0 where it is not known.
	Window int64 `json:"window,omitempty"`
	// Input and Output are US dollars for a million tokens; 0 where they are not known.
	Input  float64 `json:"input,omitempty"`
	Output float64 `json:"output,omitempty"`
	// Ready says that there is a key, or that none is needed; Why else what is missing.
	Ready bool   `json:"ready"`
	Why   string `json:"why,omitempty"`
}

// Setting is a thing to set.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value,omitempty"`
	Default string `json:"default,omitempty"`
	// From says where it is set, Text what it does.
	From string `json:"from"`
	Text string `json:"text,omitempty"`
}

// MaxLine is the most that a line may have, in bytes, its end apart.
const MaxLine = 64 << 20

var (
	errLong = errors.New("the line is longer than 64 MiB")
	errTorn = errors.New("the last line has no end")
)

// lineReader reads lines that end in LF.
type lineReader struct {
	r    *bufio.Reader
	most int
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, 64<<10), MaxLine}
}

// next returns a line without its end. A line that is too long is passed over: errLong. The
// end is io.EOF, or errTorn where something came after the last LF.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := l.r.ReadSlice('\n')
		if !long {
			line = append(line, piece...)
		}
		if len(line) > l.most+1 {
			long, line = true, nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(line) > 0 || long):
			return nil, errTorn
		case err != nil:
			return nil, err
		case long:
			return nil, errLong
		}
		return line[:len(line)-1], nil
	}
}
