package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

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

// servers are the MCP servers. They are connected beside everything else: what they give
// is there from the first request on that is made after that, in a session that was
// not asked anything yet, and else from the next pass on. So a server that is slow makes
// nobody wait, and what a provider has cached stays.
type servers struct {
	names   []string
	reached atomic.Pointer[mcp.Set] // nil while they are being connected
	ready   chan struct{}
}

func (v *servers) list() []tool.Tool {
	if set := v.reached.Load(); set != nil {
		return set.Tools()
	}
	return nil
}

// lines says how it stands with each server.
func (v *servers) lines() (out []string) {
	set := v.reached.Load()
	if set == nil {
		for _, name := range v.names {
			out = append(out, "server "+name+": it is being connected")
		}
		return out
	}
	for _, s := range set.Servers() {
		if s.Err != nil {
			out = append(out, fmt.Sprintf("server %s: %v", s.Name, s.Err))
		} else {
			out = append(out, fmt.Sprintf("server %s: %d tools", s.Name, s.Tools))
		}
	}
	return out
}

// end closes the servers that were connected.
func (v *servers) end() error {
	if set := v.reached.Load(); set != nil {
		return set.Close()
	}
	return nil
}

// connect connects the servers in the background and calls done, with what went wrong.
func (v *servers) connect(ctx context.Context, wg *sync.WaitGroup, cfg mcp.Config, done func([]error)) {
	v.ready = make(chan struct{})
	for name, c := range cfg.Servers {
		if !c.Disabled {
			v.names = append(v.names, name)
		}
	}
	if v.names == nil {
		close(v.ready)
		return
	}
	slices.Sort(v.names)
	wg.Go(func() {
		defer close(v.ready)
		set, errs := mcp.Connect(ctx, cfg)
		v.reached.Store(set)
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
