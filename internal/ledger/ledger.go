// Package ledger reads facts from a conversation: which files were read,
// created, modified and deleted, which commands ran and how they ended, which
// checks fail, what the user said, which todos are open.
//
// Everything is computed by code from tool calls and their results, never from
// what an answer claims. A call that failed changes nothing, a file name in
// prose is no evidence.
//
//	l := ledger.Read(cx.Items, ledger.Options{Cwd: header.Cwd})
//	fmt.Println(l.Paths(ledger.StateModified))
//	details, _ := json.Marshal(l) // stored with a compaction, merged by the next Read
//
// A ledger is cumulative: Read merges what earlier compactions and branch
// summaries among the items stored in their details, or, where they stored
// nothing, pi's lists of files in their text.
package ledger

import (
	"maps"
	"slices"
	"time"
)

// Ledger holds the facts of a range of messages. Its JSON is stable: the same
// messages give the same bytes. Every list is bounded and keeps the order of what it holds.
type Ledger struct {
	Files []File `json:"files,omitempty"` // that tool calls touched
	// Weak are files that simple shell commands touched or printed. A path may be in both lists. A directory ends with "/".
	Weak     []File        `json:"weak,omitempty"`
	Commands []Command     `json:"commands,omitempty"` // each once, where it ran last
	Commits  []Commit      `json:"commits,omitempty"`  // that commands made and that are still there
	Errors   []Failure     `json:"errors,omitempty"`   // after which nothing of the kind succeeded
	Users    []UserMessage `json:"users,omitempty"`    // that the user typed
	// Todos is the list as the latest todo tool call left it; where no tool keeps
	// one, the latest list with boxes to tick that the agent wrote.
	Todos     []Todo      `json:"todos,omitempty"`
	Rules     []Statement `json:"rules,omitempty"`     // the user's sentences that bind later work
	Decisions []Statement `json:"decisions,omitempty"` // how something was decided, or why
	// Checkpoints are the messages at which a task seems to have ended.
	Checkpoints []Checkpoint   `json:"checkpoints,omitempty"`
	Omitted     map[string]int `json:"omitted,omitempty"` // what the limits left out of each list
}

// State is what became of a file: the last change to it, or StateRead. One that was
// created and then modified is still created.
type State string

// The states.
const (
	StateRead     State = "read"
	StateModified State = "modified"
	StateCreated  State = "created"
	StateDeleted  State = "deleted"
)

var states = []State{StateRead, StateModified, StateCreated, StateDeleted}

// File is a file and its last state.
type File struct {
	Path  string `json:"path"` // relative to the working directory below it, with forward slashes
	State State  `json:"state"`
	Read  bool   `json:"read,omitempty"`  // whatever was done to it besides
	Edits int    `json:"edits,omitempty"` // how often it was changed
	To    string `json:"to,omitempty"`    // where a deleted file was moved
	Entry string `json:"entry,omitempty"` // of the call that set the state, where it is known
}

// Check says which kind of check a command is; "" is one that checks nothing.
type Check string

// The kinds of checks.
const (
	CheckTest  Check = "test"
	CheckBuild Check = "build"
	CheckLint  Check = "lint"
)

// Status says how a command ended.
type Status string

// The statuses. Unknown is a command whose result says nothing about it.
const (
	StatusOK      Status = "ok"
	StatusFailed  Status = "failed"
	StatusUnknown Status = "unknown"
)

// Command is a command line and how it ended the last time it ran.
type Command struct {
	Text     string `json:"text"` // at most 300 runes
	Status   Status `json:"status"`
	Exit     *int   `json:"exit,omitempty"` // nil when it is unknown
	Check    Check  `json:"check,omitempty"`
	Runs     int    `json:"runs"`
	Failures int    `json:"failures,omitempty"`
	// Retired says that later checks tell better: that cover this one, or all that failed in it, and passed; that a
	// passing one covers, and failed.
	Retired bool `json:"settled,omitempty"`
	// Failed are the tests, files and packages that failed and have not passed since.
	Failed []string `json:"failed,omitempty"`
	// Tells is of what the output tells how it stands, outside of the files: "git status" or "gh pr view"; where it is of
	// git, in the working tree at Dir. The same told before is out of date then, and so is all that begins as one of
	// Changes: "git", "gh pr".
	Tells   []string `json:"tells,omitempty"`
	Changes []string `json:"changes,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	Entry   string   `json:"entry,omitempty"` // of the last result
}

// Failing reports whether the command is a check that fails as far as known.
func (c Command) Failing() bool {
	return c.Check != "" && c.Status == StatusFailed && !c.Retired
}

// Failure is an error that is still open.
type Failure struct {
	Tool    string   `json:"tool"`
	Subject string   `json:"subject,omitempty"` // the command line or path
	Lines   []string `json:"lines,omitempty"`   // of the result that tell the error, at most three
	Check   Check    `json:"check,omitempty"`
	Entry   string   `json:"entry,omitempty"`
}

// UserMessage is a message that the user typed. Injected, hook, shell and
// summary text never counts as one.
type UserMessage struct {
	Entry string    `json:"entry"`
	Time  time.Time `json:"time,omitzero"`
	Text  string    `json:"text"`  // the beginning, at most 300 runes
	Bytes int       `json:"bytes"` // of the whole
}

const (
	maxDecided = 60
	maxFailed  = 20  // tests of a command
	maxText    = 300 // runes of a command, a user message, a todo, a line
)

// Paths returns the paths of the files in one of the states, the last touched last.
func (l *Ledger) Paths(states ...State) []string {
	var out []string
	for _, f := range l.Files {
		if slices.Contains(states, f.State) {
			out = append(out, f.Path)
		}
	}
	return out
}

// table is a list whose values have keys. Touching one moves it to the end.
type table[T any] struct {
	rows    map[string]*row[T]
	touches int
}

type row[T any] struct {
	val  T
	last int // the touch
}

// touch returns the value with the key, moved to the end; a new one starts as first.
func (t *table[T]) touch(key string, first T) *T {
	if t.rows == nil {
		t.rows = map[string]*row[T]{}
	}
	r := t.rows[key]
	if r == nil {
		r = &row[T]{val: first}
		t.rows[key] = r
	}
	t.touches++
	r.last = t.touches
	return &r.val
}

// get returns the value with the key, nil when there is none.
func (t *table[T]) get(key string) *T {
	if r := t.rows[key]; r != nil {
		return &r.val
	}
	return nil
}

// values returns the values, the last touched last.
func (t *table[T]) values() []T {
	var out []T
	for _, r := range slices.SortedFunc(maps.Values(t.rows), func(a, b *row[T]) int { return a.last - b.last }) {
		out = append(out, r.val)
	}
	return out
}

// Ledger returns the ledger of what was read so far, within the limits. It shares nothing
// with later ones.
func (r *Reader) Ledger() Ledger {
	o := maps.Clone(r.omitted)
	l := Ledger{
		Files:       limit(o, "files", r.files.values(), 1000, func(f File) bool { return f.State == StateRead }),
		Weak:        limit(o, "weak", r.weak.values(), 200, nil),
		Commands:    limit(o, "commands", r.commands.values(), 120, nil),
		Commits:     limit(o, "commits", slices.Clone(r.commits), 100, nil),
		Errors:      limit(o, "errors", r.errors.values(), 30, nil),
		Rules:       limit(o, "rules", slices.Clone(r.rules), 80, func(s Statement) bool { return s.Replaced }),
		Decisions:   limit(o, "decisions", slices.Clone(r.decisions), maxDecided, nil),
		Users:       limit(o, "users", slices.Clone(r.users), 200, func(u UserMessage) bool { return u != r.users[0] }),
		Checkpoints: limit(o, "checkpoints", slices.Clone(r.checkpoints), 200, nil),
		Todos:       limit(o, "todos", slices.Clone(r.todos), 100, func(t Todo) bool { return t.Status == TodoDone }),
	}
	if len(o) > 0 {
		l.Omitted = o
	}
	return l
}

// limit leaves out what is more than most: the values that are worth less first, of each
// kind the oldest.
func limit[T any](omitted map[string]int, name string, list []T, most int, less func(T) bool) []T {
	n := len(list) - most
	if n <= 0 {
		return list
	}
	omitted[name] += n
	if less != nil {
		list = slices.DeleteFunc(list, func(v T) bool {
			drop := n > 0 && less(v)
			if drop {
				n--
			}
			return drop
		})
	}
	return list[n:]
}
