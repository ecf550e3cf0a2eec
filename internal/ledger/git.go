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
	Pushed  bool   `json:"pushed,omitempty"`
	Entry   string `json:"entry,omitempty"`
}

// Tree is a working tree of git, as the commands in it left it.
type Tree struct {
	Dir     string   `json:"dir,omitempty"` // "" is the working directory
	Branch  string   `json:"branch,omitempty"`
	Changed []string `json:"changed,omitempty"` // files that are known not to be committed
	Clean   bool     `json:"clean,omitempty"`   // there are no others
	Push    string   `json:"push,omitempty"`    // Pushed, Ahead, or "" where nothing tells
	Worked  bool     `json:"worked,omitempty"`  // something was changed or committed in it
	Entry   string   `json:"entry,omitempty"`
}

// What Tree.Push says.
const (
	Pushed = "pushed"
	Ahead  = "ahead"
)

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
		words := program(c)
		if len(words) > 2 && words[0] == "gh" && words[2] == "checkout" {
			runs = append(runs, gitRun{sub: "checkout", args: []string{"-q", "-"}, dir: c.dir, at: i})
		}
		if len(words) < 2 || words[0] != "git" {
			continue
		}
		g := gitRun{dir: c.dir, at: i}
		for words = words[1:]; len(words) > 1 && strings.HasPrefix(words[0], "-"); words = words[1:] {
			if words[0] == "-C" {
				g.dir = p.dir(words[1], c.dir)
			}
			if words[0] == "-C" || words[0] == "-c" {
				words = words[1:]
			}
		}
		if len(words) > 0 {
			g.sub, g.args = words[0], words[1:]
			runs = append(runs, g)
		}
	}
	return runs
}

func (g gitRun) has(flags string) bool {
	return slices.ContainsFunc(g.args, func(a string) bool { return slices.Contains(strings.Fields(flags), a) })
}

// operand returns the nth argument that is no flag, "" where there is none.
func (g gitRun) operand(n int) string {
	for _, a := range g.args {
		if strings.HasPrefix(a, "-") && a != "-" {
			continue
		}
		if n == 0 {
			return a
		}
		n--
	}
	return ""
}

// after returns the argument behind one of the flags.
func (g gitRun) after(flags string) string {
	for i, a := range g.args[:max(len(g.args)-1, 0)] {
		if slices.Contains(strings.Fields(flags), a) {
			return g.args[i+1]
		}
	}
	return ""
}

// sure reports whether a line that did not fail has run its nth command with success.
func (l line) sure(n int) bool {
	return !l.control && every(l.cmds[n:], func(c simple) bool { return c.next == "" || c.next == "&&" })
}

// treeAt returns the working tree that a directory or file is in, nil where none is known. Below the
// working directory there is but one, as long as no other was added there.
func (r *Reader) treeAt(p string) *Tree {
	var in *Tree
	for _, row := range r.trees.rows {
		t := &row.val
		if within(p, t.Dir) && (t.Dir != "" || !absolute(p)) && (in == nil || len(t.Dir) > len(in.Dir)) {
			in = t
		}
	}
	return in
}

// tree returns the working tree that a git command is for.
func (r *Reader) tree(dir string) *Tree {
	t := r.treeAt(dir)
	if t == nil {
		if !absolute(dir) {
			dir = ""
		}
		t = &Tree{Dir: dir}
	}
	t = r.trees.touch(t.Dir, *t)
	t.Entry = r.entry
	return t
}

// uncommitted notes that a file of a working tree was changed, or is gone.
func (r *Reader) uncommitted(p string, s State) {
	t := r.treeAt(p)
	if t == nil || strings.HasSuffix(p, "/") || strings.Contains(p, ".git/") {
		return
	}
	t.Worked = true
	i, gone := slices.Index(t.Changed, p), s == StateDeleted || s == stateRestored
	if i < 0 && s != stateRestored && len(t.Changed) < 100 {
		t.Changed = append(slices.Clip(t.Changed), p)
	} else if i >= 0 && gone {
		t.Changed = slices.Concat(t.Changed[:i], t.Changed[i+1:])
	}
}

var (
	onBranch   = text.Pattern(`(?m)^(?:On branch |## (?:No commits yet on )?|📌 )(\S+?)(?:\.\.\.\S+(?: \[(.*)\])?)?\r?$|^(HEAD detached at \S+)`)
	starred    = text.Pattern(`(?m)^\* (?:\((HEAD detached at \S+)\)|(\S+))`)
	switched   = text.Pattern(`(?m)^(?:Switched to (?:a new |and reset )?branch|Already on) '(.+)'`)
	bareName   = text.Pattern(`^[\w.-][/\w.-]*$`)
	untracked  = text.Pattern(`(?m)^\?\? (\S.*?)\r?$`)
	upstream   = text.Pattern(`(?m)^Your branch is (?:ahead of|(up to date with)) `)
	refused    = text.Pattern(`(?m)^(?:error: failed to push|\s*! \[(?:remote )?rejected\])`)
	gitError   = text.Pattern(`(?m)^(?:error: |fatal: |no(?:thing| changes) (?:added )?to commit|CONFLICT )`)
	pushLine   = text.Pattern(`(?m)^(?:Everything up-to-date|(?:\W{0,3}\[new branch\]|[ +]*\w+\.\.+\w+) +(\S+) +-> |branch '(.*)' set up to track)`)
	logLine    = text.Pattern(`(?m)^[*|\\/ ]*([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(\S.*?)\r?$`)
	backBy     = text.Pattern(`^(?:HEAD|@)(?:~(\d*)|(\^+))$`)
	heredoc    = text.Pattern(`<<-?\s*['"\\]?\w+['"]?[^\n]*\n\s*([^\n]+)`)
	messageArg = text.Pattern(`^(?:-[a-z]*m|--message)$`)
	// statusLine matches what names a changed file in git status, in its long and its short form.
	statusLine = text.Pattern(`(?m)^(?:\s+(?:modified|new file|deleted):\s+(\S.*?)|(?:[MAD][ MD]| [MD]) (\S.*?))\r?$`)
	// committed matches what git prints after a commit.
	committed = text.Pattern(`(?m)^\[([^\]\n]{1,200}?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$`)
)

// git takes in what the git commands of a line did, and what they told.
func (r *Reader) git(l line, o outcome) {
	if !strings.Contains(l.source, "git") && !strings.Contains(l.source, "gh pr checkout") {
		return
	}
	out := lookAt(o.text)
	made := committed().FindAllStringSubmatch(out, 20)
	ok := o.status == StatusOK && !l.control && !gitError().MatchString(refused().ReplaceAllString(out, ""))
	for _, g := range r.gitRuns(l) {
		sure := ok && l.sure(g.at)
		switch g.sub {
		case "worktree":
			r.gitAdds(g, sure)
		case "commit", "cherry-pick", "revert":
			// What it has to say of an error would be printed.
			made = r.gitCommits(g, l, sure || ok && every(l.cmds[:g.at], func(c simple) bool { return c.next != "&&" || c.name() == "cd" || c.name() == "git" }), made)
		case "status", "branch", "rev-parse", "checkout", "switch", "push", "pull", "rebase", "reset", "stash", "restore":
			r.gitTree(r.tree(g.dir), g, l, sure, out)
		}
	}
	for _, m := range made { // by a program that runs git
		r.commit(r.tree(""), Commit{Hash: m[2], Subject: m[3], Branch: m[1]})
	}
	for _, m := range logLine().FindAllStringSubmatch(out, 50) {
		for i := range r.commits {
			if c := &r.commits[i]; c.Hash == "" && c.Subject == clipText(m[2]) {
				c.Hash = m[1]
			}
		}
	}
}

// gitAdds takes in a new working tree.
func (r *Reader) gitAdds(g gitRun, sure bool) {
	branch := g.after("-b -B")
	switch name := g.operand(0); {
	case !sure || name == "":
	case name == "add":
		dir := g.operand(1)
		if dir == branch {
			dir = g.operand(2)
		}
		if dir = r.dir(dir, g.dir); dir != "" {
			r.trees.touch(dir, Tree{Dir: dir, Branch: branch, Entry: r.entry})
		}
	}
}

// gitCommits takes in a commit: the first of those that the line printed, or, where that has to be quiet,
// one that is known by its message. It returns the others.
func (r *Reader) gitCommits(g gitRun, l line, sure bool, made [][]string) [][]string {
	t := r.tree(g.dir)
	var c Commit
	switch {
	case len(made) > 0:
		c, made = Commit{Hash: made[0][2], Subject: made[0][3], Branch: made[0][1]}, made[1:]
	case sure && !g.has("--dry-run --no-commit -n --abort"):
		c.Branch = t.Branch
	default:
		return made
	}
	if last := r.lastCommit(t.Branch); g.has("--amend") && last >= 0 {
		c.Subject = cmp.Or(c.Subject, r.commits[last].Subject)
		r.commits = slices.Delete(slices.Clone(r.commits), last, last+1)
	}
	if c.Subject = cmp.Or(c.Subject, g.message(l)); c.Subject != "" {
		r.commit(t, c)
	}
	all := strings.Contains(l.source, "git add -A") || strings.Contains(l.source, "git add .") || strings.Contains(l.source, "git add --all")
	t.Changed, t.Clean = nil, all
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

// commit takes in a commit in a working tree.
func (r *Reader) commit(t *Tree, c Commit) {
	r.ended = BoundaryCommit
	c.Subject, c.Entry = clipText(c.Subject), r.entry
	if !slices.ContainsFunc(r.commits, func(old Commit) bool { return old.Hash == c.Hash && old.Subject == c.Subject }) {
		r.commits = append(r.commits, c)
	}
	if t.Worked, t.Push = true, Ahead; !strings.HasPrefix(c.Branch, "detached") {
		t.Branch = cmp.Or(c.Branch, t.Branch)
	}
	t.Changed, t.Clean = nil, false
}

// lastCommit returns the place of the last commit on a branch, -1 where there is none.
func (r *Reader) lastCommit(branch string) int {
	for i, c := range slices.Backward(r.commits) {
		if c.Branch == branch || branch == "" {
			return i
		}
	}
	return -1
}

// gitTree takes in what any other command says of a working tree or did to it.
func (r *Reader) gitTree(t *Tree, g gitRun, l line, sure bool, out string) {
	name := ""
	switch g.sub {
	case "status":
		if m := onBranch().FindStringSubmatch(out); m != nil {
			name = m[1] + m[3]
			if m[2] != "" || strings.Contains(m[0], "...") {
				t.Push = map[bool]string{true: Ahead, false: Pushed}[strings.Contains(m[2], "ahead")]
			}
		}
		if m := upstream().FindStringSubmatch(out); m != nil {
			t.Push = map[bool]string{true: Ahead, false: Pushed}[m[1] == ""]
		}
		if l.cmds[g.at].next == "|" || !sure || strings.Contains(out, "📌") { // of rtk, in words of its own
			break
		}
		t.Changed = nil
		for _, file := range changedFiles(text.Head(out, look)) {
			t.Changed = append(t.Changed, r.norm(file, t.Dir))
		}
		for _, m := range untracked().FindAllStringSubmatch(out, 100) {
			t.Changed = append(t.Changed, r.norm(strings.Trim(m[1], `"`), t.Dir))
		}
		t.Clean = !strings.Contains(out, "Untracked files:")
	case "branch", "rev-parse":
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if m := starred().FindStringSubmatch(out); m != nil && g.sub == "branch" {
			name = m[1] + m[2]
		} else if g.has("--show-current --abbrev-ref") {
			if name = lines[0]; g.at > 0 {
				name = lines[len(lines)-1]
			}
			if g.at > 0 && g.at < len(l.cmds)-1 || !bareName().MatchString(name) || name == "HEAD" {
				name = ""
			}
		} else if sure && g.has("-m -M") {
			name = cmp.Or(g.operand(1), g.operand(0))
		}
	case "checkout", "switch":
		if m := switched().FindStringSubmatch(out); m != nil {
			name = m[1]
		} else if sure {
			name = g.after("-b -B -c -C")
			if to := g.operand(0); name == "" && (g.sub == "switch" || g.has("-q --quiet") && g.operand(1) == "" && r.files.get(to) == nil && !g.has("--")) {
				name = to
			}
		}
		if name != "" && name != t.Branch {
			t.Push, t.Worked = "", true
		}
		if name == "-" { // another one
			name, t.Branch = "", ""
		}
	case "push":
		told := pushLine().FindStringSubmatch(out)
		if told != nil && t.Branch == "" && told[1] != "HEAD" {
			t.Branch = told[1] + told[2]
		}
		to := cmp.Or(g.operand(1), t.Branch, "HEAD")
		switch {
		case g.has("--dry-run -n --delete -d --tags") || to != "HEAD" && to != t.Branch:
		case gitError().MatchString(out) || refused().MatchString(out):
			t.Push = Ahead
		case sure || told != nil:
			t.Push = Pushed
			for i := range r.commits {
				r.commits[i].Pushed = r.commits[i].Pushed || r.commits[i].Branch == t.Branch
			}
		default:
			t.Push = "" // nobody knows
		}
	case "pull", "rebase":
		if (sure || strings.Contains(out, "Successfully rebased")) && !strings.Contains(out, "up to date") && (g.sub == "rebase" || g.has("--rebase -r")) {
			for i, c := range r.commits {
				if c.Branch == t.Branch && (g.sub == "rebase" || !c.Pushed) {
					r.commits[i].Hash = ""
				}
			}
		}
	case "reset":
		if sure {
			r.undone(t, g.operand(0))
		}
		fallthrough
	default:
		t.Changed, t.Clean = nil, false
	}
	t.Branch = cmp.Or(name, t.Branch)
}

// undone drops the commits that a reset to a revision took from the branch of a tree.
func (r *Reader) undone(t *Tree, to string) {
	n := 0
	if m := backBy().FindStringSubmatch(to); m != nil {
		n, _ = strconv.Atoi(m[1]) // digits
		n = max(n, len(m[2]), 1)
	} else if at := slices.IndexFunc(r.commits, func(c Commit) bool {
		return len(to) > 6 && (strings.HasPrefix(c.Hash, to) || c.Hash != "" && strings.HasPrefix(to, c.Hash))
	}); at >= 0 {
		for _, c := range r.commits[at+1:] {
			if c.Branch == t.Branch {
				n++
			}
		}
	} else if to != "" && !strings.HasPrefix(to, "HEAD") && r.files.get(to) == nil {
		n = len(r.commits)
	}
	upstream := to == "@{u}" || strings.HasPrefix(to, "origin/") && strings.HasSuffix(to, t.Branch)
	for ; n > 0; n-- {
		i := r.lastCommit(t.Branch)
		if i < 0 || upstream && r.commits[i].Pushed {
			return
		}
		r.commits = slices.Delete(slices.Clone(r.commits), i, i+1)
	}
}

// changedFiles returns the files that git status names as changed.
func changedFiles(out string) (files []string) {
	for _, m := range statusLine().FindAllStringSubmatch(out, -1) {
		if file := m[1] + m[2]; !strings.Contains(file, " -> ") {
			files = append(files, file)
		}
	}
	return files
}
