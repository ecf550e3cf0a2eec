package session

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// entry looks at one entry by itself and remembers what the later checks need.
// It returns the time of the entry, or last when it has none.
func (v *verifier) entry(i int, e *Entry, last time.Time) time.Time {
	n := &v.nodes[i]
	n.inBody = PassEntry(e)
	if !utf8.Valid(e.raw) {
		v.report(i, Problem{
			Code: "invalid-utf8", Severity: SevWarning,
			What:    "bytes that are not UTF-8",
			Meaning: "readers show a replacement character in their place; the bytes stay as they are",
		})
	}
	v.usage(i, e.Field("usage"))
	switch e.Type {
	case TypeMessage:
		v.message(i, e)
	case TypeCustomMessage:
		n.editable, n.role = true, message.RoleCustom
		v.content(i, e.Field("content"), message.RoleCustom)
	case TypeCompaction:
		c, _ := e.Compaction()
		n.ref = strings.Clone(c.FirstKeptEntryID)
		if strings.TrimSpace(c.Summary) == "" {
			v.report(i, Problem{
				Code: "empty-summary", Severity: SevWarning,
				What:    "a compaction without a summary",
				Meaning: "what is before its first kept entry is not in the context, and nothing stands for it",
				Remedy:  "clew undo takes the compaction back, where it is the latest on the path",
			})
		}
	case TypeBranchSummary:
		b, _ := e.BranchSummary()
		n.ref = strings.Clone(b.FromID)
	case TypeContextEdit:
		c, _ := e.ContextEdit()
		n.ref, n.omits = strings.Clone(c.TargetID), c.Omit
		if !c.Omit && c.Content == nil {
			v.report(i, Problem{
				Code: "bad-edit", Severity: SevWarning,
				What:    "an edit whose replacement is neither null nor an object with content",
				Meaning: "the edit has no effect",
			})
		}
	case TypeLabel:
		l, _ := e.Label()
		n.ref = strings.Clone(l.TargetID)
	case TypeCustom:
		if c, _ := e.Custom(); c.CustomType == CustomPass {
			p, ok := e.Pass()
			n.lines = p.Lines
			if !ok {
				v.report(i, Problem{
					Code: "bad-pass", Severity: SevWarning,
					What:    "the beginning of a pass that does not say how many entries it has",
					Meaning: "whether the pass is whole can't be told; its entries count",
				})
			}
		}
	case TypeModelChange, TypeThinkingLevel, TypeSessionInfo, TypeUsage:
	default:
		v.unknownType(i, e.Type)
	}
	return v.time(i, e, last)
}

func (v *verifier) unknownType(i int, t Type) {
	c := v.types[t]
	if c == nil {
		c = &counted{first: i, name: strings.Clone(string(t))}
		v.types[Type(c.name)] = c
	}
	c.n++
}

func (v *verifier) time(i int, e *Entry, last time.Time) time.Time {
	t := e.Time()
	if t.IsZero() {
		v.report(i, Problem{
			Code: "no-time", Severity: SevInfo,
			What:    "a record without a time that can be read",
			Meaning: "it is shown without one",
		})
		return last
	}
	if t.Before(last) {
		v.report(i, Problem{
			Code: "time-order", Severity: SevInfo,
			What:    fmt.Sprintf("its time is %s before that of the record before it", last.Sub(t)),
			Meaning: "the clock was set back, or records were moved; the order of the file counts",
		})
	}
	return t
}

func (v *verifier) message(i int, e *Entry) {
	n := &v.nodes[i]
	m, err := e.Message()
	if err != nil {
		v.report(i, Problem{
			Code: "bad-message", Severity: SevError,
			What:    fmt.Sprintf("a message that can't be read: %v", err),
			Meaning: "the model sees nothing of it; pi may fail to open the session",
			Remedy:  remedyRepair,
		})
		return
	}
	n.role = message.Role(strings.Clone(string(m.Role)))
	n.editable = Replaceable(m.Role)
	v.usage(i, jsonx.Get(m.Raw(), "usage"))
	switch m.Role {
	case message.RoleUser, message.RoleAssistant, message.RoleToolResult, message.RoleCustom:
		v.content(i, jsonx.Get(m.Raw(), "content"), m.Role)
	case message.RoleSystem, message.RoleBashExecution, message.RoleBranchSummary, message.RoleCompactionSummary:
	default:
		v.report(i, Problem{
			Code: "unknown-role", Severity: SevWarning,
			What:    fmt.Sprintf("a message of the role %q, which this clew does not know", m.Role),
			Meaning: "it is kept and shown, and never sent to a model",
		})
	}
	if m.Role == message.RoleToolResult {
		n.result = strings.Clone(m.ToolCallID)
	}
	v.arguments(i, m)
	if m.StopReason == message.StopError || m.StopReason == message.StopAborted {
		n.failed = true
		return // such an answer is not sent, so its calls need no results
	}
	for _, c := range m.ToolCalls() {
		n.calls = append(n.calls, call{strings.Clone(c.ID), strings.Clone(c.Name)})
	}
}

// content checks the kind of a message's content.
func (v *verifier) content(i int, content []byte, r message.Role) {
	blocks := r == message.RoleAssistant || r == message.RoleToolResult
	if jsonx.IsArray(content) || jsonx.IsString(content) && !blocks {
		return
	}
	what := "missing"
	switch {
	case jsonx.IsString(content):
		what = "a text where blocks must be"
	case content != nil:
		what = "neither a text nor blocks"
	}
	v.report(i, Problem{
		Code: "bad-content", Severity: SevWarning,
		What:    fmt.Sprintf("a message of the role %s whose content is %s", r, what),
		Meaning: "clew reads what it can of it; pi fails to build a context with it",
		Remedy:  remedyRepair,
	})
}

func (v *verifier) arguments(i int, m *message.Message) {
	var bad []string
	for _, c := range m.ToolCalls() {
		if !jsonx.IsObject(c.Arguments) {
			bad = append(bad, c.Name)
		}
	}
	if len(bad) > 0 {
		v.report(i, Problem{
			Code: "bad-arguments", Severity: SevWarning,
			What:    "tool calls whose arguments are no object: " + list(bad),
			Meaning: "clew sends an empty object in their place; pi fails to build a context with them",
			Remedy:  remedyRepair,
		})
	}
}

// usage checks that no count of a usage is below 0.
func (v *verifier) usage(i int, usage []byte) {
	negative := ""
	jsonx.Members(usage, func(key, val []byte) bool {
		if n, ok := jsonx.Int(val); ok && n < 0 {
			negative = string(key)
		}
		return negative == ""
	})
	if negative != "" {
		v.report(i, Problem{
			Code: "negative-usage", Severity: SevWarning,
			What:    fmt.Sprintf("a usage whose %s is below 0", negative),
			Meaning: "it counts as 0",
		})
	}
}
