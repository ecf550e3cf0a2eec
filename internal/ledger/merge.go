package ledger

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
)

// FromSummary returns what an earlier summary knows: the ledger in its details
// (member "clew", member "ledger"), else pi's file lists there (readFiles,
// modifiedFiles), else the file lists in its text. ok is false when there is
// nothing of the kind.
func FromSummary(summary string, details json.RawMessage, opt Options) (l Ledger, ok bool) {
	r := newReader(opt)
	found := fromSummary(summary, details, r.place)
	r.merge(found)
	l = r.finish()
	return l, !l.empty()
}

func (l *Ledger) empty() bool {
	return len(l.Files) == 0 && len(l.Weak) == 0 && len(l.Commands) == 0 && len(l.Commits) == 0 &&
		len(l.Errors) == 0 && len(l.Users) == 0 && len(l.Todos) == 0 && len(l.Rules) == 0 && len(l.Decisions) == 0 &&
		len(l.Mentions) == 0
}

func fromSummary(summary string, details json.RawMessage, p place) Ledger {
	if _, err := jsonx.Scan(details, 0); err == nil {
		details = details[jsonx.Space(details, 0):]
		if own := jsonx.Get(jsonx.Get(details, "clew"), "ledger"); jsonx.IsObject(own) {
			var l Ledger
			if json.Unmarshal(own, &l) == nil {
				return l
			}
		}
		read, modified := stringList(jsonx.Get(details, "readFiles")), stringList(jsonx.Get(details, "modifiedFiles"))
		if read != nil || modified != nil {
			return fileLists(read, modified, nil, nil, p)
		}
	}
	return fromText(summary, p)
}

func stringList(arr []byte) (out []string) {
	if !jsonx.IsArray(arr) {
		return nil
	}
	out = []string{}
	jsonx.Elements(arr, func(v []byte) bool {
		if s, ok := jsonx.String(v); ok && s != "" {
			out = append(out, s)
		}
		return true
	})
	return out
}

func fileLists(read, modified, created, deleted []string, p place) Ledger {
	var l Ledger
	for _, g := range []struct {
		paths []string
		state State
	}{{read, StateRead}, {modified, StateModified}, {created, StateCreated}, {deleted, StateDeleted}} {
		for _, name := range g.paths {
			if n := p.norm(strings.TrimSpace(name), ""); n != "" {
				l.Files = append(l.Files, File{Path: n, State: g.state, Read: g.state == StateRead})
			}
		}
	}
	return l
}

// fromText reads what the text of a summary lists: files, in pi's tag blocks, in
// the lists of our documents, and in lines that begin with "Read:" or
// "Modified:"; rules, todos and decisions under the headings of our documents,
// which models are asked to use too. Nothing else in a text is evidence.
func fromText(summary string, p place) Ledger {
	t := textReader{lists: map[string][]string{}}
	for line := range strings.SplitSeq(summary, "\n") {
		t.line(strings.TrimRight(line, " \t\r"))
	}
	l := fileLists(append(t.lists["read-files"], t.lists["Read"]...), append(t.lists["modified-files"], t.lists["Modified"]...),
		t.lists["Created"], t.lists["Deleted"], p)
	l.Rules, l.Decisions, l.Todos = t.rules, t.decisions, t.todos
	return l
}

// textReader reads the lists of a summary.
type textReader struct {
	lists            map[string][]string // paths
	rules, decisions []Statement
	todos            []Todo
	tag              string // the block of pi that is open
	section, heading string
}

func (t *textReader) line(line string) {
	switch {
	case t.tag != "":
		if line == "</"+t.tag+">" {
			t.tag = ""
		} else if line != "" {
			t.lists[t.tag] = append(t.lists[t.tag], line)
		}
	case line == "<read-files>" || line == "<modified-files>":
		t.tag = strings.Trim(line, "<>")
	case strings.HasPrefix(line, "## "):
		t.section, t.heading = line[3:], ""
	case strings.HasPrefix(line, "### "):
		t.heading = line[4:]
	case strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* "):
		t.item(line[2:])
	case t.section == "Next Steps" || t.section == "Pending Tasks" || t.heading == "Next Steps":
		if m := step().FindStringSubmatch(line); m != nil {
			t.todo(m[1])
		}
	}
}

var (
	step = text.Pattern(`^[0-9]{1,3}[.)] (\S.*)$`)
	// endHandle matches what our documents put after a line.
	endHandle = text.Pattern(` \[#[^\[\],#\s]*(, replaced)?\]$`)
)

func (t *textReader) item(item string) {
	text := func() (string, bool) {
		m := endHandle().FindStringSubmatch(item)
		return clipText(strings.TrimSuffix(item, strings.Join(m[:min(len(m), 1)], ""))), len(m) > 1 && m[1] != ""
	}
	name := t.section
	if t.heading != "" {
		name = t.heading
	}
	switch name {
	case "Files", "Code Changes":
		if name, rest, listed := strings.Cut(item, ": "); listed && (name == "Read" || name == "Modified") {
			for f := range strings.SplitSeq(rest, ",") {
				t.lists[name] = append(t.lists[name], f)
			}
		}
	case "Constraints & Preferences", "User Preferences":
		if s, replaced := text(); !noneWord[strings.ToLower(s)] && s != "" {
			t.rules = append(t.rules, Statement{Text: s, Replaced: replaced})
		}
	case "Key Decisions", "Key Results":
		if s, _ := text(); !noneWord[strings.ToLower(s)] && s != "" {
			t.decisions = append(t.decisions, Statement{Text: s, Weight: 1})
		}
	case "Next Steps", "Pending Tasks":
		s, _ := text()
		t.todo(strings.TrimPrefix(s, "[ ] "))
	case "Modified", "Created", "Deleted", "Read":
		if t.section == "Files" || t.section == "Code Changes" {
			t.lists[name] = append(t.lists[name], item)
		}
	}
}

func (t *textReader) todo(s string) {
	if s = clipText(endHandle().ReplaceAllString(s, "")); s != "" && !noneWord[strings.ToLower(s)] {
		t.todos = append(t.todos, Todo{Text: s, Status: TodoOpen})
	}
}

// noneWord are the words with which a model says that a list is empty.
var noneWord = map[string]bool{"none": true, "(none)": true, "n/a": true, "none.": true, "nothing": true, "无": true, "なし": true, "없음": true, "(none yet)": true}

// merge takes in an earlier ledger. What it says is newer than what came before
// it and older than what follows.
func (r *reader) merge(l Ledger) {
	mergeFiles(&r.files, l.Files, r.place)
	mergeFiles(&r.weak, l.Weak, r.place)
	for _, c := range l.Commands {
		c.Text = clipText(c.Text)
		if c.Text == "" {
			continue
		}
		switch c.Status {
		case StatusOK, StatusFailed:
		default:
			c.Status = StatusUnknown
		}
		runs, failures := max(c.Runs, 1), max(c.Failures, 0)
		known := r.commands.touch(c.Text, Command{})
		c.Runs, c.Failures = known.Runs+runs, known.Failures+failures
		c.Failed = slices.Clone(c.Failed[:min(len(c.Failed), MaxFailed)])
		*known = c
	}
	r.commits = append(r.commits, l.Commits...)
	for _, f := range l.Errors {
		for i := range f.Lines {
			f.Lines[i] = clipText(f.Lines[i])
		}
		f.Lines = f.Lines[:min(len(f.Lines), 3)]
		*r.errors.touch(r.errorKey(f), f) = f
	}
	for _, u := range l.Users {
		if u.Entry == "" || !r.seen[u.Entry] {
			r.seen[u.Entry] = true
			u.Text = text.Clip(redact.Text(u.Text), MaxText)
			r.users = append(r.users, u)
		}
	}
	if len(l.Todos) > 0 {
		// What a text lists as steps gives way to any list that is kept since.
		r.todos, r.todoTool = slices.Clone(l.Todos), l.Todos[0].Entry != ""
	}
	for _, t := range l.Rules {
		if t.Text = clipText(t.Text); t.Text != "" {
			r.rule(t)
		}
	}
	for _, t := range l.Decisions {
		if t.Text = clipText(t.Text); t.Text != "" && !r.saidDecision[t.Text] {
			r.saidDecision[t.Text] = true
			r.decisions = append(r.decisions, t)
		}
	}
	for _, m := range l.Mentions {
		switch m.Kind {
		case MentionURL, MentionTicket, MentionCommit, MentionName:
		default:
			continue
		}
		if m.Text = clipText(m.Text); m.Text != "" {
			known := r.mentions.touch(m.Text, Mention{})
			m.Uses = known.Uses + max(m.Uses, 1)
			*known = m
		}
	}
	o := l.Omitted
	r.omitted.Files += max(o.Files, 0)
	r.omitted.Weak += max(o.Weak, 0)
	r.omitted.Commands += max(o.Commands, 0)
	r.omitted.Commits += max(o.Commits, 0)
	r.omitted.Errors += max(o.Errors, 0)
	r.omitted.Users += max(o.Users, 0)
	r.omitted.Todos += max(o.Todos, 0)
	r.omitted.Rules += max(o.Rules, 0)
	r.omitted.Decisions += max(o.Decisions, 0)
	r.omitted.Mentions += max(o.Mentions, 0)
}

func mergeFiles(t *table[File], files []File, p place) {
	for _, f := range files {
		if f.Path = p.norm(f.Path, ""); f.Path == "" {
			continue
		}
		switch f.State {
		case StateRead, StateModified, StateCreated, StateDeleted:
		default:
			continue
		}
		known := t.touch(f.Path, File{Path: f.Path, State: StateRead})
		known.Read = known.Read || f.Read
		known.Edits += max(f.Edits, 0)
		if f.State != StateRead && (f.State != StateModified || known.State != StateCreated) {
			known.State, known.To = f.State, ""
			if f.State == StateDeleted {
				known.To = p.norm(f.To, "")
			}
		}
		known.Entry = f.Entry
	}
}

// errorKey is the key under which a success settles a failure.
func (r *reader) errorKey(f Failure) string {
	switch act := actionOf(f.Tool); {
	case f.Check != "":
		return "check\x00" + f.Subject
	case act == actShell:
		return "run\x00" + readLine(f.Subject, parseScript(f.Subject), r.place, "").program
	case act == actWrite, act == actEdit, act == actPatch, act == actSub, act == actDelete, act == actMove:
		return "edit\x00" + f.Subject
	}
	return "tool\x00" + f.Tool
}
