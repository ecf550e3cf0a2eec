package ledger

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
)

// fromSummary returns what an earlier summary knows: the ledger in its details (member
// "clew", member "ledger"), else pi's file lists there (readFiles, modifiedFiles), else those
// in the tags at the end of its text. Nothing else in a text is evidence.
func fromSummary(summary string, details json.RawMessage) (l Ledger) {
	details = jsonx.One(details)
	if own := jsonx.Get(jsonx.Get(details, "clew"), "ledger"); jsonx.IsObject(own) && json.Unmarshal(own, &l) == nil {
		return l
	}
	l = Ledger{}
	for _, of := range []struct {
		state       State
		member, tag string
	}{{StateRead, "readFiles", "read-files"}, {StateModified, "modifiedFiles", "modified-files"}} {
		names := stringList(jsonx.Get(details, of.member))
		if !jsonx.IsArray(jsonx.Get(details, "readFiles")) && !jsonx.IsArray(jsonx.Get(details, "modifiedFiles")) {
			_, rest, _ := strings.Cut(summary, "<"+of.tag+">\n")
			list, _, _ := strings.Cut(rest, "\n</"+of.tag+">")
			names = strings.Split(list, "\n")
		}
		for _, name := range names {
			l.Files = append(l.Files, File{Path: strings.TrimSpace(name), State: of.state, Read: of.state == StateRead})
		}
	}
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

// Merge takes in an earlier ledger. What it says is newer than what came before
// it and older than what follows.
func (r *Reader) Merge(l Ledger) {
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
	addNew(&r.commits, l.Commits...)
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
	addNew(&r.checkpoints, l.Checkpoints...)
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
