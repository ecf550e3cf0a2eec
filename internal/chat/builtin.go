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
func (s *Session) builtinConfig() builtin.Config {
	set := s.settings().Agent
	c := builtin.Config{Dir: s.cfg.Dir, Environ: s.cfg.Environ, Recall: s.recall, Web: builtin.Web(set.WebFetch)}
	if set.TaskRequests > 0 {
		c.Task = func(ctx context.Context, call tool.Call, prompt string) (tool.Result, error) {
			return s.Agent().Task(ctx, call, prompt)
		}
	}
	if set.CompactTool {
		c.Compact = func(instructions string) error { return s.Agent().CompactSoon(instructions) }
	}
	return c
}
