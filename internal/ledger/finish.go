package ledger

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
)

// finish brings what was read into order and within the limits.
func (r *reader) finish() Ledger {
	l := Ledger{Omitted: r.omitted}
	l.Files = values(&r.files)
	if n := len(l.Files) - MaxFiles; n > 0 {
		l.Files = dropFiles(l.Files, n)
		l.Omitted.Files += n
	}
	l.Weak = newest(values(&r.weak), MaxWeak, &l.Omitted.Weak)
	l.Commands = newest(values(&r.commands), MaxCommands, &l.Omitted.Commands)
	l.Commits = newest(unique(r.commits), MaxCommits, &l.Omitted.Commits)
	l.Errors = newest(values(&r.errors), MaxErrors, &l.Omitted.Errors)
	l.Users = slices.Clone(r.users)
	if n := len(l.Users) - MaxUsers; n > 0 {
		l.Users = append([]UserMessage{r.users[0]}, r.users[n+1:]...)
		l.Omitted.Users += n
	}
	l.Todos = slices.Clone(r.todos)
	if n := len(l.Todos) - MaxTodos; n > 0 {
		l.Todos = l.Todos[:MaxTodos:MaxTodos]
		l.Omitted.Todos += n
	}
	l.Rules = slices.Clone(r.rules)
	if n := len(l.Rules) - MaxRules; n > 0 {
		l.Rules = dropRules(l.Rules, n)
		l.Omitted.Rules += n
	}
	l.Decisions = newest(slices.Clone(r.decisions), MaxDecided, &l.Omitted.Decisions)
	l.Mentions = pickMentions(values(&r.mentions), &l.Omitted.Mentions)
	return l
}

// dropRules leaves out n rules: those that were taken back first, of each kind
// the oldest.
func dropRules(rules []Statement, n int) []Statement {
	replaced := 0
	for _, s := range rules {
		if s.Replaced {
			replaced++
		}
	}
	fromReplaced := min(n, replaced)
	fromRest := n - fromReplaced
	out := make([]Statement, 0, len(rules)-n)
	for _, s := range rules {
		switch {
		case s.Replaced && fromReplaced > 0:
			fromReplaced--
		case !s.Replaced && fromRest > 0:
			fromRest--
		default:
			out = append(out, s)
		}
	}
	return out
}

func values[T any](t *table[T]) []T {
	var out []T
	for _, v := range t.all() {
		out = append(out, *v)
	}
	return out
}

func newest[T any](list []T, limit int, omitted *int) []T {
	if n := len(list) - limit; n > 0 {
		*omitted += n
		return list[n:]
	}
	return list
}

// dropFiles leaves out n files: those that were only read first, of each kind
// the oldest.
func dropFiles(files []File, n int) []File {
	read := 0
	for _, f := range files {
		if f.State == StateRead {
			read++
		}
	}
	fromRead := min(n, read)
	fromRest := n - fromRead
	out := files[:0:0]
	for _, f := range files {
		switch {
		case f.State == StateRead && fromRead > 0:
			fromRead--
		case f.State != StateRead && fromRest > 0:
			fromRest--
		default:
			out = append(out, f)
		}
	}
	return out
}

// unique leaves out commits that are there already: a ledger that was merged
// twice.
func unique(commits []Commit) []Commit {
	seen := map[Commit]bool{}
	var out []Commit
	for _, c := range commits {
		if !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	return out
}

// fromSummary returns what an earlier summary knows: the ledger in its details (member
// "clew", member "ledger"), else pi's file lists there (readFiles, modifiedFiles), else the
// file lists in its text.
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

// gitStatus matches the lines in which git status names changed files, in its
// long and its short form.
var gitStatus = text.Pattern(`^(?:\s+(modified|new file|deleted):\s+(\S.*)|([ MAD])([ MD]) (\S.*))$`)

// worksOnTree reports whether the arguments of git diff ask for what is not
// committed: no revision, only options and what follows "--".
func worksOnTree(words []word) bool {
	for _, w := range words {
		if w.text == "--" {
			return true
		}
		if !strings.HasPrefix(w.text, "-") && w.text != "HEAD" {
			return false
		}
	}
	return true
}

// gitChanges yields the files that the output of git diff or git status names.
func gitChanges(out string, diff, status bool) func(func(string, State) bool) {
	return func(yield func(string, State) bool) {
		last := ""
		state := StateModified
		for line := range strings.SplitSeq(out, "\n") {
			line = strings.TrimRight(line, "\r")
			switch {
			case diff && strings.HasPrefix(line, "diff --git a/"):
				if last != "" && !yield(last, state) {
					return
				}
				last, state = "", StateModified
				if k := strings.LastIndex(line, " b/"); k > 0 {
					last = line[k+3:]
				}
			case last != "" && strings.HasPrefix(line, "new file mode"):
				state = StateCreated
			case last != "" && strings.HasPrefix(line, "deleted file mode"):
				state = StateDeleted
			case status:
				m := gitStatus().FindStringSubmatch(line)
				if m == nil || strings.Contains(line, " -> ") {
					continue
				}
				name, s := m[2]+m[5], StateModified
				switch {
				case m[1] == "new file" || m[3] == "A":
					s = StateCreated
				case m[1] == "deleted" || m[3] == "D" || m[4] == "D":
					s = StateDeleted
				case m[1] == "" && m[3] == " " && m[4] == " ":
					continue
				}
				if !yield(name, s) {
					return
				}
			}
		}
		if last != "" {
			yield(last, state)
		}
	}
}
