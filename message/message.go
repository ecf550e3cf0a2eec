// Package message is clew's provider-neutral model of what is said in a conversation.
//
// Its JSON is that of the messages in pi's session format, version 3. A parsed [Message]
// keeps the bytes it was parsed from, and its JSON method gives exactly those: its fields
// are a view of them, so unknown fields, key order and the spelling of numbers survive.
//
//	m, err := message.Parse([]byte(`{"role":"user","content":"fix the flaky test"}`))
//	fmt.Println(m.Role, m.Text())
//	m = message.User("and run it twice")
//
// A Message is not to be changed after it was parsed or built; [Message.WithContent]
// makes a changed copy that keeps the fields it does not know.
package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
)

// Role says who or what a message stands for.
type Role string

// The closed set of roles. A message with another role is kept in the log and shown, but never sent to a model.
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
func (r Role) Known() bool { return slices.Contains(roles, r) }

var roles = []Role{
	RoleSystem, RoleUser, RoleAssistant, RoleToolResult, RoleBashExecution, RoleCustom, RoleBranchSummary, RoleCompactionSummary,
}

// shared returns the one of known that equals s, or s: whoever compares what is shared
// need not read the bytes of the message.
func shared[T ~string](known []T, s string) T {
	if i := slices.Index(known, T(s)); i >= 0 {
		return known[i]
	}
	return T(s)
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

// Origin says how the text of a message came into the conversation.
type Origin string

// The origins, as they stand in the member "origin" of a message; [Message.Source] tells
// that of messages without it. Only OriginUser counts as the user's words.
const (
	OriginUser     Origin = "user"     // typed by the user
	OriginInjected Origin = "injected" // put in by a program: reminders, rules, attachments
	OriginHook     Origin = "hook"     // put in by a hook
	OriginShell    Origin = "shell"    // the output of a command the user ran
	OriginTask     Origin = "task"     // a task given by another agent
)

// Message is one message. Which fields have a meaning depends on Role. A field of the zero value is absent.
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

	Details json.RawMessage // what a tool or an extension stored for itself

	raw json.RawMessage
}

// Section is a named part of a system message. A section without text takes the section of that name away.
type Section struct {
	Name string
	Text string
}

// ErrNotMessage is wrapped by Parse when the data is not a message at all.
var ErrNotMessage = errors.New("not a message")

// Parse reads a message. It fails only when raw is not a JSON object or has no role; members of the wrong type are
// treated as unknown ones. The message keeps raw, which must not be changed afterwards.
func Parse(raw []byte) (*Message, error) {
	m, start := &Message{}, jsonx.Space(raw, 0)
	if !jsonx.IsObject(raw[start:]) {
		if _, err := jsonx.Scan(raw, start); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotMessage, err)
		}
		return nil, fmt.Errorf("%w: a JSON value that is no object", ErrNotMessage)
	}
	// In one pass: messages are most of the bytes of a session.
	end, err := jsonx.ScanObject(raw, start, func(key []byte, at int) (int, error) {
		if string(key) == "content" && at < len(raw) && raw[at] == '[' {
			blocks, end, err := scanBlocks(raw, at, 1)
			m.Content = blocks
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
	m.raw, m.Role = raw[start:end], shared(roles, string(m.Role))
	if m.Role == "" {
		return nil, fmt.Errorf("%w: no role", ErrNotMessage)
	}
	return m, nil
}

type member struct {
	key    string
	roles  []Role // that are written with it; nil for all
	always bool   // written when it is zero, too
	at     func(m *Message) any
}

// members are in the order in which they are written.
var members = []member{
	{"role", nil, true, func(m *Message) any { return (*string)(&m.Role) }},
	{"toolCallId", []Role{RoleToolResult}, true, func(m *Message) any { return &m.ToolCallID }},
	{"toolName", []Role{RoleToolResult}, true, func(m *Message) any { return &m.ToolName }},
	{"command", []Role{RoleBashExecution}, true, func(m *Message) any { return &m.Command }},
	{"output", []Role{RoleBashExecution}, true, func(m *Message) any { return &m.Output }},
	{"exitCode", []Role{RoleBashExecution}, false, func(m *Message) any { return &m.ExitCode }},
	{"cancelled", []Role{RoleBashExecution}, true, func(m *Message) any { return &m.Cancelled }},
	{"truncated", []Role{RoleBashExecution}, true, func(m *Message) any { return &m.Truncated }},
	{"fullOutputPath", []Role{RoleBashExecution}, false, func(m *Message) any { return &m.FullOutputPath }},
	{"excludeFromContext", []Role{RoleBashExecution}, false, func(m *Message) any { return &m.ExcludeFromContext }},
	{"customType", []Role{RoleCustom}, true, func(m *Message) any { return &m.CustomType }},
	{"summary", []Role{RoleBranchSummary, RoleCompactionSummary}, true, func(m *Message) any { return &m.Summary }},
	{"fromId", []Role{RoleBranchSummary}, false, func(m *Message) any { return &m.FromID }},
	{"tokensBefore", []Role{RoleCompactionSummary}, true, func(m *Message) any { return &m.TokensBefore }},
	{"content", nil, true, func(m *Message) any { return &m.Content }},
	{"api", []Role{RoleAssistant}, true, func(m *Message) any { return &m.API }},
	{"provider", []Role{RoleAssistant}, true, func(m *Message) any { return &m.Provider }},
	{"model", []Role{RoleAssistant}, true, func(m *Message) any { return &m.Model }},
	{"responseModel", []Role{RoleAssistant}, false, func(m *Message) any { return &m.ResponseModel }},
	{"usage", nil, false, func(m *Message) any { return &m.Usage }},
	{"stopReason", []Role{RoleAssistant}, true, func(m *Message) any { return (*string)(&m.StopReason) }},
	{"errorMessage", []Role{RoleAssistant}, false, func(m *Message) any { return &m.ErrorMessage }},
	{"display", []Role{RoleCustom}, true, func(m *Message) any { return &m.Display }},
	{"details", []Role{RoleToolResult, RoleCustom}, false, func(m *Message) any { return &m.Details }},
	{"isError", []Role{RoleToolResult}, true, func(m *Message) any { return &m.IsError }},
	{"sections", []Role{RoleSystem}, false, func(m *Message) any { return &m.Sections }},
	{"toolsAdded", []Role{RoleSystem}, false, func(m *Message) any { return &m.ToolsAdded }},
	{"toolsRemoved", []Role{RoleSystem}, false, func(m *Message) any { return &m.ToolsRemoved }},
	{"origin", nil, false, func(m *Message) any { return (*string)(&m.Origin) }},
	{"timestamp", nil, true, func(m *Message) any { return &m.Timestamp }},
}

func (m *Message) member(key, val []byte) {
	i := slices.IndexFunc(members, func(f member) bool { return f.key == string(key) })
	if i < 0 {
		return
	}
	switch p := members[i].at(m).(type) {
	case *string:
		*p = str(val)
	case *bool:
		*p = jsonx.Bool(val)
	case *int64:
		*p, _ = jsonx.Int(val)
	case **int:
		*p = nil
		if n, ok := jsonx.Int(val); ok {
			code := int(n)
			*p = &code
		}
	case **Usage:
		*p = parseUsage(val)
	case *json.RawMessage:
		*p = jsonx.NotNull(val)
	case *[]Block:
		*p = parseContent(val)
	case *[]Section:
		*p = (*p)[:0]
		jsonx.Members(val, func(name, text []byte) bool {
			*p = append(*p, Section{string(name), str(text)})
			return true
		})
	}
}

func str(val []byte) string { s, _ := jsonx.String(val); return s }

// Raw returns the bytes the message was parsed from, or nil for one that was built.
func (m *Message) Raw() json.RawMessage { return m.raw }

// MarshalJSON returns what JSON does. encoding/json takes out white space and escapes some characters of it.
func (m *Message) MarshalJSON() ([]byte, error) { return m.JSON(), nil }

// JSON returns the bytes the message was parsed from, or writes one that was built.
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
	for _, f := range members {
		if f.roles != nil && !slices.Contains(f.roles, m.Role) {
			continue
		}
		switch p := f.at(m).(type) {
		case *string:
			if f.always || *p != "" {
				o.Str(f.key, *p)
			}
		case *bool:
			if f.always || *p {
				o.Bool(f.key, *p)
			}
		case *int64:
			o.Int(f.key, *p)
		case **int:
			if *p != nil {
				o.Int(f.key, int64(**p))
			}
		case **Usage:
			if *p != nil {
				o.Raw(f.key, (*p).JSON())
			} else if m.Role == RoleAssistant { // pi's readers want one
				o.Raw(f.key, (&Usage{}).JSON())
			}
		case *json.RawMessage:
			o.Raw(f.key, *p)
		case *[]Block:
			switch m.Role {
			case RoleBashExecution, RoleBranchSummary, RoleCompactionSummary:
			case RoleSystem:
				o.Str(f.key, m.Text())
			default:
				o.Raw(f.key, EncodeBlocks(*p))
			}
		case *[]Section:
			var sections jsonx.Object
			for _, s := range *p {
				sections.Str(s.Name, s.Text)
			}
			if len(*p) > 0 {
				o.Raw(f.key, sections.Bytes())
			}
		}
	}
	return o.Bytes()
}

// Source returns where the text of the message came from: Origin where it is stored, else what the role implies.
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
func (m *Message) UserWords() bool { return m.Role == RoleUser && m.Source() == OriginUser }

// StartsTurn reports whether a turn begins at the message: a user message, or what stands for one.
func (m *Message) StartsTurn() bool {
	return slices.Contains([]Role{RoleUser, RoleBashExecution, RoleCustom, RoleBranchSummary}, m.Role)
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

// WithContent returns a copy of the message with other content. A parsed message keeps all its other bytes.
func (m *Message) WithContent(blocks []Block) *Message {
	c := *m
	c.Content = blocks
	if m.raw != nil {
		c.raw = jsonx.Set(m.raw, "content", EncodeBlocks(blocks))
	}
	return &c
}

// WithRawContent is WithContent for content that is already JSON: a string, which becomes
// one text block where the role wants blocks, or an array of blocks.
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

// Assistant returns a complete answer. Set Usage, Provider and Model on it before it is appended.
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
