package chat

import (
	"context"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/agent/mcp"
)

// connectServers connects the MCP servers of the settings.
func (s *Session) connectServers(ctx context.Context) (toolServer, []error) {
	set, warnings := mcp.Connect(ctx, mcp.Config{
		Servers: s.settings().MCPServers, Dir: s.cfg.Dir, Environ: s.cfg.Environ, Version: s.cfg.Version,
	})
	got := toolServer{tools: set.Tools(), close: set.Close}
	for _, v := range set.Servers() {
		line := fmt.Sprintf("server %s: %d tools", v.Name, v.Tools)
		if v.Err != nil {
			line = fmt.Sprintf("server %s: %v", v.Name, v.Err)
		}
		got.status = append(got.status, line)
	}
	return got, warnings
}

// connecting are the lines of the servers that have not answered yet.
func (s *Session) connecting() (lines []string) {
	for name, v := range s.settings().MCPServers {
		if !v.Disabled {
			lines = append(lines, "server "+name+": it is being connected")
		}
	}
	slices.Sort(lines)
	return lines
}
