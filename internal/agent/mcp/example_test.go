package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/clew-dev/clew/internal/agent/mcp"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/settings"
)

func ExampleConnect() {
	server := newTestServer(nil)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer web.Close()

	ctx := context.Background()
	set, warnings := mcp.Connect(ctx, mcp.Config{Servers: map[string]settings.MCPServer{
		"test": {URL: web.URL, Tools: []string{"echo"}},
		"far":  {URL: "far away"},
	}})
	defer set.Close()
	for _, w := range warnings {
		fmt.Println(w)
	}
	for _, t := range set.Tools() {
		result, err := t.Run(ctx, tool.Call{Arguments: json.RawMessage(`{"zeta":1}`)})
		fmt.Println(t.Spec().Name, result.Content[0].Text, err)
	}
	// Output:
	// MCP server far gives no tools: url must be like https://example.com/mcp, and is "far away"; mend mcpServers.far in the settings, or set its enabled to false
	// test__echo {"zeta":1} <nil>
}
