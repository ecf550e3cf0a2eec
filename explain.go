package clew

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/summary"
	"github.com/clew-dev/clew/token"
)

// Explanation says what the context is made of and what Prepare would do now.
type Explanation struct {
	Leaf    string
	Model   session.Model // that the plan is for
	Reading token.Reading
	Pending []message.Block // calls that wait for their results; Prepare refuses meanwhile
	// Plan is what Prepare would do and why; nil when Err says why it would fail. No
	// model is asked for it and no hook: its summary is the deterministic one.
	Plan  *compact.Plan
	Err   error
	Fates []compact.Fate // say what became of every entry of the path, oldest first
	// Checkpoints are the entries of the path at which a task seems to have ended, oldest first.
	Checkpoints []Checkpoint
}

// Checkpoint is an entry at which a task seems to have ended.
type Checkpoint struct {
	Entry string
	Why   string // commit, check, todos, user or agent
	// Ready says that the next summary has been prepared up to there, or that an earlier one holds it.
	Ready bool
}

// Explain says what would happen now and why, and what happened to every entry of the whole path.
func (s *Session) Explain(ctx context.Context) (x *Explanation, err error) {
	err = s.do(ctx, "explain", "", func() error { x, err = s.explain(ctx); return err })
	return x, err
}

func (s *Session) explain(ctx context.Context) (*Explanation, error) {
	snap, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	x := &Explanation{Leaf: snap.Leaf, Model: snap.Model, Reading: snap.Reading}
	fate := compact.FateIn(snap.Path) // the whole path is read, and not kept
	err = session.Walk(ctx, s.log.Store(), snap.Leaf, func(e *session.Entry) bool { x.Fates = append(x.Fates, fate(e)); return false })
	if err != nil {
		return nil, err
	}
	slices.Reverse(x.Fates)
	ended, waiting := compact.Checkpoints(snap.Path), s.notReady(snap)
	for _, f := range x.Fates {
		if why := ended[f.Entry]; why != "" {
			x.Checkpoints = append(x.Checkpoints, Checkpoint{f.Entry, string(why), !waiting[f.Entry]})
		}
	}
	if calls := compact.Pending(snap.Context.Items); len(calls) > 0 {
		x.Pending, x.Err = calls, pendingError("explain", calls)
		return x, nil
	}
	policy := snap.Policy
	policy.Summarizer = summary.Deterministic{}
	x.Plan, err = compact.Make(ctx, snap, compact.Request{Policy: &policy, Checked: s.checked, Found: s.found})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	x.Err = failed("explain", "", err)
	return x, nil
}

// Fit brings a list of messages into the window, for a caller without a session. If the list already fits, the result
// is a copy; otherwise it is shorter and begins with a summary. The same input gives the same output. Pass the result,
// plus later messages, to the next call. Messages that left the list can't be recovered; a Session keeps them. The
// errors are those of Session.Prepare.
func Fit(ctx context.Context, msgs []*message.Message, cfg Config) ([]*message.Message, *Result, error) {
	const op = "fit"
	f := fitting{}
	cfg.once = true
	if cfg.Clock == nil {
		cfg.Clock = f.now
	}
	if cfg.NewID == nil {
		cfg.NewID = f.id
	}
	drafts, err := f.drafts(msgs)
	if err != nil {
		return nil, nil, err
	}
	s, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	if _, err := s.append(ctx, true, drafts...); err != nil {
		return nil, nil, failed(op, "", err)
	}
	p, err := s.Prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	if len(p.Entries) == 0 {
		return append([]*message.Message(nil), msgs...), &p.Result, nil
	}
	p.Messages = p.Messages[len(cfg.withPrompt(nil)):]
	for i, m := range p.Messages {
		p.Messages[i] = withoutUsage(m)
	}
	return p.Messages, &p.Result, nil
}

// fitting makes ids and times that depend on the messages alone.
type fitting struct {
	latest int64 // milliseconds
	sum    [sha256.Size]byte
	ids    int
}

func (f *fitting) now() time.Time { return time.UnixMilli(f.latest) }

// id returns the next id. Ids are handles in the summary, so their beginnings differ.
func (f *fitting) id() string {
	f.ids++
	sum := sha256.Sum256(fmt.Appendf(f.sum[:], "%d", f.ids))
	return hex.EncodeToString(sum[:8])
}

// drafts returns the entries for messages. A summary that an earlier call put first,
// behind nothing but system messages, becomes the compaction it was.
func (f *fitting) drafts(msgs []*message.Message) ([]session.Draft, error) {
	var drafts []session.Draft
	h := sha256.New()
	said := func(m *message.Message) bool { return m.Role != message.RoleSystem }
	for i, m := range msgs {
		if m != nil && m.Role == message.RoleCompactionSummary && !slices.ContainsFunc(msgs[:i], said) {
			drafts = []session.Draft{session.NewCompaction(session.Compaction{
				Summary: m.Summary, TokensBefore: m.TokensBefore, Details: m.Details,
				SystemMessage: message.ReplaySystem(msgs[:i]),
			})}
		} else {
			if err := checkMessage(m); err != nil {
				return nil, err
			}
			drafts = append(drafts, session.Message(m))
		}
		h.Write(m.JSON())
		f.latest = max(f.latest, m.Timestamp)
	}
	h.Sum(f.sum[:0])
	return drafts, nil
}

// withoutUsage returns an answer without what was reported for it: that was of another context.
func withoutUsage(m *message.Message) *message.Message {
	if m.Role != message.RoleAssistant || m.Usage == nil {
		return m
	}
	c, err := message.Parse(jsonx.Set(m.JSON(), "usage", (&message.Usage{}).JSON()))
	if err != nil {
		return m
	}
	return c
}
