package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Draft is an entry that has no id, parent and time yet; Log.Append gives it those.
type Draft struct {
	Type   Type
	fields []field
	under  *string
	id     string
}

type field struct {
	name string
	val  json.RawMessage // nil stands for the id of the entry
}

func draft(t Type) Draft { return Draft{Type: t} }

func (d Draft) raw(name string, val json.RawMessage) Draft {
	if val != nil {
		d.fields = append(d.fields[:len(d.fields):len(d.fields)], field{name, val})
	}
	return d
}

func (d Draft) str(name, s string) Draft { return d.raw(name, jsonx.Quote(s)) }

// Under returns the draft with a parent of its own; without it a draft hangs
// under the one before it, and the first under the leaf. "" makes a root.
func (d Draft) Under(parentID string) Draft {
	d.under = &parentID
	return d
}

// As returns the draft with an id of its own; else Append makes one. That no entry has it is for the caller to know.
func (d Draft) As(id string) Draft {
	d.id = id
	return d
}

func (d Draft) customType() (name string) {
	if d.Type != TypeCustom && d.Type != TypeCustomMessage {
		return ""
	}
	for _, f := range d.fields {
		if f.name == "customType" {
			name = str(f.val)
		}
	}
	return name
}

func (d Draft) entry(id, parentID string, at time.Time) *Entry {
	var o jsonx.Object
	o.Str("type", string(d.Type))
	o.Str("id", id)
	o.Raw("parentId", quoteID(parentID))
	o.Str("timestamp", stamp(at))
	for _, f := range d.fields {
		if f.val == nil {
			f.val = quoteID(id)
		}
		o.Raw(f.name, f.val)
	}
	return &Entry{Type: d.Type, ID: id, ParentID: parentID, raw: oneLine(o.Bytes())}
}

// Message drafts a message entry.
func Message(m *message.Message) Draft { return draft(TypeMessage).raw("message", m.JSON()) }

// NewCompaction drafts a compaction. firstKept "" stands for the compaction's own id: nothing before it is kept.
func NewCompaction(c Compaction) Draft {
	d := draft(TypeCompaction).str("summary", c.Summary)
	if c.FirstKeptEntryID == "" {
		d.fields = append(d.fields, field{name: "firstKeptEntryId"})
	} else {
		d = d.str("firstKeptEntryId", c.FirstKeptEntryID)
	}
	d = d.raw("tokensBefore", fmt.Append(nil, c.TokensBefore)).summarized(c.Details, c.Usage, c.FromHook)
	if c.SystemMessage != nil {
		d = d.raw("systemMessage", c.SystemMessage.JSON())
	}
	return d
}

func (d Draft) summarized(details json.RawMessage, usage *message.Usage, fromHook bool) Draft {
	d = d.raw("details", details)
	if usage != nil {
		d = d.raw("usage", usage.JSON())
	}
	if fromHook {
		d = d.raw("fromHook", json.RawMessage("true"))
	}
	return d
}

// NewBranchSummary drafts a branch_summary.
func NewBranchSummary(b BranchSummary) Draft {
	return draft(TypeBranchSummary).str("fromId", b.FromID).str("summary", b.Summary).summarized(b.Details, b.Usage, b.FromHook)
}

// NewContextEdit drafts an edit.
func NewContextEdit(c ContextEdit) Draft {
	d := draft(TypeContextEdit).str("targetId", c.TargetID)
	replacement := json.RawMessage("null")
	if !c.Omit {
		var o jsonx.Object
		o.Raw("content", c.Content)
		replacement = o.Bytes()
	}
	return d.raw("replacement", replacement).raw("details", c.Details)
}

// NewCustom drafts a custom entry: state of an extension, not shown to the model.
func NewCustom(customType string, data json.RawMessage) Draft {
	return draft(TypeCustom).str("customType", customType).raw("data", data)
}

// NewCustomMessage drafts a message of an extension.
func NewCustomMessage(customType string, content []message.Block, display bool, details json.RawMessage) Draft {
	d := draft(TypeCustomMessage).str("customType", customType).raw("content", message.EncodeBlocks(content))
	return d.raw("display", fmt.Append(nil, display)).raw("details", details)
}

// NewLabel drafts a label; an empty one takes the label away.
func NewLabel(targetID, label string) Draft {
	d := draft(TypeLabel).str("targetId", targetID)
	if label != "" {
		d = d.str("label", label)
	}
	return d
}

// NewSessionInfo drafts the name of the session.
func NewSessionInfo(name string) Draft { return draft(TypeSessionInfo).str("name", name) }

// NewModelChange drafts a change of the model.
func NewModelChange(m Model) Draft {
	return draft(TypeModelChange).str("provider", m.Provider).str("modelId", m.ID)
}

// NewThinkingLevel drafts a change of the thinking level.
func NewThinkingLevel(level string) Draft {
	return draft(TypeThinkingLevel).str("thinkingLevel", level)
}

// NewUsage drafts the usage of a call that is no message, such as a summary or a cache warming.
func NewUsage(kind string, m Model, u message.Usage) Draft {
	return draft(TypeUsage).str("kind", kind).str("provider", m.Provider).str("model", m.ID).raw("usage", u.JSON())
}

// Again drafts a copy of an entry: the same fields under a new id, parent and time.
func Again(e *Entry) Draft {
	d := draft(e.Type)
	jsonx.Members(e.raw, func(key, val []byte) bool {
		switch string(key) {
		case "type", "id", "parentId", "timestamp":
		default:
			d = d.raw(string(key), val)
		}
		return true
	})
	return d
}

// build makes entries of drafts. The first hangs under parent, each other under the one before, unless a draft differs.
func build(drafts []Draft, parent string, at time.Time, newID func() string) []*Entry {
	batch := make([]*Entry, len(drafts))
	for i, d := range drafts {
		if d.under != nil {
			parent = *d.under
		}
		if d.id == "" {
			d.id = newID()
		}
		batch[i] = d.entry(d.id, parent, at)
		parent = d.id
	}
	return batch
}

// Preview returns path as it would be with drafts appended, under ids that no real entry has. The path itself is
// not changed. It serves to look at the context a pass would give before it is written.
func Preview(path []*Entry, drafts ...Draft) []*Entry {
	parent, n := "", 0
	if len(path) > 0 {
		parent = path[len(path)-1].ID
	}
	return append(slices.Clone(path), build(drafts, parent, time.Time{}, func() string { n++; return fmt.Sprintf("preview-%d", n-1) })...)
}
