package recall

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
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
	// Calls are its calls: the tool, and in brackets the path, the command or what else says most.
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

// StepPage is a page of the steps of a stretch.
type StepPage struct {
	Paged
	Lines []Step `json:"lines"`
}

// Paged says which part of a list is on a page.
type Paged struct {
	Total  int `json:"total"`
	Offset int `json:"offset"`         // how many come before the page
	Next   int `json:"next,omitempty"` // Offset of the next page; 0 when this is the last
}

// Part says the same in words where the page is not all. goOn asks for an offset, as "--offset %d continues" does.
func (p Paged) Part(goOn string) (s string) {
	if p.Offset+p.Next > 0 && p.Offset < p.Total {
		s = fmt.Sprintf("; these are %d to %d", p.Offset+1, cmp.Or(p.Next, p.Total))
	}
	if p.Next > 0 {
		s += fmt.Sprintf("; "+goOn, p.Next)
	}
	return s
}

// Steps returns what the entries say, a line for each that says something: limit of them, by default 50, from offset.
func Steps(path []*session.Entry, offset, limit int) *StepPage {
	line := func(s string) string { return text.Clip(text.Line(s), 120) }
	p := &StepPage{Lines: []Step{}}
	offset, limit = max(offset, 0), cmp.Or(max(limit, 0), 50)
	for _, e := range path {
		m := Said(e)
		if m == nil {
			continue
		}
		if p.Total++; p.Total <= offset || p.Total-offset > limit {
			continue
		}
		s := Step{Entry: e.ID, Time: m.Time(), Role: m.Role, Tool: m.ToolName, Failed: m.IsError || m.Failed()}
		body := m.Text()
		switch m.Role {
		case message.RoleBashExecution:
			s.Calls, body = []string{line(m.Command)}, m.Output
			s.Failed = m.Cancelled || m.ExitCode != nil && *m.ExitCode != 0
		case message.RoleCompactionSummary, message.RoleBranchSummary:
			body = m.Summary
		default:
			for _, c := range m.ToolCalls() {
				_, what := About(c.Arguments)
				s.Calls = append(s.Calls, c.Name+"("+line(what)+")")
			}
		}
		first := text.FirstLine(body)
		s.Text = line(first)
		trimmed := strings.TrimSpace(body)
		if last := strings.TrimSpace(trimmed[strings.LastIndexByte(trimmed, '\n')+1:]); last != first && (s.Tool != "" || s.Role == message.RoleBashExecution) {
			s.Text += " … " + line(last)
		}
		p.Lines = append(p.Lines, s)
	}
	if p.Offset = min(offset, p.Total); p.Total-offset > limit {
		p.Next = offset + limit
	}
	return p
}

// About returns what says most about a call, a path, a command, else its first text, and the
// name of that argument.
func About(arguments []byte) (name, s string) {
	best := 0
	jsonx.Members(arguments, func(key, val []byte) bool {
		rank := 1
		switch k := string(key); {
		case IsPath(k):
			rank = 3
		case k == "command" || k == "cmd" || k == "pattern" || k == "query" || k == "url":
			rank = 2
		}
		if v, ok := jsonx.String(val); ok && rank > best {
			best, name, s = rank, string(key), text.Head(v, 500)
		}
		return true
	})
	return name, s
}

// IsPath reports whether an argument of this name is a path.
func IsPath(name string) bool { return pathNames[name] }

// Around returns the entries of a path that say something, from n before an entry to n after it.
func Around(path []*session.Entry, id string, n int) []*session.Entry {
	at := -1
	var says []*session.Entry
	for _, e := range path {
		if e.ID == id {
			at = len(says)
		}
		if Said(e) != nil || e.ID == id {
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
	ids := callIDs(Said(e))
	if len(ids) == 0 {
		return nil, nil
	}
	isResult, passed := Said(e).Role == message.RoleToolResult, false
	for o, err := range store.All(ctx) {
		switch {
		case err != nil:
			return nil, err
		case o.ID == e.ID && isResult:
			return pair, nil
		case o.ID == e.ID:
			passed = true
			continue
		case passed == isResult, !slices.ContainsFunc(ids, func(id string) bool { return bytes.Contains(o.Raw(), []byte(id)) }):
			continue
		}
		m := Said(o)
		shared := slices.ContainsFunc(callIDs(m), func(id string) bool { return slices.Contains(ids, id) })
		switch call := shared && m.Role == message.RoleAssistant; {
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

func callIDs(m *message.Message) (ids []string) {
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
