package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// Type names a kind of entry.
type Type string

// The entry types of the format. Other entries are kept and take part in the tree; they add nothing to the context.
const (
	TypeMessage       Type = "message"
	TypeCompaction    Type = "compaction"
	TypeBranchSummary Type = "branch_summary"
	TypeContextEdit   Type = "context_edit"
	TypeCustomMessage Type = "custom_message"
	TypeCustom        Type = "custom"
	TypeLabel         Type = "label"
	TypeModelChange   Type = "model_change"
	TypeThinkingLevel Type = "thinking_level_change"
	TypeSessionInfo   Type = "session_info"
	TypeUsage         Type = "usage"
)

var knownTypes = [...]Type{
	TypeMessage, TypeCustom, TypeContextEdit, TypeCompaction, TypeBranchSummary, TypeCustomMessage,
	TypeLabel, TypeModelChange, TypeThinkingLevel, TypeSessionInfo, TypeUsage,
}

// Known reports whether t is one of the types of the format.
func (t Type) Known() bool { return slices.Contains(knownTypes[:], t) }

// Custom types that clew writes. pi carries them along unseen.
const (
	CustomLeaf = "clew.leaf" // the leaf was moved here
	CustomPass = "clew.pass" // the entries that follow are one pass
	// CustomFiles has what was changed in files; their content lies beside the log, by its address.
	CustomFiles = "clew.files"

	// CustomExcerpt is a custom_message: what a pass left of a message that it took out because no edit can replace it.
	CustomExcerpt = "clew.excerpt"
)

// Entry is one record of a session. It is immutable; the methods give typed views of its bytes.
type Entry struct {
	Type Type
	ID   string
	// ParentID is the entry this one hangs under, "" for a root. It is what the record says, unless the store had
	// to mend a damaged file: then it is where the entry was attached, and the store reports the problem.
	ParentID string

	raw   json.RawMessage
	moved bool // ParentID is not what raw says
	// Where the member "message" stands in raw, if ParseEntry met one.
	bodyAt, bodyEnd int
	msg             atomic.Pointer[message.Message]
}

// ParseEntry reads a record. It fails when raw is not one JSON object; a record without a type or an id gives an
// entry with those fields empty, which the caller judges. The entry keeps raw, which must not be changed afterwards.
func ParseEntry(raw []byte) (*Entry, error) {
	raw = oneLine(raw[jsonx.Space(raw, 0):])
	if !jsonx.IsObject(raw) {
		if _, err := jsonx.Scan(raw, 0); err != nil {
			return nil, fmt.Errorf("not a record: %w", err)
		}
		return nil, errors.New("not a record: a JSON value that is no object")
	}
	e := &Entry{}
	end, err := jsonx.ScanObject(raw, 0, func(key []byte, at int) (int, error) {
		end, err := jsonx.ScanAt(raw, at, 1)
		if err != nil {
			return end, err
		}
		switch string(key) {
		case "type":
			e.Type = Type(str(raw[at:end]))
		case "id":
			e.ID = str(raw[at:end])
		case "parentId":
			e.ParentID = str(raw[at:end])
		case "message":
			e.bodyAt, e.bodyEnd = at, end
		}
		return end, nil
	})
	if err != nil {
		return nil, fmt.Errorf("not a record: %w", err)
	}
	if rest := jsonx.Space(raw, end); rest != len(raw) {
		return nil, fmt.Errorf("not a record: more data after it at byte %d", rest)
	}
	e.raw = raw[:end:end]
	return e, nil
}

// oneLine makes sure that a record can stand on one line: a line break in JSON
// can only be white space. What is no JSON is left alone, to be refused.
func oneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') >= 0 {
		if _, err := jsonx.Scan(raw, 0); err == nil {
			return bytes.ReplaceAll(raw, []byte("\n"), []byte(" "))
		}
	}
	return raw
}

func str(val []byte) string { s, _ := jsonx.String(val); return s }

// WithIdentity returns a copy of the entry with another id and parent, for records of formats that have none.
func (e *Entry) WithIdentity(id, parentID string) *Entry {
	raw := jsonx.Set(e.raw, "id", jsonx.Quote(id))
	raw = jsonx.Set(raw, "parentId", quoteID(parentID))
	return &Entry{Type: e.Type, ID: id, ParentID: parentID, raw: raw}
}

// Attached returns a copy of the entry that hangs under another parent; its bytes stay as they are.
func (e *Entry) Attached(parentID string) *Entry {
	c := e.shape().Entry(e.raw)
	c.ParentID, c.moved = parentID, true
	return c
}

// Clone returns a copy of the entry that shares no memory with it, for one that was parsed from a buffer in use.
func (e *Entry) Clone() *Entry {
	c := e.Shape().Entry(bytes.Clone(e.raw))
	c.moved = e.moved
	return c
}

// Shape is what ParseEntry found out about a record, without the record: enough to
// make the entry again from the same bytes without reading them through.
type Shape struct {
	Type     Type
	ID       string
	ParentID string

	bodyAt, bodyEnd int
}

func (e *Entry) shape() Shape { return Shape{e.Type, e.ID, e.ParentID, e.bodyAt, e.bodyEnd} }

// Shape returns the shape of an entry. It shares no memory with the entry.
func (e *Entry) Shape() Shape {
	s := e.shape()
	s.ID, s.ParentID = strings.Clone(s.ID), strings.Clone(s.ParentID)
	if i := slices.Index(knownTypes[:], e.Type); i >= 0 {
		s.Type = knownTypes[i]
	} else {
		s.Type = Type(strings.Clone(string(e.Type)))
	}
	return s
}

// Entry makes an entry of the bytes that it was parsed from.
func (s Shape) Entry(raw []byte) *Entry {
	return &Entry{Type: s.Type, ID: s.ID, ParentID: s.ParentID, raw: raw, bodyAt: s.bodyAt, bodyEnd: s.bodyEnd}
}

func quoteID(id string) []byte {
	if id == "" {
		return []byte("null")
	}
	return jsonx.Quote(id)
}

// Raw returns the record as it was written, without its line end. It must not be changed.
func (e *Entry) Raw() json.RawMessage { return e.raw }

// MarshalJSON returns Raw.
func (e *Entry) MarshalJSON() ([]byte, error) { return e.raw, nil }

// Field returns a member of the record as JSON, or nil.
func (e *Entry) Field(name string) json.RawMessage { return jsonx.Get(e.raw, name) }

// Time returns when the entry was written, or the zero time.
func (e *Entry) Time() time.Time {
	t, _ := time.Parse(time.RFC3339, str(e.Field("timestamp")))
	return t
}

// Message returns the message of a message entry. An entry that gives an error contributes nothing to the context.
func (e *Entry) Message() (*message.Message, error) {
	if e.Type != TypeMessage {
		return nil, fmt.Errorf("entry %s is a %s, not a message", e.ID, e.Type)
	}
	if m := e.msg.Load(); m != nil {
		return m, nil
	}
	body := e.raw[e.bodyAt:e.bodyEnd:e.bodyEnd]
	if len(body) == 0 {
		body = e.Field("message")
	}
	m, err := message.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("entry %s: %w", e.ID, err)
	}
	e.msg.Store(m)
	return m, nil
}

// Compaction is the view of a compaction entry.
type Compaction struct {
	Summary          string
	FirstKeptEntryID string // equal to the entry's own id: nothing before it is kept
	TokensBefore     int64
	Details          json.RawMessage
	Usage            *message.Usage
	FromHook         bool
	// SystemMessage is the prompt and tools in force at the compaction, so that
	// system messages before it need not be read again; nil when there were none.
	SystemMessage *message.Message
}

// Compaction returns the view of a compaction entry; ok is false for others.
func (e *Entry) Compaction() (c Compaction, ok bool) {
	if e.Type != TypeCompaction {
		return c, false
	}
	jsonx.Members(e.raw, func(key, val []byte) bool {
		switch string(key) {
		case "summary":
			c.Summary = str(val)
		case "firstKeptEntryId":
			c.FirstKeptEntryID = str(val)
		case "tokensBefore":
			c.TokensBefore, _ = jsonx.Int(val)
		case "details":
			c.Details = jsonx.NotNull(val)
		case "usage":
			c.Usage = message.ParseUsage(val)
		case "fromHook":
			c.FromHook = jsonx.Bool(val)
		case "systemMessage":
			c.SystemMessage, _ = message.Parse(val)
		}
		return true
	})
	return c, true
}

// BranchSummary is the view of a branch_summary entry.
type BranchSummary struct {
	FromID   string // the old leaf, or "root"
	Summary  string
	Details  json.RawMessage
	Usage    *message.Usage
	FromHook bool
}

// BranchSummary returns the view of a branch_summary entry; ok is false for others.
func (e *Entry) BranchSummary() (b BranchSummary, ok bool) {
	if e.Type != TypeBranchSummary {
		return b, false
	}
	return BranchSummary{
		FromID:   str(e.Field("fromId")),
		Summary:  str(e.Field("summary")),
		Details:  jsonx.NotNull(e.Field("details")),
		Usage:    message.ParseUsage(e.Field("usage")),
		FromHook: jsonx.Bool(e.Field("fromHook")),
	}, true
}

// ContextEdit is the view of a context_edit entry.
type ContextEdit struct {
	TargetID string
	Omit     bool            // the target contributes nothing
	Content  json.RawMessage // else: its new content, a string or an array of blocks
	Details  json.RawMessage
}

// ContextEdit returns the view of a context_edit entry; ok is false for others. A replacement that is neither null
// nor an object with content leaves the target as it is (Omit false, Content nil).
func (e *Entry) ContextEdit() (c ContextEdit, ok bool) {
	if e.Type != TypeContextEdit {
		return c, false
	}
	c.TargetID = str(e.Field("targetId"))
	c.Details = jsonx.NotNull(e.Field("details"))
	r := e.Field("replacement")
	switch {
	case r != nil && jsonx.IsNull(r):
		c.Omit = true
	case jsonx.IsObject(r):
		c.Content = jsonx.NotNull(jsonx.Get(r, "content"))
	}
	return c, true
}

// Custom is the view of a custom entry.
type Custom struct {
	CustomType string
	Data       json.RawMessage
}

// Custom returns the view of a custom entry; ok is false for others.
func (e *Entry) Custom() (c Custom, ok bool) {
	if e.Type != TypeCustom {
		return c, false
	}
	return Custom{str(e.Field("customType")), jsonx.NotNull(e.Field("data"))}, true
}

// CustomMessage returns the message a custom_message entry contributes; ok is false for others.
func (e *Entry) CustomMessage() (m *message.Message, ok bool) {
	if e.Type != TypeCustomMessage {
		return nil, false
	}
	if m := e.msg.Load(); m != nil {
		return m, true
	}
	m = &message.Message{
		Role: message.RoleCustom, Timestamp: e.millis(),
		CustomType: str(e.Field("customType")), Display: jsonx.Bool(e.Field("display")),
		Details: jsonx.NotNull(e.Field("details")), Origin: message.Origin(str(e.Field("origin"))),
		Content: message.ParseContent(e.Field("content")),
	}
	e.msg.Store(m)
	return m, true
}

func (e *Entry) millis() int64 {
	if t := e.Time(); !t.IsZero() {
		return t.UnixMilli()
	}
	return 0
}

// Label is the view of a label entry. An empty Label takes the label away.
type Label struct {
	TargetID string
	Label    string
}

// Label returns the view of a label entry; ok is false for others.
func (e *Entry) Label() (l Label, ok bool) {
	if e.Type != TypeLabel {
		return l, false
	}
	return Label{str(e.Field("targetId")), str(e.Field("label"))}, true
}

// ModelChange returns provider and model of a model_change entry; ok is false for others.
func (e *Entry) ModelChange() (m Model, ok bool) {
	if e.Type != TypeModelChange {
		return m, false
	}
	return Model{str(e.Field("provider")), str(e.Field("modelId"))}, true
}

// Model names a model of a provider.
type Model struct {
	Provider string
	ID       string
}

// ThinkingLevel returns the level of a thinking_level_change entry; ok is false for others.
func (e *Entry) ThinkingLevel() (level string, ok bool) {
	return e.text(TypeThinkingLevel, "thinkingLevel")
}

// SessionName returns the name of a session_info entry; ok is false for others.
func (e *Entry) SessionName() (name string, ok bool) { return e.text(TypeSessionInfo, "name") }

func (e *Entry) text(t Type, name string) (string, bool) {
	if e.Type != t {
		return "", false
	}
	return str(e.Field(name)), true
}

// UsageReport returns the usage an entry of any type carries: that of a usage
// entry, a compaction, a branch summary, an answer or a tool result; nil if none.
func (e *Entry) UsageReport() *message.Usage {
	if e.Type != TypeMessage {
		return message.ParseUsage(e.Field("usage"))
	}
	if m, err := e.Message(); err == nil {
		return m.Usage
	}
	return nil
}

// Spilled says where the full content of a message is that was too large for the log, which has an excerpt of it:
// the JSON of the message, as it was to be written, is the content of this address in the session's blob store.
type Spilled struct {
	ID     string `json:"id"`               // the address, as package blob writes it
	Size   int64  `json:"size"`             // of the JSON, in bytes
	Purged bool   `json:"purged,omitempty"` // the content was erased on purpose
}

// WithSpilled returns the excerpt of a message with the address of the full content in its details.
func WithSpilled(excerpt *message.Message, at Spilled) (*message.Message, error) {
	value, err := json.Marshal(at)
	if err != nil {
		return nil, err
	}
	details := jsonx.Get(excerpt.JSON(), "details")
	if !jsonx.IsObject(details) {
		details = []byte("{}")
	}
	details = jsonx.Set(details, memberClew, jsonx.Set([]byte("{}"), "blob", value))
	return message.Parse(jsonx.Set(excerpt.JSON(), "details", details))
}

// SpilledOf returns where the full content of a message is, if it is not in the log.
func SpilledOf(m *message.Message) (at Spilled, ok bool) {
	val := jsonx.Get(jsonx.Get(jsonx.Get(m.JSON(), "details"), memberClew), "blob")
	if !jsonx.IsObject(val) || json.Unmarshal(val, &at) != nil || at.ID == "" {
		return Spilled{}, false
	}
	return at, true
}

// Content returns the addresses in the session's blob store that the entry refers to: of a message of which the log has
// an excerpt, and of what was in files before and after a change. It takes whatever looks like an address for one, so
// that what is not returned can be deleted.
func (e *Entry) Content() (addresses []string) {
	for _, address := range contentAddress().FindAll(e.Raw(), -1) {
		if !slices.Contains(addresses, string(address)) {
			addresses = append(addresses, string(address))
		}
	}
	return addresses
}

var contentAddress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`sha256-[0-9a-f]{64}`) })

// Version is the version of the session format that clew writes.
const Version = 3

// Header is the first record of a session.
type Header struct {
	Version       int // 1 when the record names none
	ID            string
	Timestamp     time.Time
	Cwd           string
	ParentSession string // the session this one was forked from
	raw           []byte
}

// Raw returns the record as it was written, or nil for a header that was built.
func (h Header) Raw() []byte { return h.raw }

// ErrNotSession is wrapped by ParseHeader.
var ErrNotSession = errors.New("not a session")

// ParseHeader reads a header record.
func ParseHeader(raw []byte) (h Header, err error) {
	typ := ""
	h = Header{Version: 1}
	end, err := jsonx.ScanMembers(raw, 0, func(key, val []byte) {
		switch string(key) {
		case "type":
			typ = str(val)
		case "version":
			n, ok := jsonx.Int(val)
			if ok {
				h.Version = int(n)
			}
		case "id":
			h.ID = str(val)
		case "timestamp":
			h.Timestamp, _ = time.Parse(time.RFC3339, str(val))
		case "cwd":
			h.Cwd = str(val)
		case "parentSession":
			h.ParentSession = str(val)
		}
	})
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrNotSession, err)
	}
	h.raw = raw[jsonx.Space(raw, 0):end]
	if typ != "session" || h.ID == "" {
		return h, fmt.Errorf(`%w: the first record must have "type":"session" and an id`, ErrNotSession)
	}
	return h, nil
}

// JSON returns the header as a record of the current version.
func (h Header) JSON() []byte {
	if h.raw != nil {
		if h.Version == Version && jsonx.Get(h.raw, "version") != nil {
			return h.raw
		}
		return jsonx.Set(h.raw, "version", fmt.Appendf(nil, "%d", Version))
	}
	var o jsonx.Object
	o.Str("type", "session")
	o.Int("version", Version)
	o.Str("id", h.ID)
	o.Str("timestamp", stamp(h.Timestamp))
	o.Str("cwd", h.Cwd)
	o.OptStr("parentSession", h.ParentSession)
	return o.Bytes()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
