package builtin

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/model"
)

// taskTool has somebody else do a task. What that does is asked call by call, so the task
// itself is not.
func taskTool(do func(ctx context.Context, c tool.Call, prompt string) (tool.Result, error)) tool.Tool {
	return &call[taskCall]{
		spec: model.Tool{
			Name: "task",
			Description: "Have a task done in a context of its own, by an agent with the same tools that knows nothing of this conversation; " +
				"you get its last answer. For searches through many files and for work that can be described in full. Several tasks of one answer are done at the same time.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "description": {"type": "string", "description": "What it is, in three to six words, for the user."},
    "prompt": {"type": "string", "description": "All that must be known to do it, and what the answer should say."}
  },
  "required": ["prompt"]
}`),
		},
		example: `{"description": "find where locks are taken", "prompt": "..."}`,
		parse: func(a *arguments) taskCall {
			c := taskCall{a.text("description"), a.need("prompt")}
			if c.prompt == "" {
				a.bad("prompt", "the argument is empty")
			}
			return c
		},
		effect: func(c taskCall) (tool.Effect, error) {
			return tool.Effect{Kind: tool.Read, Line: "task: " + cmp.Or(c.line, c.prompt)}, nil
		},
		run: func(ctx context.Context, args taskCall, c tool.Call) (tool.Result, error) {
			return do(ctx, c, args.prompt)
		},
	}
}

type taskCall struct{ line, prompt string }

// compactTool lets the model ask for a pass.
func compactTool(soon func(instructions string) error) tool.Tool {
	return &call[string]{
		spec: model.Tool{
			Name: "compact",
			Description: "Have the conversation so far summarized before your next answer, when a piece of work is done and its details are not needed any more. " +
				"It is refused while there is much room left.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "instructions": {"type": "string", "description": "What the summary should pay attention to."}
  }
}`),
		},
		parse: func(a *arguments) string { return a.text("instructions") },
		effect: func(string) (tool.Effect, error) {
			return tool.Effect{Kind: tool.Read, Line: "compact"}, nil
		},
		run: func(_ context.Context, instructions string, _ tool.Call) (tool.Result, error) {
			return tool.Text("The conversation is summarized before your next answer."), soon(instructions)
		},
	}
}
