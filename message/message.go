package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
)

// Role says who or what a message stands for.
type Role string

// The closed set of roles. A message with another role is kept in the log and
// shown, but never sent to a model.
const (
	RoleSystem            Role = "system"            // prompt text, named sections, tools added or removed
	RoleUser              Role = "user"              // what the user typed, or what stands for it (see Origin)
	RoleAssistant         Role = "assistant"         // an answer of the model
	RoleToolResult        Role = "toolResult"        // the result of one tool call
	RoleBashExecution     Role = "bashExecution"     // a command the user ran beside the conversation
	RoleCustom            Role = "custom"            // a message of an extension; sent as user
	RoleBranchSummary     Role = "branchSummary"     // what happened on a branch that was left
	RoleCompactionSummary Role = "compactionSummary" // what was said before the cut of a compaction
)

// Known reports whether r is one of the roles above.
func (r Role) Known() bool {
	switch r {
	case RoleSystem, RoleUser, RoleAssistant, RoleToolResult, RoleBashExecution,
		RoleCustom, RoleBranchSummary, RoleCompactionSummary:
		return true
	}
	return false
}

// StopReason says why the model stopped.
type StopReason string

// The stop reasons of the file format.
const (
	StopEnd      StopReason = "stop"
	StopLength   StopReason = "length"
	StopToolUse  StopReason = "toolUse"
	StopError    StopReason = "error"
	StopAborted  StopReason = "aborted"
	StopDeferred StopReason = "deferred"
)

// Origin says how the text of a message came into the conversation. Only
// OriginUser counts as the user's words.
type Origin string

// The origins. It is stored in the member "origin" of a message; see
// [Message.Source] for messages without it.
const (
	OriginUser     Origin = "user"     // typed by the user
	OriginInjected Origin = "injected" // put in by a program: reminders, rules, attachments
	OriginHook     Origin = "hook"     // put in by a hook
	OriginShell    Origin = "shell"    // the output of a command the user ran
	OriginTask     Origin = "task"     // a task given by another agent
)

// Message is one message. Which fields have a meaning depends on Role; the
// comments say so. The zero value of a field means that it is absent.
type Message struct {
	Role      Role
	Content   []Block // all roles but bashExecution and the two summaries
	Timestamp int64   // milliseconds since 1970; 0 when unknown
	Origin    Origin  // as stored; see Source

	// assistant
	API           string
	Provider      string
	Model         string
	ResponseModel string // the model that answered, where it is not Model
	Usage         *Usage // also on tool results of tools that call a model
	StopReason    StopReason
	ErrorMessage  string

	// toolResult
	ToolCallID string
	ToolName   string
	IsError    bool

	// bashExecution
	Command            string
	Output             string
	ExitCode           *int
	Cancelled          bool
	Truncated          bool
	FullOutputPath     string
	ExcludeFromContext bool

	// custom
	CustomType string
	Display    bool

	// branchSummary, compactionSummary
	Summary      string
	FromID       string // branchSummary: the old leaf
	TokensBefore int64  // compactionSummary

	// system
	Sections     []Section       // named parts of the prompt, in order
	ToolsAdded   json.RawMessage // array of tools with name, description, parameters
	ToolsRemoved json.RawMessage // array of names

	// Details is what a tool or an extension stored for itself.
	Details json.RawMessage

	raw json.RawMessage
}

// Section is a named part of a system message. A section without text takes
// the section of that name away.
type Section struct {
	Name string
	Text string
}

// ErrNotMessage is wrapped by Parse when the data is not a message at all.
var ErrNotMessage = errors.New("not a message")

// Parse reads a message. It fails only when raw is not a JSON object or has no
// role; members of the wrong type are treated as absent, as unknown members
// are. The message keeps raw, which must not be changed afterwards.
func Parse(raw []byte) (*Message, error) {
	start := jsonx.Space(raw, 0)
	if start >= len(raw) || raw[start] != '{' {
		if _, err := jsonx.Scan(raw, start); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotMessage, err)
		}
		return nil, fmt.Errorf("%w: a JSON value that is no object", ErrNotMessage)
	}
	m := &Message{}
	// In one pass: messages are most of the bytes of a session.
	end, err := jsonx.ScanObject(raw, start, func(key []byte, at int) (int, error) {
		if string(key) == "content" && at < len(raw) && raw[at] == '[' {
			var end int
			var err error
			m.Content, end, err = scanBlocks(raw, at, 1)
			return end, err
		}
		end, err := jsonx.ScanAt(raw, at, 1)
		if err == nil {
			m.member(key, raw[at:end:end])
		}
		return end, err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotMessage, err)
	}
	if rest := jsonx.Space(raw, end); rest != len(raw) {
		return nil, fmt.Errorf("%w: more data after it at byte %d", ErrNotMessage, rest)
	}
	m.raw = raw[start:end]
	if m.Role == "" {
		return nil, fmt.Errorf("%w: no role", ErrNotMessage)
	}
	return m, nil
}

func (m *Message) member(key, val []byte) {
	switch string(key) {
	case "role":
		m.Role = Role(str(val))
	case "content":
		m.Content = parseContent(val)
	case "timestamp":
		m.Timestamp, _ = jsonx.Int(val)
	case "origin":
		m.Origin = Origin(str(val))
	case "api":
		m.API = str(val)
	case "provider":
		m.Provider = str(val)
	case "model":
		m.Model = str(val)
	case "responseModel":
		m.ResponseModel = str(val)
	case "usage":
		m.Usage = parseUsage(val)
	case "stopReason":
		m.StopReason = StopReason(str(val))
	case "errorMessage":
		m.ErrorMessage = str(val)
	case "toolCallId":
		m.ToolCallID = str(val)
	case "toolName":
		m.ToolName = str(val)
	case "isError":
		m.IsError = jsonx.Bool(val)
	case "command":
		m.Command = str(val)
	case "output":
		m.Output = str(val)
	case "exitCode":
		m.ExitCode = nil
		if n, ok := jsonx.Int(val); ok {
			code := int(n)
			m.ExitCode = &code
		}
	case "cancelled":
		m.Cancelled = jsonx.Bool(val)
	case "truncated":
		m.Truncated = jsonx.Bool(val)
	case "fullOutputPath":
		m.FullOutputPath = str(val)
	case "excludeFromContext":
		m.ExcludeFromContext = jsonx.Bool(val)
	case "customType":
		m.CustomType = str(val)
	case "display":
		m.Display = jsonx.Bool(val)
	case "summary":
		m.Summary = str(val)
	case "fromId":
		m.FromID = str(val)
	case "tokensBefore":
		m.TokensBefore, _ = jsonx.Int(val)
	case "sections":
		m.Sections = m.Sections[:0]
		jsonx.Members(val, func(name, text []byte) bool {
			m.Sections = append(m.Sections, Section{string(name), str(text)})
			return true
		})
	case "toolsAdded":
		m.ToolsAdded = notNull(val)
	case "toolsRemoved":
		m.ToolsRemoved = notNull(val)
	case "details":
		m.Details = notNull(val)
	}
}

func str(val []byte) string { s, _ := jsonx.String(val); return s }

func notNull(val []byte) json.RawMessage {
	if jsonx.IsNull(val) {
		return nil
	}
	return val
}

// Raw returns the bytes the message was parsed from, or nil for a message that
// was built. They must not be changed.
func (m *Message) Raw() json.RawMessage { return m.raw }

// MarshalJSON returns the bytes the message was parsed from; a message that
// was built is written in the order of the file format. encoding/json takes out
// white space and escapes some characters of what it is given here; JSON does not.
func (m *Message) MarshalJSON() ([]byte, error) { return m.JSON(), nil }

// JSON is MarshalJSON without the error that never is.
func (m *Message) JSON() json.RawMessage {
	if m.raw != nil {
		return m.raw
	}
	return m.encode()
}

// UnmarshalJSON is Parse into m; the data is copied.
func (m *Message) UnmarshalJSON(data []byte) error {
	p, err := Parse(append([]byte(nil), data...))
	if err != nil {
		return err
	}
	*m = *p
	return nil
}

func (m *Message) encode() json.RawMessage {
	var o jsonx.Object
	o.Str("role", string(m.Role))
	switch m.Role {
	case RoleToolResult:
		o.Str("toolCallId", m.ToolCallID)
		o.Str("toolName", m.ToolName)
	case RoleBashExecution:
		o.Str("command", m.Command)
		o.Str("output", m.Output)
		if m.ExitCode != nil {
			o.Int("exitCode", int64(*m.ExitCode))
		}
		o.Bool("cancelled", m.Cancelled)
		o.Bool("truncated", m.Truncated)
		o.OptStr("fullOutputPath", m.FullOutputPath)
		if m.ExcludeFromContext {
			o.Bool("excludeFromContext", true)
		}
	case RoleCustom:
		o.Str("customType", m.CustomType)
	case RoleBranchSummary:
		o.Str("summary", m.Summary)
		o.OptStr("fromId", m.FromID)
	case RoleCompactionSummary:
		o.Str("summary", m.Summary)
		o.Int("tokensBefore", m.TokensBefore)
	case RoleSystem, RoleUser, RoleAssistant:
	}
	switch m.Role {
	case RoleBashExecution, RoleBranchSummary, RoleCompactionSummary:
	case RoleSystem:
		o.Str("content", m.Text())
	default:
		o.Raw("content", EncodeBlocks(m.Content))
	}
	if m.Role == RoleAssistant {
		o.Str("api", m.API)
		o.Str("provider", m.Provider)
		o.Str("model", m.Model)
		o.OptStr("responseModel", m.ResponseModel)
		usage := m.Usage
		if usage == nil {
			usage = &Usage{}
		}
		o.Raw("usage", usage.encode())
		o.Str("stopReason", string(m.StopReason))
		o.OptStr("errorMessage", m.ErrorMessage)
	} else if m.Usage != nil {
		o.Raw("usage", m.Usage.encode())
	}
	switch m.Role {
	case RoleToolResult:
		o.Raw("details", m.Details)
		o.Bool("isError", m.IsError)
	case RoleCustom:
		o.Bool("display", m.Display)
		o.Raw("details", m.Details)
	case RoleSystem:
		if len(m.Sections) > 0 {
			var s jsonx.Object
			for _, sec := range m.Sections {
				s.Str(sec.Name, sec.Text)
			}
			o.Raw("sections", s.Bytes())
		}
		o.Raw("toolsAdded", m.ToolsAdded)
		o.Raw("toolsRemoved", m.ToolsRemoved)
	default:
	}
	o.OptStr("origin", string(m.Origin))
	o.Int("timestamp", m.Timestamp)
	return o.Bytes()
}

// Source returns where the text of the message came from: Origin where it is
// stored, else what the role implies: a user message was typed by the user, a
// bashExecution is shell output, anything else was injected.
func (m *Message) Source() Origin {
	switch {
	case m.Origin != "":
		return m.Origin
	case m.Role == RoleUser:
		return OriginUser
	case m.Role == RoleBashExecution:
		return OriginShell
	}
	return OriginInjected
}

// UserWords reports whether the message is what the user typed.
func (m *Message) UserWords() bool {
	return m.Role == RoleUser && m.Source() == OriginUser
}

// StartsTurn reports whether a turn begins at the message: a user message, or
// what stands for one.
func (m *Message) StartsTurn() bool {
	switch m.Role {
	case RoleUser, RoleBashExecution, RoleCustom, RoleBranchSummary:
		return true
	case RoleSystem, RoleAssistant, RoleToolResult, RoleCompactionSummary:
	}
	return false
}

// Text returns the text blocks of the content joined by newlines.
func (m *Message) Text() string {
	var texts []string
	for i := range m.Content {
		if b := &m.Content[i]; b.Type == BlockText {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// ToolCalls returns the calls in the content, in order.
func (m *Message) ToolCalls() []Block {
	if m.Role != RoleAssistant {
		return nil
	}
	var calls []Block
	for _, b := range m.Content {
		if b.Type == BlockToolCall {
			calls = append(calls, b)
		}
	}
	return calls
}

// Time returns Timestamp as a time; the zero time when it is unknown.
func (m *Message) Time() time.Time {
	if m.Timestamp == 0 {
		return time.Time{}
	}
	return time.UnixMilli(m.Timestamp)
}

// WithContent returns a copy of the message with other content. A parsed
// message keeps all its other bytes.
func (m *Message) WithContent(blocks []Block) *Message {
	c := *m
	c.Content = blocks
	if m.raw != nil {
		c.raw = jsonx.Set(m.raw, "content", EncodeBlocks(blocks))
	}
	return &c
}

// WithRawContent is WithContent for content that is already JSON: a string or
// an array of blocks. For roles whose content must be blocks, a string becomes
// one text block.
func (m *Message) WithRawContent(content json.RawMessage) *Message {
	blocks := parseContent(content)
	if jsonx.IsString(content) && (m.Role == RoleAssistant || m.Role == RoleToolResult) {
		return m.WithContent(blocks)
	}
	c := *m
	c.Content = blocks
	c.raw = jsonx.Set(m.JSON(), "content", content)
	return &c
}

// User returns a message typed by the user.
func User(text string, at time.Time) *Message {
	return &Message{Role: RoleUser, Content: []Block{TextBlock(text)}, Timestamp: at.UnixMilli()}
}

// Assistant returns a complete answer. Set Usage, Provider and Model on it
// before it is appended.
func Assistant(at time.Time, blocks ...Block) *Message {
	m := &Message{Role: RoleAssistant, Content: blocks, StopReason: StopEnd, Timestamp: at.UnixMilli()}
	for _, b := range blocks {
		if b.Type == BlockToolCall {
			m.StopReason = StopToolUse
		}
	}
	return m
}

// ToolResult returns the result of the call with id callID.
func ToolResult(callID, toolName, text string, isError bool, at time.Time) *Message {
	return &Message{
		Role: RoleToolResult, ToolCallID: callID, ToolName: toolName,
		Content: []Block{TextBlock(text)}, IsError: isError, Timestamp: at.UnixMilli(),
	}
}

// System returns a system message.
func System(text string, at time.Time) *Message {
	return &Message{Role: RoleSystem, Content: []Block{TextBlock(text)}, Timestamp: at.UnixMilli()}
}
