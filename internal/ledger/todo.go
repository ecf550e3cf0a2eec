package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
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

// Mention is something that the user or the agent named and that is of use only
// when it is spelled exactly so.
type Mention struct {
	Kind MentionKind `json:"kind"`
	Text string      `json:"text"`
	// Uses counts the messages of the user and the agent that name it.
	Uses int `json:"uses"`
	// Entry is the latest of them.
	Entry string `json:"entry,omitempty"`
}

// MentionKind says what a mention names.
type MentionKind string

// The kinds of mentions.
const (
	MentionURL    MentionKind = "url"
	MentionTicket MentionKind = "ticket" // #123, ABC-123
	MentionCommit MentionKind = "commit"
	MentionName   MentionKind = "name" // of a function, a type, a variable, a flag
)

// mention counts what the user or the agent names in a message: in its text, and
// in the command lines and questions of its calls. Their other arguments are
// mostly content of files.
func (r *reader) mention(m *message.Message, id string) {
	seen := map[string]bool{}
	see := func(t string) {
		for i := range text.Identifiers(t) {
			kind := mentionKind(i.Class)
			if kind == "" || seen[i.Text] || len(i.Text) > MaxText {
				continue
			}
			seen[i.Text] = true
			v := r.mentions.touch(i.Text, Mention{Kind: kind, Text: strings.Clone(i.Text)})
			v.Uses++
			v.Entry = id
		}
	}
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockText:
			see(redact.Text(lookAt(b.Text)))
		case message.BlockToolCall:
			for _, name := range []string{"command", "cmd", "query", "pattern", "url"} {
				if s := member(b.Arguments, name); s != "" {
					see(redact.Text(text.Head(s, 2000)))
				}
			}
		default:
		}
	}
}

func mentionKind(c text.Class) MentionKind {
	switch c {
	case text.URL:
		return MentionURL
	case text.Ref:
		return MentionTicket
	case text.Hash:
		return MentionCommit
	case text.Ident, text.Env, text.Flag:
		return MentionName
	default:
		return ""
	}
}

// lookAt bounds how much of one text is looked at.
func lookAt(s string) string {
	if len(s) <= 2*look {
		return s
	}
	return text.Head(s, look) + "\n" + text.Tail(s, look)
}

// pickMentions returns the mentions worth keeping, the last named last: names
// only when they were named more than once, and the most used where there are
// too many.
func pickMentions(all []Mention, omitted *int) []Mention {
	kept := slices.DeleteFunc(all, func(m Mention) bool { return m.Kind == MentionName && m.Uses < 2 })
	n := len(kept) - MaxMentions
	if n <= 0 {
		return kept
	}
	*omitted += n
	byUse := make([]int, len(kept))
	for i := range byUse {
		byUse[i] = i
	}
	slices.SortStableFunc(byUse, func(a, b int) int {
		if c := cmp.Compare(kept[b].Uses, kept[a].Uses); c != 0 {
			return c
		}
		return cmp.Compare(b, a)
	})
	byUse = byUse[:MaxMentions]
	slices.Sort(byUse)
	out := make([]Mention, 0, MaxMentions)
	for _, i := range byUse {
		out = append(out, kept[i])
	}
	return out
}
