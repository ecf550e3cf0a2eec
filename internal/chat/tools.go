package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/mcp"
	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/agent/tool"
)

// recall answers the tool recall from the session in use.
func (s *Session) recall(ctx context.Context, arguments json.RawMessage) (string, error) {
	return s.Agent().Session().RecallTool(ctx, arguments)
}

// shellSeconds is how long a command of the user's may run.
const shellSeconds = 3600

// shell runs a command for the user, as the tool bash does.
func (s *Session) shell(ctx context.Context, command string, output func(string)) (string, int, error) {
	arguments, err := json.Marshal(map[string]any{"command": command, "timeout": shellSeconds})
	if err != nil {
		return "", 0, err
	}
	r, err := s.builtinTool("bash").Run(ctx, tool.Call{Arguments: arguments, Output: output})
	if err != nil {
		return "", 0, err
	}
	text := ""
	for _, b := range r.Content {
		text += b.Text
	}
	var d tool.Details
	if json.Unmarshal(r.Details, &d) != nil || d.ExitCode == nil {
		return text, -1, nil // it was stopped; the text says why
	}
	// The last line says the code, which stands for itself here.
	if i := strings.LastIndex(text, "\n\n"); i >= 0 {
		text = text[:i]
	}
	return text, *d.ExitCode, nil
}

// refusals are the calls that were refused because nobody was there to allow them.
type refusals struct {
	mu    sync.Mutex
	calls []Refusal
}

// Refusal is a call that was refused because nobody was there to allow it.
type Refusal struct {
	// Line says what it was, Why why it would have been asked.
	Line, Why string
	// Rules would have allowed it; none where nothing but the user can.
	Rules []string
}

// Refused returns what was refused because nobody was there to allow it, each once.
func (r *refusals) Refused() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// noted is a tool that remembers which calls nobody was there to allow.
type noted struct {
	tool.Tool
	refused *refusals
	guard   func() *permission.Guard
}

// Effect implements tool.Tool.
func (n *noted) Effect(arguments json.RawMessage) (tool.Effect, error) {
	e, err := n.Tool.Effect(arguments)
	name := n.Spec().Name
	if err != nil {
		return e, err
	}
	if d := n.guard().Decide(name, e); d.Answer == permission.Ask {
		exact, like := n.guard().Propose(name, e)
		if like == nil {
			like = exact
		}
		n.refused.add(Refusal{e.Line, d.Reason, like})
	}
	return e, nil
}

func (r *refusals) add(f Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.calls, func(o Refusal) bool { return o.Line == f.Line }) {
		r.calls = append(r.calls, f)
	}
}

// toolServer is what gives tools beside the built-in ones.
type toolServer struct {
	tools  []tool.Tool
	status []string // a line for each server
	close  func() error
}

// servers are the MCP servers. They are connected beside everything else: what they give
// is there from the first request on that is made after that, in a session that was
// not asked anything yet, and else from the next pass on. So a server that is slow makes
// nobody wait, and what a provider has cached stays.
type servers struct {
	mu    sync.Mutex
	got   toolServer
	ready chan struct{}
}

func (v *servers) list() []tool.Tool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.got.tools)
}

func (v *servers) lines() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.got.status)
}

// end closes the servers that were connected.
func (v *servers) end() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.got.close == nil {
		return nil
	}
	return v.got.close()
}

// connect connects the servers in the background and calls done, with what went wrong.
func (v *servers) connect(ctx context.Context, wg *sync.WaitGroup, cfg mcp.Config, done func([]error)) {
	v.ready = make(chan struct{})
	for name, c := range cfg.Servers {
		if !c.Disabled {
			v.got.status = append(v.got.status, "server "+name+": it is being connected")
		}
	}
	if v.got.status == nil {
		close(v.ready)
		return
	}
	slices.Sort(v.got.status)
	wg.Go(func() {
		defer close(v.ready)
		set, errs := mcp.Connect(ctx, cfg)
		got := toolServer{tools: set.Tools(), close: set.Close}
		for _, s := range set.Servers() {
			line := fmt.Sprintf("server %s: %d tools", s.Name, s.Tools)
			if s.Err != nil {
				line = fmt.Sprintf("server %s: %v", s.Name, s.Err)
			}
			got.status = append(got.status, line)
		}
		v.mu.Lock()
		v.got = got
		v.mu.Unlock()
		done(errs)
	})
}

// Ready returns when every server is connected, or could not be.
func (v *servers) Ready(ctx context.Context) error {
	select {
	case <-v.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// giveTools gives an agent the tools that there are by now: at once where it was asked
// nothing yet, else from the next pass on.
func (s *Session) giveTools(u *used) {
	tools := s.toolsFor(u)
	s.events.Lock()
	same, asked := len(tools) == u.tools, u.asked
	u.tools = len(tools)
	s.events.Unlock()
	var err error
	switch {
	case same:
	case asked:
		err = u.OfferTools(tools)
	default:
		err = u.SetTools(s.base, tools)
	}
	if err != nil && s.base.Err() == nil && !errors.Is(err, agent.ErrClosed) {
		s.warn(err)
	}
}
