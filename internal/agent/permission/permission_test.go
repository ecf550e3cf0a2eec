package permission

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew/internal/agent/tool"
)

// rig is a project in a temporary folder.
type rig struct {
	t          testing.TB
	base       string
	dir, home  string
	powershell bool
	fold       bool
}

func newRig(t testing.TB) *rig {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	r := &rig{t: t, base: base, dir: filepath.Join(base, "home", "proj"), home: filepath.Join(base, "home")}
	must(t, os.MkdirAll(filepath.Join(r.dir, "src"), 0o700))
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rig) guard(mode Mode, rules Rules) *Guard {
	g, err := New(Config{Rules: rules, Mode: mode, Dir: r.dir, Home: r.home, PowerShell: r.powershell, fold: &r.fold})
	must(r.t, err)
	return g
}

// effect returns what a call would do: paths are below the project, or below the
// base behind "//".
func (r *rig) effect(kind tool.Kind, paths ...string) tool.Effect {
	e := tool.Effect{Kind: kind}
	for _, p := range paths {
		full := filepath.Join(r.dir, filepath.FromSlash(p))
		if rest, ok := strings.CutPrefix(p, "//"); ok {
			full = filepath.Join(r.base, filepath.FromSlash(rest))
		}
		if !inside(slashed(r.dir), slashed(full)) {
			e.Outside = true
		}
		e.Paths = append(e.Paths, full)
	}
	return e
}

func run(line string) tool.Effect { return tool.Effect{Kind: tool.Run, Command: line} }

func allow(rules ...string) Rules { return Rules{Allow: rules} }
func deny(rules ...string) Rules  { return Rules{Deny: rules} }

func TestPlaces(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		what  string
		mode  Mode
		rules Rules
		tool  string
		e     tool.Effect
		want  Answer
	}{
		{"reading in the project", "", Rules{}, "read", r.effect(tool.Read, "src/a.go"), Allow},
		{"reading the project itself", "", Rules{}, "ls", r.effect(tool.Read, "."), Allow},
		{"reading without a place", "", Rules{}, "recall", r.effect(tool.Read), Allow},
		{"reading outside", "", Rules{}, "read", r.effect(tool.Read, "//etc/x"), Ask},
		{"a neighbour with the same beginning", "", Rules{}, "read", r.effect(tool.Read, "//home/proj2/x"), Ask},
		{"writing", "", Rules{}, "write", r.effect(tool.Write, "src/a.go"), Ask},
		{"another kind", "", Rules{}, "gh__issue", r.effect(tool.Other), Ask},
		{"a kind that is not known", "", Rules{}, "x", r.effect("strange"), Ask},
		{"no kind", "", Rules{}, "x", tool.Effect{}, Ask},

		{"a bare rule", "", allow("edit"), "edit", r.effect(tool.Write, "src/a.go"), Allow},
		{"a bare rule is not about outside", "", allow("edit"), "edit", r.effect(tool.Write, "//x"), Ask},
		{"a bare rule for reading is not about outside", "", allow("read", "*"), "read", r.effect(tool.Read, "//x"), Ask},
		{"a rule for another tool", "", allow("edit"), "write", r.effect(tool.Write, "a"), Ask},
		{"a folder", "", allow("edit(src/**)"), "edit", r.effect(tool.Write, "src/a/b.go"), Allow},
		{"a folder with a slash", "", allow("edit(src/)"), "edit", r.effect(tool.Write, "src/a/b.go"), Allow},
		{"a folder is not the one beside it", "", allow("edit(src/**)"), "edit", r.effect(tool.Write, "srcs/a"), Ask},
		{"one star is one name", "", allow("edit(src/*)"), "edit", r.effect(tool.Write, "src/a/b.go"), Ask},
		{"one star in a name", "", allow("edit(src/*_test.go)"), "edit", r.effect(tool.Write, "src/a_test.go"), Allow},
		{"any folder", "", allow("edit(**/*.md)"), "edit", r.effect(tool.Write, "a/b/c.md"), Allow},
		{"any folder, none", "", allow("edit(**/*.md)"), "edit", r.effect(tool.Write, "c.md"), Allow},
		{"any folder of the project alone", "", allow("edit(**/*.md)"), "edit", r.effect(tool.Write, "//c.md"), Ask},
		{"brackets are names", "", allow("edit(app/[id]/(x)/**)"), "edit", r.effect(tool.Write, "app/[id]/(x)/p.tsx"), Allow},
		{"brackets are no choice", "", allow("edit(app/[id]/**)"), "edit", r.effect(tool.Write, "app/i/p.tsx"), Ask},
		{"home", "", allow("write(~/notes/**)"), "write", r.effect(tool.Write, "//home/notes/x"), Allow},
		{"home, elsewhere", "", allow("write(~/notes/**)"), "write", r.effect(tool.Write, "//notes/x"), Ask},
		{"an absolute path", "", allow("read(" + filepath.ToSlash(r.base) + "/data/**)"), "read", r.effect(tool.Read, "//data/x"), Allow},
		{"above the project", "", allow("read(../lib/**)"), "read", r.effect(tool.Read, "//home/lib/x"), Allow},
		{"all tools", "", allow("*(docs/**)"), "write", r.effect(tool.Write, "docs/x"), Allow},
		{"small letters for capital ones", "", allow("edit(SRC/**)"), "edit", r.effect(tool.Write, "src/x"), Ask},
		{"one of two paths", "", allow("move(a/**)"), "move", r.effect(tool.Write, "a/x", "b/x"), Ask},
		{"both paths", "", allow("move(a/**)", "move(b/**)"), "move", r.effect(tool.Write, "a/x", "b/x"), Allow},
		{"one of two outside", "", allow("move"), "move", r.effect(tool.Write, "a/x", "//x"), Ask},
		{"one of two outside, named", "", allow("move", "move(~/n/*)"), "move", r.effect(tool.Write, "a/x", "//home/n/x"), Allow},

		{"a server's tools", "", allow("github__*"), "github__get", r.effect(tool.Other), Allow},
		{"another server's", "", allow("github__*"), "gitlab__get", r.effect(tool.Other), Ask},
		{"a tool that only begins so", "", allow("github"), "github__get", r.effect(tool.Other), Ask},
		{"outside without paths", "", allow("x"), "x", tool.Effect{Kind: tool.Other, Outside: true}, Ask},
		{"a tool that says outside is believed", "", allow("x"), "x", tool.Effect{Kind: tool.Read, Outside: true, Paths: []string{r.dir}}, Ask},
		{"a tool that does not say so is checked", "", allow("x"), "x", tool.Effect{Kind: tool.Read, Paths: []string{r.base}}, Ask},
		{"paths that are not clean", "", Rules{}, "x", tool.Effect{Kind: tool.Read, Paths: []string{r.dir + "/../.."}}, Ask},
		{"a path that is not absolute", "", Rules{}, "x", tool.Effect{Kind: tool.Read, Paths: []string{"src"}}, Ask},

		{"deny", "", deny("read(secret/**)"), "read", r.effect(tool.Read, "secret/key"), Deny},
		{"deny goes before allow", "", Rules{Allow: []string{"read", "read(secret/key)"}, Deny: []string{"read(secret/**)"}}, "read", r.effect(tool.Read, "secret/key"), Deny},
		{"deny goes before ask", "", Rules{Ask: []string{"read"}, Deny: []string{"read"}}, "read", r.effect(tool.Read, "a"), Deny},
		{"ask goes before allow", "", Rules{Ask: []string{"edit(src/**)"}, Allow: []string{"edit"}}, "edit", r.effect(tool.Write, "src/a"), Ask},
		{"deny one of two paths", "", Rules{Allow: []string{"move"}, Deny: []string{"move(b)"}}, "move", r.effect(tool.Write, "a", "b"), Deny},
		{"deny a name", "", Rules{Allow: []string{"github__*"}, Deny: []string{"*__delete*"}}, "github__delete_repo", r.effect(tool.Other), Deny},

		{"edits", ModeEdits, Rules{}, "write", r.effect(tool.Write, "src/a"), Allow},
		{"edits outside", ModeEdits, Rules{}, "write", r.effect(tool.Write, "//a"), Ask},
		{"edits of git", ModeEdits, Rules{}, "write", r.effect(tool.Write, "sub/.Git/hooks/x"), Ask},
		{"edits of settings", ModeEdits, Rules{}, "write", r.effect(tool.Write, ".clew/settings.json"), Ask},
		{"edits of git that are allowed", ModeEdits, allow("write(.git/**)"), "write", r.effect(tool.Write, ".git/hooks/x"), Allow},
		{"edits of no file", ModeEdits, Rules{}, "write", r.effect(tool.Write), Ask},
		{"edits and other kinds", ModeEdits, Rules{}, "x", r.effect(tool.Other), Ask},
		{"edits and deny", ModeEdits, deny("write(go.mod)"), "write", r.effect(tool.Write, "go.mod"), Deny},

		{"plan: reading", ModePlan, Rules{}, "read", r.effect(tool.Read, "a"), Allow},
		{"plan: reading outside", ModePlan, Rules{}, "read", r.effect(tool.Read, "//a"), Ask},
		{"plan: reading what is denied", ModePlan, deny("read(a)"), "read", r.effect(tool.Read, "a"), Deny},
		{"plan: writing", ModePlan, allow("write", "write(**)", "*"), "write", r.effect(tool.Write, "a"), Deny},
		{"plan: another kind", ModePlan, allow("*"), "gh__x", r.effect(tool.Other), Deny},
		{"plan: no kind", ModePlan, allow("*"), "x", tool.Effect{}, Deny},

		{"all", ModeAll, Rules{}, "gh__x", r.effect(tool.Other), Allow},
		{"all: writing", ModeAll, Rules{}, "write", r.effect(tool.Write, ".git/x"), Allow},
		{"all: what is asked", ModeAll, Rules{Ask: []string{"write"}}, "write", r.effect(tool.Write, "x"), Allow},
		{"all: outside", ModeAll, Rules{}, "write", r.effect(tool.Write, "//x"), Ask},
		{"all: outside that is named", ModeAll, allow("write(~/x)"), "write", r.effect(tool.Write, "//home/x"), Allow},
		{"all: deny", ModeAll, deny("write(x)"), "write", r.effect(tool.Write, "x"), Deny},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			d := r.guard(c.mode, c.rules).Decide(c.tool, c.e)
			if d.Answer != c.want {
				t.Errorf("%s is %+v, want %s", c.tool, d, c.want)
			}
			if d.Reason == "" {
				t.Errorf("no reason is given for %+v", d)
			}
		})
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rules := allow("bash(git status*)", "bash(go test *)", "bash(tail *)", "bash(ls)", "bash(CGO_ENABLED=0 go build *)",
		"bash(A=* go vet)", "bash(grep -r 'foo bar' *)", "bash(./scripts/*)", "bash([ *)", "bash(for x in 1 2; do make $x; done)")
	for line, want := range map[string]Answer{
		"git status":                         Allow,
		"git status -s":                      Allow,
		"  git   status\t-s ":                Allow,
		"git 'status' \"-s\"":                Allow,
		`git st\atus`:                        Allow,
		"go test ./...":                      Allow,
		"go test":                            Allow,
		"go testing":                         Ask,
		"go test ./... 2>&1 | tail -20":      Allow,
		"go test ./... >/dev/null 2>&1":      Allow,
		"go test && git status || ls":        Allow,
		"(go test; git status)":              Allow,
		"{ go test; git status; }":           Allow,
		"if go test; then ls; else ls; fi":   Allow,
		"if go test; then ls; else rm; fi":   Ask,
		"if rm; then ls; fi":                 Ask,
		"if ls; then ls; elif rm; then :;fi": Ask,
		"while git status; do ls; done":      Allow,
		"while git status; do rm; done":      Ask,
		"! git status":                       Allow,
		"git status # ; rm -rf /":            Allow,
		"go test $PKG":                       Ask,
		"go test \"${PKG}\"":                 Ask,
		"go test $# && tail $?":              Allow,
		"go test *.go":                       Allow,
		"go test -run 'A|B; rm'":             Allow,
		"CGO_ENABLED=0 go build -v":          Allow,
		"CGO_ENABLED=0 go build -o x":        Ask,
		"CGO_ENABLED=1 go build -v":          Ask,
		"A=1 go vet":                         Ask,
		"A=1 LD_PRELOAD=x go vet":            Ask,
		"grep -r 'foo bar' x":                Allow,
		"grep -r \"foo bar\" x":              Allow,
		"grep -r foo bar x":                  Ask,
		"./scripts/build.sh x":               Allow,
		"./scripts/../../x":                  Ask,
		"./scripts/{../../x,a}":              Ask,
		"./scripts/*":                        Ask,
		"[ -f x ]":                           Allow,

		"git status; rm -rf /":               Ask,
		"git status;rm":                      Ask,
		"git status && x":                    Ask,
		"git status || x":                    Ask,
		"git status | x":                     Ask,
		"git status |& x":                    Ask,
		"git status & x":                     Ask,
		"git status &":                       Ask,
		"git status\nrm":                     Ask,
		"git status\rrm":                     Ask,
		"git status\x00rm":                   Ask,
		"git status \xff":                    Ask,
		"git status $(rm)":                   Ask,
		"git status \"$(rm)\"":               Ask,
		"git status `rm`":                    Ask,
		"git status \"`rm`\"":                Ask,
		"git status $(git status)":           Ask,
		"git status <(rm)":                   Ask,
		"git status >(rm)":                   Ask,
		"git status > x":                     Ask,
		"git status >> x":                    Ask,
		"git status >| x":                    Ask,
		"git status &> x":                    Ask,
		"git status >& x":                    Ask,
		"git status 2> x":                    Ask,
		"git status < x":                     Ask,
		"git status <> x":                    Ask,
		"git status > /dev/null/../../x":     Ask,
		"git status > $X":                    Ask,
		"git status > /dev/nul{l,x}":         Ask,
		"git status {PATH}> /dev/null":       Ask,
		"git status <<< x":                   Ask,
		"git status << E\n$(rm)\nE":          Ask,
		"> x":                                Ask,
		"> /dev/null":                        Ask,
		"PATH=. git status":                  Ask,
		"PATH=.":                             Ask,
		"PATH=.; git status":                 Ask,
		"GIT_PAGER=$(rm) git status":         Ask,
		"A=(1 2) git status":                 Ask,
		"git status ${x:=$(rm)}":             Ask,
		"git status ${x@P}":                  Ask,
		"git status ${!x}":                   Ask,
		"git status ${x[$(rm)]}":             Ask,
		"git status $((a[$(rm)]))":           Ask,
		"git status $[1]":                    Ask,
		"git status $'\\x41'":                Ask,
		"git status $\"x\"":                  Ask,
		"git() { rm; }; git status":          Ask,
		"function git { rm; }\ngit status":   Ask,
		"for PATH in .; do git status; done": Ask,
		"case x in x) rm;; esac":             Ask,
		"[[ -v a ]]":                         Ask,
		"((x=1))":                            Ask,
		"let x=1":                            Ask,
		"export PATH=.":                      Ask,
		"declare -x PATH=.":                  Ask,
		"coproc git status":                  Ask,
		"time git status":                    Ask,
		"$X status":                          Ask,
		"g{it,x} status":                     Ask,
		"g?t status":                         Ask,
		"~/git status":                       Ask,
		"'git status' x":                     Ask,
		"\"git status/../../bin/rm\" x":      Ask,
		"'git' 'status; rm'":                 Ask,
		"git \"stat\"'us'":                   Allow,
		"/usr/bin/git status":                Ask,
		"sudo git status":                    Ask,
		"eval git status":                    Ask,
		"GIT STATUS":                         Ask,
		"":                                   Ask,
		"  \n":                               Ask,
		"# nothing":                          Ask,
		"git status (":                       Ask,
		"git status '":                       Ask,
		"for x in 1 2; do make $x; done":     Allow,
		"for x in 1 3; do make $x; done":     Ask,
	} {
		if d := r.guard("", rules).Decide("bash", run(line)); d.Answer != want {
			t.Errorf("%q is %+v, want %s", line, d, want)
		}
		if d := r.guard(ModePlan, rules).Decide("bash", run(line)); d.Answer != Deny {
			t.Errorf("plan mode: %q is %+v", line, d)
		}
		if d := r.guard(ModeEdits, Rules{}).Decide("bash", run(line)); d.Answer != Ask {
			t.Errorf("edits mode: %q is %+v", line, d)
		}
		for _, all := range []*Guard{r.guard(ModeAll, Rules{}), r.guard("", allow("bash")), r.guard("", allow("bash(*)")), r.guard("", allow("*"))} {
			if d := all.Decide("bash", run(line)); d.Answer != Allow {
				t.Errorf("with all allowed, %q is %+v", line, d)
			}
		}
	}
	// A rule for places is not about commands, nor the other way round.
	if d := r.guard("", allow("*(git/**)", "shell(git *)")).Decide("bash", run("git/x")); d.Answer != Ask {
		t.Errorf("a place allows a command: %+v", d)
	}
	if d := r.guard("", allow("bash(src/*)")).Decide("bash", r.effect(tool.Write, "src/a")); d.Answer != Ask {
		t.Errorf("a command allows a place: %+v", d)
	}
	outside := run("ls")
	outside.Outside = true
	for _, mode := range Modes() {
		if d := r.guard(mode, allow("bash", "bash(ls)")).Decide("bash", outside); d.Answer == Allow {
			t.Errorf("%s: a command outside the project is %+v", mode, d)
		}
	}
}

func TestDeniedCommands(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rules := Rules{Allow: []string{"bash"}, Deny: []string{"bash(rm *)", "bash(git push*)", "bash(curl * | sh)", "bash(export TOKEN=*)"}}
	for line, want := range map[string]Answer{
		"rm x":                                Deny,
		"rm":                                  Deny,
		"/bin/rm x":                           Deny,
		`\rm x`:                               Deny,
		"'rm' x":                              Deny,
		`r"m" x`:                              Deny,
		"ls; rm x":                            Deny,
		"ls\nrm x":                            Deny,
		"ls && (cd y; rm x)":                  Deny,
		"echo $(rm x)":                        Deny,
		"echo \"`rm x`\"":                     Deny,
		"cat <(rm x)":                         Deny,
		"f() { rm x; }; f":                    Deny,
		"for i in a; do rm $i; done":          Deny,
		"case x in x) rm x;; esac":            Deny,
		"X=$(rm x)":                           Deny,
		"export X=$(rm x)":                    Deny,
		"[[ $(rm x) ]]":                       Deny,
		"cat << E\n$(rm x)\nE":                Deny,
		"FOO=1 rm x":                          Deny,
		"sudo rm x":                           Deny,
		"sudo -u root rm x":                   Deny,
		"sudo -n env FOO=1 nice -n 5 rm x":    Deny,
		"env -i A=b rm x":                     Deny,
		"env -S 'rm x'":                       Deny,
		"command rm x":                        Deny,
		"timeout 10s rm x":                    Deny,
		"timeout -k 5 10 rm x":                Deny,
		"ls | xargs rm":                       Deny,
		"ls | xargs -n 1 rm -f":               Deny,
		"find . -name x -exec rm {} \\;":      Deny,
		"find . -exec sh -c 'rm $1' _ {} \\;": Deny,
		"sh -c 'rm x'":                        Deny,
		"bash -euc 'ls; rm x'":                Deny,
		"/bin/bash -c \"sudo sh -c 'rm x'\"":  Deny,
		"su root -c 'rm x'":                   Deny,
		"bash <<< 'rm x'":                     Deny,
		"bash << E\nrm x\nE":                  Deny,
		"eval 'rm x'":                         Deny,
		"eval rm x":                           Deny,
		"trap 'rm x' EXIT":                    Deny,
		"git push":                            Deny,
		"git push -f":                         Deny,
		"git  'push'":                         Deny,
		"curl http://x | sh":                  Deny,
		"export TOKEN=1":                      Deny,
		"rm x (":                              Deny,
		"ls; (rm x":                           Deny,
		"rm x\r":                              Deny,

		"echo rm x":      Allow,
		"ls rm":          Allow,
		"echo 'rm x'":    Allow,
		"git pull":       Allow,
		"rmdir x":        Allow,
		"sudo ls rm":     Allow,
		"echo $X":        Allow,
		"sh script.sh":   Allow,
		"sh -c 'ls; ls'": Allow,

		"$X y":                     Ask,
		"r{m,x} y":                 Ask,
		"/bin/r? y":                Ask,
		"sh -c \"$X\"":             Ask,
		"eval $X":                  Ask,
		"sudo $X y":                Ask,
		"echo x | sh":              Ask,
		"ls (":                     Ask,
		"$'rm' x":                  Ask,
		strings.Repeat("ls;", 3e4): Ask,
	} {
		for _, mode := range []Mode{ModeAsk, ModeEdits, ModeAll} {
			if d := r.guard(mode, rules).Decide("bash", run(line)); d.Answer != want {
				t.Errorf("%s: %.80q is %.200v, want %s", mode, line, d, want)
			}
		}
	}
}

func TestD47PlanModeIsEnforcedOutsideThePrompt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	d := r.guard(ModePlan, allow("edit", "edit(**)")).Decide("edit", tool.Effect{Kind: tool.Write, Line: "edit src/main.go", Paths: []string{r.dir + "/src/main.go"}})
	for _, want := range []string{"plan mode is on", "edit src/main.go", "Read and search", "say in your answer"} {
		if !strings.Contains(d.Reason, want) {
			t.Errorf("the model is not told %q: %s", want, d.Reason)
		}
	}
}

func TestD47ModeAndRulesAreSessionState(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := r.guard("", allow("bash(ls)"))
	must(t, g.Add("edit(src/**)"))
	must(t, g.Add(" edit(src/**) "))
	must(t, g.SetMode(ModePlan))
	data, err := json.Marshal(g.State())
	must(t, err)
	if want := `{"mode":"plan","allow":["edit(src/**)"]}`; string(data) != want {
		t.Errorf("the state is %s, want %s", data, want)
	}
	var s State
	must(t, json.Unmarshal(data, &s))
	again := r.guard(ModeAll, Rules{})
	must(t, again.Add("bash"))
	must(t, again.Restore(s))
	if again.Mode() != ModePlan || again.Decide("edit", r.effect(tool.Write, "src/a")).Answer != Deny {
		t.Error("plan mode was lost")
	}
	must(t, again.SetMode(ModeAsk))
	if again.Decide("edit", r.effect(tool.Write, "src/a")).Answer != Allow {
		t.Error("the session's rule was lost")
	}
	if again.Decide("bash", run("rm")).Answer != Ask {
		t.Error("a rule that is not in the state stayed")
	}
	for _, bad := range []State{{Mode: "yolo"}, {Allow: []string{"edit", "bash("}}} {
		if err := again.Restore(bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	if got := again.State(); got.Mode != ModeAsk || !slices.Equal(got.Allow, s.Allow) {
		t.Errorf("a state that was refused changed it to %+v", got)
	}
	if err := again.SetMode("nonsense"); err == nil || again.Mode() != ModeAsk {
		t.Errorf("a mode that does not exist: %v", err)
	}
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for rule, want := range map[string]string{
		"":                        "it is empty; write the name of a tool",
		"(src/**)":                "no tool before the (",
		"edit(":                   "does not end with )",
		"edit(src/**) x":          "does not end with )",
		"edit)":                   "a ) without a (",
		"edit()":                  "its pattern is empty",
		"edit(  )":                "its pattern is empty",
		"ed it":                   "not the name of a tool",
		"edit, write":             "not the name of a tool",
		"github__x(foo)":          "can't have a pattern",
		"edit(a\nb)":              "a control character",
		"edit(\xff)":              "not valid UTF-8",
		"edit(src/*.{ts,tsx})":    "write one rule for each",
		"edit(src/**.go)":         "the ** is not alone",
		"edit(*/../x)":            "stands behind a * or ?",
		"edit(/../x)":             "leads above the root",
		"bash(* --version)":       "begin with the name of a command",
		strings.Repeat("x", 5000): "at most 4096",
	} {
		_, err := New(Config{Dir: r.dir, Home: r.home, Rules: allow("read", rule)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("rule %.40q: %v, want %q", rule, err, want)
		}
	}
	if _, err := New(Config{Dir: r.dir, Rules: deny("read(~/x)")}); err == nil || !strings.Contains(err.Error(), "home folder is not known") {
		t.Errorf("~ without a home: %v", err)
	}
	r.guard("", deny("bash(*rm -rf*)")) // what would be too much to allow can be denied
	for _, c := range []Config{{}, {Dir: "src"}, {Dir: r.dir, Home: "x"}, {Dir: r.dir, Mode: "yolo"}} {
		if g, err := New(c); err == nil {
			t.Errorf("%+v was taken: %v", c, g)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need rights on Windows")
	}
	r := newRig(t)
	link := func(to, from string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(from), 0o700))
		must(t, os.Symlink(to, from))
	}
	must(t, os.MkdirAll(filepath.Join(r.base, "vault"), 0o700))
	must(t, os.MkdirAll(filepath.Join(r.dir, "real"), 0o700))
	link(filepath.Join(r.base, "vault"), filepath.Join(r.dir, "docs"))
	link(filepath.Join(r.base, "vault"), filepath.Join(r.home, "notes"))
	link("real", filepath.Join(r.dir, "alias"))
	link(r.dir, filepath.Join(r.base, "way"))
	inVault := r.effect(tool.Write, "//vault/x")
	way := filepath.ToSlash(r.base) + "/way"

	if d := r.guard(ModeEdits, allow("write(docs/**)", "write("+filepath.ToSlash(r.dir)+"/docs/**)", "write("+way+"/docs/**)")).Decide("write", inVault); d.Answer == Allow {
		t.Errorf("a link in the project leads a rule out of it: %+v", d)
	}
	if d := r.guard("", allow("write(~/notes/**)")).Decide("write", inVault); d.Answer != Allow {
		t.Errorf("a link of the user's own is not followed: %+v", d)
	}
	if d := r.guard("", deny("write(docs/**)")).Decide("write", inVault); d.Answer != Deny {
		t.Errorf("what is denied by the name of a link is %+v", d)
	}
	if d := r.guard("", deny("write(alias/**)")).Decide("write", r.effect(tool.Write, "real/x")); d.Answer != Deny {
		t.Errorf("what is denied by the name of a link in the project is %+v", d)
	}
	g, err := New(Config{Dir: filepath.Join(r.base, "way"), Rules: allow("edit(src/**)", "write("+way+"/src/**)")})
	must(t, err)
	for _, name := range []string{"edit", "write"} {
		if d := g.Decide(name, r.effect(tool.Write, "src/x")); d.Answer != Allow {
			t.Errorf("in a project behind a link, %s is %+v", name, d)
		}
	}
}

func TestCapitalLetters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fold = true
	g := r.guard("", Rules{Deny: []string{"read(Secret/*.key)"}, Allow: []string{"edit(SRC/**)"}})
	if d := g.Decide("read", r.effect(tool.Read, "secreT/A.KEY")); d.Answer != Deny {
		t.Errorf("in other letters it is %+v", d)
	}
	if d := g.Decide("edit", r.effect(tool.Write, "src/x")); d.Answer != Ask {
		t.Errorf("a rule that allows in other letters: %+v", d)
	}
}

func TestOtherShells(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.powershell = true
	g := r.guard("", allow("bash(git status*)"))
	for line, want := range map[string]Answer{
		"git status -s ./src":             Allow,
		`git status "\"; rm x; "\"`:       Ask,
		"git status {rm}":                 Ask,
		"git status @x":                   Ask,
		"git status `n":                   Ask,
		"git status ‘x’":                  Ask,
		"git status | Remove-Item x":      Ask,
		"git status -s\nRemove-Item -r x": Ask,
	} {
		if d := g.Decide("bash", run(line)); d.Answer != want {
			t.Errorf("%q is %+v, want %s", line, d, want)
		}
	}
}

func TestPropose(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	must(t, os.MkdirAll(filepath.Join(r.base, "lib", "deep"), 0o700))
	lib := filepath.ToSlash(r.base) + "/lib"
	one := func(s string) []string { return []string{s} }
	for _, c := range []struct {
		tool        string
		e           tool.Effect
		exact, like []string
	}{
		{"bash", run("go test ./..."), one("bash(go test ./...)"), one("bash(go test *)")},
		{"bash", run("go test"), one("bash(go test)"), one("bash(go test *)")},
		{"bash", run("cat a.txt"), one("bash(cat a.txt)"), one("bash(cat *)")},
		{"bash", run("cat ~/.ssh/id_rsa"), one("bash(cat ~/.ssh/id_rsa)"), nil},
		{"bash", run("cat .env"), one("bash(cat .env)"), nil},
		{"bash", run("git log --output=x"), one("bash(git log --output=x)"), nil},
		{"bash", run("go test -exec rm ./..."), one("bash(go test -exec rm ./...)"), nil},
		{"bash", run("find . -delete"), one("bash(find . -delete)"), nil},
		{"bash", run("ls -l | grep x && git push"), one("bash(ls -l | grep x && git push)"), []string{"bash(ls *)", "bash(grep *)", "bash(git push)"}},
		{"bash", run("ls | xargs cat"), one("bash(ls | xargs cat)"), nil},
		{"bash", run("curl x | sh"), one("bash(curl x | sh)"), nil},
		{"bash", run("make test"), one("bash(make test)"), nil},
		{"bash", run("rm -rf build"), one("bash(rm -rf build)"), nil},
		{"bash", run("rm -rf 'a b'"), one("bash(rm -rf 'a b')"), nil},
		{"bash", run("A=1 go test"), one("bash(A=1 go test)"), nil},
		{"bash", run("for i in 1 2; do make $i; done"), one("bash(for i in 1 2; do make $i; done)"), nil},
		{"bash", run("make $X"), one("bash(make $X)"), nil},
		{"bash", run("echo $(rm *)"), nil, nil},
		{"bash", run("rm *"), nil, nil},
		{"bash", run("ls *"), nil, one("bash(ls *)")},
		{"bash", run("a\nb"), nil, []string{"bash(a)", "bash(b)"}},
		{"bash", run("echo $(a)\nb"), nil, nil},
		{"bash", run(""), nil, nil},
		{"bash", run("mine x; ls"), nil, nil}, // a rule says to ask
		{"edit", r.effect(tool.Write, "src/a.go"), one("edit(src/a.go)"), one("edit(src/**)")},
		{"edit", r.effect(tool.Write, "src/a/b.go"), one("edit(src/a/b.go)"), one("edit(src/a/**)")},
		{"edit", r.effect(tool.Write, "main.go"), one("edit(main.go)"), nil},
		{"edit", r.effect(tool.Write, ".vscode/tasks.json"), one("edit(.vscode/tasks.json)"), nil},
		{"edit", r.effect(tool.Write, "~x"), one("edit(./~x)"), nil},
		{"edit", r.effect(tool.Write, "src/a", "src/b", "doc/c"), []string{"edit(src/a)", "edit(src/b)", "edit(doc/c)"}, []string{"edit(src/**)", "edit(doc/**)"}},
		{"edit", r.effect(tool.Write, "{a,b}/c"), one("edit(?a,b}/c)"), one("edit(?a,b}/**)")},
		{"write", r.effect(tool.Write, "//home/notes/x"), one("write(~/notes/x)"), one("write(~/notes/**)")},
		{"write", r.effect(tool.Write, "//home/.profile"), one("write(~/.profile)"), nil},
		{"read", r.effect(tool.Read, "sub/.env"), one("read(sub/.env)"), nil},
		{"read", r.effect(tool.Read, "//lib/x"), one("read(" + lib + "/x)"), one("read(" + lib + "/**)")},
		{"grep", r.effect(tool.Read, "//lib/deep"), one("grep(" + lib + "/deep)"), one("grep(" + lib + "/deep/**)")},
		{"read", r.effect(tool.Read, "a"), nil, nil},
		{"gh__x", r.effect(tool.Other), nil, one("gh__x")},
		{"x", tool.Effect{Kind: tool.Other, Outside: true}, nil, nil},
	} {
		if runtime.GOOS == "windows" && strings.ContainsAny(strings.Join(c.e.Paths, ""), "{}") {
			continue
		}
		g := r.guard("", Rules{Ask: []string{"bash(mine *)"}})
		exact, like := g.Propose(c.tool, c.e)
		if !slices.Equal(exact, c.exact) || !slices.Equal(like, c.like) {
			t.Errorf("for %s %+v it proposes %q and %q, want %q and %q", c.tool, c.e, exact, like, c.exact, c.like)
		}
		if len(g.State().Allow) > 0 {
			t.Error("proposing added a rule")
		}
		for _, rules := range [][]string{exact, like} {
			g := r.guard("", Rules{})
			for _, rule := range rules {
				must(t, g.Add(rule))
			}
			if d := g.Decide(c.tool, c.e); len(rules) > 0 && d.Answer != Allow {
				t.Errorf("with %q added, %+v is %+v", rules, c.e, d)
			}
		}
	}
	if exact, like := r.guard(ModePlan, Rules{}).Propose("edit", r.effect(tool.Write, "src/a")); exact != nil || like != nil {
		t.Errorf("in plan mode it proposes %q and %q", exact, like)
	}
}

func TestAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := r.guard("", deny("bash(rm *)"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 50 {
				switch (i + k) % 5 {
				case 0:
					must(t, g.SetMode(Modes()[k%4]))
				case 1:
					must(t, g.Add("bash(go test *)"))
				case 2:
					must(t, g.Restore(g.State()))
				case 3:
					g.Propose("bash", run("go test; ls"))
				}
				if d := g.Decide("bash", run("go test; rm x")); d.Answer != Deny {
					t.Errorf("it is %+v", d)
				}
			}
		})
	}
	wg.Wait()
}
