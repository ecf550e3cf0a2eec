package clew

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// EditToolResult is asked about each tool result before it is appended. What it
// replaces is never stored.
type EditToolResult interface {
	EditToolResult(ctx context.Context, e ToolResultEvent) (ToolResultDecision, error)
}

// EditToolResultFunc is a function as an EditToolResult.
type EditToolResultFunc func(ctx context.Context, e ToolResultEvent) (ToolResultDecision, error)

// EditToolResult implements the interface of that name.
func (f EditToolResultFunc) EditToolResult(ctx context.Context, e ToolResultEvent) (ToolResultDecision, error) {
	return f(ctx, e)
}

// ToolResultEvent is a result that is about to be appended.
type ToolResultEvent struct {
	// Session is the id of the session.
	Session string
	// Message is the result, as the hooks before this one left it.
	Message *message.Message
	// Arguments are those of the call, as JSON; nil where the call is not in the
	// context.
	Arguments json.RawMessage
}

// ToolResultDecision is what an EditToolResult answers. The zero value changes
// nothing.
type ToolResultDecision struct {
	// Content, if not empty, takes the place of the result's. What the tool stored
	// for itself in the details goes too, for it may say the same.
	Content []message.Block
}

// replacedResult is what the log says of a result that hooks have replaced.
type replacedResult struct {
	Point string   `json:"point"`
	Hooks []string `json:"hooks"`
	Call  string   `json:"call"`
	// Before and After are the bytes of the content.
	Before int `json:"before"`
	After  int `json:"after"`
}

// editResult asks the hooks about a result. note is what goes into the log with it;
// ok is false where nothing was replaced.
func (s *Session) editResult(ctx context.Context, m *message.Message, before []*message.Message) (_ *message.Message, note session.Draft, ok bool) {
	const point = "EditToolResult"
	if m.Role != message.RoleToolResult {
		return m, note, false
	}
	was := m
	did := replacedResult{Point: point, Call: m.ToolCallID}
	e := ToolResultEvent{Session: s.log.Store().Header().ID, Arguments: s.argumentsOf(m.ToolCallID, before)}
	eachHook(s.cfg.Hooks, func(i int, h Hook, hook EditToolResult) bool {
		c, err := message.Parse(slices.Clone(m.JSON()))
		if err != nil {
			s.warnings = append(s.warnings, refused(point, i, h, err))
			return true
		}
		e.Message = c
		var d ToolResultDecision
		if !call(point, i, h, &s.warnings, func() (err error) {
			d, err = hook.EditToolResult(s.inside(ctx), e)
			return err
		}) || len(d.Content) == 0 {
			return true
		}
		edited, err := withResult(m, d.Content)
		if err != nil {
			s.warnings = append(s.warnings, refused(point, i, h, err))
			return true
		}
		m, did.Hooks = edited, append(did.Hooks, hookName(h))
		return true
	})
	if m == was {
		return m, note, false
	}
	did.Before, did.After = len(message.EncodeBlocks(was.Content)), len(message.EncodeBlocks(m.Content))
	data, _ := json.Marshal(did) // strings and numbers: it can't fail
	return m, session.NewCustom(customHook, data), true
}

// withResult returns a result with other content and without details.
func withResult(m *message.Message, content []message.Block) (*message.Message, error) {
	data := jsonx.Set(m.JSON(), "content", message.EncodeBlocks(content))
	if jsonx.Get(data, "details") != nil {
		data = jsonx.Set(data, "details", []byte("{}"))
	}
	return message.Parse(data)
}

// argumentsOf returns the arguments of a call that waits for its result: one in the
// messages that are appended before it, or in the context.
func (s *Session) argumentsOf(call string, before []*message.Message) json.RawMessage {
	find := func(msgs []*message.Message) json.RawMessage {
		for i := len(msgs) - 1; i >= 0; i-- {
			for _, b := range msgs[i].ToolCalls() {
				if b.ID == call {
					return slices.Clone(b.Arguments)
				}
			}
		}
		return nil
	}
	if found := find(before); found != nil || s.snap == nil || s.snap.Leaf != s.log.Leaf() {
		return found
	}
	return find(s.snap.Messages)
}
