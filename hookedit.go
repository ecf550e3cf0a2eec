package clew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Redacted stands for what an edit took out of a message of the user.
const Redacted = "[redacted]"

// Edit changes how an entry is shown from now on; the entry stays as it is. An edit can't part a call from its
// result, so results and answers with calls stay, and calls keep their ids and names. Reasoning stays as it is or
// goes. From what the user typed text can be taken out alone, with Redacted in its place.
type Edit struct {
	Entry   string
	Omit    bool            // takes it out
	Content []message.Block // takes the place of its content, without Omit
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

// checkEdits drafts those edits that can be made and that change something, and warns of those that can't.
func checkEdits(v *compact.Snapshot, c HookError, edits []Edit, warnings *[]error) (good []session.Draft) {
	for _, e := range edits {
		i := v.Item(e.Entry)
		if i < 0 {
			*warnings = append(*warnings, c.refused(fmt.Errorf("no message of the context comes from entry %q", e.Entry)))
			continue
		}
		old := v.Context.Items[i].Message
		if err := e.check(old); err != nil {
			*warnings = append(*warnings, c.refused(fmt.Errorf("edit of entry %s: %w", e.Entry, err)))
			continue
		}
		edit := session.ContextEdit{TargetID: e.Entry, Omit: e.Omit, Details: hookMark{c.Name, c.Point}.json()}
		if !e.Omit {
			edit.Content = message.EncodeBlocks(e.Content)
		}
		if !bytes.Equal(edit.Content, message.EncodeBlocks(old.Content)) {
			good = append(good, session.NewContextEdit(edit))
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

func calls(blocks []message.Block) (out [][2]string) {
	for _, b := range blocks {
		if b.Type == message.BlockToolCall {
			out = append(out, [2]string{b.ID, b.Name})
		}
	}
	return out
}

// onlyTakesOut reports text that the user did not write.
func onlyTakesOut(old, edited []message.Block) error {
	rest := (&message.Message{Content: old}).Text()
	for piece := range strings.SplitSeq((&message.Message{Content: edited}).Text(), Redacted) {
		_, after, ok := strings.Cut(rest, piece)
		if !ok {
			return fmt.Errorf("the user did not write %.60q; from the user's words text can be taken out, with %s in its place", piece, Redacted)
		}
		rest = after
	}
	return nil
}

// customHook is the type of what hooks leave in the log: a custom message for text that
// one added, a custom entry for content that one replaced before it was written.
const customHook = "clew.hook"

// add writes text of a hook to the end of the context, if there is room for it.
func (s *Session) add(ctx context.Context, c HookError, text string, r *Result) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	v, err := s.load(ctx)
	if err != nil {
		return err
	}
	draft := added(c, text)
	grown := v.Preview(draft)
	if grown == nil {
		return errors.New("it can't be measured")
	}
	then, err := compact.Check(grown, compact.Request{})
	if err != nil {
		return err
	}
	if then.Act && !then.OnlyThinking {
		return fmt.Errorf("with its text of %d bytes the next pass would be due: %s", len(text), then.Why)
	}
	entries, err := s.append(ctx, true, draft)
	if err != nil {
		return err
	}
	r.Entries = append(r.Entries, ids(entries)...)
	return nil
}

func added(c HookError, text string) session.Draft {
	blocks := []message.Block{message.TextBlock(text)}
	return session.NewCustomMessage(customHook, blocks, true, hookMark{c.Name, c.Point}.json())
}

// editContext asks the hooks about the context, writes what they change and returns the snapshot afterwards.
func (s *Session) editContext(ctx context.Context, v *compact.Snapshot) (*compact.Snapshot, error) {
	err := askHooks(s.inside(ctx), s.cfg.Hooks, pointContext, &s.warnings,
		func(h *Hooks) func(context.Context, ContextEvent) (Decision, error) { return h.EditContext },
		func() (e ContextEvent, err error) {
			if v, err = s.load(ctx); err != nil {
				return e, err
			}
			return ContextEvent{
				Session: s.log.Store().Header().ID, Leaf: v.Leaf,
				Tokens: v.Reading.Tokens, Window: v.Meter.Window(), snap: v,
			}, nil
		}, func(c HookError, d Decision) (bool, error) {
			drafts := checkEdits(v, c, d.Edits, &s.warnings)
			if strings.TrimSpace(d.Add) != "" {
				drafts = append(drafts, added(c, d.Add))
			}
			_, err := s.append(ctx, true, drafts...)
			return err == nil, err
		})
	if err != nil {
		return nil, err
	}
	return s.load(ctx)
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

// editResult asks the hooks about a result. note is what goes into the log with it, if ok.
func (s *Session) editResult(ctx context.Context, m *message.Message, before []*message.Message) (_ *message.Message, note session.Draft, ok bool) {
	if m.Role != message.RoleToolResult {
		return m, note, false
	}
	was := m
	did := replacedResult{Point: pointToolResult, Call: m.ToolCallID}
	e := ToolResultEvent{Session: s.log.Store().Header().ID, Arguments: s.argumentsOf(m.ToolCallID, before)}
	err := askHooks(s.inside(ctx), s.cfg.Hooks, pointToolResult, &s.warnings,
		func(h *Hooks) func(context.Context, ToolResultEvent) (Decision, error) { return h.EditToolResult },
		func() (_ ToolResultEvent, err error) {
			e.Message, err = message.Parse(slices.Clone(m.JSON()))
			return e, err
		}, func(c HookError, d Decision) (bool, error) {
			if len(d.Content) == 0 {
				return true, nil
			}
			edited, err := withResult(m, d.Content)
			if err != nil {
				s.warnings = append(s.warnings, c.refused(err))
				return true, nil
			}
			m, did.Hooks = edited, append(did.Hooks, c.Name)
			return true, nil
		})
	if err != nil {
		s.warnings = append(s.warnings, fmt.Errorf("no hook was asked about the result of call %s: %w", m.ToolCallID, err))
	}
	if m == was {
		return m, note, false
	}
	did.Before, did.After = len(message.EncodeBlocks(was.Content)), len(message.EncodeBlocks(m.Content))
	data, _ := json.Marshal(did) // strings and numbers: it can't fail
	return m, session.NewCustom(customHook, data), true
}

func withResult(m *message.Message, content []message.Block) (*message.Message, error) {
	data := jsonx.Set(m.JSON(), "content", message.EncodeBlocks(content))
	if jsonx.Get(data, "details") != nil {
		data = jsonx.Set(data, "details", []byte("{}"))
	}
	return message.Parse(data)
}

// argumentsOf returns the arguments of a call that waits, among messages about to be appended or in the context.
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

// Serialize writes messages as text for a model that is to summarize them and not to go on with them. A line of
// content that begins with a bracket gets a backslash before it, so nothing that a tool has written can pass for a
// part of its own. Nothing is shortened; images are named.
func Serialize(msgs []*message.Message) string {
	var b strings.Builder
	add := func(label, text string) {
		if label == "" || text == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[%s]: %s\n", label, escapeLabels(text))
	}
	for _, m := range msgs {
		text := strings.TrimPrefix(m.Text(), "\n")
		var thinking, called []string
		for _, b := range m.Content {
			switch {
			case b.Type == message.BlockImage:
				text = strings.TrimPrefix(text+"\n(an image)", "\n")
			case b.Type == message.BlockThinking && b.Text != "":
				thinking = append(thinking, b.Text)
			case b.Type == message.BlockToolCall:
				called = append(called, callText(b))
			}
		}
		switch m.Role {
		case message.RoleBashExecution:
			add("Shell", "$ "+m.Command+"\n"+m.Output)
		case message.RoleAssistant:
			add("Assistant thinking", strings.Join(thinking, "\n"))
			add("Assistant", text)
			add("Assistant tool calls", strings.Join(called, "; "))
		case message.RoleToolResult:
			add(map[bool]string{false: "Tool result", true: "Tool error"}[m.IsError], text)
		default:
			add(labels[m.Role], text+m.Summary)
		}
	}
	return b.String()
}

// labels say who said what stands behind them.
var labels = map[message.Role]string{
	message.RoleUser: "User", message.RoleSystem: "System", message.RoleCustom: "Note",
	message.RoleCompactionSummary: "Summary of what was before", message.RoleBranchSummary: "Summary of another branch",
}

// callText writes a call as name(argument=value, ...), values as JSON.
func callText(b message.Block) string {
	var args map[string]json.RawMessage
	if json.Unmarshal(b.Arguments, &args) != nil {
		return b.Name + "(" + string(b.Arguments) + ")"
	}
	list := make([]string, 0, len(args))
	for _, name := range slices.Sorted(maps.Keys(args)) {
		list = append(list, name+"="+string(args[name]))
	}
	return b.Name + "(" + strings.Join(list, ", ") + ")"
}

func escapeLabels(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n").Replace(text)
	var b strings.Builder
	first := true
	for line := range strings.Lines(text) {
		if !first && strings.HasPrefix(strings.TrimLeft(line, " \t\\"), "[") {
			b.WriteByte('\\')
		}
		first = false
		b.WriteString(line)
	}
	return b.String()
}
