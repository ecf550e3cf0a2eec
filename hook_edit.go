package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Redacted stands for what an edit took out of a message of the user.
const Redacted = "[redacted]"

// Edit changes how an entry is shown from now on. It is appended to the log; the
// entry itself stays as it is.
//
// No edit can part a call from its result: a result and an answer with calls can't
// be taken out, and the calls of an answer keep their ids and names. Reasoning stays as it is
// or goes. From a message that the user typed text can be taken out alone, with
// Redacted in its place.
type Edit struct {
	// Entry is in the context; see BeforeCompactEvent.Context.
	Entry string
	// Omit takes it out.
	Omit bool
	// Content, without Omit, takes the place of its content.
	Content []message.Block
}

// hookEdit is an edit that was found good.
type hookEdit struct {
	Edit
	hook, point string
}

// hookMark is what the log says about where something comes from.
type hookMark struct {
	Hook  string `json:"hook,omitempty"`
	Point string `json:"point"`
}

func (m hookMark) json() json.RawMessage {
	data, _ := json.Marshal(struct {
		Clew hookMark `json:"clew"`
	}{m}) // two strings: it can't fail
	return data
}

func (e hookEdit) draft() session.Draft {
	c := session.ContextEdit{TargetID: e.Entry, Omit: e.Omit, Details: hookMark{e.hook, e.point}.json()}
	if !e.Omit {
		c.Content = message.EncodeBlocks(e.Content)
	}
	return session.NewContextEdit(c)
}

// checkEdits returns those edits that can be made and that change something, and
// warns of the others.
func checkEdits(v *compact.Snapshot, point string, hook int, h Hook, edits []Edit, warnings *[]error) []hookEdit {
	var good []hookEdit
	for _, e := range edits {
		i := v.Item(e.Entry)
		if i < 0 {
			*warnings = append(*warnings, refused(point, hook, h, fmt.Errorf("no message of the context comes from entry %q", e.Entry)))
			continue
		}
		old := v.Context.Items[i].Message
		if err := e.check(old); err != nil {
			*warnings = append(*warnings, refused(point, hook, h, fmt.Errorf("edit of entry %s: %w", e.Entry, err)))
			continue
		}
		if e.Omit || !bytes.Equal(message.EncodeBlocks(e.Content), message.EncodeBlocks(old.Content)) {
			e.Content = slices.Clone(e.Content)
			good = append(good, hookEdit{e, hookName(h), point})
		}
	}
	return good
}

// check says why a message can't be edited so.
func (e Edit) check(old *message.Message) error {
	if e.Omit {
		switch {
		case old.Role == message.RoleToolResult:
			return errors.New("a result can't be taken out without its call; give it other content")
		case len(old.ToolCalls()) > 0:
			return errors.New("an answer with calls can't be taken out without their results; give it other content")
		case old.Role == message.RoleSystem, old.Role == message.RoleCompactionSummary:
			return fmt.Errorf("a message of role %s can't be taken out", old.Role)
		}
		return nil
	}
	if !session.Replaceable(old.Role) {
		return fmt.Errorf("the content of a message of role %s can't be replaced", old.Role)
	}
	if len(e.Content) == 0 {
		return errors.New("it has no content; say Omit to take the message out")
	}
	if err := sameCalls(old.Content, e.Content); err != nil {
		return err
	}
	if old.UserWords() {
		return onlyTakesOut(old.Content, e.Content)
	}
	return nil
}

// sameCalls reports calls and reasoning that an edit would change.
func sameCalls(old, edited []message.Block) error {
	was, is := calls(old), calls(edited)
	if !slices.Equal(was, is) {
		return fmt.Errorf("its calls were %v and would be %v; ids and names must stay", was, is)
	}
	for _, b := range edited {
		known := func(o message.Block) bool { return bytes.Equal(o.JSON(), b.JSON()) }
		if b.Type != message.BlockText && b.Type != message.BlockToolCall && !slices.ContainsFunc(old, known) {
			return fmt.Errorf("a block of type %s is not as it was in the message; leave it as it is, or leave it out", b.Type)
		}
	}
	return nil
}

func calls(blocks []message.Block) []Call {
	out := []Call{}
	for _, b := range blocks {
		if b.Type == message.BlockToolCall {
			out = append(out, Call{b.ID, b.Name})
		}
	}
	return out
}

// onlyTakesOut reports text that the user did not write.
func onlyTakesOut(old, edited []message.Block) error {
	rest := blocksText(old)
	for piece := range strings.SplitSeq(blocksText(edited), Redacted) {
		_, after, ok := strings.Cut(rest, piece)
		if !ok {
			return fmt.Errorf("the user did not write %.60q; from the user's words text can be taken out, with %s in its place", piece, Redacted)
		}
		rest = after
	}
	return nil
}

func blocksText(blocks []message.Block) string {
	var b strings.Builder
	for i := range blocks {
		if blocks[i].Type == message.BlockText {
			b.WriteString(blocks[i].Text)
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// applyEdits writes the edits of hooks.
func (s *Session) applyEdits(ctx context.Context, edits []hookEdit) error {
	drafts := make([]session.Draft, len(edits))
	for i, e := range edits {
		drafts[i] = e.draft()
	}
	_, err := s.append(ctx, true, drafts...)
	return err
}

// customHook is the type of what hooks leave in the log: a custom message for
// text that one added, a custom entry for content that one replaced before it was
// written.
const customHook = "clew.hook"

// add writes text of a hook to the end of the context, if there is room for it.
func (s *Session) add(ctx context.Context, point string, h Hook, a Addition, r *Result) error {
	if strings.TrimSpace(a.Text) == "" {
		return nil
	}
	v, err := s.load(ctx)
	if err != nil {
		return err
	}
	draft := added(point, h, a.Text)
	grown := v.Preview(draft)
	if grown == nil {
		return errors.New("it can't be measured")
	}
	then, err := compact.Check(grown, compact.Request{})
	if err != nil {
		return err
	}
	if then.Act && !then.OnlyThinking {
		return fmt.Errorf("with its text of %d bytes the next pass would be due: %s", len(a.Text), then.Why)
	}
	entries, err := s.append(ctx, true, draft)
	if err != nil {
		return err
	}
	r.Entries = append(r.Entries, ids(entries)...)
	return nil
}
