package transcript

import (
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
)

// readMini reads trajectories of mini-swe-agent: messages of Chat Completions with
// the provider's response beside each answer. Before version 2 an answer wrote its
// command in a fenced block, and a user message showed what it printed.
func readMini(s *source, b *builder) error {
	if s.doc == nil {
		return wrongShape(s, "one JSON object")
	}
	info := s.doc.get("info")
	b.t.Header.Cwd = info.str("config", "environment", "cwd")
	b.name = s.doc.str("instance_id")
	model := info.str("config", "model", "model_name")
	t := &terminal{builder: b}
	for i, v := range s.doc.list("messages") {
		f, line := v.fields(), i+1
		extra := f["extra"]
		at := extra.time("timestamp")
		if f.str("role") == "exit" {
			b.note(Aside, "exit", line, "", "how the run ended: "+extra.str("exit_status"))
			continue
		}
		failed := extra.failing("returncode") && extra.str("returncode") != "0"
		b.chatMessage(f, at, line, failed, func(blocks []message.Block) {
			t.user(blocks, extra.int("returncode") != 0, at, line)
		}, func() { t.pending = b.miniAnswer(f, model, at, line) })
	}
	return nil
}

// miniAnswer adds an answer and returns the call whose output the next user
// message shows: the one that was made of a fenced block.
func (b *builder) miniAnswer(f fields, model string, at time.Time, line int) (pending string) {
	m := b.chatAnswer(f, line)
	resp := f["extra"].get("response")
	if !resp.isObject() {
		resp = f["extra"]
	}
	m.Provider, m.Model = splitModel(model)
	if s := resp.str("model"); s != "" && s != m.Model {
		m.ResponseModel = s
	}
	m.Usage = openAIUsage(resp.get("usage"))
	if m.Usage != nil {
		if cost, ok := jsonx.Float(f["extra"].get("cost")); ok {
			m.Usage.Cost = cost
		}
	}
	if m.StopReason != message.StopToolUse {
		if command, rest, ok := shellBlock(m.Text()); ok {
			_, pending = b.synthetic(m, rest, command, at, line)
			return pending
		}
	}
	if len(m.Content) == 0 {
		b.empty(line, "")
		return ""
	}
	b.say(m, at, line, "")
	return ""
}
