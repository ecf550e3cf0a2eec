// Package ledger reads facts from a conversation: which files were read,
// created, modified and deleted, which commands ran and how they ended, which
// checks fail, what the user said, which todos are open.
//
// Everything is computed by code from tool calls and their results, never from
// what an answer claims. A call that failed changes nothing, a file name in
// prose is no evidence.
//
//	l := ledger.Read(cx.Items, ledger.Options{Cwd: header.Cwd})
//	fmt.Println(l.Paths(ledger.Modified))
//	details, _ := json.Marshal(l) // stored with a compaction, merged by the next Read
//
// A ledger is cumulative: Read merges what earlier compactions and branch
// summaries among the items stored in their details, or, where they stored
// nothing, the lists in their text.
package ledger

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// Ledger holds the facts of a range of messages. Its JSON is stable: the same
// messages give the same bytes. Every list is bounded; what did not fit is
// counted in Omitted.
type Ledger struct {
	// Files are the files that tool calls touched, the last touched last.
	Files []File `json:"files,omitempty"`
	// Weak are files that simple shell commands touched or printed, and those that git
	// says are changed. A path may be in both lists. A directory ends with "/".
	Weak []File `json:"weak,omitempty"`
	// Commands are the commands that ran, each once, the last run last.
	Commands []Command `json:"commands,omitempty"`
	// Commits are the commits that commands made, oldest first.
	Commits []Commit `json:"commits,omitempty"`
	// Errors are the failures after which nothing of the kind succeeded, oldest first.
	Errors []Failure `json:"errors,omitempty"`
	// Users are the messages that the user typed, oldest first.
	Users []UserMessage `json:"users,omitempty"`
	// Todos is the list as the latest todo tool call left it; where no tool keeps
	// one, the latest list with boxes to tick that the agent wrote.
	Todos []Todo `json:"todos,omitempty"`
	// Rules are the user's sentences that bind later work, oldest first.
	Rules []Statement `json:"rules,omitempty"`
	// Decisions are sentences that say how something was decided, or why, oldest first.
	Decisions []Statement `json:"decisions,omitempty"`
	// Mentions are the URLs, tickets, commits and names that the user and the
	// agent used, the last used last.
	Mentions []Mention `json:"mentions,omitempty"`
	// Omitted counts what the limits left out.
	Omitted Omitted `json:"omitted,omitzero"`
}

// State is what became of a file.
type State string

// A file has the state of the last change to it; one that was only read is Read. A file
// that was created and then modified is still Created.
const (
	StateRead     State = "read"
	StateModified State = "modified"
	StateCreated  State = "created"
	StateDeleted  State = "deleted"
)

var states = []State{StateRead, StateModified, StateCreated, StateDeleted}

// File is a file and its last state.
type File struct {
	// Path is relative to the working directory where it lies below it, with
	// forward slashes and without "." and "..".
	Path  string `json:"path"`
	State State  `json:"state"`
	// Read says that the file was read, whatever was done to it besides.
	Read  bool   `json:"read,omitempty"`
	Edits int    `json:"edits,omitempty"` // how often it was changed
	To    string `json:"to,omitempty"`    // where a deleted file was moved
	// Entry is the entry of the call that set the state; "" when it is only
	// known from a file list.
	Entry string `json:"entry,omitempty"`
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
	Text     string `json:"text"` // at most MaxText runes
	Status   Status `json:"status"`
	Exit     *int   `json:"exit,omitempty"` // nil when it is unknown
	Check    Check  `json:"check,omitempty"`
	Runs     int    `json:"runs"`
	Failures int    `json:"failures,omitempty"`
	// Retired says that the last run failed, and later checks that cover this one,
	// or all that failed in it, passed.
	Retired bool `json:"settled,omitempty"`
	// Failed are the tests, files and packages that failed in the last run and have
	// not passed since, as the output names them; at most MaxFailed.
	Failed []string `json:"failed,omitempty"`
	Entry  string   `json:"entry,omitempty"` // of the last result
}

// Failing reports whether the command is a check that fails as far as known.
func (c Command) Failing() bool {
	return c.Check != "" && c.Status == StatusFailed && !c.Retired
}

// Commit is a commit that a command made.
type Commit struct {
	Hash    string `json:"hash,omitempty"`
	Subject string `json:"subject"`
	Entry   string `json:"entry,omitempty"`
}

// Failure is an error that is still open.
type Failure struct {
	Tool    string `json:"tool"`
	Subject string `json:"subject,omitempty"` // the command line or path
	// Lines are the lines of the result that tell the error, at most three.
	Lines []string `json:"lines,omitempty"`
	Check Check    `json:"check,omitempty"`
	Entry string   `json:"entry,omitempty"`
}

// UserMessage is a message that the user typed. Injected, hook, shell and
// summary text never counts as one.
type UserMessage struct {
	Entry string    `json:"entry"`
	Time  time.Time `json:"time,omitzero"`
	// Text is the beginning, at most MaxText runes; Bytes is the length of the whole.
	Text  string `json:"text"`
	Bytes int    `json:"bytes"`
}

// Omitted counts what the limits left out of each list.
type Omitted struct {
	Files     int `json:"files,omitempty"`
	Weak      int `json:"weak,omitempty"`
	Commands  int `json:"commands,omitempty"`
	Commits   int `json:"commits,omitempty"`
	Errors    int `json:"errors,omitempty"`
	Users     int `json:"users,omitempty"`
	Todos     int `json:"todos,omitempty"`
	Rules     int `json:"rules,omitempty"`
	Decisions int `json:"decisions,omitempty"`
	Mentions  int `json:"mentions,omitempty"`
}

// The limits of a ledger's lists. The oldest is left out first; of the files
// those that were only read go before others, and the first user message stays.
const (
	MaxFiles    = 1000
	MaxWeak     = 200
	MaxCommands = 120
	MaxCommits  = 100
	MaxErrors   = 30
	MaxUsers    = 200
	MaxTodos    = 100
	MaxRules    = 80
	MaxDecided  = 60
	MaxMentions = 150
	MaxFailed   = 20
	MaxText     = 300 // runes of a command, a user message, a todo, a line
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

// Failing returns the checks that fail as far as known, oldest first.
func (l *Ledger) Failing() []Command {
	return slices.DeleteFunc(slices.Clone(l.Commands), func(c Command) bool { return !c.Failing() })
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

func (t *table[T]) drop(key string) { delete(t.rows, key) }

// each yields the values in no order.
func (t *table[T]) each() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, r := range t.rows {
			if !yield(&r.val) {
				return
			}
		}
	}
}

// values returns the values, the last touched last.
func (t *table[T]) values() []T {
	var out []T
	for _, r := range slices.SortedFunc(maps.Values(t.rows), func(a, b *row[T]) int { return a.last - b.last }) {
		out = append(out, r.val)
	}
	return out
}

// Boundary says why a task seems to have ended at a message; "" is that it did not. The
// user's word alone is the weakest reason.
type Boundary string

// The reasons.
const (
	BoundaryCommit Boundary = "commit" // a command made a commit
	BoundaryCheck  Boundary = "check"  // a test run passed
	BoundaryTodos  Boundary = "todos"  // the last open todo was done
	BoundaryUser   Boundary = "user"   // the user said so
)

// userDone are the words with which users say that something is finished. A
// message that is little more than one of them is a boundary.
var userDone = either(`done|finished|it works|works now|works great|that works|lgtm|looks good|perfect|great work|all good|ship it|merged|
	thanks|thank you|fertig|erledigt|passt|danke|terminé|c'est bon|merci|parfait|listo|hecho|perfecto|gracias|готово|сделано|спасибо|отлично`,
	`完成了|已完成|搞定|做完了|可以了|没问题了|谢谢|完了|できました|終わり|ありがとう|완료|끝났|고마워|감사합니다`)

var notWord = text.Words(`not isn't nicht pas no не`)

func saysDone(t string) bool {
	t = strings.TrimSpace(t)
	words := sentenceWords(t)
	if len(words) > 8 || utf8.RuneCountInString(t) > 60 || strings.ContainsAny(t, "?？未") ||
		strings.Contains(strings.ReplaceAll(t, "没问题", ""), "没") {
		return false
	}
	return !slices.ContainsFunc(words, func(w string) bool { return notWord()[w] }) && userDone.in(t, words)
}

// allDone reports whether there are todos and all of them are done.
func allDone(todos []Todo) bool {
	return len(todos) > 0 && !slices.ContainsFunc(todos, func(t Todo) bool { return t.Status != TodoDone })
}
