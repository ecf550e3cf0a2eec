package recall

import (
	"encoding/json"
	"strings"

	"github.com/clew-dev/clew/message"
)

// ToolName is what an agent calls the tool.
const ToolName = "recall"

// Tool describes the tool with which an agent recalls what left its context.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parameters"` // of the arguments, as JSON Schema
}

// AgentTool returns the tool. Session.RecallTool of package clew answers its calls.
func AgentTool() Tool {
	return Tool{
		Name: ToolName,
		Description: "Read again what is no longer in the conversation, word for word. " +
			"Summaries and notes name what they stand for by handles such as [#1a2b3c4d]: give one as id. " +
			"When there is no handle, give words as query, such as a name, a path or an error; \"quoted words\" must stand together. " +
			"Long results come in pages: the first line says which offset comes next.",
		Schema: json.RawMessage(`{
  "type": "object",
  "properties": {
    "id": {"type": "string", "description": "Handle of one entry (1a2b3c4d), or of a range along the conversation (1a2b3c4d..5e6f7081)."},
    "query": {"type": "string", "description": "Words to search for, best match first."},
    "offset": {"type": "integer", "minimum": 0, "description": "Where to go on: characters for id, hits for query."},
    "limit": {"type": "integer", "minimum": 1, "description": "At most so many characters (default 8000) or hits (default 10)."},
    "raw": {"type": "boolean", "description": "With id: the stored JSON of the message instead of its text."},
    "role": {"type": "string", "enum": ["user", "assistant", "toolResult", "bashExecution", "custom", "system", "branchSummary", "compactionSummary"], "description": "With query: only messages of this role."},
    "tool": {"type": "string", "description": "With query: only calls and results of this tool."},
    "path": {"type": "string", "description": "With query: only calls and results about paths that begin so."},
    "left": {"type": "boolean", "description": "With query: only what left the context."},
    "all": {"type": "boolean", "description": "With query: every branch, those that were left too. What was said there may not hold any more."}
  }
}`),
	}
}

// resultMark begins every answer of the tool. What follows on the first line names the
// entry, so that an excerpt of an answer still says where the words come from.
const resultMark = "[recalled "

// ResultLine returns the first line of an answer of the tool.
func ResultLine(what string) string { return resultMark + what + "]\n" }

// IsResult reports whether a message is an answer of the tool: words that stand in
// the session already, and that a search is not to find twice.
func IsResult(m *message.Message) bool {
	return m.Role == message.RoleToolResult && IsTool(m.ToolName) && strings.HasPrefix(m.Text(), resultMark)
}

// IsTool reports whether the tool has this name. Under whatever name a server offers
// it, it ends with ToolName.
func IsTool(name string) bool { return strings.HasSuffix(strings.ToLower(name), ToolName) }
