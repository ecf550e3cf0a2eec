package agent

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
)

// Kind says what an Event tells.
type Kind string

// The kinds. Which members of the event have a meaning is said for each.
const (
	// KindState: something of State has changed.
	KindState Kind = "state"
	// KindEntry: Entry was written to the log: what the user said, an answer, a result.
	KindEntry Kind = "entry"
	// KindTurnStart and KindTurnEnd: the agent works, and has ended. Outcome says how;
	// Error is for OutcomeFailed.
	KindTurnStart Kind = "turn_start"
	KindTurnEnd   Kind = "turn_end"
	// KindRequest: a request leaves.
	KindRequest Kind = "request"
	// KindDelta: a piece of the answer, of Part.
	KindDelta Kind = "delta"
	// KindDiscard: what was streamed since KindRequest counts for nothing. Why says why.
	KindDiscard Kind = "discard"
	// KindToolStart, KindToolOutput, KindToolEnd: a call of Tool begins, has brought
	// Text, has ended.
	KindToolStart  Kind = "tool_start"
	KindToolOutput Kind = "tool_output"
	KindToolEnd    Kind = "tool_end"
	// KindAsk: the user must say whether a call may be run: see Question and
	// Agent.Answer. KindAsked: it was answered, or the call was cancelled.
	KindAsk   Kind = "ask"
	KindAsked Kind = "asked"
	// KindRefused: a call was refused, because nobody is there to answer Question.
	KindRefused Kind = "refused"
	// KindCompactionStart and KindCompactionEnd: each start has one end. See Compaction.
	KindCompactionStart Kind = "compaction_start"
	KindCompactionEnd   Kind = "compaction_end"
	// KindRetry: a call of the model failed for a passing reason, and is made again: see
	// Retry.
	KindRetry Kind = "retry"
	// KindQueue: Queue is messages waiting to be sent.
	KindQueue Kind = "queue"
	// KindMoved: the conversation stands elsewhere: after a move in the tree, an undo,
	// a pass. What is shown should be read again. Why says what moved it.
	KindMoved Kind = "moved"
	// KindWarning and KindError: Text is for the user.
	KindWarning Kind = "warning"
	KindError   Kind = "error"
	// KindClosed: the last event.
	KindClosed Kind = "closed"
)

// Event tells what the agent does. Its JSON is what clew chat --json prints; see
// docs/chat.md.
type Event struct {
	// Seq counts the events of an agent from 1; see EventQueue.
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`

	State      *State      `json:"state,omitempty"`
	Entry      *Entry      `json:"entry,omitempty"`
	Outcome    Outcome     `json:"outcome,omitempty"`
	Error      string      `json:"error,omitempty"`
	Part       Part        `json:"part,omitempty"`
	Block      int         `json:"block,omitempty"`
	Text       string      `json:"text,omitempty"`
	Why        string      `json:"why,omitempty"`
	Tool       *ToolCall   `json:"tool,omitempty"`
	Question   *Question   `json:"question,omitempty"`
	Compaction *Compaction `json:"compaction,omitempty"`
	Retry      *Retry      `json:"retry,omitempty"`
	Queue      []Queued    `json:"queue,omitempty"`
}

// Part says what a KindDelta is a piece of.
type Part string

// The parts.
const (
	PartText      Part = "text"
	PartThinking  Part = "thinking"
	PartArguments Part = "arguments" // of the call that Event.Tool names
)

// Outcome says how a turn ended.
type Outcome string

// The outcomes.
const (
	OutcomeDone      Outcome = "done"      // the model has no more to do
	OutcomeCancelled Outcome = "cancelled" // by Cancel or Close
	OutcomeFailed    Outcome = "failed"    // Event.Error says of what
	OutcomeLimit     Outcome = "limit"     // Config.MaxRequests was reached
)

// Entry is something that was said, as the user is to see it.
type Entry struct {
	ID string `json:"id"`
	// Message is as the log keeps it.
	Message *message.Message `json:"message"`
}

// ToolCall is a call of a tool.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Line says in one line what it does.
	Line      string          `json:"line,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
	// Outcome says what kept it from being done: "denied" or "cancelled". The log has it in the result's details.
	Outcome tool.Outcome `json:"outcome,omitempty"`
}

// Compaction is what happens to the context. At its start it has Reason, Why and
// Before; at its end the rest.
type Compaction struct {
	Reason compact.Reason `json:"reason"`
	Why    string         `json:"why,omitempty"`
	// Before and After are in tokens.
	Before int64 `json:"before"`
	After  int64 `json:"after,omitempty"`
	// Done says that the context is another one now. Without it Error or Why says why not.
	Done  bool   `json:"done"`
	Error string `json:"error,omitempty"`
	// Aborted says that it was cancelled.
	Aborted bool `json:"aborted,omitempty"`
	// WillRetry says that a request which failed is sent again afterwards.
	WillRetry bool            `json:"willRetry,omitempty"`
	Stages    []compact.Stage `json:"rungs,omitempty"`
	// Summary is the text of the summary, Summarizer who made it, Cost what it cost in US dollars.
	Summary    string  `json:"summary,omitempty"`
	Summarizer string  `json:"summarizer,omitempty"`
	Cost       float64 `json:"cost,omitempty"`
	// Entries are the ids of what was written.
	Entries []string `json:"entries,omitempty"`
}

// Retry says that a call of the model is made again.
type Retry struct {
	// Attempt counts the failures since the last answer, from 1; Of is the most there
	// may be, 0 where that is not known.
	Attempt int           `json:"attempt"`
	Of      int           `json:"of,omitempty"`
	Wait    time.Duration `json:"wait"` // nanoseconds
	Error   string        `json:"error"`
}

// events numbers what happens and tells of it.
type events struct {
	to    func(Event)
	clock func() time.Time

	mu     sync.Mutex
	seq    int64
	closed bool
}

// send tells of an event. After KindClosed it counts for nothing.
func (s *events) send(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == nil || s.closed {
		return
	}
	s.seq++
	e.Seq, e.Time = s.seq, s.clock()
	s.closed = e.Kind == KindClosed
	s.to(e)
}

// EventQueue keeps events until somebody has time for them. While nobody has, pieces of the same block are joined, so
// that what waits stays small; they have the number of the last one. Of what running tools print the newest part waits.
type EventQueue struct {
	mu     sync.Mutex
	wait   []Event
	output int           // bytes of KindToolOutput that wait
	ready  chan struct{} // has a value while something waits
}

// NewEventQueue returns an empty queue.
func NewEventQueue() *EventQueue { return &EventQueue{ready: make(chan struct{}, 1)} }

// Send takes an event: it is for Config.Events. It never waits.
func (q *EventQueue) Send(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.joined(e) {
		q.wait = append(q.wait, e)
	}
	if e.Kind == KindToolOutput {
		if q.output += len(e.Text); q.output > maxOutput {
			q.shed()
		}
	}
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Ready has a value while something waits.
func (q *EventQueue) Ready() <-chan struct{} { return q.ready }

// Take returns what waits, in order.
func (q *EventQueue) Take() []Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.wait
	q.wait, q.output = nil, 0
	select {
	case <-q.ready:
	default:
	}
	return out
}

// Each passes every event on to fn, which may take its time, until KindClosed or the end of ctx.
func (q *EventQueue) Each(ctx context.Context, fn func(Event)) {
	for {
		select {
		case <-q.ready:
		case <-ctx.Done():
			return
		}
		for _, e := range q.Take() {
			if fn(e); e.Kind == KindClosed {
				return
			}
		}
	}
}

// maxOutput is how much of the output of tools waits, in bytes: a command can print without end. The result has what
// counts of it.
const maxOutput = 1 << 20

const leftOut = "\n[some of the output is left out here]\n"

// shed leaves out the older half of the output that waits. The lock is held.
func (q *EventQueue) shed() {
	kept, said := q.wait[:0], false
	for _, e := range q.wait {
		if e.Kind == KindToolOutput && q.output > maxOutput/2 {
			q.output -= len(e.Text)
			if said {
				continue
			}
			e.Text, said = leftOut, true
			q.output += len(leftOut)
		}
		kept = append(kept, e)
	}
	clear(q.wait[len(kept):])
	q.wait = kept
}

// maxJoined is how long the text of an event may be to which another is joined, in bytes:
// the text is copied each time.
const maxJoined = 16 << 10

// joined adds an event to the one before it, where that says the same with less. The
// lock is held.
func (q *EventQueue) joined(e Event) bool {
	if len(q.wait) == 0 {
		return false
	}
	last := &q.wait[len(q.wait)-1]
	switch {
	case e.Kind != last.Kind:
		return false
	case e.Kind == KindState:
		*last = e
		return true
	case len(last.Text) > maxJoined:
		return false
	case e.Kind == KindDelta && e.Part == last.Part && e.Block == last.Block,
		e.Kind == KindToolOutput && e.Tool.ID == last.Tool.ID:
		last.Text += e.Text
		last.Seq = e.Seq
		return true
	}
	return false
}
