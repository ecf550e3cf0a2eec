package builtin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/model"
)

const (
	maxTodos = 50
	maxTodo  = 200 // characters
)

// todoTool keeps a list in the conversation: the latest call is what counts, for the
// screen as for summaries.
func (s *Set) todoTool() tool.Tool {
	return &call[[]tool.Todo]{
		spec: model.Tool{
			Name: "todo",
			Description: "Keep a list of what is to be done, for work of three steps or more; the user sees it. Each call gives the whole list. " +
				"One item is in_progress at a time; mark an item completed as soon as it is done.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "todos": {
      "type": "array",
      "maxItems": 50,
      "items": {
        "type": "object",
        "properties": {
          "content": {"type": "string", "description": "What is to be done, in a few words."},
          "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]}
        },
        "required": ["content", "status"]
      }
    }
  },
  "required": ["todos"]
}`),
		},
		example: `{"todos": [{"content": "find the cause", "status": "in_progress"}, {"content": "mend it", "status": "pending"}]}`,
		parse:   parseTodos,
		effect: func(todos []tool.Todo) (tool.Effect, error) {
			return tool.Effect{Kind: tool.Read, Line: "todo: " + todoLine(todos)}, nil
		},
		run: func(_ context.Context, todos []tool.Todo, _ tool.Call) (tool.Result, error) {
			return tool.Text("The list is kept: " + todoLine(todos) + ".").With(tool.Details{Todos: todos}), nil
		},
	}
}

// todoLine says how far the list is.
func todoLine(todos []tool.Todo) string {
	done, now := 0, ""
	for _, t := range todos {
		switch t.Status {
		case tool.TodoCompleted:
			done++
		case tool.TodoInProgress:
			now = ", now: " + t.Content
		default:
		}
	}
	return fmt.Sprintf("%d of %d done%s", done, len(todos), now)
}

func parseTodos(a *arguments) []tool.Todo {
	if jsonx.IsNull(jsonx.Get(a.object, "todos")) {
		a.bad("todos", "the argument is no list")
	}
	todos := []tool.Todo{}
	for i, item := range a.list("todos") {
		t := tool.Todo{Content: text.OneLine(jsonx.StringAt(item, "content"), maxTodo), Status: tool.TodoStatus(jsonx.StringAt(item, "status"))}
		switch {
		case t.Content == "":
			a.bad("todos", fmt.Sprintf("item %d has no content", i+1))
		case t.Status == "":
			t.Status = tool.TodoPending
		case t.Status != tool.TodoPending && t.Status != tool.TodoInProgress && t.Status != tool.TodoCompleted:
			a.bad("todos", fmt.Sprintf("item %d has the status %q; there are pending, in_progress and completed", i+1, oneLine(string(t.Status))))
		case i == maxTodos:
			a.bad("todos", fmt.Sprintf("the list has more than %d items", maxTodos))
		}
		todos = append(todos, t)
	}
	return todos
}
