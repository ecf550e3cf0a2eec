package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/clew-dev/clew/agent/tool"
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
	return &one{
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
		effect: func(a arguments) (tool.Effect, error) {
			todos, err := parseTodos(a)
			return tool.Effect{Kind: tool.Read, Line: "todo: " + todoLine(todos)}, err
		},
		run: func(_ context.Context, a arguments, _ tool.Call) (tool.Result, error) {
			todos, err := parseTodos(a)
			if err != nil {
				return tool.Result{}, err
			}
			r := tool.Text("The list is kept: " + todoLine(todos) + ".")
			r.Details = tool.Details{Todos: todos}.JSON()
			return r, nil
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

func parseTodos(a arguments) (todos []tool.Todo, err error) {
	list := jsonx.Get(a.object, "todos")
	if s, ok := jsonx.String(list); ok { // a list written as text
		list = []byte(strings.TrimSpace(s))
		if end, err := jsonx.Scan(list, 0); err != nil || end != len(list) {
			list = nil
		}
	}
	if !jsonx.IsArray(list) {
		return nil, a.bad("todos", "the argument is no list")
	}
	todos = []tool.Todo{}
	jsonx.Elements(list, func(item []byte) bool {
		t := tool.Todo{Content: text.OneLine(jsonx.StringAt(item, "content"), maxTodo), Status: tool.TodoStatus(jsonx.StringAt(item, "status"))}
		switch {
		case t.Content == "":
			err = a.bad("todos", fmt.Sprintf("item %d has no content", len(todos)+1))
		case t.Status == "":
			t.Status = tool.TodoPending
		case t.Status != tool.TodoPending && t.Status != tool.TodoInProgress && t.Status != tool.TodoCompleted:
			err = a.bad("todos", fmt.Sprintf("item %d has the status %q; there are pending, in_progress and completed", len(todos)+1, oneLine(string(t.Status))))
		case len(todos) == maxTodos:
			err = a.bad("todos", fmt.Sprintf("the list has more than %d items", maxTodos))
		}
		todos = append(todos, t)
		return err == nil
	})
	return todos, err
}
