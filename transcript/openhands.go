package transcript

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// openHands reads the events of OpenHands: actions and observations. Actions that
// came of one response of the model are one answer.
type openHands struct {
	*builder
	answers map[string]*node // by response id
	calls   map[string]string
	usage   map[string]*message.Usage
	events  map[string]*node // by event id
	order   []string
	model   string
	raw     value // the event that is being read
}

func readOpenHands(s *source, b *builder) error {
	o := &openHands{
		builder: b, answers: map[string]*node{}, calls: map[string]string{},
		usage: map[string]*message.Usage{}, events: map[string]*node{},
	}
	switch {
	case s.doc.isArray():
		o.all(s.doc.list())
		return nil
	case s.doc != nil:
		o.record(s.doc)
		return nil
	}
	var events []value
	err := s.sessionsOf("history", o.record, func(_ int, obj value) { events = append(events, obj) })
	if s.sessions == 0 {
		o.all(events)
	}
	return err
}

// record reads one session of output.jsonl.
func (o *openHands) record(v value) {
	f := v.fields()
	o.name = f.str("instance_id")
	o.model = f["metadata"].str("llm_config", "model")
	for _, one := range f["metrics"].list("token_usages") {
		o.usage[one.str("response_id")] = openAIUsage(one)
	}
	for _, name := range []string{"test_result", "instance", "error"} {
		if f.has(name) {
			o.note(Aside, name, 0, "", "what the evaluation keeps beside the events")
		}
	}
	if f["history"].isArray() {
		o.all(f["history"].list())
		return
	}
	o.all([]value{v})
}

func (o *openHands) all(list []value) {
	for i, v := range list {
		if v.isArray() { // older versions wrote pairs
			for _, e := range v.list() {
				o.event(e, i+1)
			}
			continue
		}
		o.event(v, i+1)
	}
}

func (o *openHands) event(v value, line int) {
	f := v.fields()
	var n *node
	switch {
	case f["observation"].isString():
		n = o.observation(f, line)
	case f["action"].isString():
		n = o.action(f, line)
	case f["kind"].isString():
		o.raw = v
		n = o.sdk(f, line)
	default:
		o.note(Lost, "event", line, "", "events that are neither actions nor observations")
	}
	if id := string(f["id"]); id != "" && n != nil {
		o.events[id] = n
		o.order = append(o.order, id)
	}
}

func (o *openHands) action(f fields, line int) *node {
	at, args := f["timestamp"].time(), f["args"]
	action := f.str("action")
	if meta := f["tool_call_metadata"]; meta.isObject() {
		return o.call(f, meta, line)
	}
	switch action {
	case "system":
		m := &message.Message{Role: message.RoleSystem, Content: []message.Block{message.TextBlock(args.str("content"))}}
		m.ToolsAdded = chatTools(args.get("tools"))
		return o.say(m, at, line, "")
	case "message":
		blocks := o.withImages(cmp.Or(args.str("content"), f.str("message")), args, line)
		if f.str("source") == "user" {
			return o.user(message.OriginUser, blocks, at, line, "")
		}
		return o.own(blocks, f, line)
	case "condensation":
		return o.condense(args, f, line)
	case "recall", "change_agent_state", "null":
		o.note(Aside, "action:"+action, line, "", "actions of the program, which are no part of the conversation")
		return nil
	case "finish":
		if text := cmp.Or(args.str("final_thought"), args.str("message"), f.str("message")); text != "" {
			return o.own([]message.Block{message.TextBlock(text)}, f, line)
		}
		return nil
	case "":
		return nil
	}
	if f.str("source") == "user" {
		// What the user ran beside the agent.
		o.note(Made, "user-action", line, "", "actions of the user, as text")
		return o.userText(message.OriginShell, action+" "+string(args), at, line, "")
	}
	// An action without a call: the agent wrote it in its text.
	m := o.message(f)
	command := args.str("command")
	if action != "run" || command == "" {
		command = string(args)
	}
	n, id := o.synthetic(m, args.str("thought"), command, at, line)
	if action != "run" {
		call := &n.msg.Content[len(n.msg.Content)-1]
		*call = message.ToolCallBlock(id, action, o.arguments(args, line, id))
		o.names[id] = action
	}
	o.calls["id:"+string(f["id"])] = id
	return n
}

func (o *openHands) withImages(text string, of value, line int) []message.Block {
	blocks := []message.Block{message.TextBlock(text)}
	for _, url := range of.list("image_urls") {
		blocks = append(blocks, o.imageURL(url.str(), line))
	}
	return blocks
}

// message starts an answer.
func (o *openHands) message(f fields) *message.Message {
	m := &message.Message{Role: message.RoleAssistant, API: apiChat, StopReason: message.StopEnd}
	m.Provider, m.Model = splitModel(o.model)
	if list := f["llm_metrics"].list("token_usages"); len(list) > 0 {
		m.Usage = openAIUsage(list[len(list)-1])
	}
	return m
}

func (o *openHands) own(blocks []message.Block, f fields, line int) *node {
	m := o.message(f)
	m.Content = blocks
	return o.say(m, f["timestamp"].time(), line, "")
}

// call adds a call to the answer it came with.
func (o *openHands) call(f fields, meta value, line int) *node {
	resp := meta.get("model_response")
	id, callID := resp.str("id"), meta.str("tool_call_id")
	n := o.answers[id]
	if n == nil || id == "" {
		msg := value(nil)
		if choices := resp.list("choices"); len(choices) > 0 {
			msg = choices[0].get("message")
		}
		m := o.message(f)
		if msg.isObject() {
			api, provider, model := m.API, m.Provider, m.Model
			m = o.chatAnswer(msg.fields(), line)
			m.API, m.Provider, m.Model = api, provider, model
		} else if thought := f["args"].str("thought"); thought != "" {
			m.Content = append(m.Content, message.TextBlock(thought))
		}
		if s := resp.str("model"); s != "" && s != m.Model {
			m.ResponseModel = s
		}
		if u := o.usage[id]; u != nil {
			m.Usage = u
		} else if u := openAIUsage(resp.get("usage")); u != nil {
			m.Usage = u
		}
		n = o.say(m, f["timestamp"].time(), line, id)
		o.answers[id] = n
	}
	at := slices.IndexFunc(n.msg.Content, func(c message.Block) bool { return c.Type == message.BlockToolCall && c.ID == callID })
	taken := o.used["call:"+callID] // some models give every call the same id
	o.used["call:"+callID] = true
	if taken {
		callID += "_" + itoa(line)
	}
	if at >= 0 {
		n.msg.Content[at].ID = callID
	} else {
		n.msg.Content = append(n.msg.Content, message.ToolCallBlock(callID, meta.str("function_name"), o.arguments(f["args"], line, callID)))
	}
	o.nameCalls(n.msg.Content)
	n.msg.StopReason = message.StopToolUse
	o.calls["id:"+string(f["id"])] = callID
	return n
}

func (o *openHands) observation(f fields, line int) *node {
	at, obs := f["timestamp"].time(), f.str("observation")
	content := f.str("content")
	if obs == "recall" || obs == "agent_state_changed" || obs == "null" {
		ex := f["extras"]
		text := strings.TrimSpace(strings.Join([]string{ex.str("repo_instructions"), ex.str("additional_agent_instructions")}, "\n\n"))
		for _, k := range ex.list("microagent_knowledge") {
			text = strings.TrimSpace(text + "\n\n" + k.str("content"))
		}
		if text != "" {
			return o.userText(message.OriginInjected, text, at, line, "")
		}
		o.note(Aside, "observation:"+obs, line, "", "observations of the program, which are no part of the conversation")
		return nil
	}
	callID := o.calls["id:"+string(f["cause"])]
	if callID == "" {
		callID = f["tool_call_metadata"].str("tool_call_id")
	}
	failed := obs == "error" || f["extras"].failing("metadata", "exit_code") || f["extras"].failing("exit_code")
	if callID == "" || o.names[callID] == "" {
		// Nothing was called: the program tells the agent something.
		return o.userText(message.OriginInjected, content, at, line, "")
	}
	return o.result(callID, "", o.withImages(content, f["extras"], line), failed, at, line, "")
}

// condense adds a recorded compaction. OpenHands keeps the first events, puts the
// summary behind them and goes on with what it has not forgotten; here the words
// of the user among the first stand at the head of the summary.
func (o *openHands) condense(args value, f fields, line int) *node {
	rw := Rewrite{Kind: "compaction", Line: line, Summary: args.str("summary"), Trigger: "auto"}
	forgotten := map[string]bool{}
	for _, id := range args.list("forgotten_event_ids") {
		forgotten[string(id)] = true
	}
	from, to := args.int("forgotten_events_start_id"), args.int("forgotten_events_end_id")
	byRange := args.has("forgotten_events_start_id")
	var first *node
	var head []string
	gone := false
	for _, id := range o.order {
		n, _ := jsonx.Int(value(id))
		switch lost := forgotten[id] || byRange && n >= from && n <= to; {
		case lost:
			gone, first = true, nil
		case !gone:
			if m := o.events[id].msg; m != nil && m.UserWords() {
				head = append(head, m.Text())
			}
		case first == nil:
			first = o.events[id]
		}
	}
	if !gone {
		o.note(Aside, "empty-condensation", line, "", "condensations that forgot nothing")
		return nil
	}
	rw.Summary = strings.TrimSpace(strings.Join(append(head, rw.Summary), "\n\n"))
	if args.str("summary") == "" {
		o.note(Lost, "no-summary", line, "", "compactions without a summary")
	}
	return o.compaction(rw, first, nil, f["timestamp"].time(), "")
}

// chatTools turns definitions of tools of Chat Completions into those of the file
// format.
func chatTools(list value) []byte {
	var tools []value
	for _, t := range list.list() {
		if fn := t.get("function"); fn.isObject() {
			t = fn
		}
		if t.str("name") == "" {
			continue
		}
		params := value(`{"type":"object","properties":{}}`)
		for _, name := range []string{"parameters", "input_schema", "inputSchema", "parametersJsonSchema"} {
			if p := t.get(name); p.isObject() {
				params = p
				break
			}
		}
		tools = append(tools, object("name", t.str("name"), "description", t.str("description"), "parameters", params))
	}
	if tools == nil {
		return nil
	}
	return array(tools...)
}

// splitModel parts a name as LiteLLM has it, with the provider before a slash.
func splitModel(name string) (provider, model string) {
	if provider, model, ok := strings.Cut(name, "/"); ok && model != "" {
		return provider, model
	}
	return "", name
}
