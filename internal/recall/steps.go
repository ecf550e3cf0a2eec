package recall

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Step is what happened in one entry, as a line.
type Step struct {
	Entry string       `json:"entry"`
	Time  time.Time    `json:"time,omitzero"`
	Role  message.Role `json:"role"`
	Tool  string       `json:"tool,omitempty"` // that it is the result of
	// Calls are its calls: the tool, and in brackets the path, the command or what else
	// says most.
	Calls  []string `json:"calls,omitempty"`
	Failed bool     `json:"failed,omitempty"` // the call or the command
	Text   string   `json:"text,omitempty"`   // the first words; of output the last line too
}

// String is the step as a line for people and models.
func (s Step) String() string {
	who := string(s.Role)
	if s.Role == message.RoleToolResult {
		who = "result " + s.Tool
	}
	line := "#" + s.Entry
	if !s.Time.IsZero() {
		line += s.Time.UTC().Format(" 01-02 15:04")
	}
	line += " " + strings.TrimSpace(who+" "+strings.Join(s.Calls, ", "))
	if s.Failed {
		line += " FAILED"
	}
	if s.Text != "" {
		line += ": " + s.Text
	}
	return line
}

// Steps returns what the entries say, a line for each that says something.
func Steps(path []*session.Entry) []Step {
	const most = 120
	steps := []Step{}
	for _, e := range path {
		m := said(e)
		if m == nil {
			continue
		}
		s := Step{Entry: e.ID, Time: m.Time(), Role: m.Role, Tool: m.ToolName, Failed: m.IsError || m.Failed()}
		body := m.Text()
		switch m.Role {
		case message.RoleBashExecution:
			s.Calls, body = []string{text.Clip(text.Line(m.Command), most)}, m.Output
			s.Failed = m.Cancelled || m.ExitCode != nil && *m.ExitCode != 0
		case message.RoleCompactionSummary, message.RoleBranchSummary:
			body = m.Summary
		default:
			for _, c := range m.ToolCalls() {
				s.Calls = append(s.Calls, c.Name+"("+text.Clip(about(c.Arguments), most)+")")
			}
		}
		first := text.FirstLine(body)
		s.Text = text.Clip(text.Line(first), most)
		trimmed := strings.TrimSpace(body)
		if last := strings.TrimSpace(trimmed[strings.LastIndexByte(trimmed, '\n')+1:]); last != first && (s.Tool != "" || s.Role == message.RoleBashExecution) {
			s.Text += " … " + text.Clip(text.Line(last), most)
		}
		steps = append(steps, s)
	}
	return steps
}

// about returns what says most about a call: a path, a command, else its first text.
func about(arguments []byte) (s string) {
	best := 0
	jsonx.Members(arguments, func(key, val []byte) bool {
		rank := 1
		switch name := string(key); {
		case pathNames[name]:
			rank = 3
		case name == "command" || name == "cmd" || name == "pattern" || name == "query" || name == "url":
			rank = 2
		}
		if v, ok := jsonx.String(val); ok && rank > best {
			best, s = rank, text.Line(text.Head(v, 500))
		}
		return true
	})
	return s
}

// Around returns the entries of a path that say something, from n before an entry to n
// after it.
func Around(path []*session.Entry, id string, n int) []*session.Entry {
	at := -1
	var says []*session.Entry
	for _, e := range path {
		if e.ID == id {
			at = len(says)
		}
		if said(e) != nil || e.ID == id {
			says = append(says, e)
		}
	}
	if at < 0 {
		return nil
	}
	return says[max(0, at-n):min(len(says), at+n+1)]
}

// Pair returns the entries of the results of the calls that an entry makes, or that of the
// call that it is the result of. Ids of calls may come again: the nearest is meant.
func Pair(ctx context.Context, store session.Store, e *session.Entry) (pair []*session.Entry, err error) {
	named := func(e *session.Entry) (ids []string) {
		m := said(e)
		if m == nil {
			return nil
		}
		for _, c := range m.ToolCalls() {
			ids = append(ids, c.ID)
		}
		if m.Role == message.RoleToolResult {
			ids = append(ids, m.ToolCallID)
		}
		return ids
	}
	ids := named(e)
	if len(ids) == 0 {
		return nil, nil
	}
	isResult, passed := said(e).Role == message.RoleToolResult, false
	for o, err := range store.All(ctx) {
		if err != nil {
			return nil, err
		}
		if o.ID == e.ID {
			if passed = true; isResult {
				break
			}
			continue
		}
		has := func(id string) bool { return bytes.Contains(o.Raw(), []byte(id)) }
		if passed == isResult || !slices.ContainsFunc(ids, has) {
			continue
		}
		shared := slices.ContainsFunc(named(o), func(id string) bool { return slices.Contains(ids, id) })
		switch call := shared && said(o).Role == message.RoleAssistant; {
		case call && isResult:
			pair = []*session.Entry{o.Clone()}
		case call:
			return pair, nil
		case shared && !isResult:
			pair = append(pair, o.Clone())
		}
	}
	return pair, nil
}
