package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync/atomic"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model/catalogue"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/summary"
)

// Session is a conversation that is kept within the model's window. It may be used from several goroutines:
// operations are one at a time, and another one waits, or fails with ErrBusy, as Config.FailBusy says. With the
// context that a hook or a summarizer was given it gets ErrBusy. An operation that fails, is cancelled, or is cut off
// by a crash leaves the session as it was before, or as it should be after; nothing between.
type Session struct {
	cfg   Config
	log   *session.Log
	turn  chan struct{} // holds one value while an operation is under way
	busy  bool          // Config.FailBusy, which is read while others change the rest of cfg
	close atomic.Bool

	// The rest, and cfg, belong to the operation under way.
	snap     *compact.Snapshot // at the leaf, nil where it is to be loaded
	checked  *compact.Plan     // what Check said last
	dirty    bool              // something was appended that is not synced
	index    *recall.Index     // of the log, once it was searched
	blobs    blob.Store
	cache    *cacheFiles
	warnings []error // for the next Result
	attempts int     // passes that were begun since the last one that was written
	found    *summary.Cache
	ready    prefetched
	warned   map[session.Model]bool // of models whose window is not known
}

// Open opens the session in a file for writing, or makes the file where there is none. No
// other program that asks can open it so meanwhile. It may be one that pi wrote.
func Open(ctx context.Context, path string, cfg Config) (*Session, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	f, err := jsonl.Open(ctx, path, jsonl.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		f, err = jsonl.Create(ctx, path, home.NewHeader(cfg.Cwd, cfg.Clock, cfg.NewID), jsonl.Options{})
	}
	if err != nil {
		return nil, err
	}
	return OpenFile(ctx, f, cfg)
}

// OpenFile takes an open session file into use, and what is kept beside it: one that was opened for reading, say, for
// Recall and Search. Close closes the file, and so does an error.
func OpenFile(ctx context.Context, f *jsonl.File, cfg Config) (s *Session, err error) {
	defer func() {
		if err != nil {
			_ = f.Close() // nothing was written, and err says more
		}
	}()
	if cfg.Blobs == nil {
		blobs, err := FileBlobs(f.Path())
		if err != nil {
			return nil, err
		}
		cfg.Blobs = blobs
	}
	return OpenStore(ctx, f, cfg)
}

// New makes a session in memory.
func New(cfg Config) (*Session, error) {
	return OpenStore(context.Background(), session.NewMemory(home.NewHeader(cfg.Cwd, cfg.Clock, cfg.NewID)), cfg)
}

// OpenStore takes a store of your own into use. Close closes it.
func OpenStore(ctx context.Context, store session.Store, cfg Config) (*Session, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Windows == nil {
		cfg.Windows = catalogue.NewWindows(cfg.Clock)
	}
	log, err := session.NewLog(ctx, store, session.Options{Clock: cfg.Clock, NewID: cfg.NewID})
	if err != nil {
		return nil, failed("open", "", err)
	}
	s := &Session{
		cfg: cfg, log: log, turn: make(chan struct{}, 1), busy: cfg.FailBusy, blobs: cfg.Blobs,
		found: summary.NewCache(), warned: map[session.Model]bool{},
	}
	if cfg.Cache != "" {
		if s.cache, err = newCacheFiles(cfg.Cache, store.Header().ID); err != nil {
			return nil, failed("open", cfg.Cache, err)
		}
	}
	if !cfg.once {
		tellHooks(s.inside(ctx), cfg.Hooks, pointStart, &s.warnings,
			func(h *Hooks) func(context.Context, SessionEvent) error { return h.SessionStart }, s.sessionEvent())
	}
	return s, nil
}

// insideKey marks the context that is given to hooks and summarizers of a session.
type insideKey struct{ s *Session }

func (s *Session) inside(ctx context.Context) context.Context {
	return context.WithValue(ctx, insideKey{s}, true)
}

// begin waits for its turn. Without an error, end must follow.
func (s *Session) begin(ctx context.Context, op string) error {
	if ctx.Value(insideKey{s}) != nil {
		return &Error{Op: op, Err: ErrBusy, Hint: "a hook or a summarizer must not call the session that called it"}
	}
	if err := ctx.Err(); err != nil {
		return &Error{Op: op, Err: err}
	}
	select {
	case s.turn <- struct{}{}:
	default:
		if s.busy {
			return &Error{Op: op, Err: ErrBusy, Hint: "try again when it is done, or leave Config.FailBusy off to wait for it"}
		}
		select {
		case s.turn <- struct{}{}:
		case <-ctx.Done():
			return &Error{Op: op, Err: ctx.Err()}
		}
	}
	if s.close.Load() {
		s.end()
		return &Error{Op: op, Err: ErrClosed}
	}
	return nil
}

func (s *Session) end() { <-s.turn }

// do runs fn as an operation. Its error says what was tried, on what.
func (s *Session) do(ctx context.Context, op, subject string, fn func() error) error {
	if err := s.begin(ctx, op); err != nil {
		return err
	}
	defer s.end()
	return failed(op, subject, fn())
}

// loaded is do with the snapshot at the leaf.
func (s *Session) loaded(ctx context.Context, op string, fn func(v *compact.Snapshot) error) error {
	return s.do(ctx, op, "", func() error {
		v, err := s.load(ctx)
		if err != nil {
			return err
		}
		return fn(v)
	})
}

// Close makes everything durable and closes the store, after the operation under way. A second Close does nothing.
func (s *Session) Close() error {
	s.turn <- struct{}{}
	defer s.end()
	if s.close.Swap(true) {
		return nil
	}
	var told []error
	if !s.cfg.once {
		tellHooks(s.inside(context.Background()), s.cfg.Hooks, pointEnd, &told,
			func(h *Hooks) func(context.Context, SessionEvent) error { return h.SessionEnd }, s.sessionEvent())
	}
	s.snap, s.checked, s.index = nil, nil, nil
	return cmp.Or(s.log.Store().Close(), errors.Join(told...))
}

// Leaf returns the id of the entry where the conversation stands, "" before the first.
func (s *Session) Leaf() string { return s.log.Leaf() }

// Log returns the tree of entries, for labels, branches and whatever else is not here.
func (s *Session) Log() *session.Log { return s.log }

// Blobs keeps large content beside the log. It is nil where there is no such place.
func (s *Session) Blobs() blob.Store { return s.blobs }

// Append writes messages to the end of the conversation, all or none, and returns the ids of their entries. What the
// user typed is durable when it returns; for the rest see Config.SyncLate.
func (s *Session) Append(ctx context.Context, msgs ...*message.Message) ([]string, error) {
	return s.appendMessages(ctx, "", msgs...)
}

// AppendAs is Append of one message whose entry gets an id of the caller's, 16 random hex digits, for programs that
// must not append it twice. The error session.ErrDuplicateID says that it is there already, as far as the log was
// read: one that was appended by an earlier run is to be looked for with Store.Get.
func (s *Session) AppendAs(ctx context.Context, id string, m *message.Message) error {
	_, err := s.appendMessages(ctx, id, m)
	return err
}

// appendMessages gives the first entry an id, unless that is "".
func (s *Session) appendMessages(ctx context.Context, id string, msgs ...*message.Message) (out []string, err error) {
	user := false
	for _, m := range msgs {
		if err := checkMessage(m); err != nil {
			return nil, err
		}
		user = user || m.UserWords()
	}
	err = s.do(ctx, "append", id, func() error {
		drafts, notes, err := s.drafts(ctx, msgs)
		if err != nil {
			return err
		}
		if id != "" {
			drafts[0] = drafts[0].As(id)
		}
		entries, err := s.append(ctx, user || !s.cfg.SyncLate, append(drafts, notes...)...)
		if err != nil {
			return err
		}
		for _, m := range msgs {
			if m.Usage != nil { // a limit below what was just answered is wrong
				s.cfg.Windows.Accepted(catalogue.Route{Provider: m.Provider, Model: m.Model}, m.Usage)
			}
		}
		out = ids(entries[:len(msgs)])
		return nil
	})
	return out, err
}

// drafts returns the entries for messages, and those that say what hooks have replaced in
// them. These come last: nothing stands between a call and its result.
func (s *Session) drafts(ctx context.Context, msgs []*message.Message) (drafts, notes []session.Draft, err error) {
	hooked := s.asks(func(h Hooks) bool { return h.EditToolResult != nil })
	for i, m := range msgs {
		if hooked {
			edited, note, ok := s.editResult(ctx, m, msgs[:i])
			if m = edited; ok {
				notes = append(notes, note)
			}
		}
		if m, err = s.spill(ctx, m); err != nil {
			return nil, nil, err
		}
		drafts = append(drafts, session.Message(m))
	}
	return drafts, notes, nil
}

// append writes drafts and brings the snapshot up to date.
func (s *Session) append(ctx context.Context, durable bool, drafts ...session.Draft) ([]*session.Entry, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	write := s.log.Append
	durable = durable && !s.cfg.SyncByHand
	if !durable {
		write = s.log.AppendNoSync
	}
	entries, err := write(ctx, drafts...)
	if err != nil {
		return nil, err
	}
	s.dirty = !durable
	if s.snap != nil {
		s.snap = s.snap.With(entries...)
	}
	return entries, nil
}

// Sync makes durable what was written without waiting for the disk: see Config.SyncLate and Config.SyncByHand.
func (s *Session) Sync(ctx context.Context) error {
	return s.do(ctx, "sync", "", func() error { return s.sync(ctx) })
}

func (s *Session) sync(ctx context.Context) error {
	if !s.dirty {
		return nil
	}
	if err := s.log.Store().Sync(ctx); err != nil {
		return err
	}
	s.dirty = false
	return nil
}

// checkMessage refuses what would be in the log and never in a request.
func checkMessage(m *message.Message) error {
	bad := func(subject, hint string) error {
		return &Error{Op: "append message", Subject: subject, Err: ErrBadMessage, Hint: hint}
	}
	switch {
	case m == nil:
		return bad("nil", "give messages made by package message")
	case !m.Role.Known():
		return bad("of role "+string(m.Role), "use one of the roles of package message")
	case m.Role == message.RoleCompactionSummary, m.Role == message.RoleBranchSummary:
		return bad("of role "+string(m.Role), "summaries are made by Compact and package session")
	case m.Role == message.RoleToolResult && m.ToolCallID == "":
		return bad("of role "+string(m.Role), "give it the id of its call, or it can't be paired")
	}
	return nil
}

// SetModel writes down which model is called from now on. It counts where Config.Model is empty.
func (s *Session) SetModel(ctx context.Context, provider, model string) error {
	return s.do(ctx, "set the model", "", func() error {
		_, err := s.append(ctx, true, session.NewModelChange(session.Model{Provider: provider, ID: model}))
		return err
	})
}

// Pin keeps an entry word for word through every pass, until Unpin.
func (s *Session) Pin(ctx context.Context, id string) error { return s.pin(ctx, "pin", id, true) }

// Unpin takes a pin away.
func (s *Session) Unpin(ctx context.Context, id string) error { return s.pin(ctx, "unpin", id, false) }

func (s *Session) pin(ctx context.Context, op, id string, on bool) error {
	return s.do(ctx, op, id, func() error {
		_, err := s.log.Store().Get(ctx, id)
		if err == nil {
			_, err = s.append(ctx, true, session.NewPin(id, on))
		}
		return err
	})
}

// CloseOpenCalls appends a result that says that it was interrupted for every call that waits for one, so that the
// context can be prepared again. It returns the number of calls.
func (s *Session) CloseOpenCalls(ctx context.Context) (n int, err error) {
	err = s.do(ctx, "close open calls", "", func() error { n, err = compact.CloseOpenCalls(ctx, s.log); return err })
	return n, err
}

// Undo takes the latest pass back; right after an undo it is a redo. When turns came
// after the pass it fails with a *session.LaterError, unless opt.KeepLater.
func (s *Session) Undo(ctx context.Context, opt session.UndoOptions) (u session.Undone, err error) {
	err = s.do(ctx, "undo", "", func() error {
		if u, err = s.log.Undo(ctx, opt); err != nil || s.cache == nil {
			return err
		}
		if snap, err := s.load(ctx); err == nil {
			s.provideFiles(ctx, snap) // the pass may have deleted some
		}
		return nil
	})
	return u, err
}

// Navigate moves the leaf to an entry, "" for before the first. reason is for the reader of the tree.
func (s *Session) Navigate(ctx context.Context, id, reason string) error {
	return s.do(ctx, "navigate", id, func() error { return s.log.Navigate(ctx, id, reason) })
}

func ids(entries []*session.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.ID
	}
	return out
}

// Record appends entries that are no messages, such as a label, a name, or a program's own, and returns their ids.
func (s *Session) Record(ctx context.Context, drafts ...session.Draft) ([]string, error) {
	const op = "record"
	for _, d := range drafts {
		switch d.Type {
		case session.TypeMessage, session.TypeCompaction, session.TypeBranchSummary, session.TypeContextEdit:
			return nil, &Error{Op: op, Subject: "an entry of type " + string(d.Type), Err: session.ErrBadEntry, Hint: "Append, Compact, Branch and Omit write those"}
		default:
		}
	}
	var entries []*session.Entry
	err := s.do(ctx, op, "", func() (err error) { entries, err = s.append(ctx, true, drafts...); return err })
	return ids(entries), err
}

// Omit takes entries out of the context, for as long as the conversation is on this branch: attempts that failed,
// reminders that are out of date. An answer goes with the results of its calls. What the user typed can't be taken out.
func (s *Session) Omit(ctx context.Context, entries ...string) error {
	return s.loaded(ctx, "omit", func(v *compact.Snapshot) error {
		out, err := unitsToOmit(v, entries)
		if err != nil {
			return err
		}
		drafts := make([]session.Draft, len(out))
		for i, id := range out {
			drafts[i] = session.NewContextEdit(session.ContextEdit{TargetID: id, Omit: true})
		}
		_, err = s.append(ctx, true, drafts...)
		return err
	})
}

func unitsToOmit(v *compact.Snapshot, entries []string) ([]string, error) {
	var out []string
	calls := map[string]bool{}
	for _, id := range entries {
		i := v.Item(id)
		if i < 0 {
			continue // it is not in the context, which is what is asked for
		}
		switch m := v.Context.Items[i].Message; {
		case m.UserWords():
			return nil, fmt.Errorf("entry %s is what the user typed, and that stays", id)
		case m.Role == message.RoleToolResult, m.Role == message.RoleSystem, m.Role == message.RoleCompactionSummary:
			return nil, fmt.Errorf("entry %s is a message of role %s, which can't be taken out by itself", id, m.Role)
		default:
			out = append(out, id)
			for _, c := range m.ToolCalls() {
				calls[c.ID] = true
			}
		}
	}
	for _, it := range v.Context.Items {
		if m := it.Message; m.Role == message.RoleToolResult && calls[m.ToolCallID] {
			out = append(out, it.Entry.ID)
		}
	}
	return out, nil
}

// Check says whether the next Prepare will make a pass and why. It costs hardly anything.
func (s *Session) Check(ctx context.Context) (plan *compact.Plan, err error) {
	err = s.loaded(ctx, "check", func(v *compact.Snapshot) (err error) {
		plan, err = s.check(v, compact.Request{})
		return err
	})
	return plan, err
}

// Context returns the context as it is, with the entry of each message. Neither may be changed.
func (s *Session) Context(ctx context.Context) (items []session.Item, err error) {
	err = s.loaded(ctx, "context", func(v *compact.Snapshot) error { items = slices.Clone(v.Context.Items); return nil })
	return items, err
}
