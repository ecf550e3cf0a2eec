// Package summary writes and reads the document that replaces the history a compaction removed from the context.
//
// A [Document] has typed sections; a [Template] renders it as Markdown, and [Parse] reads it back. A [Summarizer] makes
// one from a range of messages; [Deterministic] needs no language model: everything it writes is taken from the log,
// and it never exceeds its budget.
//
//	out, err := summary.Deterministic{}.Summarize(ctx, summary.Input{
//		Items: items, Budget: 4000, Counter: counter,
//	})
//	fmt.Println(out.Text)
package summary

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Summarizer makes a document from a range of messages. An error means that
// there is no document: nothing of a failed attempt may be used.
type Summarizer interface {
	// Name says which summarizer it is, for reports: "deterministic", ...
	Name() string
	Summarize(ctx context.Context, in Input) (Output, error)
}

// Costly is implemented by summarizers that are to be asked once for a pass: one
// that calls a model. The cut is then found with the deterministic one.
type Costly interface{ Costly() bool }

// Input is what a summarizer works on. Budget and Counter are required.
type Input struct {
	// Items are the messages to summarize, oldest first. Summaries of earlier
	// compactions among them are merged as Previous is, not summarized again.
	Items []session.Item
	// Prefix is the beginning of a turn whose rest stays; it comes after Items.
	Prefix []session.Item
	// Kept are the messages that stay in the context: what they say need not be said again.
	Kept []session.Item

	// Previous is the text of the summary that the new one replaces, and
	// PreviousDetails are the details stored with it.
	Previous        string
	PreviousDetails json.RawMessage

	// Ledger holds the facts of Items and Prefix, merged with those of Previous.
	// nil: the summarizer reads it itself, with Cwd.
	Ledger *ledger.Ledger
	Cwd    string // the working directory of the session, where it is known

	// Budget is the most that Output.Text may cost by Counter, in tokens.
	Budget int64
	// QuoteBudget is the most that the user's messages may take of it; at least 1,000
	// tokens or a quarter of Budget are left to the rest. The last message is quoted
	// whole whatever it costs. 0: as much as fits well with the rest.
	QuoteBudget int64
	// ClipLast allows the last user message to be cut when it alone exceeds a third of
	// Budget (with QuoteBudget: all of it), so that the result always fits.
	ClipLast bool
	// Earlier are the user's messages from before Items, oldest first, which are quoted
	// as those in Items are. nil: the quotes in Previous.
	Earlier []Quote
	// Pins are quoted word for word, as the last user message is.
	Pins []Quote

	// Counter measures.
	Counter token.Counter
	// Written are sections that a model or a person wrote. They stand as they are; code adds
	// what it vouches for: quotes, pins, files, and failing checks and open todos that they
	// do not name, and sources in the room that is left.
	Written *Document
	// Template renders. nil: Briefing.
	Template *Template
	// Goal says that Budget is what to aim at, and that a longer text is taken while
	// it is smaller than what it replaces.
	Goal bool
	// Instructions are what the user asked the summary to pay attention to.
	// OnlyInstructions puts them in the place of the description of the task that a
	// model is given. The form stays.
	Instructions     string
	OnlyInstructions bool
	// Tries is how often a model is called when calls fail for a passing reason. 0: as its transport does.
	Tries int
	// Profile says what is worth most. nil: guessed from what the agent did.
	Profile *Profile
	// Cache makes the next summary of the same session cost less. It never changes it.
	Cache *Cache
}

// Output is a finished summary.
type Output struct {
	Document   Document
	Text       string // the document as rendered by Input.Template
	Tokens     int64  // what Text costs by Input.Counter
	Coverage   Coverage
	Summarizer string // the name of the summarizer that made it
	// FromHook says that a hook wrote it. Details are what the hook wants to have stored with it, as JSON.
	FromHook bool
	Details  json.RawMessage
	Profile  Chosen // what counted most in it

	// Usage is what all calls of a model cost; nil when none was asked.
	Usage *message.Usage
	// Rejected says of every answer of a model that was not taken why.
	Rejected []string
}

// Coverage says what the summary was made from and what it could not hold.
type Coverage struct {
	Items int `json:"items"` // messages looked at
	// UserMessages were found; Quoted of them stand in the document whole,
	// Shortened with a gap.
	UserMessages int `json:"userMessages"`
	Quoted       int `json:"quoted"`
	Shortened    int `json:"shortened,omitempty"`
	// LinesFound are the statements found worth keeping, LinesKept those that fit.
	LinesFound int `json:"linesFound"`
	LinesKept  int `json:"linesKept"`
	// Previous says what became of the previous summary: "" (there was none),
	// "merged" or "text" (not in our form, kept as text).
	Previous string `json:"previous,omitempty"`
	// OverBudget is by how many tokens the text exceeds the budget, which only the last
	// user message or a pin can make it do. LastClipped says that the former was cut.
	OverBudget  int64 `json:"overBudget,omitempty"`
	LastClipped bool  `json:"lastClipped,omitempty"`
}

// Deterministic is a Summarizer without a language model. Every sentence, path,
// command and value in its documents is taken from the log; its own words are
// headings and a few connectives. The same input gives the same document.
//
// The document costs at most Input.Budget. When the last message of the user and the pins
// alone cost more, the rest of the document gets a quarter of the budget.
type Deterministic struct{}

// Name implements Summarizer.
func (Deterministic) Name() string { return "deterministic" }

// ErrNoCounter is returned when Input.Counter is missing.
var ErrNoCounter = errors.New("summarize: Input.Counter is nil: without a counter a budget means nothing")

// Summarize implements Summarizer. It fails only for a missing counter, a budget
// below 1, or when ctx is done.
func (s Deterministic) Summarize(ctx context.Context, in Input) (out Output, err error) {
	err = s.plan(ctx, in, func(p *planner) { out = p.fit() })
	return out, err
}

// plan finds all that may stand in the document, and lets do choose.
func (s Deterministic) plan(ctx context.Context, in Input, do func(*planner)) error {
	if in.Counter == nil {
		return ErrNoCounter
	}
	if in.Budget < 1 {
		return fmt.Errorf("summarize: the budget is %d tokens: at least 1 is needed", in.Budget)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	cache := cmp.Or(in.Cache, &Cache{})
	cache.mu.Lock()
	defer cache.mu.Unlock()
	cache.begin()
	defer cache.trim()
	p, err := newPlanner(ctx, &in, cache)
	if err != nil {
		return err
	}
	do(p)
	return nil
}

// Checkpoint is a place where a task seems to have ended: a good time to look
// ahead with Cache.Warm, for nothing is waited for there.
type Checkpoint struct {
	After int // messages that stand before it
	Why   ledger.Boundary
}

// Checkpoints returns the places in a conversation where a task ended: a commit, a
// test run that passed, a todo list that is done, a word of the user. cwd is the
// working directory, where it is known.
func Checkpoints(items []session.Item, cwd string) []Checkpoint {
	r := ledger.NewReader(ledger.Options{Cwd: cwd})
	var out []Checkpoint
	for i := range items {
		r.Add(items[i : i+1])
		if why := r.Boundary(); why != "" {
			out = append(out, Checkpoint{After: i + 1, Why: why})
		}
	}
	return out
}
