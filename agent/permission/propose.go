package permission

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clew-dev/clew/agent/tool"
)

// Propose returns the rules that, added together, allow a call that is asked, and
// calls like it: for the user to choose. There are none where the call needs no rule,
// where rules say to ask or deny, or where no rule could allow it.
func (g *Guard) Propose(name string, e tool.Effect) []string {
	q := g.about(name, e)
	if d := q.decide(); d.Answer != Ask || d.Rule != "" {
		return nil
	}
	var rules []string
	switch {
	case e.Kind == tool.Run:
		rules = q.proposeCommands()
	case len(e.Paths) > 0:
		rules = q.proposePlaces()
	default:
		rules = []string{name}
	}
	// What is proposed must do what it says.
	for _, text := range rules {
		r, err := compile(text, allowList, g.where)
		if err != nil {
			return nil
		}
		q.added = append(slices.Clip(q.added), r)
	}
	if q.decide().Answer != Allow {
		return nil
	}
	return rules
}

func (q *question) proposePlaces() []string {
	var rules []string
	for i, p := range q.paths {
		if at := q.eachAllow(func(r *rule) bool { return r.at(q.name, p, false) }); at != nil {
			continue
		}
		if text := q.name + "(" + q.placeFor(q.e.Paths[i]) + ")"; !slices.Contains(rules, text) {
			rules = append(rules, text)
		}
	}
	return rules
}

// placeFor returns the folder of a file as a pattern, or the file alone where its
// folder holds too much.
func (q *question) placeFor(path string) string {
	path = filepath.Clean(path)
	folder := path
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		folder = filepath.Dir(path)
	}
	if q.holdsTooMuch(names(folder)) {
		return q.written(path)
	}
	return q.written(folder) + "/**"
}

// holdsTooMuch reports whether a folder is the project, the home folder or one above
// them, the root, or a folder in the root.
func (q *question) holdsTooMuch(folder []string) bool {
	if inside(folder, names(q.where.dir)) || q.where.home != "" && inside(folder, names(q.where.home)) {
		return true
	}
	return q.isOutside(folder) && len(folder) < 2
}

// written writes a path as a pattern.
func (q *question) written(path string) string {
	at, from := names(path), ""
	switch dir, home := names(q.where.dir), names(q.where.home); {
	case inside(dir, at) && len(at) > len(dir):
		at = at[len(dir):]
	case q.where.home != "" && inside(home, at):
		at, from = at[len(home):], "~/"
	default:
		from = filepath.ToSlash(filepath.VolumeName(path)) + "/"
		at = at[len(names(filepath.VolumeName(path))):]
	}
	if from == "" && strings.HasPrefix(at[0], "~") {
		from = "./"
	}
	s := from + strings.Join(at, "/")
	return strings.Map(func(r rune) rune {
		if r == '*' || r == '{' || r == '\uFFFD' || isBreak(r) && r != ' ' {
			return '?' // these can't be written as they are
		}
		return r
	}, s)
}

func (q *question) proposeCommands() []string {
	found, err := strictly(q.e.Command)
	if err != nil || q.odd && !bland(q.e.Command) {
		return q.proposeLine()
	}
	var rules []string
	for _, c := range found {
		if q.allowing(c) != nil {
			continue
		}
		pattern, ok := likeIt(c)
		if !ok && strings.ContainsFunc(c.text, func(r rune) bool { return r == '*' || isBreak(r) && r != ' ' }) {
			return q.proposeLine() // unknown is one of these
		}
		if !ok {
			pattern = c.text
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
	if strings.Contains(line, "*") {
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
	case len(words) > 1 && verbs[words[0]+" "+words[1]]:
		return words[0] + " " + words[1] + " *", true
	}
	return "", false
}

var (
	// lookers are commands that look at what their arguments name.
	lookers = set(`ls cat head tail wc grep pwd echo which stat file cmp cut tr basename dirname realpath readlink
		du df nl uname whoami id true false sleep cd md5sum sha1sum sha256sum jq gofmt pytest ruff mypy`)
	// verbs are commands whose second word says what they do.
	verbs = func() map[string]bool {
		m := map[string]bool{}
		for name, second := range map[string]string{
			"go":     "test build vet list doc version fmt",
			"git":    "status diff log show add commit branch blame rev-parse ls-files",
			"npm":    "test ls view outdated",
			"cargo":  "test build check clippy fmt tree",
			"make":   "test build check lint",
			"docker": "ps images logs inspect",
			"pip":    "list show",
		} {
			for verb := range strings.FieldsSeq(second) {
				m[name+" "+verb] = true
			}
		}
		return m
	}()
)
