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

var (
	todoLists = strings.Fields(`todos plan items task_list todoList tasks`)
	todoTexts = strings.Fields(`content step text title subject description task name`)
	todoIDs   = strings.Fields(`id taskId task_id todoId`)
)

// todoCall takes in a call that makes a list, adds to it or changes it.
func (r *Reader) todoCall(c call, o outcome) {
	switch c.act {
	case actTodoNew:
		t := Todo{Text: clipText(firstMember(c.args, todoTexts)), Status: TodoOpen, Entry: c.entry}
		if t.Text == "" {
			return
		}
		if m := todoMade().FindStringSubmatch(o.text[:min(len(o.text), 300)]); m != nil {
			t.ID = m[1]
		}
		if !r.todoTool {
			r.todos = nil
		}
		r.setTodo(t)
	case actTodoSet:
		t := r.named(idOf(c.args))
		if t == nil {
			return
		}
		if s := jsonx.StringAt(c.args, "status"); s != "" {
			t.Status, t.Entry = statusOf(s), c.entry
		}
		if s := clipText(firstMember(c.args, []string{"subject", "content", "title"})); s != "" {
			t.Text, t.Entry = s, c.entry
		}
	default:
		for _, m := range todoLists {
			if r.todoList(c, jsonx.Get(c.args, m)) {
				return
			}
		}
	}
}

var todoMade = text.Pattern(`#([0-9]{1,9})\b`)

// todoList takes in a list that replaces the one before, or with "merge" changes the items
// it names.
func (r *Reader) todoList(c call, v []byte) bool {
	var list []Todo
	if s, ok := jsonx.String(v); ok { // a list written as text
		if list = checkboxes(s, c.entry); list == nil {
			return false
		}
	} else if !jsonx.IsArray(v) {
		return false
	}
	jsonx.Elements(v, func(e []byte) bool {
		t := Todo{Status: statusOf(jsonx.StringAt(e, "status")), Entry: c.entry, ID: idOf(e)}
		if t.Text = clipText(firstMember(e, todoTexts)); t.Text != "" {
			list = append(list, t)
		}
		return true
	})
	if r.todoTool && jsonx.IsArray(v) && jsonx.Bool(jsonx.Get(c.args, "merge")) {
		for _, t := range list {
			r.setTodo(t)
		}
	} else {
		r.todos, r.todoTool = list, true
	}
	return true
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

var (
	todoDone   = text.Words(`completed done complete cancelled canceled deleted finished`)
	todoActive = text.Words(`in_progress active in-progress doing started inProgress`)
)

func statusOf(s string) TodoStatus {
	switch {
	case todoDone()[s]:
		return TodoDone
	case todoActive()[s]:
		return TodoActive
	}
	return TodoOpen
}

// named returns the item with an id, nil when there is none.
func (r *Reader) named(id string) *Todo {
	for i := range r.todos {
		if r.todos[i].ID == id && id != "" {
			return &r.todos[i]
		}
	}
	return nil
}

func (r *Reader) setTodo(t Todo) {
	if known := r.named(t.ID); known != nil {
		*known = t
		return
	}
	r.todos, r.todoTool = append(r.todos, t), true
}

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
		status := map[string]TodoStatus{" ": TodoOpen, "~": TodoActive}[m[1]]
		list = append(list, Todo{Text: clipText(m[2]), Entry: entry, Status: cmp.Or(status, TodoDone)})
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
	Uses  int    `json:"uses"`
	Entry string `json:"entry,omitempty"` // the latest of them
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

var mentionKinds = map[text.Class]MentionKind{
	text.URL: MentionURL, text.Ref: MentionTicket, text.Hash: MentionCommit,
	text.Ident: MentionName, text.Env: MentionName, text.Flag: MentionName,
}

// mention counts what the user or the agent names in a message: in its text, and
// in the command lines and questions of its calls. Their other arguments are
// mostly content of files.
func (r *Reader) mention(m *message.Message) {
	seen := map[string]bool{}
	see := func(t string) {
		for i := range text.Identifiers(t) {
			kind := mentionKinds[i.Class]
			if kind == "" || seen[i.Text] || len(i.Text) > MaxText {
				continue
			}
			seen[i.Text] = true
			v := r.mentions.touch(i.Text, Mention{Kind: kind, Text: strings.Clone(i.Text)})
			v.Uses++
			v.Entry = r.entry
		}
	}
	for _, b := range m.Content {
		switch b.Type {
		case message.BlockText:
			see(redact.Text(lookAt(b.Text)))
		case message.BlockToolCall:
			for _, name := range []string{"command", "cmd", "query", "pattern", "url"} {
				see(redact.Text(text.Head(jsonx.StringAt(b.Arguments, name), 2000)))
			}
		default:
		}
	}
}

// pickMentions returns the mentions worth keeping, the last named last: names
// only when they were named more than once, and the most used where there are
// too many.
func pickMentions(all []Mention, omitted *int) []Mention {
	kept := slices.DeleteFunc(all, func(m Mention) bool { return m.Kind == MentionName && m.Uses < 2 })
	n := len(kept)
	if n <= MaxMentions {
		return kept
	}
	byUse := slices.SortedFunc(slices.Values(kept), func(a, b Mention) int { return b.Uses - a.Uses })
	least := byUse[MaxMentions-1].Uses
	kept = slices.DeleteFunc(kept, func(m Mention) bool { return m.Uses < least })
	*omitted += n - len(kept)
	return limit(kept, MaxMentions, omitted, func(m Mention) bool { return m.Uses == least })
}
