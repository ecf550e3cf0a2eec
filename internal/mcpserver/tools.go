package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/recall"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// others is how many other sessions a search goes through.
const others = 10

// recall reads or searches the current session, and where a search finds nothing the
// others of the project.
func (s *Server) recall(ctx context.Context, c call) (string, error) {
	b, err := s.shelf.current(ctx, c.header, c.Session)
	if err != nil {
		return "", err
	}
	answer, err := b.session.RecallTool(ctx, c.arguments)
	if err != nil || c.Session != "" || jsonx.StringAt(c.arguments, "query") == "" || !found0(answer) {
		return answer, err
	}
	all, err := s.shelf.list(ctx)
	if err != nil {
		return answer, nil //nolint:nilerr // the answer of this session stands
	}
	for _, f := range all[min(1, len(all)):min(others+1, len(all))] {
		o, err := s.shelf.read(ctx, f)
		if err != nil {
			continue // damaged, or gone
		}
		if more, err := o.session.RecallTool(ctx, c.arguments); err == nil && !found0(more) {
			return answer + fmt.Sprintf("\nIn the session %s of %s (\"session\": %q reads there):\n", o.Header.ID, o.Header.Timestamp.UTC().Format("2006-01-02"), short(o.Header.ID)) + more, nil
		}
	}
	return answer, nil
}

// found0 reports whether a search has found nothing.
func found0(answer string) bool {
	return strings.HasPrefix(answer, strings.TrimSuffix(recall.ResultLine("search: 0 found"), "]\n"))
}

func short(id string) string { return id[:min(8, len(id))] }

// status says how full the context is and what left it.
func (s *Server) status(ctx context.Context, c call) (string, error) {
	b, err := s.shelf.current(ctx, c.header, c.Session)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "session %s, %s, in %s, begun %s\n", b.Header.ID, b.Format, b.Header.Cwd, b.Header.Timestamp.UTC().Format("2006-01-02 15:04"))
	said, last := 0, (*message.Message)(nil)
	after := 0 // messages since the last compaction
	for _, e := range b.entries {
		if e.Type == session.TypeCompaction {
			after, last = 0, nil
			continue
		}
		m, err := e.Message()
		if err != nil || m == nil || e.CopyOf() != "" {
			continue
		}
		said++
		after++
		if m.Role == message.RoleAssistant && m.Usage != nil && m.Usage.Prompt() > 0 {
			last = m
		}
	}
	fmt.Fprintf(&out, "%d messages in all\n", said)
	if last != nil {
		info, _ := s.catalogue.Lookup(last.Provider, last.Model)
		fmt.Fprintf(&out, "context after the last answer: %d tokens", last.Usage.Total())
		if info.Window > 0 {
			fmt.Fprintf(&out, " of %d (%d %%)", info.Window, last.Usage.Total()*100/info.Window)
		}
		out.WriteString(", " + last.Model + "\n")
	}
	for i, r := range b.Rewrites {
		fmt.Fprintf(&out, "%s %d", r.Kind, i+1)
		if at := b.Entries[r.Index].Time(); !at.IsZero() {
			out.WriteString(" at " + at.UTC().Format("2006-01-02 15:04"))
		}
		if r.TokensBefore > 0 {
			fmt.Fprintf(&out, ", %d tokens before it", r.TokensBefore)
		}
		fmt.Fprintf(&out, ", summary of %d characters [#%s]\n", len([]rune(r.Summary)), short(r.EntryID))
	}
	if n := len(b.Rewrites); n > 0 {
		fmt.Fprintf(&out, "%d messages came after the last one; what was before it is not in the context: recall with \"left\": true searches it\n", after)
	} else {
		out.WriteString("nothing has left the context\n")
	}
	return out.String(), nil
}

// turn is a request of the user and what was done for it.
type turn struct {
	request *session.Entry
	text    string
	calls   int
	changed []string
	failed  []string
	end     string
	endID   string
}

const (
	turnsShown  = 10
	maxTurns    = 50
	turnChars   = 300
	pathsShown  = 8
	failedShown = 4
)

// timeline lists the requests with what was done for each.
func (s *Server) timeline(ctx context.Context, c call) (string, error) {
	b, err := s.shelf.current(ctx, c.header, c.Session)
	if err != nil {
		return "", err
	}
	all := turns(b.entries)
	limit := turnsShown
	if c.Limit != nil {
		limit = max(1, min(*c.Limit, maxTurns))
	}
	from := max(len(all)-limit, 0)
	if c.Offset != nil {
		from = max(0, min(*c.Offset, len(all)))
	}
	to := min(from+limit, len(all))
	var out strings.Builder
	out.WriteString(recall.ResultLine(fmt.Sprintf("%d requests; these are %d to %d", len(all), min(from+1, to), to)))
	for _, t := range all[from:to] {
		fmt.Fprintf(&out, "\n[#%s] %s asked: %s\n", short(t.request.ID), t.request.Time().UTC().Format("01-02 15:04"), t.text)
		if len(t.changed) > 0 {
			fmt.Fprintf(&out, "  changed: %s%s\n", strings.Join(t.changed[:min(pathsShown, len(t.changed))], ", "), more(len(t.changed), pathsShown))
		}
		for _, f := range t.failed[max(0, len(t.failed)-failedShown):] {
			out.WriteString("  failed: " + f + "\n")
		}
		if t.end != "" {
			fmt.Fprintf(&out, "  ended after %d calls [#%s]: %s\n", t.calls, t.endID, t.end)
		}
	}
	return out.String(), nil
}

func more(n, shown int) string {
	if n <= shown {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-shown)
}

// turns divides a path at what the user said.
func turns(path []*session.Entry) (all []*turn) {
	names := map[string]string{} // what a call did, by its id
	for _, e := range path {
		m, err := e.Message()
		if err != nil || m == nil || e.CopyOf() != "" {
			continue
		}
		if m.UserWords() {
			all = append(all, &turn{request: e, text: text.Clip(text.Line(m.Text()), turnChars)})
			continue
		}
		if len(all) == 0 {
			continue
		}
		t := all[len(all)-1]
		switch m.Role {
		case message.RoleAssistant:
			for _, call := range m.ToolCalls() {
				t.calls++
				what, path := subject(call)
				names[call.ID] = strings.TrimSpace(call.Name + " " + what)
				if path != "" && !slices.Contains(t.changed, path) {
					t.changed = append(t.changed, path)
				}
			}
			if s := text.Line(m.Text()); s != "" {
				t.end, t.endID = text.Clip(s, turnChars), short(e.ID)
			}
		case message.RoleToolResult:
			if m.IsError {
				t.failed = append(t.failed, fmt.Sprintf("%s: %s [#%s]", text.Clip(names[m.ToolCallID], turnChars/2), text.Clip(text.Line(m.Text()), turnChars/2), short(e.ID)))
			}
		default:
		}
	}
	return all
}

// subject is what a call is about, and the path of the file that it changes.
func subject(c message.Block) (what, changed string) {
	_, what = message.Subject(c.Arguments)
	what = text.Line(what)
	switch name := strings.ToLower(c.Name); {
	case strings.Contains(name, "write"), strings.Contains(name, "edit"), strings.Contains(name, "create"), strings.Contains(name, "replace"):
		for _, key := range []string{"file_path", "filePath", "path", "notebook_path"} {
			if p := jsonx.StringAt(c.Arguments, key); p != "" {
				return what, p
			}
		}
	case name == "apply_patch":
		for line := range strings.Lines(jsonx.StringAt(c.Arguments, "input")) {
			for _, mark := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: "} {
				if p, ok := strings.CutPrefix(strings.TrimSpace(line), mark); ok {
					return p, p
				}
			}
		}
	}
	return what, ""
}
