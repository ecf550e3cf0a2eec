package permission

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/text"
)

// Propose returns rules that allow a call that is asked: for the user to choose. Those of
// exact allow it alone, those of like also calls that do no more than it: all files of the
// folder, the command with other arguments. Each list is empty where there are none, or
// where they are those of exact; both are where the call needs no rule, where rules say
// to ask or deny, or where no rule could allow it.
func (g *Guard) Propose(name string, e tool.Effect) (exact, like []string) {
	q := g.about(name, e)
	if d := q.decide(); d.Answer != Ask || d.Rule != "" {
		return nil, nil
	}
	switch {
	case e.Kind == tool.Run:
		exact, like = q.proposeLine(), q.proposeCommands()
	case len(e.Paths) > 0:
		exact = q.proposePlaces(func(path string) string { return q.written(filepath.Clean(path)) })
		like = q.proposePlaces(q.placeFor)
	default:
		like = []string{name}
	}
	exact, like = q.working(exact), q.working(like)
	if slices.Equal(exact, like) {
		like = nil
	}
	return exact, like
}

// working returns rules if, added together, they allow the call.
func (q *question) working(rules []string) []string {
	more := *q
	for _, text := range rules {
		r, err := compile(text, Allow, q.where)
		if err != nil {
			return nil
		}
		more.added = append(slices.Clip(more.added), r)
	}
	if more.decide().Answer != Allow {
		return nil
	}
	return rules
}

func (q *question) proposePlaces(pattern func(path string) string) []string {
	var rules []string
	for i, p := range q.paths {
		if at := q.eachAllow(func(r *rule) bool { return r.at(q.name, p) && (r.exact() || !Secret(q.within(p))) }); at != nil {
			continue
		}
		if text := q.name + "(" + pattern(q.e.Paths[i]) + ")"; !slices.Contains(rules, text) {
			rules = append(rules, text)
		}
	}
	return rules
}

// placeFor returns the folder of a file as a pattern, or the file alone where its
// folder holds too much.
func (q *question) placeFor(file string) string {
	file = filepath.Clean(file)
	folder := file
	if info, err := os.Stat(file); err != nil || !info.IsDir() {
		folder = filepath.Dir(file)
	}
	if at := q.within(slashed(file)); q.holdsTooMuch(slashed(folder)) || runsByItself(at) || Secret(at) {
		return q.written(file)
	}
	return q.written(folder) + "/**"
}

// holdsTooMuch reports whether a folder is the project, the home folder or one above
// them, the root, or a folder in the root.
func (q *question) holdsTooMuch(folder string) bool {
	if inside(folder, slashed(q.where.dir)) || q.where.home != "" && inside(folder, slashed(q.where.home)) {
		return true
	}
	return q.isOutside(folder) && strings.Count(folder, "/") < 2
}

// written writes a path as a pattern.
func (q *question) written(file string) string {
	s := filepath.ToSlash(file)
	switch at, dir, home := slashed(file), slashed(q.where.dir), slashed(q.where.home); {
	case inside(dir, at) && at != dir:
		if s = at[len(dir)+1:]; strings.HasPrefix(s, "~") {
			s = "./" + s
		}
	case q.where.home != "" && inside(home, at):
		s = "~/" + strings.TrimPrefix(at[len(home):], "/")
	}
	return strings.Map(func(r rune) rune {
		if r == '*' || r == '{' || r == '\uFFFD' || isBreak(r) && r != ' ' {
			return '?' // these can't be written as they are
		}
		return r
	}, s)
}

// proposeCommands proposes a rule for each command of a line that none allows. There are
// none where one of them is to run what it is given, which the line alone can say.
func (q *question) proposeCommands() []string {
	found, err := strictly(q.e.Command)
	if err != nil || q.odd && !bland(q.e.Command) {
		return nil
	}
	q.enter(found)
	var rules []string
	for _, c := range found {
		if r, _ := q.allowing(c); r != nil {
			continue
		}
		pattern, ok := likeIt(c)
		if ok {
			ok = q.risk(c, len(pattern)-1) == ""
		}
		if !ok {
			pattern = c.text
			name := path.Base(c.name)
			runs := runners[name] || wrappers[name] || shells[name]
			if strings.ContainsFunc(pattern, func(r rune) bool { return r == '*' || isBreak(r) && r != ' ' }) || len(found) > 1 && runs {
				return nil // unknown is one of these
			}
		}
		if text := q.name + "(" + pattern + ")"; !slices.Contains(rules, text) {
			rules = append(rules, text)
		}
	}
	return rules
}

// proposeLine proposes the line as it is.
func (q *question) proposeLine() []string {
	line := strings.TrimSpace(q.e.Command)
	if found, err := strictly(line); err == nil && len(found) == 1 && !strings.ContainsRune(found[0].text, unknown) && (!q.odd || bland(line)) {
		line = found[0].text
	}
	if strings.Contains(line, "*") || strings.ContainsFunc(line, func(r rune) bool { return isBreak(r) && r != ' ' }) {
		return nil
	}
	return []string{q.name + "(" + line + ")"}
}

// likeIt returns a pattern for commands like one, where the other arguments say what
// it is about rather than what it does.
func likeIt(c command) (string, bool) {
	words := strings.Fields(c.text)
	switch {
	case c.prefix > 0 || len(words) == 0:
	case lookers[words[0]]:
		return words[0] + " *", true
	case len(words) > 1 && verbs[words[0]][words[1]]:
		return words[0] + " " + words[1] + " *", true
	}
	return "", false
}

var (
	// lookers are commands that look at what their arguments name.
	lookers = text.Words(`ls cat head tail wc grep pwd echo which stat file cmp cut tr basename dirname realpath readlink
		du df nl uname whoami id true false sleep cd md5sum sha1sum sha256sum gofmt pytest`)()
	// verbs are the second words of commands that say what these do.
	verbs = map[string]map[string]bool{
		"go":     text.Words("test build vet list doc version fmt")(),
		"git":    text.Words("status diff log show add commit branch blame rev-parse ls-files")(),
		"npm":    text.Words("test ls view outdated")(),
		"cargo":  text.Words("test build check clippy fmt tree")(),
		"docker": text.Words("ps images logs")(),
		"pip":    text.Words("list show")(),
	}
	// runners run what their input or their arguments say, as wrappers and shells do.
	runners = text.Words("eval trap source . python python3 pypy node bun deno perl ruby php awk sed psql mysql sqlite3 ssh make tee")()
)
