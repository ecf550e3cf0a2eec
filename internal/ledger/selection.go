package ledger

import (
	"path"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// selection says what a check looks at: the same tool with other flags, from
// another directory or by another task runner looks at the same.
type selection struct {
	tool    string   // what checks, in one spelling: "go test", "pytest", "script lint"
	dir     string   // where it runs, "" for the working directory
	targets []string // files, directories, packages; none is everything in dir
	filters []string // flag=value of flags that select tests by name, sorted
}

// filterFlags select tests by name.
var filterFlags = map[string]string{
	"-run": "run", "-skip": "skip", "-k": "k", "-t": "t", "--testNamePattern": "t", "--test-name-pattern": "t", "-m": "m",
	"--grep": "grep", "-g": "grep", "--filter": "filter", "--gtest_filter": "filter", "-f": "filter", "--tests": "tests",
	"-Dtest": "tests", "--test": "test", "-R": "regex", "--spec": "spec", "-e": "example", "--example": "example",
	"--deselect": "deselect", "-p": "package", "--package": "package", "--lib": "lib", "--bin": "bin",
	"--project": "project", "--workspace": "workspace", "-w": "workspace",
}

// valueFlags take the next word, which says nothing about what is checked.
var valueFlags = text.Words(`-count -timeout -tags -bench -benchtime -parallel -cpu -coverprofile -j -n --maxfail -o --tb -c
	--config --reporter --timeout --jobs --features --target --profile --max-warnings --ext --format --workers --color -C
	--rootdir --project-dir --prefix`)

// selectionOf reads a check's words.
func selectionOf(words []string, dir string) selection {
	if len(words) > 2 && strings.HasPrefix(words[0], "python") && words[1] == "-m" {
		words = words[2:]
	}
	s := selection{tool: words[0], dir: dir}
	args := words[1:]
	switch words[0] {
	case "npm", "pnpm", "yarn", "bun":
		if len(args) > 1 && (args[0] == "run" || args[0] == "run-script") {
			args = args[1:]
		}
		if len(args) > 0 {
			s.tool, args = "script "+args[0], args[1:]
		}
		if s.tool == "script t" {
			s.tool = "script test"
		}
	case "py.test":
		s.tool = "pytest"
	default:
		if first := firstArg(args); first != "" && interpreters()[words[0]] {
			s.tool, args = first, args[slices.Index(args, first)+1:] // the script is what checks
		} else if (builders()[s.tool] || taskers()[s.tool]) && len(args) > 0 && args[0] == first {
			s.tool, args = s.tool+" "+first, args[1:] // the goal says what it does
		}
	}
	s.args(args)
	return s
}

func (s *selection) args(args []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			continue
		}
		if !strings.HasPrefix(a, "-") {
			s.targets = append(s.targets, s.in(strings.TrimSuffix(a, "/")))
			continue
		}
		flag, value, given := strings.Cut(a, "=")
		name, filters := filterFlags[flag]
		switch {
		case filters && s.tool == "go test" && name != "run" && name != "skip", filters && s.tool == "cargo check",
			a == "-m" && strings.HasPrefix(s.tool, "go"):
			// the letter means another thing here
		case filters:
			if !given && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				value = args[i]
			}
			s.filters = append(s.filters, name+"="+value)
		case valueFlags()[flag] && !given && i+1 < len(args):
			i++
		}
	}
	slices.Sort(s.filters)
}

// in returns a target as seen from the working directory.
func (s *selection) in(target string) string {
	if s.dir == "" || absolute(target) {
		return target
	}
	file, rest, nested := strings.Cut(target, "::")
	file, all := strings.CutSuffix(file, "/...")
	if file = path.Join(s.dir, file); all {
		file += "/..."
	}
	if nested {
		file += "::" + rest
	}
	return file
}

// covers reports whether a selection looks at all that another does.
func (s selection) covers(other selection) bool {
	if s.tool != other.tool {
		return false
	}
	if slices.ContainsFunc(s.filters, func(f string) bool { return !slices.Contains(other.filters, f) }) {
		return false
	}
	mine, theirs := s.scope(), other.scope()
	return !slices.ContainsFunc(theirs, func(want string) bool {
		return !slices.ContainsFunc(mine, func(have string) bool { return holds(have, want) })
	})
}

// scope returns the targets, and for none the directory and all below it; a go
// command looks at the one package of its directory.
func (s selection) scope() []string {
	if len(s.targets) > 0 {
		return s.targets
	}
	dir := s.dir
	if dir == "" {
		dir = "."
	}
	if !strings.HasPrefix(s.tool, "go ") {
		dir += "/..."
	}
	return []string{dir}
}

// holds reports whether a target is another or holds it: a directory its files, a
// file its tests, a pattern of packages those below it.
func holds(have, want string) bool {
	have, want = strings.TrimPrefix(have, "./"), strings.TrimPrefix(want, "./")
	if have == want || have == "..." {
		return true
	}
	if base, all := strings.CutSuffix(have, "/..."); all {
		return base == "." || within(want, base)
	}
	return strings.HasPrefix(want, have+"::") || strings.HasPrefix(want, have+"/") && !strings.HasSuffix(want, "/...")
}

// within reports whether a path is dir or below it. "" is the working directory.
func within(path, dir string) bool {
	return dir == "" || path == dir || strings.HasPrefix(path, dir+"/")
}

// runs reports whether a check that names what it runs runs a test, file or package that
// failed.
func (s selection) runs(failed string) bool {
	if len(s.filters)+len(s.targets) == 0 {
		return false
	}
	file, test, _ := strings.Cut(failed, "::")
	if test == "" {
		test = file
	}
	for _, f := range s.filters {
		_, value, _ := strings.Cut(f, "=")
		found := false
		for one := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(`|'"^$() `, r) }) {
			found = found || strings.Contains(test, one)
		}
		if !found {
			return false
		}
	}
	if len(s.targets) == 0 || file == "" {
		return len(s.filters) > 0
	}
	return slices.ContainsFunc(s.targets, func(t string) bool {
		t = strings.TrimSuffix(strings.TrimPrefix(t, "./"), "/...")
		return t == failed || strings.HasPrefix(failed, t+"::") || t != "" && within(file, t) ||
			strings.HasSuffix(file, "/"+t) || strings.Contains(file, "/"+t+"/")
	})
}
