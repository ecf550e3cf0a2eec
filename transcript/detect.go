package transcript

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// detection says what a source looks like, and by what that was told.
type detection struct {
	format Format // "" for none
	why    string // a sentence without a full stop

	lines  bool // one record a line
	single bool // the record is the only one, so it can be a value as well
	also   []Format
}

// lookLines is how many lines are looked at.
const lookLines = 200

// detectLines looks for records of line formats. whole says that head is the
// whole source, so that its last line is complete.
func detectLines(head []byte, whole bool) detection {
	votes := map[Format]int{}
	whys := map[Format]string{}
	objects, broken := 0, 0
	n := 0
	for line := range bytes.Lines(head) {
		if n++; n > lookLines || !whole && !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if line = bytes.Trim(line, blank); len(line) == 0 {
			continue
		}
		end, err := jsonx.Scan(line, 0)
		if err != nil || line[0] != '{' || end != len(line) {
			broken++
			if objects == 0 && broken > 20 {
				break
			}
			continue
		}
		objects++
		if f, why := classifyRecord(line); f != "" {
			votes[f]++
			if whys[f] == "" {
				whys[f] = why
			}
		}
	}
	if objects == 0 {
		return detection{why: "no line of it is a JSON object"}
	}
	// A line that only one program writes tells more than many that could be
	// anybody's.
	var best Format
	for _, f := range Formats() {
		if votes[f] > votes[best] && (best == "" || !f.plain()) {
			best = f
		}
	}
	d := detection{format: best, why: whys[best], lines: true, single: whole && objects == 1 && broken == 0}
	if best == "" {
		d.why = "its lines are JSON, with members of no known format"
	}
	return d
}

// classifyRecord tells the format of one line by its members.
func classifyRecord(line value) (Format, string) {
	f := line.fields()
	typ := f.str("type")
	switch {
	case f["data"].isObject() && strings.Contains(typ, ".") && f.has("id") && f.has("timestamp"):
		return CopilotCLI, `lines have data, id and a type of two words, such as "user.message"`
	case typ == "session" && f.has("id") && !f.has("payload"):
		return Pi, `a line has "type":"session"`
	case f.has("parentId") && f.has("timestamp") && typ != "":
		return Pi, "lines have type, id, parentId and timestamp"
	case f.has("payload") && typ != "" && (f.has("timestamp") || typ == "session_meta" || typ == "response_item"):
		return Codex, fmt.Sprintf(`lines have a payload (the first is %q)`, printable(typ, 30))
	case f.has("uuid") && f.has("sessionId") && (typ == "user" || typ == "assistant" || typ == "system" || typ == "attachment" || typ == "progress"):
		return ClaudeCode, "lines have uuid, sessionId and the types user or assistant"
	case typ == "summary" && f.has("leafUuid"), typ == "file-history-snapshot", typ == "queue-operation" && f.has("sessionId"):
		return ClaudeCode, fmt.Sprintf("a line has the type %s", typ)
	case f["history"].isArray() && (f.has("instance_id") || isOpenHandsEvents(f["history"])):
		return OpenHands, "lines have a history of actions and observations"
	case isOpenHandsEvent(line):
		return OpenHands, "lines are actions and observations"
	case f.has("sessionId") && (f.has("projectHash") || f["messages"].isArray() && typ == ""):
		return GeminiCLI, "a record has sessionId and projectHash"
	case typ == "gemini" && f.has("id"):
		return GeminiCLI, `lines have the type "gemini"`
	case f.has("id") && f.has("timestamp") && f.has("instructions") && typ == "":
		return Codex, "a line has id, timestamp and instructions"
	case typ == "message" && f["message"].isObject() && !f.has("parentUuid"):
		return Pi, "lines are messages with a role"
	default:
		list := []value{line}
		if f["messages"].isArray() {
			list = f["messages"].list()
		}
		if d := classifyMessages(list); d.format != "" {
			return d.format, d.why
		}
		return "", ""
	}
}

// detectDoc tells the format of a source that is one JSON value.
func detectDoc(doc value) detection {
	if doc.isArray() {
		return detectList(doc)
	}
	if !doc.isObject() {
		return detection{why: "it is a JSON value that is neither an object nor an array"}
	}
	f := doc.fields()
	switch {
	case f["messages"].isArray() && (f.has("trajectory_format") || f["info"].has("config", "agent_type") || f["info"].has("mini_version") || f["info"].has("model_stats")):
		return detection{format: MiniSWEAgent, why: "it has messages and an info of mini-swe-agent"}
	case f["trajectory"].isArray() && (f["history"].isArray() || f.has("environment")), f["trajectory"].isArray() && f["info"].isObject():
		return detection{format: SWEAgent, why: "it has a trajectory with actions and observations"}
	case f["history"].isArray() && (f.has("instance_id") || f.has("metadata") || isOpenHandsEvents(f["history"])):
		return detection{format: OpenHands, why: "it has a history of actions and observations"}
	case f["info"].isObject() && f["messages"].isArray() && (f["info"].has("id") || isOpenCode(f["messages"])):
		return detection{format: OpenCode, why: "it has an info and messages with parts"}
	case f.has("sessionId") && f["messages"].isArray():
		return detection{format: GeminiCLI, why: "it has sessionId and messages"}
	case f["history"].isArray() && isGemini(f["history"].list()):
		return detection{format: GeminiCLI, why: "it has a history of contents with parts"}
	case f["contents"].isArray() && isGemini(f["contents"].list()):
		return detection{format: GeminiCLI, why: "it has contents with parts"}
	case f["input"].isArray() && !f.has("messages"):
		d := classifyMessages(f["input"].list())
		return detection{format: OpenAIResponses, why: "it has an array input", also: d.also}
	case f["messages"].isArray():
		d := classifyMessages(f["messages"].list())
		if f.has("system") && !f["system"].isObject() {
			d.format, d.why = Anthropic, "it has messages beside a system text"
		}
		return d
	case isOpenHandsEvent(doc):
		return detection{format: OpenHands, why: "it is an action or observation"}
	}
	if r, why := classifyRecord(doc); r != "" {
		return detection{format: r, why: why, lines: true}
	}
	return detection{why: "it is an object with members of no known format"}
}

func detectList(doc value) detection {
	list := doc.list()
	switch {
	case len(list) == 0:
		return detection{why: "it is an empty list"}
	case isGemini(list):
		return detection{format: GeminiCLI, why: "it is a list of contents with role and parts"}
	case isOpenHandsEvents(doc):
		return detection{format: OpenHands, why: "it is a list of actions and observations"}
	case isOpenCode(doc):
		return detection{format: OpenCode, why: "it is a list of messages with info and parts"}
	default:
		return classifyMessages(list)
	}
}

// like reports whether one of the first of a list is what is says.
func like(list []value, is func(value) bool) bool {
	return slices.ContainsFunc(list[:min(len(list), 5)], is)
}

func isGemini(list []value) bool {
	return like(list, func(m value) bool {
		role := m.str("role")
		return (role == "user" || role == "model") && m.get("parts").isArray()
	})
}

func isOpenHandsEvent(v value) bool {
	if strings.HasSuffix(v.str("kind"), "Event") && (v.has("llm_message") || v.has("tool_call_id") || v.has("system_prompt")) {
		return true
	}
	if src := v.str("source"); src == "agent" || src == "user" || src == "environment" {
		return v.get("action").isString() || v.get("observation").isString() || v.get("kind").isString()
	}
	return false
}

// isOpenHandsEvents takes events, or pairs of an action and its observation.
func isOpenHandsEvents(v value) bool {
	return like(v.list(), func(e value) bool {
		pair := e.list()
		return isOpenHandsEvent(e) || len(pair) > 0 && isOpenHandsEvent(pair[0])
	})
}

func isOpenCode(v value) bool {
	return like(v.list(), func(m value) bool { return m.get("info").isObject() && m.get("parts").isArray() })
}

// classifyMessages tells plain lists of messages apart: by the blocks and members
// that one API has and the others have not.
func classifyMessages(list []value) detection {
	var chat, responses, anthropic, plain, blocks int
	for _, m := range list[:min(len(list), lookLines)] {
		f := m.fields()
		switch typ := f.str("type"); typ {
		case "function_call", "function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output",
			"local_shell_call", "local_shell_call_output", "web_search_call", "item_reference":
			responses++
			continue
		case "message":
			if !f.has("usage") {
				responses++
			}
		}
		switch f.str("role") {
		case "tool", "function":
			chat++
		case "developer":
			plain++
		case "user", "assistant", "system":
			plain++
			if f["tool_calls"].isArray() || f.has("reasoning_content") {
				chat++
			}
			for _, b := range f["content"].list() {
				switch b.str("type") {
				case "text":
					if f.str("role") == "assistant" {
						blocks++
					}
				case "tool_use", "tool_result", "thinking", "redacted_thinking":
					anthropic++
				case "image":
					if b.has("source") {
						anthropic++
					}
				case "image_url", "input_audio":
					chat++
				case "input_text", "output_text", "input_image":
					responses++
				}
			}
		}
	}
	plainLists := []Format{OpenAIChat, OpenAIResponses, Anthropic}
	switch {
	case anthropic > chat && anthropic > responses:
		return detection{format: Anthropic, why: "messages have blocks of the Messages API"}
	case responses > chat:
		return detection{format: OpenAIResponses, why: "it has items of the Responses API"}
	case chat > 0:
		return detection{format: OpenAIChat, why: "messages have tool calls or the role tool"}
	case blocks > 0:
		return detection{format: Anthropic, why: "answers have their text in blocks", also: plainLists}
	case plain > 0:
		return detection{format: OpenAIChat, why: "it is a list of messages with role and content, which all APIs share", also: plainLists}
	}
	return detection{why: "its messages have no role that is known"}
}
