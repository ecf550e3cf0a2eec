package transcript

import (
	"fmt"
	"strings"
)

// Format names a format of session files.
type Format string

// The formats. Those that can also be written are told by [Format.Writable].
const (
	Pi              Format = "pi"               // JSON lines, versions 1 to 3
	ClaudeCode      Format = "claude-code"      // JSON lines of Claude Code
	Codex           Format = "codex"            // rollouts of Codex: JSON lines
	GeminiCLI       Format = "gemini-cli"       // recorded sessions and checkpoints of Gemini CLI
	CopilotCLI      Format = "copilot-cli"      // event logs of GitHub Copilot CLI: JSON lines
	MiniSWEAgent    Format = "mini-swe-agent"   // trajectories: one JSON object
	OpenHands       Format = "openhands"        // events: JSON, or the lines of output.jsonl
	SWEAgent        Format = "swe-agent"        // trajectories: one JSON object
	OpenCode        Format = "opencode"         // exports: one JSON object
	OpenAIChat      Format = "openai-chat"      // messages of Chat Completions
	OpenAIResponses Format = "openai-responses" // input items of the Responses API
	Anthropic       Format = "anthropic"        // messages of the Messages API
)

// Formats returns all formats in a fixed order.
func Formats() []Format {
	return []Format{
		Pi, ClaudeCode, Codex, GeminiCLI, CopilotCLI, MiniSWEAgent, OpenHands, SWEAgent, OpenCode,
		OpenAIChat, OpenAIResponses, Anthropic,
	}
}

// plain reports whether a format is what goes to an API, which many programs keep.
func (f Format) plain() bool { return f == OpenAIChat || f == OpenAIResponses || f == Anthropic }

// ParseFormat returns the format of a name. The error of an unknown name lists
// those that exist.
func ParseFormat(name string) (Format, error) {
	for _, f := range Formats() {
		if string(f) == name {
			return f, nil
		}
	}
	return "", fmt.Errorf("no format is called %q; there are %s", name, formatList(Formats()))
}

func formatList(list []Format) string {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = string(f)
	}
	return strings.Join(names, ", ")
}
