package ledger

import "slices"

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
