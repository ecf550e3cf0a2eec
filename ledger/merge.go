package ledger

import (
	"encoding/json"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
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
		len(l.Errors) == 0 && len(l.Users) == 0 && len(l.Todos) == 0
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

// fromText reads the file lists in the text of a summary: pi's tag blocks, the
// lists of our documents, and lines that begin with "Read:" or "Modified:".
// Nothing else in a text is evidence.
func fromText(summary string, p place) Ledger {
	lists := map[string][]string{}
	tag, heading, inFiles := "", "", false
	for line := range strings.SplitSeq(summary, "\n") {
		line = strings.TrimRight(line, " \t\r")
		switch {
		case tag != "":
			if line == "</"+tag+">" {
				tag = ""
			} else if line != "" {
				lists[tag] = append(lists[tag], line)
			}
		case line == "<read-files>" || line == "<modified-files>":
			tag = strings.Trim(line, "<>")
		case strings.HasPrefix(line, "## "):
			inFiles = line == "## Files" || line == "## Code Changes"
			heading = ""
		case strings.HasPrefix(line, "### "):
			heading = ""
			if inFiles {
				heading = line[4:]
			}
		case strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* "):
			item := line[2:]
			name, rest, listed := strings.Cut(item, ": ")
			switch {
			case inFiles && heading == "" && listed && (name == "Read" || name == "Modified"):
				for f := range strings.SplitSeq(rest, ",") {
					lists[name] = append(lists[name], f)
				}
			case heading != "":
				lists[heading] = append(lists[heading], item)
			}
		}
	}
	return fileLists(append(lists["read-files"], lists["Read"]...), append(lists["modified-files"], lists["Modified"]...),
		lists["Created"], lists["Deleted"], p)
}

// merge takes in an earlier ledger. What it says is newer than what came before
// it and older than what follows.
func (r *reader) merge(l Ledger) {
	mergeFiles(&r.files, l.Files, r.place)
	mergeFiles(&r.weak, l.Weak, r.place)
	for _, c := range l.Commands {
		c.Text = text.Clip(oneLine(c.Text), MaxText)
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
		*known = c
	}
	r.commits = append(r.commits, l.Commits...)
	for _, f := range l.Errors {
		for i := range f.Lines {
			f.Lines[i] = text.Clip(oneLine(f.Lines[i]), MaxText)
		}
		f.Lines = f.Lines[:min(len(f.Lines), 3)]
		*r.errors.touch(r.errorKey(f), f) = f
	}
	for _, u := range l.Users {
		if u.Entry == "" || !r.seen[u.Entry] {
			r.seen[u.Entry] = true
			u.Text = text.Clip(u.Text, MaxText)
			r.users = append(r.users, u)
		}
	}
	if len(l.Todos) > 0 {
		r.todos = l.Todos
	}
	o := l.Omitted
	r.omitted.Files += max(o.Files, 0)
	r.omitted.Weak += max(o.Weak, 0)
	r.omitted.Commands += max(o.Commands, 0)
	r.omitted.Commits += max(o.Commits, 0)
	r.omitted.Errors += max(o.Errors, 0)
	r.omitted.Users += max(o.Users, 0)
	r.omitted.Todos += max(o.Todos, 0)
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
	switch act := vocabulary[strings.ToLower(f.Tool)]; {
	case f.Check != "":
		return "check\x00" + f.Subject
	case act == actShell:
		return "run\x00" + readLine(f.Subject, parseScript(f.Subject), r.place, "").program
	case act == actWrite, act == actEdit, act == actPatch, act == actSub:
		return "edit\x00" + f.Subject
	}
	return "tool\x00" + f.Tool
}
