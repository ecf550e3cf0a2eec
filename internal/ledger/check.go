package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// runner are programs that only run another one: what follows counts.
var runner = text.Words(`sudo time env npx bunx nice command exec nohup xvfb-run timeout stdbuf`)

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
		case w == "timeout" && len(words) > 1, len(words) > 2 && runPair[w+" "+words[1]]:
			words = words[2:]
		case runner()[w]:
			words = words[1:]
			for len(words) > 0 && strings.HasPrefix(words[0], "-") {
				words = words[1:]
			}
		default:
			if k := strings.LastIndexByte(w, '/'); k < len(w)-1 {
				words[0] = w[k+1:]
			}
			return words
		}
	}
	return nil
}

var runPair = map[string]bool{
	"uv run": true, "poetry run": true, "pipenv run": true, "hatch run": true,
	"bundle exec": true, "pnpm exec": true, "yarn exec": true, "npm exec": true,
}

// kinds sorts programs, or the goals of a build tool, into checks.
type kinds []struct {
	names func() map[string]bool
	check Check
}

func (k kinds) of(name string) Check {
	for _, kind := range k {
		if kind.names()[name] {
			return kind.check
		}
	}
	return ""
}

var (
	// checkers are checks whatever their arguments.
	checkers = kinds{
		{text.Words(`pytest unittest vitest jest mocha ava tap ctest rspec phpunit tox nox playwright tape`), CheckTest},
		{text.Words(`tsc tsgo webpack esbuild rollup ninja javac gcc g++ clang rustc`), CheckBuild},
		{text.Words(`golangci-lint eslint ruff flake8 mypy pyright pylint shellcheck staticcheck rubocop biome tslint
			stylelint clippy-driver gofmt gofumpt black prettier`), CheckLint},
	}
	goals = kinds{
		{text.Words(`test check verify nextest`), CheckTest},
		{text.Words(`build package compile assemble install`), CheckBuild},
		{text.Words(`lint format vet fmt clippy`), CheckLint},
	}
	builders = text.Words(`go cargo mvn mvnw gradle gradlew dotnet mix swift zig sbt bazel vite next`)
	taskers  = text.Words(`npm pnpm yarn bun deno make just task rake gmake mise nx turbo`)
)

// checkOf says which kind of check a program with its arguments is.
func checkOf(words []string) Check {
	if len(words) == 0 {
		return ""
	}
	name, args := words[0], words[1:]
	first := firstArg(args)
	switch {
	case name == "cargo" && first == "check", name == "cmake" && len(args) > 0 && args[0] == "--build":
		return CheckBuild
	case builders()[name]:
		return goals.of(first)
	case taskers()[name]:
		return taskCheck(name, args)
	case len(args) > 1 && args[0] == "-m" && (name == "py" || strings.HasPrefix(name, "python")):
		return checkOf(args[1:])
	case interpreters()[name]:
		if len(args) > 0 && strings.HasPrefix(args[0], "--test") { // of node
			return CheckTest
		}
		return scriptCheck(first)
	}
	return cmp.Or(checkers.of(name), scriptCheck(name))
}

var interpreters = text.Words(`python python3 py node tsx sh bash`)

func firstArg(args []string) string {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// taskCheck classifies the target of a task runner by what it is called.
func taskCheck(tool string, args []string) Check {
	name := firstArg(args)
	maker := tool == "make" || tool == "gmake"
	if rest := args[slices.Index(args, name)+1:]; !maker && len(rest) > 0 && (name == "run" || name == "task") {
		name = firstArg(rest)
	}
	switch {
	case maker && (name == "" || strings.Contains(name, "=")):
		return CheckBuild
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
	if testScript().MatchString(name[strings.LastIndexByte(name, '/')+1:]) {
		return CheckTest
	}
	return ""
}

var testScript = text.Pattern(`^(?:run[-_]?)?tests?(?:[-_]?runner|[-_]?all)?(?:\.(?:sh|py|js|ts|rb))?$|^runtests\.py$`)

// filters are programs that only show a part of what another printed.
var filters = text.Words(`tail head grep rg sed awk cat tee wc sort uniq cut less echo tr true jq`)

// lookups are programs whose failure is an answer: there is no such thing.
var lookups = text.Words(`grep rg egrep fgrep ls cat find test [ which diff cmp head tail stat file wc tree fd ag type
	command pgrep pkill kill curl wget sleep timeout tmux ps lsof nc ping`)

// line is what is known of a command line.
type line struct {
	script   script
	text     string // the command line that stands for it
	program  string // what runs, in one or two words
	check    Check
	checks   []selection // what its checks look at
	dir      string      // where they run, "" for the working directory
	unsure   bool        // the exit status is not that of the check
	lookup   bool        // failing is an answer
	umbrella bool        // a task runner is asked for all its checks
}

// readLine finds out what a command line is.
func readLine(command string, sc script, p place, dir string) line {
	l := line{script: sc, text: strings.TrimSpace(command), lookup: true}
	if dir != "" {
		l.dir = p.norm(dir, "")
	}
	first, last := -1, -1
	for i, c := range sc.cmds {
		words := program(c)
		if len(words) == 0 {
			continue
		}
		if words[0] == "cd" && len(words) > 1 && first < 0 && !c.words[len(c.words)-1].dynamic {
			l.dir = p.norm(words[1], l.dir)
			continue
		}
		if l.program == "" || !filters()[words[0]] && filters()[l.program] {
			l.program = programName(words)
		}
		l.lookup = l.lookup && (lookups()[words[0]] || filters()[words[0]])
		check := checkOf(words)
		if check == "" {
			continue
		}
		if last = i; first < 0 {
			first = i
			l.check, l.program = check, programName(words)
			if l.dir == "." {
				l.dir = ""
			}
		}
		l.checks = append(l.checks, selectionOf(words, l.dir))
		l.umbrella = l.check == CheckLint && taskers()[words[0]] && len(words) <= 3
	}
	if first < 0 {
		return l
	}
	l.lookup = false
	l.unsure = sc.control || last < len(sc.cmds)-1 && sc.cmds[last].next != "&&"
	l.text = strings.TrimSpace(command[sc.cmds[first].from:sc.cmds[last].to])
	l.text = strings.TrimSpace(strings.TrimSuffix(l.text, "2>&1"))
	if l.dir != "" {
		l.text = "cd " + l.dir + " && " + l.text
	}
	return l
}

// subcommands are programs whose first argument says what they do.
var subcommands = text.Words(`git go mise npm pnpm yarn bun cargo docker kubectl gh make uv pip apt-get brew deno dotnet`)

// programName names what runs, in one or two words.
func programName(words []string) string {
	if a := firstArg(words[1:]); a != "" && subcommands()[words[0]] {
		return words[0] + " " + a
	}
	return words[0]
}

// covers reports whether a line whose checks pass retires a failed one: each of
// the failed checks passed, or one that checks more.
func (l line) covers(failed line) bool {
	if len(failed.checks) == 0 {
		return false
	}
	if l.check != CheckTest && failed.check != CheckTest && l.umbrella && within(failed.dir, l.dir) {
		return true
	}
	return l.check == failed.check && !slices.ContainsFunc(failed.checks, func(want selection) bool {
		return !slices.ContainsFunc(l.checks, func(s selection) bool { return s.covers(want) })
	})
}

// sameTool reports whether both lines run the same check, of whatever.
func (l line) sameTool(failed line) bool {
	return slices.ContainsFunc(l.checks, func(s selection) bool {
		return slices.ContainsFunc(failed.checks, func(f selection) bool { return s.tool == f.tool })
	})
}

// runs reports whether one of the checks names what failed as something that it runs.
func (l line) runs(failed string) bool {
	return slices.ContainsFunc(l.checks, func(s selection) bool { return s.runs(failed) })
}
