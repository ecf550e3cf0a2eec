package ledger

import (
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
)

// Todo is an item of the agent's todo list.
type Todo struct {
	// ID is what the tool calls the item, where it gives items names.
	ID     string     `json:"id,omitempty"`
	Text   string     `json:"text"`
	Status TodoStatus `json:"status"`
	Entry  string     `json:"entry,omitempty"`
}

// TodoStatus says how far a todo is.
type TodoStatus string

// The todo statuses.
const (
	TodoOpen   TodoStatus = "open"
	TodoActive TodoStatus = "active"
	TodoDone   TodoStatus = "done"
)

// The members of a todo tool's arguments.
var (
	todoLists = []string{"todos", "plan", "items", "task_list", "todoList", "tasks"}
	todoTexts = []string{"content", "step", "text", "title", "subject", "description", "task", "name"}
	todoIDs   = []string{"id", "taskId", "task_id", "todoId"}
)

// todo takes in a call that replaces the list, or with "merge" changes the items
// it names.
func (r *reader) todo(c call) {
	for _, m := range todoLists {
		v := jsonx.Get(c.args, m)
		if s, ok := jsonx.String(v); ok { // a list written as text
			if boxes := checkboxes(s, c.entry); boxes != nil {
				r.todos, r.todoTool = boxes, true
				return
			}
		}
		if !jsonx.IsArray(v) {
			continue
		}
		var list []Todo
		jsonx.Elements(v, func(e []byte) bool {
			t := Todo{Status: statusOf(member(e, "status")), Entry: c.entry, ID: idOf(e)}
			if t.Text = clipText(firstMember(e, todoTexts)); t.Text != "" {
				list = append(list, t)
			}
			return true
		})
		if jsonx.Bool(jsonx.Get(c.args, "merge")) && r.todoTool {
			for _, t := range list {
				r.setTodo(t)
			}
			return
		}
		r.todos, r.todoTool = list, true
		return
	}
}

func clipText(s string) string { return text.Clip(redact.Text(text.Line(s)), MaxText) }

// idOf reads the name of an item, which may be a number.
func idOf(item []byte) string {
	for _, m := range todoIDs {
		v := jsonx.Get(item, m)
		if s, ok := jsonx.String(v); ok && s != "" {
			return text.Clip(text.Line(s), 80)
		}
		if s := string(v); allDigits(s) && len(s) < 20 {
			return s
		}
	}
	return ""
}

func statusOf(s string) TodoStatus {
	switch s {
	case "completed", "done", "complete", "cancelled", "canceled", "deleted", "finished":
		return TodoDone
	case "in_progress", "active", "in-progress", "doing", "started", "inProgress":
		return TodoActive
	}
	return TodoOpen
}

// setTodo changes the item with the same id, or adds it.
func (r *reader) setTodo(t Todo) {
	for i := range r.todos {
		if r.todos[i].ID == t.ID && t.ID != "" {
			r.todos[i] = t
			return
		}
	}
	r.todos, r.todoTool = append(r.todos, t), true
}

// todoMade matches what tools say of a todo they have made.
var todoMade = text.Pattern(`#([0-9]{1,9})\b`)

// newTodo takes in a call that adds an item. The result names it.
func (r *reader) newTodo(c call, out string) {
	t := Todo{Text: clipText(firstMember(c.args, todoTexts)), Status: TodoOpen, Entry: c.entry}
	if t.Text == "" {
		return
	}
	if m := todoMade().FindStringSubmatch(out[:min(len(out), 300)]); m != nil {
		t.ID = m[1]
	}
	if !r.todoTool {
		r.todos = nil
	}
	r.setTodo(t)
}

// changeTodo takes in a call that changes one item.
func (r *reader) changeTodo(c call) {
	id := idOf(c.args)
	for i := range r.todos {
		t := &r.todos[i]
		if t.ID != id || id == "" {
			continue
		}
		if s := member(c.args, "status"); s != "" {
			t.Status, t.Entry = statusOf(s), c.entry
		}
		if s := clipText(firstMember(c.args, []string{"subject", "content", "title"})); s != "" {
			t.Text, t.Entry = s, c.entry
		}
		return
	}
}

// box matches an item of a list with boxes to tick.
var box = text.Pattern(`^\s*(?:[-*+]|[0-9]{1,3}[.)])\s+\[([ xX~])\]\s+(\S.*)$`)

// checkboxes reads a list with boxes, at least two.
func checkboxes(s, entry string) []Todo {
	if !strings.Contains(s, "[ ]") && !strings.Contains(s, "[x]") {
		return nil
	}
	var list []Todo
	for line := range strings.SplitSeq(text.OutsideFences(s), "\n") {
		m := box().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		t := Todo{Text: clipText(m[2]), Entry: entry, Status: TodoOpen}
		switch m[1] {
		case "x", "X":
			t.Status = TodoDone
		case "~":
			t.Status = TodoActive
		}
		list = append(list, t)
	}
	if len(list) < 2 {
		return nil
	}
	return list
}
