package transcript

import (
	"cmp"
	"strings"

	"github.com/clew-dev/clew/message"
)

// readSWE reads trajectories of SWE-agent: the messages of its history, or where
// there is none the steps. Older versions had no tools: an answer is a thought and
// a command line of the agent's own shell, and a user message shows what it
// printed.
func readSWE(s *source, b *builder) error {
	if s.doc == nil {
		return wrongShape(s, "one JSON object")
	}
	f := s.doc.fields()
	b.name = f["replay_config"].str("problem_statement", "id")
	history := f["history"].list()
	if len(history) == 0 {
		for i, step := range f["trajectory"].list() {
			b.sweStep(step, i+1)
		}
		return nil
	}
	pending, tasks, demo := "", 0, false
	for i, v := range history {
		m, line := v.fields(), i+1
		content := b.openAIContent(m["content"], line)
		if demo != m["is_demo"].bool() {
			demo, pending = !demo, "" // the last command of a demonstration has no output
		}
		switch role := m.str("role"); role {
		case "system":
			b.system(textOf(content), m["timestamp"].time(), line, "")
		case "user":
			switch {
			case demo:
				b.note(Made, "demonstration", line, "", "messages of a demonstration, which count as injected")
				if pending != "" {
					b.result(pending, "bash", content, false, m["timestamp"].time(), line, "")
				} else {
					b.user(message.OriginInjected, content, m["timestamp"].time(), line, "")
				}
			case pending != "":
				b.result(pending, "bash", content, false, m["timestamp"].time(), line, "")
			case tasks == 0:
				b.user(message.OriginUser, content, m["timestamp"].time(), line, "")
				tasks++
			default:
				b.user(message.OriginInjected, content, m["timestamp"].time(), line, "")
			}
			pending = ""
		case "assistant":
			pending = b.sweAnswer(m, line)
		case "tool":
			id := m.str("tool_call_id")
			if ids := m["tool_call_ids"].list(); id == "" && len(ids) > 0 {
				id = ids[0].str()
			}
			b.result(id, "", content, false, m["timestamp"].time(), line, "")
		default:
			b.note(Lost, "role:"+role, line, "", "messages of a role that has no place here")
		}
	}
	if info := f["info"]; info.has("submission") {
		b.note(Aside, "submission", 0, "", "the patch that the run ended with")
	}
	b.note(Aside, "trajectory", 0, "", "the steps, which repeat the history")
	return nil
}

// sweAnswer adds an answer and returns the call that the next user message
// answers, if any.
func (b *builder) sweAnswer(m fields, line int) (pending string) {
	answer := b.chatAnswer(m, line)
	action := m.str("action")
	if answer.StopReason == message.StopToolUse || strings.TrimSpace(action) == "" {
		b.say(answer, m["timestamp"].time(), line, "")
		return ""
	}
	text := answer.Text()
	if _, rest, ok := shellBlock(text); ok {
		text = rest
	} else if thought := m.str("thought"); thought != "" {
		text = strings.TrimSpace(thought)
	}
	_, pending = b.synthetic(answer, text, strings.TrimRight(action, "\n"), m["timestamp"].time(), line)
	return pending
}

func (b *builder) sweStep(step value, line int) {
	f := step.fields()
	m := &message.Message{Role: message.RoleAssistant, API: apiChat, StopReason: message.StopEnd}
	text := cmp.Or(strings.TrimSpace(f.str("thought")), f.str("response"))
	action := strings.TrimRight(f.str("action"), "\n")
	if action == "" {
		m.Content = []message.Block{message.TextBlock(text)}
		if text != "" {
			b.say(m, f["timestamp"].time(), line, "")
		}
		return
	}
	_, id := b.synthetic(m, text, action, f["timestamp"].time(), line)
	b.result(id, "bash", []message.Block{message.TextBlock(f.str("observation"))}, false, f["timestamp"].time(), line, "")
}
