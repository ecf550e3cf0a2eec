package ledger

import (
	"path"
	"slices"
	"strings"
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
	"-run": "run", "-k": "k", "-t": "t", "-m": "m", "--grep": "grep", "-g": "grep", "--filter": "filter", "--testNamePattern": "t",
	"--test-name-pattern": "t", "--tests": "tests", "-Dtest": "tests", "--gtest_filter": "filter", "--test": "test", "-R": "regex",
	"--spec": "spec", "-e": "example", "--example": "example", "-f": "filter", "-skip": "skip", "--deselect": "deselect",
	"-p": "package", "--package": "package", "--lib": "lib", "--bin": "bin", "--project": "project", "--workspace": "workspace", "-w": "workspace",
}

// valueFlags take the next word, which says nothing about what is checked.
var valueFlags = map[string]bool{
	"-count": true, "-timeout": true, "-tags": true, "-bench": true, "-benchtime": true, "-parallel": true, "-cpu": true, "-coverprofile": true,
	"-j": true, "-n": true, "--maxfail": true, "-o": true, "--tb": true, "-c": true, "--config": true, "--reporter": true, "--timeout": true,
	"--jobs": true, "--features": true, "--target": true, "--profile": true, "--max-warnings": true, "--ext": true, "--format": true,
	"--workers": true, "--color": true, "-C": true, "--rootdir": true, "--project-dir": true, "--prefix": true,
}

// selectionOf reads a check's words, which may begin with "cd" and a directory.
func selectionOf(words []string) selection {
	var s selection
	if len(words) > 2 && words[0] == "cd" {
		s.dir, words = words[1], words[2:]
	}
	if len(words) == 0 {
		return s
	}
	if len(words) > 2 && strings.HasPrefix(words[0], "python") && words[1] == "-m" {
		words = words[2:]
	}
	s.tool = words[0]
	args := words[1:]
	switch words[0] {
	case "go", "cargo", "mvn", "mvnw", "gradle", "gradlew", "dotnet", "mix", "swift", "zig", "sbt", "bazel", "deno", "rake", "just", "make", "gmake", "mise", "nx", "turbo", "cmake":
		if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
			s.tool += " " + args[0]
			args = args[1:]
		}
	case "npm", "pnpm", "yarn", "bun":
		if len(args) > 0 && (args[0] == "run" || args[0] == "run-script") {
			args = args[1:]
		}
		if len(args) > 0 {
			name := args[0]
			if name == "t" {
				name = "test"
			}
			s.tool, args = "script "+name, args[1:]
		}
	case "py.test":
		s.tool = "pytest"
	case "python", "python3", "py", "node", "sh", "bash", "tsx":
		if k := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") }); k >= 0 {
			s.tool = args[k] // the script is what checks
			args = args[k+1:]
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
			if a = strings.TrimSuffix(a, "/"); a != "2>&1" {
				s.targets = append(s.targets, s.in(a))
			}
			continue
		}
		flag, value, given := strings.Cut(a, "=")
		name, filters := filterFlags[flag]
		switch {
		case filters && s.tool == "go test" && name != "run" && name != "skip", filters && s.tool == "cargo check", a == "-m" && strings.HasPrefix(s.tool, "go"):
			// the letter means another thing here
		case filters:
			if !given && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				value = args[i]
			}
			s.filters = append(s.filters, name+"="+value)
		case valueFlags[flag] && !given && i+1 < len(args) && !allDigits(strings.TrimPrefix(a, "-")):
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
	for _, f := range s.filters {
		if !slices.Contains(other.filters, f) {
			return false
		}
	}
	goTool := strings.HasPrefix(s.tool, "go ")
	mine, theirs := s.scope(goTool), other.scope(goTool)
	for _, want := range theirs {
		if !slices.ContainsFunc(mine, func(have string) bool { return holds(have, want) }) {
			return false
		}
	}
	return true
}

// scope returns the targets, and for none the directory and all below it; a go
// command looks at the one package of its directory.
func (s selection) scope(goTool bool) []string {
	if len(s.targets) > 0 {
		return s.targets
	}
	dir := s.dir
	if dir == "" {
		dir = "."
	}
	if goTool {
		return []string{dir}
	}
	return []string{dir + "/..."}
}

// holds reports whether a target is another or holds it: a directory its files, a
// file its tests, a pattern of packages those below it.
func holds(have, want string) bool {
	have, want = strings.TrimPrefix(have, "./"), strings.TrimPrefix(want, "./")
	if have == want || have == "..." {
		return true
	}
	base, all := strings.CutSuffix(have, "/...")
	if all {
		return base == "." || want == base || strings.HasPrefix(want, base+"/")
	}
	return strings.HasPrefix(want, have+"::") || strings.HasPrefix(want, have+"/") && !strings.HasSuffix(want, "/...")
}
