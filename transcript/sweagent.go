package transcript

import (
	"cmp"
	"strings"
	"time"

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
	t := &terminal{builder: b}
	for i, v := range history {
		m, line := v.fields(), i+1
		at := m["timestamp"].time()
		if m["is_demo"].bool() && m.str("role") != "system" {
			b.sweDemo(m, at, line)
			continue
		}
		b.chatMessage(m, at, line, false, func(blocks []message.Block) {
			t.user(blocks, false, at, line)
		}, func() { t.pending = b.sweAnswer(m, line) })
	}
	if info := f["info"]; info.has("submission") {
		b.note(Aside, "submission", 0, "", "the patch that the run ended with")
	}
	b.note(Aside, "trajectory", 0, "", "the steps, which repeat the history")
	return nil
}

// sweDemo adds a message of a demonstration, which shows the model how others worked: its
// answers and calls are none of this session.
func (b *builder) sweDemo(m fields, at time.Time, line int) {
	b.note(Made, "demonstration", line, "", "messages of a demonstration, which count as injected")
	blocks := b.openAIContent(m["content"], line)
	if calls := m["tool_calls"]; len(calls.list()) > 0 {
		blocks = append(blocks, message.TextBlock(string(calls)))
	}
	if len(blocks) > 0 {
		b.user(message.OriginInjected, blocks, at, line, "")
	}
}

// terminal reads the user messages of agents that may have no tools: an answer holds a
// command then, and the next user message shows what it printed.
type terminal struct {
	*builder
	pending string // the call that was made of the command
	tasked  bool   // the user has said what is to be done
}

func (t *terminal) user(blocks []message.Block, failed bool, at time.Time, line int) {
	switch {
	case t.pending != "":
		t.result(t.pending, "bash", blocks, failed, at, line, "")
	case t.tasked:
		t.builder.user(message.OriginInjected, blocks, at, line, "")
	default:
		t.builder.user(message.OriginUser, blocks, at, line, "")
		t.tasked = true
	}
	t.pending = ""
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
