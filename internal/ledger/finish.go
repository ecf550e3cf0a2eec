package ledger

import (
	"slices"

	"github.com/clew-dev/clew/internal/redact"
	"github.com/clew-dev/clew/internal/text"
)

// Ledger returns the ledger of what was read so far, in order and within the limits. It
// shares nothing with later ones.
func (r *Reader) Ledger() Ledger {
	l := Ledger{Omitted: r.omitted}
	o := &l.Omitted
	l.Files = limit(r.files.values(), MaxFiles, &o.Files, func(f File) bool { return f.State == StateRead })
	l.Weak = limit(r.weak.values(), MaxWeak, &o.Weak, nil)
	l.Commands = limit(r.commands.values(), MaxCommands, &o.Commands, nil)
	l.Commits = limit(slices.Clone(r.commits), MaxCommits, &o.Commits, nil)
	l.Errors = limit(r.errors.values(), MaxErrors, &o.Errors, nil)
	l.Users = slices.Clone(r.users)
	if n := len(l.Users) - MaxUsers; n > 0 {
		l.Users = append([]UserMessage{r.users[0]}, r.users[n+1:]...)
		o.Users += n
	}
	l.Todos = slices.Clone(r.todos)
	if n := len(l.Todos) - MaxTodos; n > 0 {
		l.Todos = l.Todos[:MaxTodos:MaxTodos]
		o.Todos += n
	}
	l.Rules = limit(slices.Clone(r.rules), MaxRules, &o.Rules, func(s Statement) bool { return s.Replaced })
	l.Decisions = limit(slices.Clone(r.decisions), MaxDecided, &o.Decisions, nil)
	l.Mentions = pickMentions(r.mentions.values(), &o.Mentions)
	return l
}

// limit leaves out what is more than most: the values that are worth less first, of each
// kind the oldest.
func limit[T any](list []T, most int, omitted *int, less func(T) bool) []T {
	n := max(len(list)-most, 0)
	*omitted += n
	if less != nil {
		list = slices.DeleteFunc(list, func(v T) bool {
			drop := n > 0 && less(v)
			if drop {
				n--
			}
			return drop
		})
	}
	return list[n:]
}

// addCommits adds commits that are not there already, as in a ledger that is merged twice.
func (r *Reader) addCommits(commits ...Commit) {
	for _, c := range commits {
		if !slices.Contains(r.commits, c) {
			r.commits = append(r.commits, c)
		}
	}
}

// merge takes in an earlier ledger. What it says is newer than what came before
// it and older than what follows.
func (r *Reader) merge(l Ledger) {
	mergeFiles(&r.files, l.Files, r.place)
	mergeFiles(&r.weak, l.Weak, r.place)
	for _, c := range l.Commands {
		if c.Text = clipText(c.Text); c.Text == "" {
			continue
		}
		if c.Status != StatusOK && c.Status != StatusFailed {
			c.Status = StatusUnknown
		}
		known := r.commands.touch(c.Text, Command{})
		c.Runs, c.Failures = known.Runs+max(c.Runs, 1), known.Failures+max(c.Failures, 0)
		c.Failed = slices.Clone(c.Failed[:min(len(c.Failed), MaxFailed)])
		*known = c
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
			u.Text = text.Clip(redact.Text(u.Text), MaxText)
			r.users = append(r.users, u)
		}
	}
	if len(l.Todos) > 0 {
		// What a text lists as steps gives way to any list that is kept since.
		r.todos, r.todoTool = slices.Clone(l.Todos), l.Todos[0].Entry != ""
	}
	for _, s := range l.Rules {
		if s.Text = clipText(s.Text); s.Text != "" {
			r.rule(s)
		}
	}
	for _, s := range l.Decisions {
		if s.Text = clipText(s.Text); s.Text != "" {
			r.decision(s)
		}
	}
	for _, m := range l.Mentions {
		kinds := []MentionKind{MentionURL, MentionTicket, MentionCommit, MentionName}
		if m.Text = clipText(m.Text); m.Text != "" && slices.Contains(kinds, m.Kind) {
			known := r.mentions.touch(m.Text, Mention{})
			m.Uses = known.Uses + max(m.Uses, 1)
			*known = m
		}
	}
	o, more := &r.omitted, l.Omitted
	for sum, n := range map[*int]int{
		&o.Files: more.Files, &o.Weak: more.Weak, &o.Commands: more.Commands, &o.Commits: more.Commits,
		&o.Errors: more.Errors, &o.Users: more.Users, &o.Todos: more.Todos, &o.Rules: more.Rules,
		&o.Decisions: more.Decisions, &o.Mentions: more.Mentions,
	} {
		*sum += max(n, 0)
	}
}

func mergeFiles(t *table[File], files []File, p place) {
	for _, f := range files {
		if f.Path = p.norm(f.Path, ""); f.Path == "" || !slices.Contains(states, f.State) {
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

// errorKey is the key under which a success drops a failure.
func (r *Reader) errorKey(f Failure) string {
	switch act := actionOf(f.Tool); {
	case f.Check != "":
		return "check\x00" + f.Subject
	case act == actShell:
		return "run\x00" + r.parse(f.Subject, "").program
	case act == actWrite, act == actEdit, act == actPatch, act == actSub, act == actDelete, act == actMove:
		return "edit\x00" + f.Subject
	}
	return "tool\x00" + f.Tool
}
