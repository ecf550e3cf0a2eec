package ledger

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// runner are programs that only run another one: what follows counts.
var runner = map[string]bool{
	"sudo": true, "time": true, "env": true, "npx": true, "bunx": true, "nice": true, "command": true, "exec": true,
	"nohup": true, "xvfb-run": true, "timeout": true, "stdbuf": true,
}

// program returns the words of a command from the program on that does the
// work: without assignments and programs that only run another.
func program(c simple) []string {
	words := make([]string, 0, len(c.words))
	for _, w := range c.words {
		words = append(words, w.text)
	}
	for len(words) > 0 {
		w := words[0]
		switch {
		case strings.Contains(w, "=") && !strings.HasPrefix(w, "-") && !strings.Contains(w, "/"):
			words = words[1:]
		case w == "timeout" && len(words) > 1:
			words = words[2:]
		case runner[w]:
			words = words[1:]
			for len(words) > 0 && strings.HasPrefix(words[0], "-") {
				words = words[1:]
			}
		case len(words) > 2 && (w == "uv" || w == "poetry" || w == "pipenv" || w == "hatch") && words[1] == "run",
			len(words) > 2 && (w == "bundle" || w == "pnpm" || w == "yarn" || w == "npm") && words[1] == "exec":
			words = words[2:]
		default:
			if k := strings.LastIndexByte(w, '/'); k >= 0 && k < len(w)-1 {
				words[0] = w[k+1:]
			}
			return words
		}
	}
	return nil
}

// checkOf says which kind of check a program with its arguments is.
func checkOf(words []string) Check {
	if len(words) == 0 {
		return ""
	}
	args := words[1:]
	first := firstArg(args)
	switch words[0] {
	case "go":
		return byName(first, "test", "build install", "vet fmt")
	case "cargo":
		return byName(first, "test nextest", "build check", "clippy fmt")
	case "python", "python3", "py":
		if len(args) > 1 && args[0] == "-m" {
			return checkOf(args[1:])
		}
		return scriptCheck(first)
	case "npm", "pnpm", "yarn", "bun", "deno", "make", "just", "task", "rake", "gmake", "mise", "nx", "turbo":
		return target(words[0], args)
	case "pytest", "unittest", "vitest", "jest", "mocha", "ava", "tap", "ctest", "rspec", "phpunit", "tox", "nox", "playwright", "tape":
		return CheckTest
	case "tsc", "tsgo", "webpack", "esbuild", "rollup", "ninja", "javac", "gcc", "g++", "clang", "rustc":
		return CheckBuild
	case "golangci-lint", "eslint", "ruff", "flake8", "mypy", "pyright", "pylint", "shellcheck", "staticcheck", "rubocop",
		"biome", "tslint", "stylelint", "clippy-driver", "gofmt", "gofumpt", "black", "prettier":
		return CheckLint
	case "mvn", "mvnw", "gradle", "gradlew", "dotnet", "mix", "swift", "zig", "sbt", "bazel", "vite", "next":
		return byName(first, "test check verify", "build package compile assemble install", "lint format")
	case "cmake":
		if first == "" && len(args) > 0 && args[0] == "--build" {
			return CheckBuild
		}
	case "node", "tsx":
		if len(args) > 0 && strings.HasPrefix(args[0], "--test") {
			return CheckTest
		}
		return scriptCheck(first)
	case "sh", "bash":
		return scriptCheck(first)
	default:
		return scriptCheck(words[0])
	}
	return ""
}

func firstArg(args []string) string {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

func byName(name, tests, builds, lints string) Check {
	for _, g := range []struct {
		names string
		check Check
	}{{tests, CheckTest}, {builds, CheckBuild}, {lints, CheckLint}} {
		for n := range strings.FieldsSeq(g.names) {
			if n == name {
				return g.check
			}
		}
	}
	return ""
}

// target classifies the target of a task runner by what it is called.
func target(tool string, args []string) Check {
	name := firstArg(args)
	switch {
	case tool == "make" || tool == "gmake":
		if name == "" || strings.Contains(name, "=") {
			return CheckBuild
		}
	case name == "run" || name == "task":
		if rest := args[slices.Index(args, name)+1:]; len(rest) > 0 {
			name = firstArg(rest)
		}
	}
	switch {
	case strings.Contains(name, "test") || name == "t" || strings.Contains(name, "spec"):
		return CheckTest
	case strings.Contains(name, "lint") || strings.Contains(name, "check") || strings.Contains(name, "type") || name == "vet":
		return CheckLint
	case strings.HasPrefix(name, "build") || name == "all" || name == "compile":
		return CheckBuild
	}
	return ""
}

// scriptCheck recognizes test scripts by their name.
func scriptCheck(name string) Check {
	name = name[strings.LastIndexByte(name, '/')+1:]
	if testScript().MatchString(name) {
		return CheckTest
	}
	return ""
}

var testScript = text.Pattern(`^(?:run[-_]?)?tests?(?:[-_]?runner|[-_]?all)?(?:\.(?:sh|py|js|ts|rb))?$|^runtests\.py$`)

// failMark matches the lines in which checks tell that they failed. It is
// needed where the exit status is that of another command of the line.
var failMark = text.Pattern(`(?m)^\s*(?:--- FAIL|FAIL\b|FAILED\b|not ok \d|npm ERR!|npm error|make(?:\[\d+\])?: \*\*\*|error(?:\[E\d+\])?:|panic:|E   )|error TS\d+:|\b[1-9]\d* (?:tests? )?(?:failed|failures?|failing|errors?)\b|\bBUILD FAILED\b|ELIFECYCLE`)

// filters are programs that only show a part of what another printed.
var filters = map[string]bool{
	"tail": true, "head": true, "grep": true, "rg": true, "sed": true, "awk": true, "cat": true, "tee": true,
	"wc": true, "sort": true, "uniq": true, "cut": true, "less": true, "echo": true, "tr": true, "true": true, "jq": true,
}

// lookups are programs whose failure is an answer: there is no such thing.
var lookups = map[string]bool{
	"grep": true, "rg": true, "egrep": true, "fgrep": true, "ls": true, "cat": true, "find": true, "test": true, "[": true,
	"which": true, "diff": true, "cmp": true, "head": true, "tail": true, "stat": true, "file": true, "wc": true,
	"tree": true, "fd": true, "ag": true, "type": true, "command": true, "pgrep": true, "pkill": true, "kill": true,
	"curl": true, "wget": true, "sleep": true, "timeout": true, "tmux": true, "ps": true, "lsof": true, "nc": true, "ping": true,
}

// line is what is known of a command line.
type line struct {
	text    string // the command line that stands for it
	program string // what runs, in one or two words
	check   Check
	parts   [][]string // words of each check, to see what another covers
	dir     string     // where the checks run, "" for the working directory
	unsure  bool       // the exit status is not that of the check
	lookup  bool       // failing is an answer
}

// readLine finds out what a command line is.
func readLine(command string, sc script, p place, dir string) line {
	l := line{text: strings.TrimSpace(command), lookup: true}
	at := ""
	if dir != "" {
		at = p.norm(dir, "")
	}
	first, last := -1, -1
	for i, c := range sc.cmds {
		words := program(c)
		if len(words) == 0 {
			continue
		}
		if words[0] == "cd" && len(words) > 1 && first < 0 && !c.words[len(c.words)-1].dynamic {
			at = p.norm(words[1], at)
			continue
		}
		if l.program == "" || !filters[words[0]] && filters[l.program] {
			l.program = programName(words)
		}
		if !lookups[words[0]] && !filters[words[0]] {
			l.lookup = false
		}
		if check := checkOf(words); check != "" {
			if first < 0 {
				first = i
				l.check, l.program = check, programName(words)
			}
			l.parts = append(l.parts, words)
			last = i
		}
	}
	if first >= 0 {
		l.unsure = sc.control || last < len(sc.cmds)-1 && sc.cmds[last].next != "&&"
		l.text = strings.TrimSpace(command[sc.cmds[first].from:sc.cmds[last].to])
		l.text = strings.TrimSpace(strings.TrimSuffix(l.text, "2>&1"))
		if at != "" && at != "." {
			l.dir = at
			l.text = "cd " + at + " && " + l.text
			for i, words := range l.parts {
				l.parts[i] = append([]string{"cd", at}, words...)
			}
		}
		l.lookup = false
	}
	return l
}

// programName names what runs: the program, and its first argument where that
// says what the program does.
func programName(words []string) string {
	switch words[0] {
	case "git", "go", "mise", "npm", "pnpm", "yarn", "bun", "cargo", "docker", "kubectl", "gh", "make", "uv", "pip", "apt-get", "brew", "deno", "dotnet":
		if a := firstArg(words[1:]); a != "" {
			return words[0] + " " + a
		}
	}
	return words[0]
}

// covers reports whether a line whose checks pass settles a failed one: each of
// the failed checks passed, or one that checks more.
func (l line) covers(failed line) bool {
	if len(failed.parts) == 0 {
		return false
	}
	if l.check != CheckTest && failed.check != CheckTest && l.umbrella() && within(failed.dir, l.dir) {
		return true
	}
	if l.check != failed.check {
		return false
	}
	for _, f := range failed.parts {
		want := selectionOf(f)
		if !slices.ContainsFunc(l.parts, func(p []string) bool { return selectionOf(p).covers(want) }) {
			return false
		}
	}
	return true
}

// sameTool reports whether both lines run the same check, of whatever.
func (l line) sameTool(failed line) bool {
	return slices.ContainsFunc(l.parts, func(p []string) bool {
		return slices.ContainsFunc(failed.parts, func(f []string) bool { return selectionOf(p).tool == selectionOf(f).tool })
	})
}

// umbrella reports whether the line asks a task runner for all its checks.
func (l line) umbrella() bool {
	p := l.parts[len(l.parts)-1]
	if l.dir != "" {
		p = p[2:]
	}
	switch p[0] {
	case "npm", "pnpm", "yarn", "bun", "make", "just", "task", "mise":
		return l.check == CheckLint && len(p) <= 3
	}
	return false
}

// within reports whether dir is the other directory or below it.
func within(dir, other string) bool {
	return other == "" || dir == other || strings.HasPrefix(dir, other+"/")
}
