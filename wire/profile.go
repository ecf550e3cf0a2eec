package wire

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/message"
)

// Profile says what a provider's API takes. To talk to a server that differs from
// [Anthropic], [OpenAIChat], [OpenAIResponses] and [Gemini], copy one and change its fields.
type Profile struct {
	Name string // what ProfileByName knows it by

	// APIs are the values of a message's "api" member whose signatures, identifiers and
	// unknown blocks this API takes back, besides messages that name none.
	APIs []string

	// SystemField, MessagesField and ToolsField are members of the request body. Without
	// a SystemField the system text is the first message.
	SystemField, MessagesField, ToolsField string

	SystemRole string      // of a system message among the messages; empty when the API has none
	MidSystem  MidSystem   // what becomes of a system message that stands after another message
	FirstUser  bool        // a short placeholder is put before a list that does not start with a user message
	Alternate  bool        // neighbouring messages of one role are merged
	Results    ResultPlace // where results stand: always directly behind their calls and in their order
	Thinking   Thinking    // what becomes of the reasoning of earlier answers

	Images       []string   // media types of images that the API takes; empty means any
	ResultImages ImagePlace // where the images of a tool result go

	// CallIDMax and ToolNameMax are the greatest lengths of the ids of calls and the names
	// of tools. They consist of a-z, A-Z, 0-9, _ and -, which all APIs take; others are
	// mapped. NameStart says that names must start with a letter or _.
	CallIDMax, ToolNameMax int
	NameStart              bool

	MaxBytes int64 // the greatest size of a request body; 0 means that no limit is known
	Opaque   bool  // blocks of unknown types in an answer of the same provider are sent back as they are

	form form
}

// MidSystem says what becomes of a system message that does not stand before all others.
type MidSystem int

// What becomes of it. MidSystemFold changes the start of the request, so caches and signed
// thinking after that are lost.
const (
	MidSystemMessage MidSystem = iota // keeps its place, in the profile's SystemRole
	MidSystemUser                     // keeps its place as marked text of a user message
	MidSystemFold                     // is worked into the system text
)

// ResultPlace says where the results of tool calls stand.
type ResultPlace int

// The places.
const (
	ResultsInUser ResultPlace = iota // those of one answer at the start of a user message
	ResultsAlone                     // those of one answer in a user message of their own
	ResultsApart                     // each is a message or item of its own
)

// Thinking says what becomes of earlier reasoning, which only its maker gets, unchanged.
type Thinking int

// What is sent.
const (
	ThinkingSigned Thinking = iota // blocks that carry a signature, redacted ones included
	ThinkingField                  // the text, in the member of the message that its signature names
	ThinkingItem                   // the items that are the signatures, each with the item after it
	ThinkingPart                   // signed thought parts, and signatures on text and calls
	ThinkingStored                 // everything as it is stored
)

// ImagePlace says where the images of a tool result go.
type ImagePlace int

// The places.
const (
	ImagesInside  ImagePlace = iota // in the result
	ImagesAfter                     // in a user message after the results
	ImagesByModel                   // in the result for Gemini 3 and later
)

// form selects the renderer and the reader of a profile; one made from nothing has none.
type form int

const (
	formNone form = iota
	formAnthropic
	formChat
	formResponses
	formGemini
	formPi
)

// ProfileByName returns a profile by its name; "openai" is short for
// "openai-responses". The error of an unknown name lists those that exist.
func ProfileByName(name string) (Profile, error) {
	for _, p := range profiles() {
		if name == p.Name {
			return p, nil
		}
	}
	if name == "openai" {
		return OpenAIResponses, nil
	}
	return Profile{}, fmt.Errorf("no wire profile is named %q; there are %s and openai (short for %s)",
		name, strings.Join(ProfileNames(), ", "), OpenAIResponses.Name)
}

// ProfileNames returns the names of the profiles, in a fixed order.
func ProfileNames() []string {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.Name)
	}
	return names
}

func profiles() []Profile {
	return []Profile{Anthropic, OpenAIChat, OpenAIResponses, Gemini, Pi}
}

func (p *Profile) check() error {
	switch {
	case p.form == formNone:
		return fmt.Errorf("wire profile %q has no form; start from one of %s", p.Name, strings.Join(ProfileNames(), ", "))
	case p.MidSystem == MidSystemMessage && p.form != formPi && (p.SystemRole == "" || p.Alternate):
		return fmt.Errorf("wire profile %q takes no system messages among the messages; use MidSystemUser or MidSystemFold", p.Name)
	case p.CallIDMax < minIDMax && p.form != formPi, p.ToolNameMax < minIDMax && p.form != formPi:
		return fmt.Errorf("wire profile %q: CallIDMax and ToolNameMax must be at least %d, so that mapped ids stay apart", p.Name, minIDMax)
	}
	return nil
}

// same reports whether the target made m, so that it takes back what only its maker reads.
func (p *Profile) same(m *message.Message, t Target) bool {
	return t.Provider != "" && m.Provider == t.Provider && m.Model == t.Model && t.Model != "" && p.speaks(m)
}

func (p *Profile) speaks(m *message.Message) bool {
	return m.API == "" || slices.Contains(p.APIs, m.API)
}

func geminiMajor(model string) int {
	_, rest, _ := strings.Cut(strings.ToLower(model), "gemini-")
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	n, _ := strconv.Atoi(rest[:min(digits, 4)]) // 0 without digits
	return n
}

// The profiles. They are not to be assigned to; copy one to change it.
var (
	// Anthropic is the Messages API. Results stand at the start of the user message after their calls
	// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls). Newer models take
	// system messages in few places only, which the next user message would move
	// (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages): they are
	// user text here. Signed thinking is bound to all that stands before it
	// (https://platform.claude.com/docs/build-with-claude/preserved-thinking).
	// Ids: "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"; 64 is pi's limit.
	// Size: https://platform.claude.com/docs/en/api/errors; images: .../docs/en/build-with-claude/vision.
	Anthropic = Profile{
		Name: "anthropic", APIs: []string{"anthropic-messages"},
		SystemField: "system", MessagesField: "messages", ToolsField: "tools",
		MidSystem: MidSystemUser, FirstUser: true, Alternate: true,
		Results: ResultsInUser, Thinking: ThinkingSigned,
		Images: []string{"image/jpeg", "image/png", "image/gif", "image/webp"}, ResultImages: ImagesInside,
		CallIDMax: 64, ToolNameMax: 64,
		MaxBytes: 32_000_000, Opaque: true, form: formAnthropic,
	}

	// OpenAIChat is the Chat Completions API, which many servers speak: "An assistant message with
	// 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'", whose content
	// is text (https://platform.openai.com/docs/api-reference/chat/create). Older models take ids of 40
	// characters (https://github.com/decolua/9router/pull/3167). Servers with models that reason may want
	// the reasoning back in a member of the message. The size of a request is documented for image
	// inputs only (https://platform.openai.com/docs/guides/images-vision).
	OpenAIChat = Profile{
		Name: "openai-chat", APIs: []string{"openai-completions"},
		MessagesField: "messages", ToolsField: "tools",
		SystemRole: "system", MidSystem: MidSystemMessage,
		Results: ResultsApart, Thinking: ThinkingField,
		Images: []string{"image/jpeg", "image/png", "image/gif", "image/webp"}, ResultImages: ImagesAfter,
		CallIDMax: 40, ToolNameMax: 64,
		MaxBytes: 50_000_000, form: formChat,
	}

	// OpenAIResponses is the Responses API, with the whole conversation as input.
	// Reasoning goes with the item after it or not at all: "Item of type 'reasoning' was
	// provided without its required following item"
	// (https://github.com/openai/codex/issues/1235). Ids have at most 64 characters
	// (https://github.com/AnswerDotAI/fastllm/issues/45). The output of a call may hold
	// images (https://platform.openai.com/docs/guides/function-calling).
	OpenAIResponses = Profile{
		Name: "openai-responses", APIs: []string{"openai-responses", "azure-openai-responses", "openai-codex-responses"},
		SystemField: "instructions", MessagesField: "input", ToolsField: "tools",
		SystemRole: "developer", MidSystem: MidSystemMessage,
		Results: ResultsApart, Thinking: ThinkingItem,
		Images: []string{"image/jpeg", "image/png", "image/gif", "image/webp"}, ResultImages: ImagesInside,
		CallIDMax: 64, ToolNameMax: 64,
		MaxBytes: 50_000_000, Opaque: true, form: formResponses,
	}

	// Gemini is the generateContent API. "Please ensure that function call turn comes immediately after
	// a user turn or after a function response turn", "... that the number of function response parts is
	// equal to the number of function call parts", and a turn with responses holds nothing else
	// (https://github.com/anomalyco/opencode/pull/43479). So what the user says along with results is a
	// user content of its own behind them: two in a row are taken, a mixed one is refused with "Requests
	// ending with a model turn are not supported" (https://github.com/Prism-Shadow/agenthub/pull/189). Signatures go back on the part they came on
	// (https://ai.google.dev/gemini-api/docs/thought-signatures). Images inside responses:
	// https://ai.google.dev/gemini-api/docs/function-calling#multimodal. Size (Vertex AI takes 20 MB):
	// https://blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits
	Gemini = Profile{
		Name: "gemini", APIs: []string{"google-generative-ai", "google-vertex", "google-gemini-cli"},
		SystemField: "systemInstruction", MessagesField: "contents", ToolsField: "tools",
		MidSystem: MidSystemUser, FirstUser: true, Alternate: true,
		Results: ResultsAlone, Thinking: ThinkingPart,
		Images:       []string{"image/jpeg", "image/png", "image/webp", "image/heic", "image/heif"},
		ResultImages: ImagesByModel,
		CallIDMax:    64, ToolNameMax: 64, NameStart: true,
		MaxBytes: 100_000_000, Opaque: true, form: formGemini,
	}

	// Pi is what pi hands to its provider layer: its own messages, with summaries, shell
	// runs and messages of extensions turned into user messages, and nothing paired or
	// repaired. It is for looking and comparing, not for sending.
	Pi = Profile{
		Name: "pi", MessagesField: "messages",
		SystemRole: "system", MidSystem: MidSystemMessage,
		Results: ResultsApart, Thinking: ThinkingStored, ResultImages: ImagesInside,
		form: formPi,
	}
)
