// Package llm has a summarizer that asks a language model, and takes nothing from
// it that would harm.
//
//	s, err := llm.New(llm.Config{Model: m})
//	policy.Summarizer = s
//
// The model writes the sections; code adds what it vouches for itself: the user's
// words, pins, files, failing checks, open todos. An answer is taken only if it is
// complete, is a summary, names nothing that is not in the conversation, and is
// smaller than what it replaces. Otherwise the deterministic summarizer makes the
// summary, so one always comes about, unless the caller gives up.
//
// The conversation is given as data: every line of it is marked, so that nothing
// that was said or printed can pass for a turn or for an instruction of ours.
package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
)

// Config says how a model is asked. Only Model is required.
type Config struct {
	// Model writes the summaries. A cheaper one than that of the conversation does.
	Model model.Model
	// Extend asks the conversation's own model instead, where that costs less.
	Extend *Extend
}

// MaxCalls bounds the calls for one summary, repairs included.
const MaxCalls = 24

const (
	resultBytes   = 4_000 // of a tool result or of arguments that the model is given
	briefingShare = 85    // percent of the budget: readers got more from a model's words than from as many sources
	unknownInput  = 100_000
	minInput      = 1_000 // below it no part of a conversation makes sense
)

// Summarizer asks a model. It may be used from several goroutines; calls for one
// summary are made one after the other.
type Summarizer struct {
	cfg    Config
	branch bool
	// maxInput is the most that one request may hold of the conversation, in tokens: what the
	// model's window leaves, less a tenth. A longer one is summarized part by part.
	maxInput int64
}

// ErrNoModel is returned by New when Config.Model is missing.
var ErrNoModel = errors.New("llm: Config.Model is nil: there is nobody to ask")

// New checks the configuration. The error says what can't be used, and what the
// model lacks: its window must hold a part of a conversation and a summary.
func New(cfg Config) (*Summarizer, error) {
	if cfg.Model == nil {
		return nil, ErrNoModel
	}
	if cfg.Extend != nil && (cfg.Extend.Model == nil || cfg.Extend.Request == nil) {
		return nil, errors.New("llm: Config.Extend needs the model of the conversation and a way to its next request")
	}
	info, maxInput := cfg.Model.Info(), int64(unknownInput)
	if info.Window > 0 {
		maxInput = info.Usable(8_192) * 9 / 10
	}
	if maxInput < minInput {
		return nil, fmt.Errorf("llm: %s/%s has a window of %d tokens, which leaves %d for a conversation; use a model with a larger one", info.Provider, info.Model, info.Window, maxInput)
	}
	return &Summarizer{cfg: cfg, maxInput: maxInput}, nil
}

// Name implements summary.Summarizer: provider and model.
func (s *Summarizer) Name() string {
	i := s.cfg.Model.Info()
	return i.Provider + "/" + i.Model
}

// Costly says that a call costs money, so that a pass asks once.
func (s *Summarizer) Costly() bool { return true }

// ForBranch returns the summarizer that tells a new branch of one that was left.
func (s *Summarizer) ForBranch() summary.Summarizer {
	b := *s
	b.branch = true
	return &b
}

// Summarize implements summary.Summarizer. It fails where the deterministic
// summarizer would, or when ctx is done. Output.Summarizer names who made the
// summary in the end, Output.Rejected says why others did not.
func (s *Summarizer) Summarize(ctx context.Context, in summary.Input) (summary.Output, error) {
	facts, err := summary.Deterministic{}.Summarize(ctx, in)
	if err != nil {
		return facts, err
	}
	r := &run{
		s: s, in: &in, facts: facts.Document, strategy: facts.Profile, calls: MaxCalls, maxInput: s.maxInput,
	}
	out, err := r.summarize(ctx)
	if err == nil {
		out.Coverage, out.Profile = facts.Coverage, facts.Profile
		out.Summarizer = cmp.Or(r.by, s.Name())
	} else {
		r.reject(err)
		out = facts
	}
	if ctx.Err() != nil {
		return summary.Output{}, ctx.Err()
	}
	out.Usage, out.Rejected = r.usage, r.rejected
	return out, nil
}

// run is one summary in the making.
type run struct {
	s        *Summarizer
	in       *summary.Input
	facts    summary.Document // what code vouches for
	strategy summary.Chosen
	calls    int   // that are left
	maxInput int64 // tokens; less once the model said that it was too much
	usage    *message.Usage
	rejected []string
	by       string // the model of the conversation, where that made it
}

func (r *run) reject(err error) { r.rejected = append(r.rejected, err.Error()) }

// summarize makes the document: of the history, and then of the turn that is cut.
func (r *run) summarize(ctx context.Context) (summary.Output, error) {
	previous, items := r.previous()
	budget, err := r.room()
	if err != nil {
		return summary.Output{}, err
	}
	prefix := spoken(r.in.Prefix)
	if len(items) == 0 && len(prefix) == 0 {
		return summary.Output{}, errors.New("there is nothing to ask the model about")
	}
	known := r.known()
	d, done, err := r.extended(ctx, budget, known)
	if err != nil {
		return summary.Output{}, err
	}
	if done {
		return r.finish(ctx, d)
	}
	share, task := budget, taskHistory
	if len(prefix) > 0 {
		share = budget * 2 / 3
	}
	if r.s.branch {
		task = taskBranch
	}
	if d, err = r.parts(ctx, task, previous, items, share, known); err != nil {
		return summary.Output{}, err
	}
	if len(prefix) > 0 {
		turn, err := r.parts(ctx, taskTurn, summary.Document{}, prefix, budget/3, known)
		if err != nil {
			return summary.Output{}, err
		}
		d = join(d, turn)
	}
	return r.finish(ctx, d)
}

// previous takes the summary that is to be brought up to date from the items. What
// code carries on by itself is left out of it.
func (r *run) previous() (summary.Document, []session.Item) {
	text := r.in.Previous
	var items []session.Item
	for _, it := range spoken(r.in.Items) {
		if it.Message.Role == message.RoleCompactionSummary {
			text = it.Message.Summary
			continue
		}
		items = append(items, it)
	}
	if d, ok := summary.Parse(text); ok {
		d = d.Unfold()
		d.Quotes, d.Pins, d.Files, d.Note, d.Given = nil, nil, summary.Files{}, "", ""
		return d, items
	}
	return summary.Document{Earlier: text}, items
}

// spoken leaves out what no model is told.
func spoken(items []session.Item) []session.Item {
	var out []session.Item
	for _, it := range items {
		if it.Message != nil && it.Message.Role != message.RoleSystem && !it.Message.ExcludeFromContext {
			out = append(out, it)
		}
	}
	return out
}

// room is what the model's own sections may cost: the budget less what code adds.
func (r *run) room() (int64, error) {
	f := r.facts
	own := r.in.Budget - r.cost(summary.Document{Quotes: f.Quotes, Pins: f.Pins, Files: f.Files, Note: f.Note})
	if r.template() == summary.Briefing {
		own = min(own, r.in.Budget*briefingShare/100)
	}
	own = max(own, min(r.in.Budget/4, 400))
	if own < 100 {
		return 0, fmt.Errorf("a budget of %d tokens leaves no room for a model's words", r.in.Budget)
	}
	return own, nil
}

func (r *run) cost(d summary.Document) int64 { return r.in.Counter.Text(r.render(d)) }

func (r *run) render(d summary.Document) string { return r.template().Render(d) }

func (r *run) template() *summary.Template { return cmp.Or(r.in.Template, summary.Briefing) }

// parts asks for a summary of items: at once, or part by part when they are too
// many, each time bringing the summary so far up to date.
func (r *run) parts(ctx context.Context, task string, so summary.Document, items []session.Item, budget int64, known known) (summary.Document, error) {
	rest := items
	for len(rest) > 0 {
		n, text := r.take(rest)
		q := question{task: task, so: so, text: text, items: rest[:n], budget: budget, more: n < len(rest), began: len(rest) < len(items)}
		d, err := r.ask(ctx, q, known)
		if errors.Is(err, model.ErrOverflow) && r.maxInput > minInput {
			r.reject(fmt.Errorf("a part of about %d tokens was too large for the model: %w", r.in.Counter.Text(text), err))
			r.maxInput = max(r.maxInput/2, minInput)
			continue
		}
		if err != nil {
			return d, err
		}
		so, rest = d, rest[n:]
	}
	return so, nil
}

// take returns as many of the first items as one request may hold, at least one,
// and what the model is given of them.
func (r *run) take(items []session.Item) (int, string) {
	text := ""
	cost := int64(0)
	for i := range items {
		one := Transcript(items[i:i+1], resultBytes)
		c := r.in.Counter.Text(one)
		if i == 0 && c > r.maxInput { // one message alone: its middle goes
			keep := int(float64(len(one)) * float64(r.maxInput) / float64(c) * 0.9)
			return 1, clipLines(one, keep)
		}
		if cost+c > r.maxInput {
			return i, text
		}
		text, cost = text+one, cost+c
	}
	return len(items), text
}

// finish adds what code vouches for, and checks the whole.
func (r *run) finish(ctx context.Context, d summary.Document) (summary.Output, error) {
	in := *r.in
	in.Written = &d
	out, err := summary.Deterministic{}.Summarize(ctx, in)
	if err != nil {
		return out, err
	}
	if out.Tokens > r.in.Budget && !r.in.Goal {
		return out, fmt.Errorf("the summary takes %d tokens with what belongs to it, and %d are for it", out.Tokens, r.in.Budget)
	}
	if before := r.sent(r.in.Items, r.in.Prefix); out.Tokens >= before {
		return out, fmt.Errorf("the summary takes %d tokens and what it replaces %d", out.Tokens, before)
	}
	return out, nil
}

// sent is what messages cost as the agent sends them.
func (r *run) sent(lists ...[]session.Item) (n int64) {
	for _, it := range slices.Concat(lists...) {
		n += r.in.Counter.Message(it.Message)
	}
	return n
}

// addUsage adds what two calls cost.
func addUsage(a, b *message.Usage) *message.Usage {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &message.Usage{
		Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead,
		CacheWrite: a.CacheWrite + b.CacheWrite, Reasoning: a.Reasoning + b.Reasoning, Cost: a.Cost + b.Cost,
		TotalCount: a.Total() + b.Total(),
	}
}
