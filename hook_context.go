package clew

import (
	"context"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// EditContext is asked by every Prepare, before it looks whether a pass is due, and
// may change what the model is sent. What it changes is written into the log, as
// edits and as messages at the end: so every request is still what the log gives,
// and begins as the one before. A hook that changes something in each request makes
// the provider's prompt cache useless.
type EditContext interface {
	EditContext(ctx context.Context, e ContextEvent) (ContextDecision, error)
}

// EditContextFunc is a function as an EditContext.
type EditContextFunc func(ctx context.Context, e ContextEvent) (ContextDecision, error)

// EditContext implements the interface of that name.
func (f EditContextFunc) EditContext(ctx context.Context, e ContextEvent) (ContextDecision, error) {
	return f(ctx, e)
}

// ContextEvent says what is about to be sent.
type ContextEvent struct {
	// Session is the id of the session, Leaf the entry where it stands.
	Session, Leaf string
	// Tokens is what the context takes, Window the model's window.
	Tokens, Window int64

	view *compact.Snapshot
}

// Context returns the context with the entry of each message. Each call makes
// copies.
func (e ContextEvent) Context() []ContextItem { return copiedItems(e.view.Context.Items) }

// ContextDecision is what an EditContext answers. The zero value changes nothing.
// The hooks after this one see what it changed.
type ContextDecision struct {
	Edits []Edit
	// Add, if not empty, is text that stands at the end of the context, marked as a
	// hook's.
	Add string
}

// editContext asks the hooks about the context and writes what they change. No call
// waits for its result.
func (s *Session) editContext(ctx context.Context) error {
	const point = "EditContext"
	var failed error
	eachHook(s.cfg.Hooks, func(i int, h Hook, hook EditContext) bool {
		v, err := s.load(ctx)
		if err != nil {
			failed = err
			return false
		}
		var d ContextDecision
		e := ContextEvent{
			Session: s.log.Store().Header().ID, Leaf: v.Leaf,
			Tokens: v.Reading.Tokens, Window: v.Meter.Window(), view: v,
		}
		if !call(point, i, h, &s.warnings, func() (err error) {
			d, err = hook.EditContext(s.inside(ctx), e)
			return err
		}) {
			return true
		}
		var drafts []session.Draft
		for _, edit := range checkEdits(v, point, i, h, d.Edits, &s.warnings) {
			drafts = append(drafts, edit.draft())
		}
		if strings.TrimSpace(d.Add) != "" {
			drafts = append(drafts, added(point, h, d.Add))
		}
		_, failed = s.append(ctx, true, drafts...)
		return failed == nil
	})
	return failed
}

// added drafts text of a hook.
func added(point string, h Hook, text string) session.Draft {
	blocks := []message.Block{message.TextBlock(text)}
	return session.NewCustomMessage(customHook, blocks, true, hookMark{hookName(h), point}.json())
}
