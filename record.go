package clew

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// AppendAs is Append of one message whose entry gets an id of the caller's: 16
// random hex digits. It is for programs that accept a message before they can
// append it, and must not append it twice. The error session.ErrDuplicateID says
// that it is there already, as far as the log was read: one that was appended by
// an earlier run is to be looked for with Store.Get.
func (s *Session) AppendAs(ctx context.Context, id string, m *message.Message) error {
	const op = "append"
	if err := checkMessage(m); err != nil {
		return err
	}
	if err := s.begin(ctx, op); err != nil {
		return err
	}
	defer s.end()
	drafts, notes, err := s.drafts(ctx, []*message.Message{m})
	if err != nil {
		return failed(op, id, err)
	}
	drafts[0] = drafts[0].As(id)
	_, err = s.append(ctx, m.UserWords() || !s.cfg.SyncLate, append(drafts, notes...)...)
	return failed(op, id, err)
}

// Record appends entries that are no messages of the conversation: a label, a
// name, what a program keeps for itself. It returns their ids. Messages,
// summaries and edits are refused: Append, Compact, Branch and Omit write those.
func (s *Session) Record(ctx context.Context, drafts ...session.Draft) ([]string, error) {
	const op = "record"
	for _, d := range drafts {
		switch d.Type {
		case session.TypeMessage, session.TypeCompaction, session.TypeBranchSummary, session.TypeContextEdit:
			return nil, &Error{Op: op, Subject: "an entry of type " + string(d.Type), Err: session.ErrBadEntry, Hint: "Append, Compact, Branch and Omit write those"}
		default:
		}
	}
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	entries, err := s.append(ctx, true, drafts...)
	return ids(entries), failed(op, "", err)
}

// Omit takes entries out of the context, for as long as the conversation is on this
// branch: attempts that failed, reminders that are out of date. An answer goes
// with the results of its calls. What the user typed can't be taken out. The
// entries stay in the log.
func (s *Session) Omit(ctx context.Context, entries ...string) error {
	const op = "omit"
	if err := s.begin(ctx, op); err != nil {
		return err
	}
	defer s.end()
	v, err := s.look(ctx)
	if err != nil {
		return failed(op, "", err)
	}
	out, err := v.units(entries)
	if err != nil {
		return failed(op, "", err)
	}
	drafts := make([]session.Draft, len(out))
	for i, id := range out {
		drafts[i] = session.NewContextEdit(session.ContextEdit{TargetID: id, Omit: true})
	}
	_, err = s.append(ctx, true, drafts...)
	return failed(op, "", err)
}

// units returns entries with the results that go with them.
func (v *view) units(entries []string) ([]string, error) {
	var out []string
	calls := map[string]bool{}
	for _, id := range entries {
		i := v.item(id)
		if i < 0 {
			continue // it is not in the context, which is what is asked for
		}
		switch m := v.context.Items[i].Message; {
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
	for _, it := range v.context.Items {
		if m := it.Message; m.Role == message.RoleToolResult && calls[m.ToolCallID] {
			out = append(out, it.Entry.ID)
		}
	}
	return out, nil
}

// Check says whether the next Prepare will make a pass and why, and what the context
// takes now. It costs hardly anything, and may be called at any time.
func (s *Session) Check(ctx context.Context) (*compact.Plan, error) {
	const op = "check"
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	v, err := s.look(ctx)
	if err != nil {
		return nil, failed(op, "", err)
	}
	plan, err := compact.Check(s.input(v, compact.Threshold, ""), v.policy)
	return plan, failed(op, "", err)
}

// SetPrompt changes Config.System and Config.Tools: what is sent before the messages
// from now on.
func (s *Session) SetPrompt(ctx context.Context, system string, tools json.RawMessage) error {
	return s.configure(ctx, "set the prompt", func(c *Config) { c.System, c.Tools = system, tools })
}

// Config returns the settings in force, with what was learned of models.
func (s *Session) Config(ctx context.Context) (Config, error) {
	if err := s.begin(ctx, "read the settings"); err != nil {
		return Config{}, err
	}
	defer s.end()
	return s.cfg, nil
}

// configure changes the settings, unless they would be wrong then.
func (s *Session) configure(ctx context.Context, op string, change func(*Config)) error {
	if err := s.begin(ctx, op); err != nil {
		return err
	}
	defer s.end()
	cfg := s.cfg
	change(&cfg)
	if err := cfg.Validate(); err != nil {
		return err
	}
	s.cfg, s.view = cfg, nil
	return nil
}

// Context returns the context as it is, with the entry of each message. Both are those
// of the log and must not be changed.
func (s *Session) Context(ctx context.Context) ([]session.Item, error) {
	const op = "context"
	if err := s.begin(ctx, op); err != nil {
		return nil, err
	}
	defer s.end()
	v, err := s.look(ctx)
	if err != nil {
		return nil, failed(op, "", err)
	}
	return slices.Clone(v.context.Items), nil
}
