package wire

// The profiles. They are not to be assigned to; copy one to change it.
var (
	// Anthropic is the Messages API.
	//
	// Neighbouring messages of one role are merged there, and results stand at
	// the start of the user message after their calls
	// (https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls).
	// System messages among the messages are taken by newer models only, directly
	// before an answer or at the end, with no other beside them
	// (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages);
	// a place that the next user message would move, so they are user text here.
	// Signed thinking is bound to all that stands before it
	// (https://platform.claude.com/docs/build-with-claude/preserved-thinking).
	// Ids: "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"; pi
	// keeps them to 64 characters, and so do we.
	// Size: https://platform.claude.com/docs/en/api/errors.
	// Images: https://platform.claude.com/docs/en/build-with-claude/vision.
	Anthropic = Profile{
		Name: "anthropic", APIs: []string{"anthropic-messages"},
		SystemField: "system", MessagesField: "messages", ToolsField: "tools",
		MidSystem: MidSystemUser, FirstUser: true, Alternate: true,
		Results: ResultsInUser, Thinking: ThinkingSigned,
		Images: []string{"image/jpeg", "image/png", "image/gif", "image/webp"}, ResultImages: ImagesInside,
		CallIDMax: 64, ToolNameMax: 64,
		MaxBytes: 32_000_000, Opaque: true, form: formAnthropic,
	}

	// OpenAIChat is the Chat Completions API, which many servers speak.
	//
	// "An assistant message with 'tool_calls' must be followed by tool messages
	// responding to each 'tool_call_id'"; the content of tool messages is text
	// (https://platform.openai.com/docs/api-reference/chat/create). Ids of calls
	// may have 40 characters on older models and 64 on newer ones
	// (https://github.com/decolua/9router/pull/3167), names of tools 64 of
	// '^[a-zA-Z0-9_-]+$'. Servers with models that reason return the reasoning in
	// a member of the message and some want it back there. The size of a request
	// is documented for image inputs only, at 50 MB
	// (https://platform.openai.com/docs/guides/images-vision).
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
	//
	// "Item of type 'reasoning' was provided without its required following
	// item" (https://github.com/openai/codex/issues/1235 and many more): reasoning
	// goes with the item after it or not at all. Ids and call ids have at most 64
	// characters (https://github.com/AnswerDotAI/fastllm/issues/45). The output of
	// a call may hold images
	// (https://platform.openai.com/docs/guides/function-calling).
	OpenAIResponses = Profile{
		Name: "openai-responses", APIs: []string{"openai-responses", "azure-openai-responses", "openai-codex-responses"},
		SystemField: "instructions", MessagesField: "input", ToolsField: "tools",
		SystemRole: "developer", MidSystem: MidSystemMessage,
		Results: ResultsApart, Thinking: ThinkingItem,
		Images: []string{"image/jpeg", "image/png", "image/gif", "image/webp"}, ResultImages: ImagesInside,
		CallIDMax: 64, ToolNameMax: 64,
		MaxBytes: 50_000_000, Opaque: true, form: formResponses,
	}

	// Gemini is the generateContent API.
	//
	// "Please ensure that function call turn comes immediately after a user turn
	// or after a function response turn", "... that the number of function
	// response parts is equal to the number of function call parts", and a turn
	// with responses holds nothing else
	// (https://github.com/anomalyco/opencode/pull/43479). Signatures go back on
	// the part they came on; the first call of an answer must carry one for Gemini
	// 3 (https://ai.google.dev/gemini-api/docs/thought-signatures). Images inside
	// responses: https://ai.google.dev/gemini-api/docs/function-calling#multimodal.
	// Names: "must start with a letter or an underscore ... maximum length of 64".
	// Size: https://blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits
	// (Vertex AI takes 20 MB).
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

	// Pi is what pi hands to its provider layer: its own messages, with
	// summaries, shell runs and messages of extensions turned into user
	// messages. Nothing is paired or repaired, and failed answers stay; that
	// comes later in pi. It is for looking and comparing, not for sending.
	Pi = Profile{
		Name: "pi", MessagesField: "messages",
		SystemRole: "system", MidSystem: MidSystemMessage,
		Results: ResultsApart, Thinking: ThinkingStored, ResultImages: ImagesInside,
		form: formPi,
	}
)
