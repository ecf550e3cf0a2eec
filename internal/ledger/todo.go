package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
)

// Todo is an item of the agent's todo list.
type Todo struct {
	ID     string     `json:"id,omitempty"` // where the tool gives items names
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

var (
	todoLists = strings.Fields(`todos plan items task_list todoList tasks`)
	todoTexts = strings.Fields(`content step text title subject description task name`)
	todoIDs   = strings.Fields(`id taskId task_id todoId`)
	todoMade  = text.Pattern(`#([0-9]{1,9})\b`)
	todoState = index(map[TodoStatus]string{
		TodoDone:   `completed done complete cancelled canceled deleted finished`,
		TodoActive: `in_progress active in-progress doing started inProgress`,
	})
	box = text.Pattern(`^\s*(?:[-*+]|[0-9]{1,3}[.)])\s+\[([ xX~])\]\s+(\S.*)$`)
)

// todoOf reads an item of a list, or what a call says of one.
func todoOf(v []byte, entry string) Todo {
	id := text.Clip(text.Line(firstMember(v, todoIDs)), 80)
	for i := 0; id == "" && i < len(todoIDs); i++ {
		if n := string(jsonx.Get(v, todoIDs[i])); text.AllDigits(n) && len(n) < 20 {
			id = n
		}
	}
	status := cmp.Or(todoState()[jsonx.StringAt(v, "status")], TodoOpen)
	return Todo{ID: id, Text: clipText(firstMember(v, todoTexts)), Status: status, Entry: entry}
}

// todoCall takes in a call that makes a list, adds to it or changes it.
func (r *Reader) todoCall(c call, o outcome) {
	t := todoOf(c.args, c.entry)
	if c.act == actTodoNew {
		if m := todoMade().FindStringSubmatch(beginning(o.text)); m != nil {
			t.ID = m[1]
		}
		if !r.todoTool {
			r.todos = nil
		}
		if t.Text != "" {
			r.setTodo(t)
		}
		return
	}
	if c.act == actTodoSet {
		k := slices.IndexFunc(r.todos, func(known Todo) bool { return known.ID == t.ID && t.ID != "" })
		if k >= 0 {
			if jsonx.StringAt(c.args, "status") == "" {
				t.Status = r.todos[k].Status
			}
			t.Text = cmp.Or(clipText(firstMember(c.args, []string{"subject", "content", "title"})), r.todos[k].Text)
			r.todos[k] = t
		}
		return
	}
	for _, m := range todoLists {
		v := jsonx.Get(c.args, m)
		s, isText := jsonx.String(v) // a list written as text
		list := checkboxes(s, c.entry)
		if isText && list != nil || jsonx.IsArray(v) {
			jsonx.Elements(v, func(e []byte) bool {
				if t := todoOf(e, c.entry); t.Text != "" {
					list = append(list, t)
				}
				return true
			})
			if r.todoTool && jsonx.IsArray(v) && jsonx.Bool(jsonx.Get(c.args, "merge")) {
				for _, t := range list {
					r.setTodo(t)
				}
				return
			}
			r.todos, r.todoTool = list, true
			return
		}
	}
}

// setTodo puts an item in the place of the one with its id, or at the end.
func (r *Reader) setTodo(t Todo) {
	r.todoTool = true
	if k := slices.IndexFunc(r.todos, func(known Todo) bool { return known.ID == t.ID && t.ID != "" }); k >= 0 {
		r.todos[k] = t
		return
	}
	r.todos = append(r.todos, t)
}

func clipText(s string) string { return text.Clip(redact.Text(text.Line(s)), maxText) }

// allDone reports whether there are todos and all of them are done.
func allDone(todos []Todo) bool {
	return len(todos) > 0 && !slices.ContainsFunc(todos, func(t Todo) bool { return t.Status != TodoDone })
}

// checkboxes reads a list with boxes, at least two.
func checkboxes(s, entry string) []Todo {
	if !strings.Contains(s, "[ ]") && !strings.Contains(s, "[x]") {
		return nil
	}
	var list []Todo
	for line := range strings.SplitSeq(text.OutsideFences(s), "\n") {
		if m := box().FindStringSubmatch(line); m != nil {
			status := map[string]TodoStatus{" ": TodoOpen, "~": TodoActive}[m[1]]
			list = append(list, Todo{Text: clipText(m[2]), Entry: entry, Status: cmp.Or(status, TodoDone)})
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list
}
