package clew

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/branch"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Hooks are functions that a session calls, one at a time, while the operation waits. They get copies; changes made by
// a Decision are written to the log. A hook that returns an error, panics or makes an impossible decision is ignored,
// and the Warnings of the result have a *HookError. Calling the session with the hook's context returns ErrBusy.
// Package hook runs programs as hooks.
type Hooks struct {
	Name string // stands for the hook in warnings and in the log

	// SessionStart is told that a session was opened or made.
	SessionStart func(ctx context.Context, e SessionEvent) error
	// SessionEnd is told that a session is about to be closed. Its error is that of Close, unless closing fails.
	SessionEnd func(ctx context.Context, e SessionEvent) error

	// EditContext is asked by every Prepare before it checks whether a pass is due, and may answer Edits and Add. One
	// that changes something in each request makes the provider's prompt cache useless.
	EditContext func(ctx context.Context, e ContextEvent) (Decision, error)
	// EditToolResult is asked about each tool result before it is stored, and may answer Content to store instead.
	EditToolResult func(ctx context.Context, e ToolResultEvent) (Decision, error)

	// BeforeCompact is asked when a pass is due and would change something. It may answer Cancel, Instructions,
	// Summary, Keep, Target, FirstKept and Edits. Of several hooks the last counts; edits add up.
	BeforeCompact func(ctx context.Context, e BeforeCompactEvent) (Decision, error)
	// AfterCompact is told of a pass that was written, and may answer Add.
	AfterCompact func(ctx context.Context, e Event) (Decision, error)
	// CompactFailed is told of a pass that was due and failed; nothing was changed.
	CompactFailed func(ctx context.Context, e Event) error

	// BeforeBranch may answer Cancel, Instructions, ReplaceInstructions, Label and Summary before the leaf moves.
	BeforeBranch func(ctx context.Context, e BeforeBranchEvent) (Decision, error)
	// AfterBranch is told when it has moved.
	AfterBranch func(ctx context.Context, b Branched) error
	// BeforeFork is asked before a session file is made of another one, and may answer Cancel.
	BeforeFork func(ctx context.Context, e BeforeForkEvent) (Decision, error)

	// OnEvent is told of passes and moves as they happen. It should be quick.
	OnEvent func(ctx context.Context, e Event)
}

func (h *Hooks) empty() bool {
	functions := *h
	functions.Name = ""
	return reflect.ValueOf(functions).IsZero()
}

// Decision is a hook's answer. The zero value changes nothing. Hooks says which fields count where.
type Decision struct {
	Cancel bool   // stops what is about to be done
	Why    string // for the user
	// Instructions are what the summary is to pay attention to, instead of those in the
	// event. ReplaceInstructions is that of BranchOptions.
	Instructions        string
	ReplaceInstructions bool
	Label               string // names the summary of a branch, or the target where there is none
	// Summary is the text of the summary, where one is made. It stands first in what the model sees, marked as a
	// hook's; the user's quoted words, pins and facts come after it. A text that is too large is not taken. Details
	// are JSON of the hook's own that is stored with it, see HookDetails; in the log apart from what clew stores.
	Summary string
	Details json.RawMessage
	// Keep and Target replace the policy's; see compact.Policy.
	Keep, Target compact.Amount
	FirstKept    string // compact.Policy.FirstKept
	Edits        []Edit // written before a pass and stay when it fails or is undone. A dry run does not write them.
	// Add is text for the end of the context, which the model does not take for the
	// user's. After a pass it is refused where there is no room.
	Add     string
	Content []message.Block // replaces that of a tool result, and takes its details out, which may say the same
}

// The points at which hooks are called, as the log and warnings name them.
const (
	pointStart         = "SessionStart"
	pointEnd           = "SessionEnd"
	pointContext       = "EditContext"
	pointToolResult    = "EditToolResult"
	pointBeforeCompact = "BeforeCompact"
	pointAfterCompact  = "AfterCompact"
	pointFailed        = "CompactFailed"
	pointBeforeBranch  = "BeforeBranch"
	pointAfterBranch   = "AfterBranch"
	pointBeforeFork    = "BeforeFork"
	pointEvent         = "OnEvent"
)

func (d *Decision) misplaced(point string) error {
	for _, f := range []struct {
		name string
		set  bool
		at   []string
	}{
		{"Cancel", d.Cancel, []string{pointBeforeCompact, pointBeforeBranch, pointBeforeFork}},
		{"Instructions", d.Instructions != "", []string{pointBeforeCompact, pointBeforeBranch}},
		{"ReplaceInstructions", d.ReplaceInstructions, []string{pointBeforeBranch}},
		{"Label", d.Label != "", []string{pointBeforeBranch}},
		{"Summary", d.Summary != "", []string{pointBeforeCompact, pointBeforeBranch}},
		{"Details", len(d.Details) > 0, []string{pointBeforeCompact, pointBeforeBranch}},
		{"Keep", d.Keep.IsSet(), []string{pointBeforeCompact}},
		{"Target", d.Target.IsSet(), []string{pointBeforeCompact}},
		{"FirstKept", d.FirstKept != "", []string{pointBeforeCompact}},
		{"Edits", len(d.Edits) > 0, []string{pointContext, pointBeforeCompact}},
		{"Add", d.Add != "", []string{pointContext, pointAfterCompact}},
		{"Content", len(d.Content) > 0, []string{pointToolResult}},
	} {
		if f.set && !slices.Contains(f.at, point) {
			return fmt.Errorf("%s has no effect here; it counts in %s", f.name, strings.Join(f.at, ", "))
		}
	}
	if len(d.Details) > 0 && (d.Summary == "" || !json.Valid(d.Details)) {
		return fmt.Errorf("its Details must be JSON and belong to a Summary; the Summary has %d bytes, and they are %.60q", len(d.Summary), d.Details)
	}
	return nil
}

// SessionEvent describes a session that begins or ends.
type SessionEvent struct {
	// Session is its id, Parent the session it was forked from, "" for none.
	Session, Cwd, Parent string
	New                  bool // says that it has no entry yet
	Leaf                 string
	Model                session.Model
}

// ContextEvent describes what is about to be sent.
type ContextEvent struct {
	Session, Leaf string
	// Tokens is what the context takes, Window the model's window.
	Tokens, Window int64

	snap *compact.Snapshot
}

// Context returns the context with the entry of each message, copied.
func (e ContextEvent) Context() []session.Item { return copiedItems(e.snap.Context.Items) }

// ToolResultEvent describes a result that is about to be appended.
type ToolResultEvent struct {
	Session   string
	Message   *message.Message // the result, as the hooks before this one left it
	Arguments []byte           // those of the call, as JSON; nil where the call is not in the context
}

// BeforeCompactEvent describes a pass that is about to be made.
type BeforeCompactEvent struct {
	Event
	Reported     *message.Usage // what the provider reported for the newest answer; nil when there is none
	Instructions string         // as the policy, the caller and the hooks before this one have them
	NoAuto       bool           // says that compaction by itself is switched off

	snap     *compact.Snapshot
	store    session.Store
	forecast *forecast
}

// Context returns the context as it is, with the entry of each message, copied.
func (e BeforeCompactEvent) Context() []session.Item { return copiedItems(e.snap.Context.Items) }

// Entries returns copies of the entries that the context is made of, oldest first.
func (e BeforeCompactEvent) Entries() []*session.Entry { return clonedEntries(e.snap.Path) }

// BranchEntries returns copies of all entries of the current branch, from the root to the leaf. It reads those that the context
// does not need.
func (e BeforeCompactEvent) BranchEntries(ctx context.Context) ([]*session.Entry, error) {
	path, err := session.Path(ctx, e.store, e.snap.Leaf)
	return clonedEntries(path), err
}

// Preparation returns what the pass would do if no hook changed it, or its error. No model is asked for that.
func (e BeforeCompactEvent) Preparation() (*Preparation, error) { return e.forecast.preparation() }

// BeforeBranchEvent says where the conversation is about to go.
type BeforeBranchEvent struct {
	Session string
	// From is the leaf that is left, Target what was chosen, Leaf where the conversation
	// goes on, Ancestor the last entry that both have, "" for none.
	From, Target, Leaf, Ancestor string
	Summarize                    bool // says that the user wants a summary of what is left behind
	// Instructions and Label are as the caller and the hooks before this one have them.
	Instructions, Label string

	left *branch.Range
	cwd  string
}

// Messages returns copies of what is left behind.
func (e BeforeBranchEvent) Messages() []*message.Message { return copies(e.left.Items) }

// Entries returns copies of the entries that are left behind, oldest first.
func (e BeforeBranchEvent) Entries() []*session.Entry { return clonedEntries(e.left.Entries) }

// BranchEntries returns copies of all entries of the branch that is left, from the root on.
func (e BeforeBranchEvent) BranchEntries() []*session.Entry { return clonedEntries(e.left.Path) }

// Ledger returns the facts of what is left behind.
func (e BeforeBranchEvent) Ledger() Ledger {
	return ledger.Read(e.left.Items, ledger.Options{Cwd: e.cwd})
}

// Ledger is what code reads from a conversation: files, commands, errors, constraints.
type Ledger = ledger.Ledger

// HookDetails returns what a hook has stored with the latest summary that has such details, in a compaction or a
// branch summary among the entries; nil for none.
func HookDetails(entries []*session.Entry) json.RawMessage {
	for _, e := range slices.Backward(entries) {
		var details json.RawMessage
		var hook bool
		if c, ok := e.Compaction(); ok {
			details, hook = c.Details, c.FromHook
		} else if b, ok := e.BranchSummary(); ok {
			details, hook = b.Details, b.FromHook
		}
		ours := jsonx.Get(details, "clew")
		if ours == nil && hook { // pi wrote it
			return details
		}
		if own := jsonx.Get(ours, "details"); own != nil {
			return slices.Clone(own)
		}
	}
	return nil
}

// BeforeForkEvent says what a fork is to be made of.
type BeforeForkEvent struct {
	// Session is the id of the session that is forked, From its file, To the new one.
	Session, From, To string
	Entry             string // the place that was asked for, "" for the leaf
}

// failed returns what is known of a hook that is being called at a point, with its error.
func (e HookError) failed(err error) *HookError {
	e.Err = err
	return &e
}

func (e HookError) refused(err error) error {
	return e.failed(fmt.Errorf("its answer was not taken: %w", err))
}

// call calls a hook and turns what goes wrong into a warning.
func (e HookError) call(warnings *[]error, fn func() error) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			err, isErr := v.(error)
			if !isErr {
				err = fmt.Errorf("%v", v)
			}
			e.Panic = true
			*warnings = append(*warnings, e.failed(err))
		}
	}()
	if err := fn(); err != nil {
		*warnings = append(*warnings, e.failed(err))
		return false
	}
	return true
}

// askHooks asks each hook that has a function at a point. next returns the event for a
// hook, take what becomes of its decision and whether to go on.
func askHooks[E any](
	ctx context.Context, hooks []Hooks, point string, warnings *[]error,
	at func(*Hooks) func(context.Context, E) (Decision, error), next func() (E, error), take func(HookError, Decision) (more bool, err error),
) error {
	for i := range hooks {
		fn := at(&hooks[i])
		if fn == nil {
			continue
		}
		e, err := next()
		if err != nil {
			return err
		}
		c := HookError{Point: point, Hook: i, Name: hooks[i].Name}
		var d Decision
		if !c.call(warnings, func() (err error) { d, err = fn(ctx, e); return err }) {
			continue
		}
		if err := d.misplaced(point); err != nil {
			*warnings = append(*warnings, c.refused(err))
			continue
		}
		if more, err := take(c, d); err != nil || !more {
			return err
		}
	}
	return nil
}

func tellHooks[E any](ctx context.Context, hooks []Hooks, point string, warnings *[]error, at func(*Hooks) func(context.Context, E) error, e E) {
	for i := range hooks {
		if fn := at(&hooks[i]); fn != nil {
			HookError{Point: point, Hook: i, Name: hooks[i].Name}.call(warnings, func() error { return fn(ctx, e) })
		}
	}
}

func always[E any](e *E) func() (E, error) { return func() (E, error) { return *e, nil } }

func (s *Session) asks(has func(Hooks) bool) bool { return slices.ContainsFunc(s.cfg.Hooks, has) }

func (s *Session) sessionEvent() SessionEvent {
	h := s.log.Store().Header()
	e := SessionEvent{Session: h.ID, Cwd: h.Cwd, Parent: h.ParentSession, Leaf: s.log.Leaf(), New: s.log.Leaf() == "", Model: s.cfg.setup().Model}
	if s.snap != nil {
		e.Model = s.snap.Model
	}
	return e
}

func (s *Session) askCompact(ctx context.Context, e BeforeCompactEvent, policy compact.Policy, warnings *[]error) (Decision, []session.Draft) {
	all := Decision{Instructions: e.Instructions}
	var edits []session.Draft
	_ = askHooks(s.inside(ctx), s.cfg.Hooks, pointBeforeCompact, warnings,
		func(h *Hooks) func(context.Context, BeforeCompactEvent) (Decision, error) { return h.BeforeCompact },
		always(&e), func(c HookError, d Decision) (bool, error) {
			if d.Cancel {
				all, edits = d, nil
				return false, nil
			}
			if err := d.checkPlan(policy, e.snap); err != nil {
				*warnings = append(*warnings, c.refused(err))
				d.Keep, d.Target, d.FirstKept = compact.Amount{}, compact.Amount{}, ""
			}
			all.merge(d)
			e.Instructions = all.Instructions
			edits = append(edits, checkEdits(e.snap, c, d.Edits, warnings)...)
			return true, nil
		}) // no function of ours fails
	return all, edits
}

// merge takes what a later hook says.
func (d *Decision) merge(later Decision) {
	d.Instructions = cmp.Or(later.Instructions, d.Instructions)
	d.ReplaceInstructions = later.ReplaceInstructions || d.ReplaceInstructions
	d.Label = cmp.Or(later.Label, d.Label)
	if later.Summary != "" {
		d.Summary, d.Details = later.Summary, later.Details
	}
	d.FirstKept = cmp.Or(later.FirstKept, d.FirstKept)
	d.Keep, d.Target = cmp.Or(later.Keep, d.Keep), cmp.Or(later.Target, d.Target)
}

// checkPlan says why what a hook wants of a plan can't be done.
func (d *Decision) checkPlan(policy compact.Policy, v *compact.Snapshot) error {
	if d.FirstKept != "" && v.Item(d.FirstKept) < 0 {
		return fmt.Errorf("no message of the context comes from entry %s, so the kept part can't begin there", d.FirstKept)
	}
	_, _, err := d.on(policy).Resolve()
	return err
}

func (d *Decision) on(p compact.Policy) compact.Policy {
	p.Instructions = cmp.Or(d.Instructions, p.Instructions)
	p.FirstKept = cmp.Or(d.FirstKept, p.FirstKept)
	return Override{Keep: d.Keep, Target: d.Target}.on(p)
}

// tellAfter tells the hooks of a pass that was written, and writes what they add.
func (s *Session) tellAfter(ctx context.Context, e Event, r *Result) error {
	return askHooks(s.inside(ctx), s.cfg.Hooks, pointAfterCompact, &r.Warnings,
		func(h *Hooks) func(context.Context, Event) (Decision, error) { return h.AfterCompact },
		func() (Event, error) {
			c := r.clone()
			e.Plan, e.Entries, e.Warnings = c.Plan, c.Entries, c.Warnings
			return e, nil
		}, func(c HookError, d Decision) (bool, error) {
			if err := s.add(ctx, c, d.Add, r); err != nil {
				r.Warnings = append(r.Warnings, c.refused(err))
			}
			return true, nil
		})
}

func (s *Session) askBranch(ctx context.Context, e BeforeBranchEvent, warnings *[]error) Decision {
	all := Decision{Instructions: e.Instructions, Label: e.Label}
	_ = askHooks(s.inside(ctx), s.cfg.Hooks, pointBeforeBranch, warnings,
		func(h *Hooks) func(context.Context, BeforeBranchEvent) (Decision, error) { return h.BeforeBranch },
		always(&e), func(_ HookError, d Decision) (bool, error) {
			if d.Cancel {
				all = d
				return false, nil
			}
			all.merge(d)
			e.Instructions, e.Label = all.Instructions, all.Label
			return true, nil
		}) // no function of ours fails
	return all
}

// AskFork asks hooks about a fork, for programs that copy sessions by themselves.
func AskFork(ctx context.Context, hooks []Hooks, e BeforeForkEvent) (d Decision, warnings []error) {
	_ = askHooks(ctx, hooks, pointBeforeFork, &warnings, func(h *Hooks) func(context.Context, BeforeForkEvent) (Decision, error) { return h.BeforeFork },
		always(&e), func(_ HookError, answer Decision) (bool, error) {
			d = answer
			return !d.Cancel, nil
		}) // no function of ours fails
	return d, warnings
}

func copies(items []session.Item) []*message.Message {
	out := make([]*message.Message, 0, len(items))
	for _, it := range copiedItems(items) {
		out = append(out, it.Message)
	}
	return out
}

func copiedItems(items []session.Item) []session.Item {
	out := make([]session.Item, 0, len(items))
	for _, it := range items {
		c, err := message.Parse(slices.Clone(it.Message.JSON()))
		if err != nil { // a message with no role that was built by a program
			continue
		}
		it.Message, it.Entry = c, it.Entry.Clone()
		if it.Edit != nil {
			it.Edit = it.Edit.Clone()
		}
		out = append(out, it)
	}
	return out
}

func clonedEntries(path []*session.Entry) []*session.Entry {
	out := make([]*session.Entry, len(path))
	for i, e := range path {
		out[i] = e.Clone()
	}
	return out
}
