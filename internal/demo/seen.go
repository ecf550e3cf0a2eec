package demo

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/model"
)

// seen is what the model goes by: the conversation as it is sent to it, and nothing else.
type seen struct {
	ask   string // what is to be answered, in small letters
	raw   string // the same as it was typed
	acts  []act  // what was called since
	all   string // every text that stands in the context
	since string // the same since the request, or, where its beginning was summarized, all
	tools bool   // there are any

	compacted bool // a summary, or an excerpt, stands in the place of something
	branched  bool // there is a summary of a branch that was left
}

// act is a call with its result.
type act struct {
	do
	result string
	failed bool
}

// observe reads a request.
func observe(r *model.Request) *seen {
	s := &seen{tools: len(r.Tools) > 0 || slices.ContainsFunc(r.Messages, func(m *message.Message) bool { return len(m.ToolsAdded) > 0 })}
	var all strings.Builder
	calls := map[string]int{}
	asked, at := false, 0
	for _, m := range r.Messages {
		text := m.Text()
		switch m.Role {
		case message.RoleUser:
			if !m.UserWords() {
				break
			}
			asked, at, s.raw, s.acts = true, all.Len(), text, nil
			clear(calls)
		case message.RoleAssistant:
			for _, c := range m.ToolCalls() {
				a := act{do: do{tool: c.Name}}
				if json.Unmarshal(c.Arguments, &a.args) != nil {
					continue
				}
				calls[c.ID] = len(s.acts)
				s.acts = append(s.acts, a)
			}
		case message.RoleToolResult:
			if i, ok := calls[m.ToolCallID]; ok {
				s.acts[i].result, s.acts[i].failed = text, m.IsError
			}
		case message.RoleCompactionSummary:
			s.compacted = true
			text = m.Summary
		case message.RoleBranchSummary:
			s.branched = true
			text = m.Summary
		default:
		}
		s.compacted = s.compacted || handle().MatchString(text)
		all.WriteString(text)
		all.WriteByte('\n')
	}
	s.all, s.since = all.String(), all.String()[at:]
	if !asked {
		s.raw = lastQuoted(s.all)
	}
	s.ask = strings.ToLower(s.raw)
	return s
}

// handle stands in a context for what was taken out of it.
var handle = text.Pattern(`\[#[0-9a-f]{6,}`)

// last returns the last call of a tool whose arguments have a word.
func (s *seen) last(tool, word string) (act, bool) {
	for _, a := range slices.Backward(s.acts) {
		if a.tool == tool && strings.Contains(string(a.arguments()), word) {
			return a, true
		}
	}
	return act{}, false
}

// has reports whether the request has one of some words.
func (s *seen) has(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s.ask, w) })
}

// lastQuoted is the last of the user's words that a summary quotes: for a turn whose
// beginning was summarized.
func lastQuoted(text string) string {
	var last []string
	inside := false
	for line := range strings.Lines(text) {
		words, ok := strings.CutPrefix(line, ">")
		if ok && !inside {
			last = nil
		}
		if inside = ok; ok {
			last = append(last, strings.TrimSpace(words))
		}
	}
	return strings.Join(last, "\n")
}
