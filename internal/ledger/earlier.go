package ledger

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
)

// fromSummary returns what an earlier summary knows: the ledger in its details (member
// "clew", member "ledger"), else pi's file lists there (readFiles, modifiedFiles), else the
// lists in its text: files in pi's tag blocks and in lines that begin with "Read:" or
// "Modified:"; files, rules, todos and decisions under the headings of our documents, which
// models are asked to use too. Nothing else in a text is evidence.
func fromSummary(summary string, details json.RawMessage) (l Ledger) {
	details = jsonx.One(details)
	if own := jsonx.Get(jsonx.Get(details, "clew"), "ledger"); jsonx.IsObject(own) && json.Unmarshal(own, &l) == nil {
		return l
	}
	l = Ledger{}
	read, modified := jsonx.Get(details, "readFiles"), jsonx.Get(details, "modifiedFiles")
	if jsonx.IsArray(read) || jsonx.IsArray(modified) {
		l.list("read", stringList(read)...)
		l.list("modified", stringList(modified)...)
		return l
	}
	tag, section, heading := "", "", ""
	for line := range strings.SplitSeq(summary, "\n") {
		line = strings.TrimRight(line, " \t\r")
		switch {
		case tag != "" && line == "</"+tag+"-files>":
			tag = ""
		case tag != "":
			l.list(tag, line)
		case line == "<read-files>" || line == "<modified-files>":
			tag = strings.TrimSuffix(line[1:], "-files>")
		case strings.HasPrefix(line, "## "):
			section, heading = strings.ToLower(line[3:]), ""
		case strings.HasPrefix(line, "### "):
			heading = strings.ToLower(line[4:])
		default:
			if m := listItem().FindStringSubmatch(line); m != nil {
				l.item(section, heading, m[1])
			}
		}
	}
	slices.SortStableFunc(l.Files, func(a, b File) int { return slices.Index(states, a.State) - slices.Index(states, b.State) })
	return l
}

// stringList returns the strings of an array that say something, nil for anything else.
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

var (
	listItem = text.Pattern(`^(?:[-*]|[0-9]{1,3}[.)]) +(\S.*)$`)
	// endHandle matches what our documents put after a line.
	endHandle = text.Pattern(` \[#[^\[\],#\s]*(, replaced)?\]$`)
	// noneWord are the words with which a model says that a list is empty.
	noneWord = text.Words(`none (none) n/a none. nothing 无 なし 없음`)
)

// listOf says what stands under a heading. What is the state of a file stands in a section
// of files.
var listOf = map[string]string{
	"constraints & preferences": "rules", "user preferences": "rules", "rules": "rules",
	"key decisions": "decisions", "key results": "decisions", "decisions": "decisions",
	"next steps": "todos", "pending tasks": "todos", "state/next": "todos",
	"files": "files", "code changes": "files",
	"modified": "modified", "created": "created", "deleted": "deleted", "read": "read",
	"created as scratch": "weak created", "written by commands": "weak modified",
}

func (l *Ledger) item(section, heading, item string) {
	what := cmp.Or(listOf[section+"/"+heading], listOf[cmp.Or(heading, section)])
	s := clipText(endHandle().ReplaceAllString(strings.TrimPrefix(item, "[ ] "), ""))
	low := strings.ToLower(s)
	switch {
	case what == "":
	case what == "files":
		if name, rest, _ := strings.Cut(item, ": "); name == "Read" || name == "Modified" {
			l.list(strings.ToLower(name), strings.Split(rest, ",")...)
		}
	case what != "rules" && what != "decisions" && what != "todos":
		if listOf[section] == "files" {
			l.list(what, listedPaths(item)...)
		}
	case s == "" || noneWord()[low] || low == "(none yet)":
	case what == "rules":
		l.Rules = append(l.Rules, Statement{Text: s, Replaced: s != item && strings.HasSuffix(item, ", replaced]")})
	case what == "decisions":
		l.Decisions = append(l.Decisions, Statement{Text: s, Weight: 1})
	case what == "todos":
		l.Todos = append(l.Todos, Todo{Text: s, Status: TodoOpen})
	}
}

// list adds files in a state, or weak evidence of one.
func (l *Ledger) list(what string, names ...string) {
	list := &l.Files
	state, weak := strings.CutPrefix(what, "weak ")
	if weak {
		list = &l.Weak
	}
	for _, name := range names {
		*list = append(*list, File{Path: strings.TrimSpace(name), State: State(state), Read: state == "read"})
	}
}

// listedPaths returns the files of an item: "path — what changed", "dir/{a.go,b.go}", or a
// path in quotes, which may hold anything.
func listedPaths(item string) []string {
	if quoted, err := strconv.QuotedPrefix(item); err == nil && item[0] == '"' {
		path, _ := strconv.Unquote(quoted)
		return []string{path}
	}
	item, _, _ = strings.Cut(item, " — ")
	dir, names, _ := strings.Cut(item, "{")
	names, closed := strings.CutSuffix(names, "}")
	if !closed || !strings.Contains(names, ",") || dir != "" && !strings.HasSuffix(dir, "/") {
		return []string{item}
	}
	out := strings.Split(names, ",")
	for i, name := range out {
		out[i] = dir + strings.TrimSpace(name)
	}
	return out
}

// merge takes in an earlier ledger. What it says is newer than what came before
// it and older than what follows.
func (r *Reader) merge(l Ledger) {
	r.mergeFiles(&r.files, l.Files)
	r.mergeFiles(&r.weak, l.Weak)
	for _, c := range l.Commands {
		if c.Text = clipText(c.Text); c.Text != "" {
			known := r.commands.touch(c.Text, Command{})
			c.Runs, c.Failures = known.Runs+max(c.Runs, 1), known.Failures+max(c.Failures, 0)
			c.Failed = slices.Clone(c.Failed[:min(len(c.Failed), maxFailed)])
			*known = c
		}
	}
	r.addCommits(l.Commits...)
	for _, f := range l.Errors {
		f.Lines = f.Lines[:min(len(f.Lines), 3)]
		for i := range f.Lines {
			f.Lines[i] = clipText(f.Lines[i])
		}
		*r.errors.touch(r.errorKey(f), f) = f
	}
	for _, u := range l.Users {
		if u.Entry == "" || !r.seen[u.Entry] {
			r.seen[u.Entry] = true
			u.Text = text.Clip(redact.Text(u.Text), maxText)
			r.users = append(r.users, u)
		}
	}
	if len(l.Todos) > 0 {
		// What a text lists as steps gives way to any list that is kept since.
		r.todos, r.todoTool = slices.Clone(l.Todos), l.Todos[0].Entry != ""
	}
	for i, s := range slices.Concat(l.Rules, l.Decisions) {
		if s.Text = clipText(s.Text); s.Text != "" && i < len(l.Rules) {
			r.rule(s)
		} else if s.Text != "" {
			r.decision(s)
		}
	}
	for _, c := range l.Checkpoints {
		if !slices.Contains(r.checkpoints, c) {
			r.checkpoints = append(r.checkpoints, c)
		}
	}
	for list, n := range l.Omitted {
		r.omitted[list] += max(n, 0)
	}
}

func (r *Reader) mergeFiles(t *table[File], files []File) {
	for _, f := range files {
		if f.Path = r.norm(f.Path, ""); f.Path == "" || !slices.Contains(states, f.State) {
			continue
		}
		known := t.touch(f.Path, File{Path: f.Path, State: StateRead})
		known.Read = known.Read || f.Read
		known.Edits += max(f.Edits, 0)
		if f.State != StateRead && (f.State != StateModified || known.State != StateCreated) {
			known.State, known.To = f.State, ""
			if f.State == StateDeleted {
				known.To = r.norm(f.To, "")
			}
		}
		known.Entry = f.Entry
	}
}

// errorKey is the key under which a success drops a failure.
func (r *Reader) errorKey(f Failure) string {
	switch {
	case f.Check != "":
		return "check\x00" + f.Subject
	case f.Subject == "":
		return "tool\x00" + f.Tool
	case actionOf(f.Tool) == OpShell:
		return "run\x00" + r.parse(f.Subject, "").program
	}
	return "edit\x00" + f.Subject
}
