package chat

import (
	"context"

	"github.com/clew-dev/clew/internal/agent/builtin"
	"github.com/clew-dev/clew/internal/agent/tool"
)

// builtinNames are the tools of package builtin, also those that the settings turn on.
var builtinNames = []string{"read", "write", "edit", "bash", "grep", "find", "ls", "todo", "recall", "web_fetch", "task", "compact"}

// builtinConfig says which tools of package builtin there are. Those that are about the
// conversation go to the agent in use.
func (h *Host) builtinConfig() builtin.Config {
	set := h.settings().Agent
	c := builtin.Config{Dir: h.cfg.Dir, Environ: h.cfg.Environ, Recall: h.recall, Web: builtin.Web(set.WebFetch)}
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
