package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/wire"
)

// Request is one question to a model. It is not changed by a call.
type Request struct {
	// System is the system text; what system messages among Messages say follows
	// it.
	System string
	// Tools are the tools that may be called, beside those that system messages
	// among Messages add.
	Tools []Tool
	// Messages is the conversation, as session.Project gives it.
	Messages []*message.Message

	// MaxOutput is the greatest length of the answer in tokens, its reasoning
	// apart. Default: DefaultMaxOutput where the API wants a limit, else what the
	// API does.
	MaxOutput int64
	// Reasoning says how much the model shall reason. Default: as the API does.
	Reasoning Reasoning
	// ReasoningBudget is the room for reasoning in tokens, on top of MaxOutput.
	// Default: what goes with Reasoning.
	ReasoningBudget int64
	// Temperature is left out when nil, and where the model takes none.
	Temperature *float64
	// Stop ends the answer before one of these texts. The Responses API has
	// nothing of the kind.
	Stop []string
	// ToolChoice says whether tools may or must be called.
	ToolChoice ToolChoice

	// Cache asks the provider to keep the request's start for later ones.
	Cache Cache
	// CacheKey names the conversation, for providers that route by it.
	CacheKey string

	// Attempts is how often the call is made at most when it fails for a passing
	// reason. Default: as Retry of the transport says.
	Attempts int

	// Extra is a JSON object whose members are added to the body. A member that
	// the adapter sets itself is refused.
	Extra json.RawMessage
	// Wire changes how the messages are prepared; see wire.Options.
	Wire wire.Options
}

// DefaultMaxOutput is the limit of an answer, in tokens, for APIs that want one:
// as much as compact keeps free for it in a large window.
const DefaultMaxOutput = 16_384

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	// Parameters is a JSON schema of type object. Default: no parameters.
	Parameters json.RawMessage
}

// Reasoning says how much a model shall reason. What a model does not know is
// sent as the nearest thing it does.
type Reasoning string

// The levels.
const (
	ReasoningDefault Reasoning = ""
	ReasoningNone    Reasoning = "none"
	ReasoningMinimal Reasoning = "minimal"
	ReasoningLow     Reasoning = "low"
	ReasoningMedium  Reasoning = "medium"
	ReasoningHigh    Reasoning = "high"
	ReasoningXHigh   Reasoning = "xhigh"
	ReasoningMax     Reasoning = "max"
)

// reasonings are the levels, the least first.
var reasonings = []Reasoning{
	ReasoningDefault, ReasoningNone, ReasoningMinimal, ReasoningLow, ReasoningMedium, ReasoningHigh, ReasoningXHigh, ReasoningMax,
}

// Name returns the name of a level; that of ReasoningDefault is "default".
func (r Reasoning) Name() string { return cmp.Or(string(r), "default") }

// ReasoningNames returns the names of all levels, "default" first, then the least.
func ReasoningNames() []string {
	var names []string
	for _, r := range reasonings {
		names = append(names, r.Name())
	}
	return names
}

// ParseReasoning returns the level of a name.
func ParseReasoning(name string) (Reasoning, error) {
	at := slices.Index(ReasoningNames(), name)
	if at < 0 {
		return "", fmt.Errorf("there is no level of reasoning %q; there are %s", name, strings.Join(ReasoningNames(), ", "))
	}
	return reasonings[at], nil
}

// reasoningRoom is the room for reasoning in tokens that goes with each level.
// APIs count reasoning against the limit of the answer, so a limit meant for
// what is to be read needs room on top.
func reasoningRoom(r Reasoning) (tokens int64, ok bool) {
	switch r {
	case ReasoningDefault, ReasoningNone:
		return 0, true
	case ReasoningMinimal:
		return 1_024, true
	case ReasoningLow:
		return 2_048, true
	case ReasoningMedium:
		return 8_192, true
	case ReasoningHigh:
		return 16_384, true
	case ReasoningXHigh, ReasoningMax:
		return 32_768, true
	}
	return 0, false
}

// Budget returns the room for reasoning in tokens.
func (r *Request) Budget() int64 {
	if r.ReasoningBudget > 0 {
		return r.ReasoningBudget
	}
	n, _ := reasoningRoom(r.Reasoning)
	return n
}

// Thinks reports whether the request asks for reasoning in so many words.
func (r *Request) Thinks() bool {
	return r.ReasoningBudget > 0 || r.Reasoning != ReasoningDefault && r.Reasoning != ReasoningNone
}

// OutputLimit returns the limit that is to be sent to an API that counts
// reasoning as output: the room for both, within what the model can do. It is 0
// when the request sets no limit.
func (r *Request) OutputLimit(i Info) int64 {
	if r.MaxOutput <= 0 {
		return 0
	}
	n := r.MaxOutput
	if i.Thinking != ThinkingNever {
		n += r.Budget()
	}
	if i.MaxOutput > 0 {
		n = min(n, i.MaxOutput)
	}
	return n
}

// EachExtra calls fn with the members of Extra. It is an error when one has a
// name that the adapter sets itself.
func (r *Request) EachExtra(own []string, fn func(key string, val json.RawMessage)) error {
	var err error
	jsonx.Members(r.Extra, func(key, val []byte) bool {
		if slices.Contains(own, string(key)) {
			err = fmt.Errorf("the member %q of Extra is one that the request sets itself", key)
			return false
		}
		fn(string(key), val)
		return true
	})
	return err
}

// ToolChoice says whether tools may or must be called.
type ToolChoice string

// The choices.
const (
	ToolsAuto     ToolChoice = ""         // as the model thinks best
	ToolsNone     ToolChoice = "none"     // no calls; the tools stay in the request, so that caches hold
	ToolsRequired ToolChoice = "required" // at least one call
)

// Cache says how long the provider shall keep the start of the request.
type Cache string

// The durations. Providers that cache by themselves do so whatever is said here.
const (
	CacheDefault Cache = ""      // as the provider does
	CacheShort   Cache = "short" // minutes
	CacheLong    Cache = "long"  // an hour or more, at a higher price
)

// Build prepares the request for a profile: one system message of System and
// Tools, then the messages, through wire.Build.
func (r *Request) Build(p wire.Profile, t wire.Target) (*wire.Request, []wire.Note, error) {
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	msgs := r.Messages
	if r.System != "" || len(r.Tools) > 0 {
		m := &message.Message{Role: message.RoleSystem, ToolsAdded: EncodeTools(r.Tools)}
		if r.System != "" {
			m.Content = []message.Block{message.TextBlock(r.System)}
		}
		msgs = slices.Insert(slices.Clone(msgs), 0, m)
	}
	return wire.Build(msgs, p, t, r.Wire)
}

// check finds what no adapter could send.
func (r *Request) check() error {
	if _, ok := reasoningRoom(r.Reasoning); !ok {
		return fmt.Errorf("there is no reasoning level %q", r.Reasoning)
	}
	switch r.ToolChoice {
	case ToolsAuto, ToolsNone, ToolsRequired:
	default:
		return fmt.Errorf("there is no tool choice %q", r.ToolChoice)
	}
	switch r.Cache {
	case CacheDefault, CacheShort, CacheLong:
	default:
		return fmt.Errorf("there is no cache duration %q", r.Cache)
	}
	if r.MaxOutput < 0 || r.ReasoningBudget < 0 || r.Attempts < 0 {
		return fmt.Errorf("limits of tokens and attempts must not be negative")
	}
	if r.Extra != nil {
		if end, err := jsonx.Scan(r.Extra, 0); err != nil || !jsonx.IsObject(r.Extra) || end != len(r.Extra) {
			return fmt.Errorf("the value of Extra must be one JSON object")
		}
	}
	for i, m := range r.Messages {
		if m == nil {
			return fmt.Errorf("message %d is nil", i)
		}
	}
	return nil
}

// EncodeTools returns tools as system messages have them: a JSON array, nil for none.
func EncodeTools(tools []Tool) json.RawMessage {
	if len(tools) == 0 {
		return nil
	}
	out := []byte{'['}
	for i, t := range tools {
		if i > 0 {
			out = append(out, ',')
		}
		var o jsonx.Object
		o.Str("name", t.Name)
		o.OptStr("description", t.Description)
		params := t.Parameters
		if end, err := jsonx.Scan(params, 0); err != nil || end != len(params) {
			params = nil // wire writes an empty schema for a missing one
		}
		o.Raw("parameters", params)
		out = append(out, o.Bytes()...)
	}
	return append(out, ']')
}
