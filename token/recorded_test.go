package token_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// step is one thing that happened in a recorded session.
type step struct {
	msg    *message.Message // nil: something that is not in the record was sent
	prompt int64            // of an answer: the size of the request it answers
	reset  bool             // the context was rewritten
	odd    bool             // the message is not sent again as it is recorded
}

var at = time.UnixMilli(1_750_000_000_000)

// piSteps reads a session of pi.
func piSteps(t testing.TB, path string) (steps []step) {
	for e, err := range open(t, path).All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == session.TypeCompaction {
			steps = append(steps, step{reset: true})
		}
		m, err := e.Message()
		if err != nil {
			continue
		}
		s := step{msg: m}
		for _, b := range m.Content {
			// Thinking is left out of later requests, images have no size here.
			s.odd = s.odd || b.Type == message.BlockThinking || b.Type == message.BlockImage
		}
		switch m.Role {
		case message.RoleAssistant:
			if m.StopReason == message.StopAborted || m.StopReason == message.StopError {
				s = step{}
				break
			}
			s.prompt = m.Usage.Prompt()
		case message.RoleToolResult:
		default:
			s = step{} // a change of who speaks brings reminders that are not recorded
		}
		steps = append(steps, s)
	}
	return steps
}

// claudeCodeSteps reads a session of Claude Code. Lines with the same message id are one answer.
func claudeCodeSteps(t testing.TB, path string) (steps []step) {
	type content struct {
		Type, Text, Thinking, ID, Name string
		Input                          json.RawMessage
		ToolUseID                      string `json:"tool_use_id"`
		Content                        json.RawMessage
	}
	var id string
	last := -1 // the answer that is not finished
	for line := range bytes.Lines(readFile(t, path)) {
		var l struct {
			Type, Subtype string
			IsSidechain   bool
			Message       struct {
				ID, Model string
				Content   json.RawMessage
				Usage     struct {
					Input int64 `json:"input_tokens"`
					Read  int64 `json:"cache_read_input_tokens"`
					Write int64 `json:"cache_creation_input_tokens"`
				}
			}
		}
		if json.Unmarshal(line, &l) != nil || l.IsSidechain {
			continue
		}
		var blocks []content
		_ = json.Unmarshal(l.Message.Content, &blocks)
		switch {
		case l.Subtype == "compact_boundary":
			steps = append(steps, step{reset: true})
			id = ""
		case l.Type == "attachment":
			steps = append(steps, step{})
		case l.Type == "assistant":
			if l.Message.ID != id {
				id, last = l.Message.ID, len(steps)
				u := l.Message.Usage
				steps = append(steps, step{msg: message.Assistant(at), prompt: u.Input + u.Read + u.Write})
				if l.Message.Model == "<synthetic>" {
					steps[last] = step{}
				}
			}
			s := &steps[last]
			for _, b := range blocks {
				switch {
				case s.msg == nil:
				case b.Type == "text":
					s.msg.Content = append(s.msg.Content, message.TextBlock(b.Text))
				case b.Type == "tool_use":
					s.msg.Content = append(s.msg.Content, message.ToolCallBlock(b.ID, b.Name, b.Input))
				default:
					s.odd = true
				}
			}
		case l.Type == "user" && blocks == nil:
			steps = append(steps, step{})
		case l.Type == "user":
			for _, b := range blocks {
				if b.Type != "tool_result" {
					steps = append(steps, step{})
					continue
				}
				text, plain := plainText(b.Content)
				steps = append(steps, step{msg: message.ToolResult(b.ToolUseID, "", text, false, at), odd: !plain})
			}
		}
	}
	return steps
}

// plainText returns the text of a string or of blocks, and whether that is all there is.
func plainText(raw json.RawMessage) (text string, plain bool) {
	if json.Unmarshal(raw, &text) == nil {
		return text, true
	}
	var blocks []struct{ Type, Text string }
	if json.Unmarshal(raw, &blocks) != nil {
		return "", false
	}
	plain = true
	for _, b := range blocks {
		text += b.Text
		plain = plain && strings.HasSuffix(b.Type, "text")
	}
	return text, plain
}

// codexSteps reads a session of Codex. Usage follows what it is the usage of, and
// reasoning is hidden.
func codexSteps(t testing.TB, path string) (steps []step) {
	answer := message.Assistant(at)
	var results []step
	var before [2]int64
	for line := range bytes.Lines(readFile(t, path)) {
		var l struct {
			Type    string
			Payload struct {
				Type, Role, Name, Arguments, Input string
				CallID                             string `json:"call_id"`
				Content, Output                    json.RawMessage
				Info                               struct {
					Last struct {
						Input     int64 `json:"input_tokens"`
						Output    int64 `json:"output_tokens"`
						Reasoning int64 `json:"reasoning_output_tokens"`
					} `json:"last_token_usage"`
				}
			}
		}
		if json.Unmarshal(line, &l) != nil {
			continue
		}
		p := l.Payload
		switch {
		case l.Type == "compacted":
			steps = append(steps, step{reset: true})
			answer, results = message.Assistant(at), nil
		case p.Type == "message" && p.Role == "assistant":
			text, _ := plainText(p.Content)
			answer.Content = append(answer.Content, message.TextBlock(text))
		case p.Type == "message":
			results = append(results, step{})
		case p.Type == "function_call", p.Type == "custom_tool_call":
			args, _ := json.Marshal(p.Arguments + p.Input)
			if json.Valid([]byte(p.Arguments)) {
				args = []byte(p.Arguments)
			}
			answer.Content = append(answer.Content, message.ToolCallBlock(p.CallID, p.Name, args))
		case p.Type == "function_call_output", p.Type == "custom_tool_call_output":
			text, plain := plainText(p.Output)
			results = append(results, step{msg: message.ToolResult(p.CallID, "", text, false, at), odd: !plain})
		case p.Type == "token_count" && p.Info.Last.Input > 0:
			u := p.Info.Last
			if before == [2]int64{u.Input, u.Output} {
				continue // reported twice
			}
			before = [2]int64{u.Input, u.Output}
			steps = append(append(steps, step{msg: answer, prompt: u.Input, odd: u.Reasoning > 0}), results...)
			answer, results = message.Assistant(at), nil
		case l.Type == "response_item" && p.Type != "reasoning":
			results = append(results, step{}) // a call the provider made itself
		}
	}
	return steps
}

// sweSteps reads a trajectory of mini-swe-agent.
func sweSteps(t testing.TB, path string) (steps []step) {
	var file struct {
		Messages []struct {
			Role      string
			Content   json.RawMessage
			CallID    string `json:"tool_call_id"`
			Reasoning string `json:"reasoning_content"`
			ToolCalls []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
			Extra struct {
				Response struct {
					Usage struct {
						Prompt int64 `json:"prompt_tokens"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(readFile(t, path), &file); err != nil {
		t.Fatal(err)
	}
	for _, m := range file.Messages {
		text, _ := plainText(m.Content)
		switch m.Role {
		case "assistant":
			a := message.Assistant(at, message.TextBlock(text))
			for _, c := range m.ToolCalls {
				a.Content = append(a.Content, message.ToolCallBlock(c.ID, c.Function.Name, json.RawMessage(c.Function.Arguments)))
			}
			steps = append(steps, step{msg: a, prompt: m.Extra.Response.Usage.Prompt, odd: m.Reasoning != ""})
		case "tool":
			steps = append(steps, step{msg: message.ToolResult(m.CallID, "", text, false, at)})
		default:
			steps = append(steps, step{})
		}
	}
	return steps
}

// stretch is what was added to a context between two calls, and how many tokens
// larger the second request was.
type stretch struct {
	msgs  []*message.Message
	grown int64
}

// stretches returns the stretches of at least min messages that are recorded
// completely: those from each call to the first one that is far enough.
func stretches(steps []step, least int) (out []stretch) {
	for i, from := range steps {
		if from.prompt == 0 {
			continue
		}
		s := stretch{}
		for _, next := range steps[i:] {
			if next.reset || next.prompt > 0 && len(s.msgs) > 0 && len(s.msgs) >= least {
				if s.grown = next.prompt - from.prompt; !next.reset && s.grown >= 100 {
					out = append(out, s)
				}
				break
			}
			if next.msg == nil || next.odd {
				break
			}
			s.msgs = append(s.msgs, next.msg)
		}
	}
	return out
}
