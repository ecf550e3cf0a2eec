// Package agent runs a conversation between a user, a model and tools, and keeps it
// inside the model's window without losing anything that was said.
//
//	a, err := agent.New(ctx, agent.Config{Open: open, Model: m, Tools: tools, Events: show})
//	_, err = a.Send(ctx, agent.Input{Text: "fix the flaky test"})
//	err = a.Wait(ctx)
//	err = a.Close()
//
// A message is durable when Send returns, whatever the agent is doing, and enters the conversation exactly once. One
// operation runs at a time; everything else waits in a queue or is refused. Cancel ends the current operation.
//
// # Compaction
//
// The context is checked before each request: before a prompt and between a tool result and the next request. It is
// also compacted when a provider refuses a request as too large, when an answer breaks off early, on a switch to a
// smaller model, after a turn, when the user asks, and after a while of idleness. None of these makes the model
// continue by itself. If a model writes the summaries, one is prepared in the background; it is used only if the
// conversation still begins with the messages it was made from.
//
// # Safety
//
// Package permission decides what a tool may do, outside of any prompt. Tool results never count as the user's words.
package agent

import (
	"context"
	"errors"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
)

// Defaults of Config.
const (
	DefaultMaxRequests = 200
	DefaultRetries     = 4
	DefaultBackground  = 0.8
	// DefaultToolOutput is how much of a tool's result is shown to the model, in bytes
	// of its JSON, before the middle is kept beside the log.
	DefaultToolOutput = 64 << 10
)

// Config says what an agent is made of.
type Config struct {
	// Engine is how the session is kept inside the window. The agent adds what it needs
	// itself: the prompt, its tools, its limit for output. Its Provider and Model are
	// set by the agent.
	Engine clew.Config
	// Open opens the session with the engine's settings: clew.Open or
	// clew.New, most often. The agent closes it. It is required.
	Open func(ctx context.Context, engine clew.Config) (*clew.Session, error)
	// File is the session's file. Default: "", a session in memory, whose queue does
	// not outlive the program, and for which no summary is prefetched.
	File string
	// Address names a session that is in no file, in a database say, to users. Beside is
	// then the beginning of the names of files that belong to it: the queue outlives the
	// program. Default: none.
	Address, Beside string

	// Model answers. It is required.
	Model model.Model
	// Find returns the model of a name, "provider/id", for SetModel. Default: there is
	// only Model.
	Find func(ctx context.Context, name string) (model.Model, error)
	// Windows keeps what is learnt of the models' true limits. Default: a new one.
	Windows *model.Windows
	// Reasoning says how much the model shall reason.
	Reasoning model.Reasoning

	// Tools may be called.
	Tools []Tool
	// Guard decides what a call may do. It is required where there are tools.
	Guard *Guard
	// TrustGrants says that the session's file is the user's own, so that what it says was
	// allowed counts. Of other files only the mode plan does, which allows nothing.
	TrustGrants bool
	// Interactive says that somebody answers questions: see Agent.Answer. Without it what
	// would be asked is refused.
	Interactive bool

	// System is the prompt. Default: DefaultSystem.
	System string
	// Place says where the agent works, as text below System: folder, system, date. It is
	// called before a prompt and at a pass, and holds until the next. Default: nothing.
	Place func() string
	// Rules reads the project's rules files. It is called before a prompt and at a
	// pass. Default: there are none.
	Rules func() (Rules, error)

	// MaxRequests is the most requests that are made for one prompt. Default:
	// DefaultMaxRequests.
	MaxRequests int
	// TaskRequests is the most requests that are made for one task; see Agent.Task. Default:
	// DefaultTaskRequests.
	TaskRequests int
	// Retries is how often a request is made again, after a failure that may pass, before
	// the turn fails. Default: DefaultRetries; below 0, never.
	Retries int
	// RetryBase is the first wait at most, doubled each time up to RetryMax; see model.Retry. Default: 1 s and 60 s.
	RetryBase, RetryMax time.Duration
	// Background is the share of the threshold from which a summary is prefetched, where
	// a model makes it. Default: DefaultBackground; below 0, never.
	Background float64
	// Idle is after how long without work a context over that share is compacted.
	// Default: 0, never.
	Idle time.Duration
	// ToolOutput is the most of a tool's result that the model is shown at once, in
	// bytes. Default: DefaultToolOutput.
	ToolOutput int64

	// Shell runs a command for the user; see Agent.Shell. Default: Shell is refused.
	Shell func(ctx context.Context, command string, output func(string)) (text string, exit int, err error)

	// Events is told what happens, when it happens, one event at a time: it must return at once and not call the
	// agent. The Send of an EventQueue does, for those who need more time. Nothing comes after KindClosed.
	Events func(Event)

	// Clock, NewID and Sleep are for tests. Default: time.Now, random ids, a timer.
	Clock func() time.Time
	NewID func() string
	Sleep func(ctx context.Context, d time.Duration) error

	// Of a task: the agent whose task it is, and what keeps its changes of files.
	parent *Agent
	record func(ctx context.Context, changes ...tool.Change) error
}

var errNoGuard = errors.New("setting Guard is not set, so nothing would decide what the tools may do")

func (c Config) withDefaults() (Config, error) {
	const op = "make an agent"
	switch {
	case c.Open == nil:
		return c, &Error{Op: op, Err: errors.New("setting Open is not set, so there is no session"), Hint: "set it to a function that calls clew.Open or clew.New"}
	case c.Model == nil:
		return c, &Error{Op: op, Err: errors.New("setting Model is not set, so there is no model to ask"), Hint: "make one with a package below model"}
	case c.Guard == nil && len(c.Tools) > 0:
		return c, &Error{Op: op, Err: errNoGuard, Hint: "make one with permission.New"}
	}
	setDefault(&c.MaxRequests, DefaultMaxRequests)
	setDefault(&c.TaskRequests, DefaultTaskRequests)
	setDefault(&c.Retries, DefaultRetries)
	setDefault(&c.RetryBase, time.Second)
	setDefault(&c.RetryMax, time.Minute)
	setDefault(&c.Background, DefaultBackground)
	setDefault(&c.ToolOutput, DefaultToolOutput)
	setDefault(&c.System, DefaultSystem)
	if c.Windows == nil {
		c.Windows = model.NewWindows(c.Clock)
	}
	if c.Place == nil {
		c.Place = func() string { return "" }
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewID == nil {
		c.NewID = session.NewID
	}
	if c.Sleep == nil {
		c.Sleep = model.Sleep
	}
	return c, nil
}

func setDefault[T comparable](to *T, v T) {
	var zero T
	if *to == zero {
		*to = v
	}
}

// Error is what every operation returns that failed: what was tried, on what, what
// went wrong, and what to do.
type Error = clew.Error

// Errors of operations.
var (
	// ErrBusy: the agent is at work, and the operation can't be done meanwhile.
	ErrBusy = errors.New("the agent is at work")
	// ErrClosed: the agent was closed.
	ErrClosed = clew.ErrClosed
	// ErrNotAsked: no question has the id, or it was answered already.
	ErrNotAsked = errors.New("there is no such question")
	// ErrNotQueued: nothing with the id waits to be delivered.
	ErrNotQueued = errors.New("it does not wait any more")
)

// Kinds returns all kinds of events.
func Kinds() []Kind {
	return []Kind{
		KindState, KindEntry, KindTurnStart, KindTurnEnd, KindRequest, KindDelta, KindDiscard, KindToolStart, KindToolOutput,
		KindToolEnd, KindAsk, KindAsked, KindRefused, KindCompactionStart, KindCompactionEnd, KindRetry, KindQueue, KindMoved, KindWarning,
		KindError, KindClosed,
	}
}

// IsCancelled reports whether something failed because Cancel or Close ended it, or the
// context that it was called with.
func IsCancelled(err error) bool {
	return errors.Is(err, errCancelled) || errors.Is(err, errShut) || errors.Is(err, context.Canceled)
}
