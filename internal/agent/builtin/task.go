package builtin

import (
	"cmp"
	"context"

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
			Parameters: parameters[taskCall](),
		},
		example: `{"description": "find where locks are taken", "prompt": "..."}`,
		parse: func(a *arguments) taskCall {
			c := read[taskCall](a)
			if c.Prompt == "" {
				a.bad("prompt", "the argument is empty")
			}
			return c
		},
		effect: func(c taskCall) (tool.Effect, error) {
			return tool.Effect{Kind: tool.Read, Line: "task: " + cmp.Or(c.Description, c.Prompt)}, nil
		},
		run: func(ctx context.Context, args taskCall, c tool.Call) (tool.Result, error) {
			return do(ctx, c, args.Prompt)
		},
	}
}

type taskCall struct {
	Description string `arg:"description" about:"What it is, in three to six words, for the user."`
	Prompt      string `arg:"prompt!" about:"All that must be known to do it, and what the answer should say."`
}

// compactTool lets the model ask for a pass.
func compactTool(soon func(instructions string) error) tool.Tool {
	return &call[compactCall]{
		spec: model.Tool{
			Name: "compact",
			Description: "Have the conversation so far summarized before your next answer, when a piece of work is done and its details are not needed any more. " +
				"It is refused while there is much room left.",
			Parameters: parameters[compactCall](),
		},
		effect: func(compactCall) (tool.Effect, error) {
			return tool.Effect{Kind: tool.Read, Line: "compact"}, nil
		},
		run: func(_ context.Context, c compactCall, _ tool.Call) (tool.Result, error) {
			return tool.Text("The conversation is summarized before your next answer."), soon(c.Instructions)
		},
	}
}

type compactCall struct {
	Instructions string `arg:"instructions" about:"What the summary should pay attention to."`
}
