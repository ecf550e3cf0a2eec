package ledger

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// Commit is a commit that a command made.
type Commit struct {
	Hash    string `json:"hash,omitempty"` // "" after a rebase gave it another one
	Subject string `json:"subject"`
	Branch  string `json:"branch,omitempty"`
	Entry   string `json:"entry,omitempty"`
}

// gitRun is a git command of a line: its subcommand, what follows it, and the directory it is for.
type gitRun struct {
	sub  string
	args []string
	dir  string
	at   int // among the commands of the line
}

// gitRuns returns the git commands of a line.
func (p place) gitRuns(l line) (runs []gitRun) {
	for i, c := range l.cmds {
		if words, dir := gitWords(program(c)); words != nil {
			g := gitRun{sub: words[0], args: words[1:], dir: c.dir, at: i}
			if dir != "" {
				g.dir = p.dir(dir, c.dir)
			}
			runs = append(runs, g)
		}
	}
	return runs
}

// gitWords returns the subcommand of a git command and what follows it, and the directory that it names before that.
func gitWords(words []string) (rest []string, dir string) {
	if len(words) < 2 || words[0] != "git" {
		return nil, ""
	}
	for words = words[1:]; len(words) > 1 && strings.HasPrefix(words[0], "-"); words = words[1:] {
		if words[0] == "-C" {
			dir = words[1]
		}
		if words[0] == "-C" || words[0] == "-c" {
			words = words[1:]
		}
	}
	return words, dir
}

func (g gitRun) has(flags string) bool {
	return slices.ContainsFunc(g.args, func(a string) bool { return slices.Contains(strings.Fields(flags), a) })
}

// operand returns the first argument that is no flag, "" where there is none.
func (g gitRun) operand() string {
	k := slices.IndexFunc(g.args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if k < 0 {
		return ""
	}
	return g.args[k]
}

// sure reports whether a line that did not fail has run its nth command with success.
func (l line) sure(n int) bool {
	return !l.control && every(l.cmds[n:], func(c simple) bool { return c.next == "" || c.next == "&&" })
}

var (
	gitError   = text.Pattern(`(?m)^(?:error: |fatal: |no(?:thing| changes) (?:added )?to commit|CONFLICT )`)
	logLine    = text.Pattern(`(?m)^[*|\\/ ]*([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(\S.*?)\r?$`)
	backBy     = text.Pattern(`^(?:HEAD|@)(?:~(\d*)|(\^+))$`)
	heredoc    = text.Pattern(`<<-?\s*['"\\]?\w+['"]?[^\n]*\n\s*([^\n]+)`)
	messageArg = text.Pattern(`^(?:-[a-z]*m|--message)$`)
	// committed matches what git prints after a commit.
	committed = text.Pattern(`(?m)^\[([^\]\n]{1,200}?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$`)
)

// git takes in the commits that the git commands of a line made, and those that they took back.
func (r *Reader) git(l line, o outcome) {
	if !strings.Contains(l.source, "git") {
		return
	}
	out := lookAt(o.text)
	made := committed().FindAllStringSubmatch(out, 20)
	ok := o.status == StatusOK && !l.control && !gitError().MatchString(out)
	for _, g := range r.gitRuns(l) {
		sure := ok && l.sure(g.at)
		switch g.sub {
		case "commit", "cherry-pick", "revert":
			// What it has to say of an error would be printed.
			made = r.gitCommits(g, l, sure || ok && every(l.cmds[:g.at], func(c simple) bool { return c.next != "&&" || c.name() == "cd" || c.name() == "git" }), made)
		case "checkout", "switch":
			r.branch = ""
		case "reset":
			if sure {
				r.undone(g)
			}
		case "pull", "rebase":
			if strings.Contains(out, "Successfully rebased") { // the commits have other hashes now
				for i, c := range r.commits {
					if c.Branch == r.branch {
						r.commits[i].Hash = ""
					}
				}
			}
		}
	}
	for _, m := range made { // by a program that runs git
		r.commit(Commit{Hash: m[2], Subject: m[3], Branch: m[1]}, "")
	}
	for _, m := range logLine().FindAllStringSubmatch(out, 50) {
		for i := range r.commits {
			if c := &r.commits[i]; c.Hash == "" && c.Subject == clipText(m[2]) {
				c.Hash = m[1]
			}
		}
	}
}

// gitCommits takes in a commit: the first of those that the line printed, or, where that has to be quiet,
// one that is known by its message. It returns the others.
func (r *Reader) gitCommits(g gitRun, l line, sure bool, made [][]string) [][]string {
	var c Commit
	switch {
	case len(made) > 0:
		c, made = Commit{Hash: made[0][2], Subject: made[0][3], Branch: made[0][1]}, made[1:]
	case !sure || g.has("--dry-run --no-commit -n --abort"):
		return made
	case g.dir == r.commitDir:
		c.Branch = r.branch
	}
	if last := len(r.commits) - 1; g.has("--amend") && last >= 0 {
		c.Subject = cmp.Or(c.Subject, r.commits[last].Subject)
		r.commits = slices.Clone(r.commits[:last])
	}
	if c.Subject = cmp.Or(c.Subject, g.message(l)); c.Subject != "" {
		r.commit(c, g.dir)
	}
	return made
}

// message returns the subject that a git commit gives its commit.
func (g gitRun) message(l line) string {
	source := l.source[l.cmds[g.at].from:]
	for i, a := range g.args {
		given, ok := strings.CutPrefix(a, "--message=")
		if messageArg().MatchString(a) && i+1 < len(g.args) {
			given, ok = g.args[i+1], true
		}
		if ok && !strings.HasPrefix(given, "$(") {
			return text.FirstLine(given)
		}
	}
	if m := heredoc().FindStringSubmatch(source); m != nil {
		return m[1]
	}
	return ""
}

// commit takes in a commit that was made in a directory.
func (r *Reader) commit(c Commit, dir string) {
	r.ended = BoundaryCommit
	c.Subject, c.Entry = clipText(c.Subject), r.entry
	if !slices.ContainsFunc(r.commits, func(old Commit) bool { return old.Hash == c.Hash && old.Subject == c.Subject }) {
		r.commits = append(r.commits, c)
	}
	r.branch, r.commitDir = c.Branch, dir
}

// undone drops the commits that a reset took from the branch of the last commit. Of one in another directory, and of
// one to a revision that nobody knows, there is no evidence.
func (r *Reader) undone(g gitRun) {
	n, to := 0, g.operand()
	if m := backBy().FindStringSubmatch(to); m != nil {
		n, _ = strconv.Atoi(m[1]) // digits
		n = max(n, len(m[2]), 1)
	} else if at := slices.IndexFunc(r.commits, func(c Commit) bool {
		return len(to) > 6 && (strings.HasPrefix(c.Hash, to) || c.Hash != "" && strings.HasPrefix(to, c.Hash))
	}); at >= 0 {
		for _, c := range r.commits[at+1:] {
			if c.Branch == r.branch {
				n++
			}
		}
	} else if to != "" && !strings.HasPrefix(to, "HEAD") && !strings.Contains(to, "@{") && !strings.HasPrefix(to, "origin/") && r.files.get(to) == nil {
		n = len(r.commits) // the beginning of the branch
	}
	for i := len(r.commits) - 1; i >= 0 && n > 0 && g.dir == r.commitDir; i-- {
		if r.commits[i].Branch == r.branch {
			r.commits = slices.Delete(slices.Clone(r.commits), i, i+1)
			n--
		}
	}
}

var (
	// queries are subcommands that tell in a few lines how things stand that are in no file, moves those of git that
	// change it.
	queries = text.Words(`git:status git:branch git:log git:worktree docker:ps kubectl:get brew:info systemctl:status launchctl:list npm:ls`)
	moves   = text.Words(`checkout switch commit push pull merge rebase reset stash cherry-pick revert`)
	// hubs are what gh tells of.
	hubs = text.Words(`pr run release`)
	// diffLists make git diff name the files alone, otherLogs make a query one about something else.
	diffLists = text.Words(`--stat --name-only --name-status --shortstat`)
	otherLogs = text.Words(`-p -- --all --log --log-failed --list`)
	searches  = text.Words(`grep rg egrep fgrep ag`)
)

// tell notes of what one command of a line tells, see Command.Tells. One whose output is searched tells only what was
// searched for.
func (l *line) tell(words []string, p place, dir string, searched bool) {
	if git, in := gitWords(words); git != nil {
		words = slices.Concat(words[:1], git)
		if l.tree = dir; in != "" {
			l.tree = p.dir(in, dir)
		}
	}
	if len(words) < 2 {
		return
	}
	of, sub := words[0], words[1]
	if of == "gh" && hubs()[sub] && len(words) > 2 {
		of, sub = of+" "+sub, words[2]
	}
	hub := of != "gh" && strings.HasPrefix(of, "gh ")
	changes := of == "git" && moves()[sub] || hub && !hubLooks()[sub]
	if changes {
		l.changes = append(l.changes, of)
		l.tells = slices.DeleteFunc(l.tells, func(k string) bool { return strings.HasPrefix(k, of+" ") })
	}
	if sub == "checkout" && hub {
		l.changes = append(l.changes, "git")
	}
	asks := queries()[of+":"+sub] || of+" "+sub == "git diff" && hasWord(words, diffLists()) || hub && sub != "diff"
	if (asks && !hasWord(words, otherLogs()) || changes && sub != "commit") && !searched {
		l.tells = append(l.tells, of+" "+sub)
	}
}
