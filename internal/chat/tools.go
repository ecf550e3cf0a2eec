package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/builtin"
	"github.com/clew-dev/clew/internal/agent/mcp"
	"github.com/clew-dev/clew/internal/agent/tool"
)

// builtinNames are the tools of package builtin, also those that the settings turn on.
var builtinNames = []string{"read", "write", "edit", "bash", "grep", "find", "ls", "todo", "recall", "web_fetch", "task", "compact"}

// builtinConfig says which tools of package builtin there are. Those that are about the
// conversation go to the agent in use.
func (h *Host) builtinConfig() builtin.Config {
	set := h.settings().Agent
	c := builtin.Config{Dir: h.cfg.Dir, Environ: h.cfg.Environ, Web: builtin.Web(set.WebFetch)}
	c.Recall = func(ctx context.Context, arguments json.RawMessage) (string, error) {
		return h.Agent().Session().RecallTool(ctx, arguments)
	}
	if set.TaskRequests > 0 {
		c.Task = func(ctx context.Context, call tool.Call, prompt string) (tool.Result, error) {
			return h.Agent().Task(ctx, call, prompt)
		}
	}
	if set.CompactTool {
		c.Compact = func(instructions string) error { return h.Agent().CompactSoon(instructions) }
	}
	return c
}

// shellSeconds is how long a command of the user's may run.
const shellSeconds = 3600

// shell runs a command for the user, as the tool bash does.
func (h *Host) shell(ctx context.Context, command string, output func(string)) (string, int, error) {
	arguments, err := json.Marshal(map[string]any{"command": command, "timeout": shellSeconds})
	if err != nil {
		return "", 0, err
	}
	r, err := h.builtinTool("bash").Run(ctx, tool.Call{Arguments: arguments, Output: output})
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

// servers are the MCP servers. They are connected beside everything else: what they give
// is there from the first request on that is made after that, in a session that was
// not asked anything yet, and else from the next pass on. So a server that is slow makes
// nobody wait, and what a provider has cached stays.
type servers struct {
	names   []string
	reached atomic.Pointer[mcp.Set] // nil while they are being connected
	ready   chan struct{}
}

// serverLines says how it stands with each server.
func (h *Host) serverLines() (out []string) {
	set := h.reached.Load()
	if set == nil {
		for _, name := range h.names {
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

// connect connects the servers in the background.
func (h *Host) connect() {
	cfg := mcp.Config{Dir: h.cfg.Dir, Environ: h.cfg.Environ, Version: h.cfg.Version}
	if !h.cfg.NoTools {
		cfg.Servers = h.settings().MCPServers
	}
	h.ready = make(chan struct{})
	for name, c := range cfg.Servers {
		if !c.Disabled {
			h.names = append(h.names, name)
		}
	}
	if h.names == nil {
		close(h.ready)
		return
	}
	slices.Sort(h.names)
	h.wg.Go(func() {
		defer close(h.ready)
		set, errs := mcp.Connect(h.base, cfg)
		h.reached.Store(set)
		for _, err := range errs {
			h.warn(err)
		}
		h.giveTools(h.use.Load())
	})
}

// Ready returns when every server is connected, or could not be.
func (h *Host) Ready(ctx context.Context) error {
	select {
	case <-h.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// giveTools gives an agent the tools that there are by now, if servers have brought more.
func (h *Host) giveTools(u *used) {
	tools := h.tools()
	if u.tools.Swap(int64(len(tools))) == int64(len(tools)) {
		return
	}
	if err := u.OfferTools(h.base, tools); err != nil && h.base.Err() == nil && !errors.Is(err, agent.ErrClosed) {
		h.warn(err)
	}
}
