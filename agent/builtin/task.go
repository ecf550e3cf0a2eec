package builtin

import (
	"context"
	"encoding/json"

	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/model"
)

// taskTool has somebody else do a task. What that does is asked call by call, so the task
// itself is not.
func taskTool(do func(ctx context.Context, c tool.Call, prompt string) (tool.Result, error)) tool.Tool {
	return &one{
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
		effect: func(a arguments) (tool.Effect, error) {
			line, prompt, err := parseTask(a)
			if line == "" {
				line = prompt
			}
			return tool.Effect{Kind: tool.Read, Line: "task: " + line}, err
		},
		run: func(ctx context.Context, a arguments, c tool.Call) (tool.Result, error) {
			_, prompt, err := parseTask(a)
			if err != nil {
				return tool.Result{}, err
			}
			return do(ctx, c, prompt)
		},
	}
}

func parseTask(a arguments) (line, prompt string, err error) {
	if line, _, err = a.text("description"); err != nil {
		return "", "", err
	}
	if prompt, err = a.need("prompt"); err == nil && prompt == "" {
		err = a.bad("prompt", "the argument is empty")
	}
	return line, prompt, err
}

// compactTool lets the model ask for a pass.
func compactTool(soon func(instructions string) error) tool.Tool {
	return &one{
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
		effect: func(a arguments) (tool.Effect, error) {
			_, _, err := a.text("instructions")
			return tool.Effect{Kind: tool.Read, Line: "compact"}, err
		},
		run: func(_ context.Context, a arguments, _ tool.Call) (tool.Result, error) {
			instructions, _, err := a.text("instructions")
			if err == nil {
				err = soon(instructions)
			}
			return tool.Text("The conversation is summarized before your next answer."), err
		},
	}
}
