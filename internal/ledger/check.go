package ledger

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// line is what is known of a command line.
type line struct {
	script
	text     string // the command line that stands for it
	program  string // what runs, in one or two words
	check    Check
	checks   []selection // what its checks look at
	mends    []selection // what formatters put right in it
	dir      string      // where they run, "" for the working directory
	unsure   bool        // the exit status is not that of the check
	lookup   bool        // failing is an answer
	looks    bool        // it changes no file of the project
	tells    []string    // this and the next two: see Command
	changes  []string
	tree     string
	tests    bool // one of its checks is a test
	umbrella bool // a task runner is asked for all its checks
}

var (
	// runner are programs that only run another one: what follows counts.
	runner     = text.Words(`rtk sudo time env npx bunx nice command exec nohup xvfb-run timeout stdbuf`)
	assignment = text.Pattern(`^\w+=`)
	runPair    = text.Pattern(`^(?:timeout \S+|(?:uv|poetry|pipenv|hatch) run|(?:bundle|pnpm|yarn|npm) exec)$`)
	// filters are programs that only show a part of what another printed.
	filters = text.Words(`tail head grep rg sed awk cat tee wc sort uniq cut less echo tr true jq`)
	// gitLooks are subcommands of git that change nothing, hubLooks those of gh pr, gh run and the like.
	gitLooks = text.Words(`status diff log show branch remote rev-parse ls-files blame fetch grep describe`)
	hubLooks = text.Words(`view list checks diff status watch`)
	// lookups are programs whose failure is an answer: there is no such thing.
	lookups = text.Words(`egrep fgrep ls find test [ which diff cmp stat file tree fd ag type
		command pgrep pkill kill curl wget sleep timeout tmux ps lsof nc ping pwd date uname whoami du df printf
		realpath dirname basename nl more bat`)
	// subcommands are programs whose first argument says what they do.
	subcommands = text.Words(`git go mise npm pnpm yarn bun cargo docker kubectl gh make uv pip apt-get brew deno dotnet`)

	// checkers are checks whatever their arguments, goals those of builders.
	checkers = index(map[Check]string{
		CheckTest:  `pytest unittest vitest jest mocha ava tap ctest rspec phpunit tox nox playwright tape`,
		CheckBuild: `tsc tsgo webpack esbuild rollup ninja javac gcc g++ clang rustc`,
		CheckLint: `golangci-lint eslint ruff flake8 mypy pyright pylint shellcheck staticcheck rubocop biome tslint
			stylelint clippy-driver gofmt gofumpt black prettier`,
	})
	goals = index(map[Check]string{
		CheckTest:  `test check verify nextest --test`,
		CheckBuild: `build package compile assemble install --build`,
		CheckLint:  `lint format vet fmt clippy`,
	})
	builders = text.Words(`go cargo mvn mvnw gradle gradlew dotnet mix swift zig sbt bazel vite next cmake`)
	taskers  = text.Words(`npm pnpm yarn bun deno make just task rake gmake mise nx turbo`)
	// formatters put right what they find, unless they are told to report it.
	formatters   = text.Words(`gofmt gofumpt goimports black prettier fmt format`)
	formatChecks = text.Words(`-l -d -c --check --diff --list-different`)
	// dryFlags are flags with which nothing is checked.
	dryFlags     = text.Words(`--dry-run --just-print --collect-only --list --listTests --help --version -h`)
	interpreters = text.Words(`python python3 py node tsx sh bash`)
	testScript   = text.Pattern(`^(?:run[-_]?)?tests?(?:[-_]?runner|[-_]?all)?(?:\.(?:sh|py|js|ts|rb))?$|^runtests\.py$`)
)

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
		case assignment().MatchString(w):
			words = words[1:]
		case len(words) > 1 && runPair().MatchString(w+" "+words[1]):
			words = words[2:]
		case runner()[w]:
			words = words[1:]
			for len(words) > 0 && strings.HasPrefix(words[0], "-") {
				words = words[1:]
			}
		default:
			words[0] = cmp.Or(w[strings.LastIndexByte(w, '/')+1:], w)
			return words
		}
	}
	return nil
}

// toolOf returns what a program runs in one spelling, "go test", "pytest" or "script lint",
// and the arguments that are left.
func toolOf(words []string) (tool string, args []string) {
	if len(words) > 2 && words[1] == "-m" && (words[0] == "py" || strings.HasPrefix(words[0], "python")) {
		words = words[2:]
	}
	name, args := words[0], words[1:]
	tasks := taskers()[name]
	if !tasks && !builders()[name] && !interpreters()[name] {
		return name, args
	}
	k := goalAt(args)
	runs := k >= 0 && tasks && name != "make" && (args[k] == "run" || args[k] == "run-script" || args[k] == "task")
	if runs && goalAt(args[k+1:]) >= 0 {
		args = args[k+1:]
		k = goalAt(args)
	}
	if k < 0 || strings.ContainsAny(args[k], " \n") { // of sh -c it is a script
		return name, args
	}
	goal, rest := args[k], args[k+1:]
	switch {
	case interpreters()[name] && !strings.HasPrefix(goal, "--"):
		return goal, rest
	case strings.HasSuffix(name, "npm") || name == "yarn" || name == "bun":
		if name = "script"; goal == "t" {
			goal = "test"
		}
	}
	return name + " " + goal, slices.Concat(args[:k], rest)
}

func goalAt(args []string) int {
	return slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") || goals()[a] != "" })
}

// checkOf says which kind of check a tool is.
func checkOf(tool string) Check {
	name, goal, _ := strings.Cut(tool, " ")
	maker := name == "make" || name == "gmake"
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(goal, p) })
	}
	switch {
	case tool == "cargo check", maker && (goal == "" || has("=")):
		return CheckBuild
	case builders()[name], interpreters()[name]:
		return goals()[goal]
	case !taskers()[name] && name != "script":
		if name != "test" && testScript().MatchString(path.Base(name)) {
			return CheckTest
		}
		return checkers()[name]
	case has("test", "spec", "verify") || goal == "t":
		return CheckTest
	case has("lint", "check", "type") || goal == "vet":
		return CheckLint
	case strings.HasPrefix(goal, "build") || goal == "all" || goal == "compile":
		return CheckBuild
	}
	return ""
}

// readLine finds out what a command line is, and where each of its commands runs.
func readLine(command string, sc script, p place, dir string) line {
	l := line{script: sc, text: strings.TrimSpace(command), lookup: true, looks: true}
	dir = p.dir(dir, "")
	lost, first, last := false, -1, -1
	for i := range sc.cmds {
		c := &sc.cmds[i]
		c.dir, c.lost = dir, lost
		words := program(*c)
		if c.name() == "cd" {
			if c.lost = len(words) != 2 || c.words[1].dynamic; c.lost {
				lost = true
			} else {
				dir = p.dir(words[1], dir)
			}
			continue
		}
		if len(words) == 0 {
			continue
		}
		name := words[0]
		if k := goalAt(words[1:]); k >= 0 && subcommands()[name] {
			name += " " + words[1+k]
		}
		if l.program == "" || !filters()[words[0]] && filters()[l.program] {
			l.program = name
		}
		l.tell(words, p, dir, c.next == "|" && i+1 < len(sc.cmds) && searches()[sc.cmds[i+1].name()])
		reads := lookups()[words[0]] || filters()[words[0]]
		l.lookup = l.lookup && reads
		l.looks = l.looks && !writes(*c) && (reads || words[0] == "git" && len(words) > 1 && gitLooks()[words[1]] || words[0] == "gh" && len(words) > 2 && hubLooks()[words[2]])
		tool, args := toolOf(words)
		check := checkOf(tool)
		formats := slices.ContainsFunc(words[:min(len(words), 3)], func(w string) bool { return formatters()[w] }) && !hasWord(words, formatChecks())
		if check == "" || hasWord(args, dryFlags()) || words[0] == "make" && slices.Contains(args, "-n") {
			continue
		}
		looksAt := selections(tool, args, dir)
		if formats {
			l.mends = append(l.mends, looksAt...)
			continue
		}
		if last = i; first < 0 {
			first = i
			l.check, l.program, l.dir = check, name, dir
		}
		l.tests = l.tests || check == CheckTest
		l.checks = append(l.checks, looksAt...)
		l.umbrella = l.check == CheckLint && taskers()[words[0]] && len(words) <= 3
	}
	if first < 0 {
		return l
	}
	l.lookup, l.looks = false, false
	l.unsure = sc.control || last < len(sc.cmds)-1 && sc.cmds[last].next != "&&"
	l.text = strings.TrimSpace(command[sc.cmds[first].from:sc.cmds[last].to])
	l.text = strings.TrimSpace(strings.TrimSuffix(l.text, "2>&1"))
	if l.dir != "" {
		l.text = "cd " + l.dir + " && " + l.text
	}
	return l
}

// Looks reports whether a command line only reads, and runs no check.
func Looks(command string) bool {
	return readLine(command, parseScript(newParser(), command), newPlace(""), "").looks
}

// writes reports whether a command that else only reads changes files.
func writes(c simple) bool {
	return slices.ContainsFunc(c.outs, func(w word) bool { return !strings.HasPrefix(w.text, "/dev/") }) ||
		c.name() == "sed" && slices.ContainsFunc(c.words, func(w word) bool { return strings.HasPrefix(w.text, "-i") || strings.HasPrefix(w.text, "--in-place") }) ||
		c.name() == "find" && slices.ContainsFunc(c.words, func(w word) bool { return strings.HasPrefix(w.text, "-exec") || w.text == "-delete" })
}

func every[T any](list []T, ok func(T) bool) bool {
	return !slices.ContainsFunc(list, func(v T) bool { return !ok(v) })
}

// covers reports whether a check or a formatter of a line looks at all that a selection does.
func (l line) covers(want selection) bool {
	covers := func(s selection) bool { return s.covers(want) }
	return slices.ContainsFunc(l.checks, covers) || slices.ContainsFunc(l.mends, covers)
}

// runs reports whether one of the checks runs, with the same tool as one of a failed line,
// a test, file or package that failed, and names it.
func (l line) runs(failed line, what string) bool {
	return slices.ContainsFunc(l.checks, func(s selection) bool {
		return s.runs(what) && slices.ContainsFunc(failed.checks, func(f selection) bool { return s.tool == f.tool })
	})
}

// selection says what a check looks at: the same tool with other flags, from
// another directory or by another task runner looks at the same.
type selection struct {
	tool    string
	targets []string // files, directories, packages
	all     bool     // it names none: the targets are all there is
	filters []string // flag=value of flags that select tests by name
}

var (
	// filterFlags select tests by name.
	filterFlags = text.Words(`-run -skip -k -t --testNamePattern --test-name-pattern -m --grep -g --filter --gtest_filter -f
		--tests -Dtest --test -R --spec -e --example --deselect -p --package --lib --bin --project --workspace -w`)
	// valueFlags take the next word, which says nothing about what is checked.
	valueFlags = text.Words(`-count -timeout -tags -bench -benchtime -parallel -cpu -coverprofile -j -n --maxfail -o --tb -c
		--config --reporter --timeout --jobs --features --target --profile --max-warnings --ext --format --workers --color
		-C --rootdir --project-dir --prefix`)
)

// selections returns what a check looks at, one for each target.
func selections(tool string, args []string, dir string) (each []selection) {
	s := newSelection(tool, args, dir)
	for _, t := range s.targets {
		one := s
		one.targets = []string{t}
		each = append(each, one)
	}
	return each
}

func newSelection(tool string, args []string, dir string) selection {
	s := selection{tool: tool}
	for i := 0; i < len(args); i++ {
		a := args[i]
		flag, value, given := strings.Cut(a, "=")
		filter := filterFlags()[flag] && (tool != "go test" || flag == "-run" || flag == "-skip")
		switch {
		case a == "--":
		case !strings.HasPrefix(a, "-"):
			if a = strings.TrimSuffix(a, "/"); dir != "" && !absolute(a) {
				a = path.Join(dir, a)
			}
			s.targets = append(s.targets, a)
		case filter:
			if !given && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				value = args[i]
			}
			s.filters = append(s.filters, flag+"="+value)
		case valueFlags()[flag] && !given:
			i++
		}
	}
	if s.all = s.targets == nil; s.all {
		dir = cmp.Or(dir, ".")
		if !strings.HasPrefix(tool, "go ") { // which looks at the one package of its directory
			dir += "/..."
		}
		s.targets = []string{dir}
	}
	return s
}

// covers reports whether a selection looks at all that another does. A task without arguments runs those whose
// names go on after a colon, and a task may look for its targets in more than one directory.
func (s selection) covers(other selection) bool {
	name, _, _ := strings.Cut(s.tool, " ")
	task := taskers()[name] || name == "script"
	below := task && s.all && strings.HasPrefix(other.tool, s.tool+":")
	if s.tool != other.tool && !below {
		return false
	}
	return every(s.filters, func(f string) bool { return slices.Contains(other.filters, f) }) &&
		every(other.targets, func(want string) bool {
			return slices.ContainsFunc(s.targets, func(have string) bool { return holds(have, want) || task && sameEnd(have, want) })
		})
}

// sameEnd reports whether two paths differ only by directories in the one that the other leaves out.
func sameEnd(a, b string) bool {
	in, end := strings.Split(a, "/"), strings.Split(b, "/")
	for len(in) > 1 && len(end) > 1 && in[0] == end[0] {
		in, end = in[1:], end[1:]
	}
	if len(in) < len(end) {
		in, end = end, in
	}
	return slices.Equal(in[len(in)-len(end):], end)
}

// holds reports whether a target is another or holds it: a directory its files, a
// file its tests, a pattern of packages those below it.
func holds(have, want string) bool {
	have, want = strings.TrimPrefix(have, "./"), strings.TrimPrefix(want, "./")
	if have == want || have == "..." {
		return true
	}
	if base, all := strings.CutSuffix(have, "/..."); all {
		return within(want, base)
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
	file, test, _ := strings.Cut(failed, "::")
	test = cmp.Or(test, file)
	for _, f := range s.filters {
		_, value, _ := strings.Cut(f, "=")
		names := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(`|'"^$() `, r) })
		if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(test, name) }) {
			return false
		}
	}
	if s.all || file == "" {
		return len(s.filters) > 0
	}
	return slices.ContainsFunc(s.targets, func(t string) bool {
		t = strings.TrimSuffix(strings.TrimPrefix(t, "./"), "/...")
		return t == failed || strings.HasPrefix(failed, t+"::") || t != "" && within(file, t) ||
			strings.HasSuffix(file, "/"+t) || strings.Contains(file, "/"+t+"/")
	})
}
