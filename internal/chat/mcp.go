package chat

import (
	"context"
)

// connectServers connects the MCP servers of the settings.
func (s *Session) connectServers(context.Context) (toolServer, []error) {
	return toolServer{}, nil
}
