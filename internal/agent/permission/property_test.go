package permission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/agent/tool"
)

func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

// somePath is relative to the project; some are outside.
func somePath(rng *rand.Rand) string {
	p := pick(rng, "src", "a.go", ".git", "docs", "//home/notes", "//etc")
	for range rng.IntN(3) {
		p += "/" + pick(rng, "x", "y.md", "deep")
	}
	return p
}

func somePattern(rng *rand.Rand) string {
	p := pick(rng, "src", "**", "*", ".git", "docs", "~/notes", "*.go", "../..")
	for range rng.IntN(3) {
		p += "/" + pick(rng, "x", "**", "*.md", "deep", "?")
	}
	return p
}

var someTools = []string{"read", "write", "edit", "bash", "gh__issue"}

func someRule(rng *rand.Rand) string {
	switch name := pick(rng, append(someTools, "*", "gh__*")...); {
	case strings.Contains(name, "__") || rng.IntN(3) == 0:
		return name
	case name == Shell:
		return "bash(" + pick(rng, "ls", "go", "rm", "git status") + pick(rng, "", "*", " *", " -x") + ")"
	default:
		return name + "(" + somePattern(rng) + ")"
	}
}

func someRules(rng *rand.Rand) (out []string) {
	for range rng.IntN(4) {
		out = append(out, someRule(rng))
	}
	return out
}

func someCommand(rng *rand.Rand) string {
	return pick(rng, "ls", "go", "rm", "git status", "sudo rm") + pick(rng, "", " -x", " 'a b'", " $X", " *")
}

// someLine puts commands into a line.
func someLine(rng *rand.Rand, commands ...string) string {
	rng.Shuffle(len(commands), func(i, j int) { commands[i], commands[j] = commands[j], commands[i] })
	line := commands[0]
	for _, c := range commands[1:] {
		line = fmt.Sprintf(pick(rng, "%s; %s", "%s && %s", "%s || %s", "%s | %s", "%s\n%s", "%s & %s", "(%s); %s", "{ %s; } ; %s",
			"if %s; then %s; fi", "%s \"$(%s)\"", "%s `%s`", "%s <(%s)", "! %s; ( %s )", "while %s; do %s; done", "%s 2>&1 | %s"), line, c)
	}
	return line
}

func someCall(rng *rand.Rand, r *rig) (string, tool.Effect) {
	name := pick(rng, someTools...)
	switch name {
	case "bash":
		line := someCommand(rng)
		for range rng.IntN(3) {
			line = someLine(rng, line, someCommand(rng))
		}
		return name, run(line)
	case "gh__issue":
		return name, r.effect(tool.Other)
	}
	kind := tool.Write
	if name == "read" {
		kind = tool.Read
	}
	paths := []string{somePath(rng)}
	if rng.IntN(3) == 0 {
		paths = append(paths, somePath(rng))
	}
	return name, r.effect(kind, paths...)
}

func TestProperties(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rng := rand.New(rand.NewPCG(6, 47))
	got := map[Answer]int{}
	grown := 0
	rounds := 8_000
	if testing.Short() {
		rounds = 1_000
	}
	for range rounds {
		rules := Rules{Allow: someRules(rng), Ask: someRules(rng), Deny: someRules(rng)}
		mode := pick(rng, Modes()...)
		name, e := someCall(rng, r)
		g := r.guard(mode, rules)
		d := g.Decide(name, e)
		got[d.Answer]++

		if again := g.Decide(name, e); again != d {
			t.Fatalf("%s %+v is once %+v and once %+v", name, e, d, again)
		}
		if mode == ModePlan && e.Kind != tool.Read && d.Answer != Deny {
			t.Fatalf("in plan mode %s %+v is %+v", name, e, d)
		}
		if alone := r.guard(ModeAsk, Rules{Deny: rules.Deny}).Decide(name, e); alone.Answer == Deny && d.Answer != Deny {
			t.Fatalf("what is denied by %q is %+v with %+v: %s %+v", alone.Rule, d, rules, name, e)
		}
		if e.Outside && d.Answer == Allow && !slices.ContainsFunc(rules.Allow, func(s string) bool { return strings.Contains(s, "(") }) {
			t.Fatalf("a place outside that no rule names is %+v", d)
		}
		exact, like := g.Propose(name, e)
		for _, proposed := range [][]string{exact, like} {
			if len(proposed) > 0 && d.Answer != Ask {
				t.Fatalf("%q is proposed for what is %+v", proposed, d)
			}
			g := r.guard(mode, rules)
			for _, p := range proposed {
				must(t, g.Add(p))
			}
			if d := g.Decide(name, e); len(proposed) > 0 && d.Answer != Allow {
				t.Fatalf("with %q, which was proposed, %s %+v is %+v", proposed, name, e, d)
			}
		}
		before, rule := d, someRule(rng)
		g = r.guard(mode, rules)
		must(t, g.Add(rule))
		if after := g.Decide(name, e); after.Answer != before.Answer {
			grown++
			if before.Answer != Ask || after.Answer != Allow {
				t.Fatalf("adding %s made of %+v %+v: %s %+v", rule, before, after, name, e)
			}
		}
	}
	t.Logf("answers: %v; %d changed by a rule", got, grown)
	for _, a := range []Answer{Allow, Ask, Deny} {
		if got[a] < rounds/16 {
			t.Errorf("only %d answers were %s", got[a], a)
		}
	}
	if grown < rounds/80 {
		t.Errorf("only %d answers were changed by adding a rule", grown)
	}
}

func TestLinesWithACommandThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rng := rand.New(rand.NewPCG(6, 5))
	g := r.guard("", Rules{Allow: []string{"bash(ls *)", "bash(go test *)"}})
	denying := r.guard(ModeAll, Rules{Deny: []string{"bash(rm *)"}})
	allowed, rounds := 0, 8_000
	if testing.Short() {
		rounds = 1_000
	}
	for range rounds {
		fine := []string{}
		for range 1 + rng.IntN(3) {
			fine = append(fine, pick(rng, "ls", "ls -l 'x y'", "go test ./...", "ls $X"))
		}
		if g.Decide("bash", run(someLine(rng, slices.Clone(fine)...))).Answer == Allow {
			allowed++
		}
		line := someLine(rng, append(fine, pick(rng, "rm", "rm x", "sudo rm x", "A=1 rm -rf", "/bin/rm x", "sh -c 'rm x'"))...)
		if d := g.Decide("bash", run(line)); d.Answer != Ask {
			t.Fatalf("%q is %+v", line, d)
		}
		if d := denying.Decide("bash", run(line)); d.Answer != Deny {
			t.Fatalf("where rm is denied, %q is %+v", line, d)
		}
	}
	if allowed < rounds/8 {
		t.Errorf("only %d lines of allowed commands were allowed", allowed)
	}
}

// TestAgainstBash runs what was allowed, and sees that bash ran nothing else.
func TestAgainstBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to compare with")
	}
	r := newRig(t)
	g := r.guard("", allow("bash(ok *)", "bash(A=1 ok *)"))
	rng := rand.New(rand.NewPCG(1, 99))
	pieces := []string{
		"ok", "ok ", "bad", "bad ", " ", " ", ";", "&", "&&", "|", "||", "\n", "(", ")", "{ ", "; }", "$(", "`", "'", "\"", "\\", "$'", "$\"",
		"<(", ">", "<", ">f", "2>&1", ">&", "/dev/null", "$X", "${X", "}", "#", "!", "*", "?", "[", "]", "~", "=", "A=1 ", "A=", "<<E", "E", "<<<",
		"if ", "; then ", "; fi", "while ", "; do ", "; done", "case ", " in ", ";;", "esac", "\t", "$((", "))", "{a,b}", "é", "-",
	}
	const most = 400
	allowed := map[string]bool{}
	for range 400_000 {
		line := pick(rng, "ok ", "ok", "A=1 ok ")
		for range 1 + rng.IntN(9) {
			line += pick(rng, pieces...)
		}
		if strings.Contains(line, "bad") && len(allowed) < most && g.Decide("bash", run(line)).Answer == Allow {
			allowed[line] = true
		}
	}
	if len(allowed) < most {
		t.Fatalf("only %d lines were allowed", len(allowed))
	}
	work := filepath.Join(r.base, "work")
	must(t, os.Mkdir(work, 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for line := range allowed {
		if strings.Contains(line, "while ") {
			continue // it would not end
		}
		cmd := exec.CommandContext(ctx, bash, "--norc", "--noprofile", "-c", line)
		cmd.Dir = work
		cmd.Env = []string{"PATH=", "BASH_FUNC_ok%%=() { :; }", "BASH_FUNC_bad%%=() { echo ran >> bad; }"}
		_ = cmd.Run() // some are errors to bash
		if files, err := os.ReadDir(work); err != nil || len(files) > 0 {
			t.Fatalf("%q was allowed, and made %v (%v)", line, files, err)
		}
	}
}

func TestDeepLines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := r.guard(ModeAll, deny("bash(rm *)"))
	strict := r.guard("", allow("bash(ls *)"))
	for _, line := range []string{
		strings.Repeat("(", 60_000), strings.Repeat("$(", 30_000), strings.Repeat("{ ", 30_000), strings.Repeat("`", 60_001),
		strings.Repeat("if ", 20_000), strings.Repeat("$((", 20_000), strings.Repeat("\"$(", 20_000), strings.Repeat("! ", 30_000),
		strings.Repeat("ls|", 20_000) + "ls", strings.Repeat("sudo -x ", 8_000), strings.Repeat("sh -c ", 10_000),
		strings.Repeat("env -u ", 9_000) + "ls", strings.Repeat("eval ", 12_000) + "ls", strings.Repeat("find -exec ", 5_000),
		strings.Repeat("${x:-", 12_000), strings.Repeat("<<E ", 15_000), strings.Repeat("'", 64_001), strings.Repeat("a=", 30_000),
	} {
		if testing.Short() {
			line = line[:len(line)/8]
		}
		line = line[:min(len(line), maxLine)]
		g.Decide("bash", run(line))
		if d := strict.Decide("bash", run(line)); d.Answer != Ask && !strings.HasPrefix(line, "ls|") {
			t.Errorf("%.20q… is %.200v", line, d)
		}
	}
}

func FuzzRules(f *testing.F) {
	for _, s := range []string{"edit(src/**)", "bash(go test *)", "*", "gh__*", "read(~/x/../?)", "edit(app/(x)/[id]/**)", "write(C:\\x\\**)", "read(//a//b/)"} {
		f.Add(s, "src/a/b.go")
	}
	r := newRig(f)
	f.Fuzz(func(t *testing.T, text, path string) {
		r := &rig{t: t, base: r.base, dir: r.dir, home: r.home}
		g := r.guard("", Rules{})
		err := g.Add(text)
		if err != nil {
			if err.Error() == "" || len(err.Error()) > 1000 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		again := r.guard("", Rules{})
		if err := again.Restore(g.State()); err != nil {
			t.Errorf("%q is not taken back: %v", text, err)
		}
		e := tool.Effect{Kind: tool.Write, Paths: []string{filepath.Join(r.dir, path)}}
		if a, b := g.Decide("edit", e), again.Decide("edit", e); a != b {
			t.Errorf("%q: %+v and, restored, %+v", text, a, b)
		}
		if d := r.guard(ModeAll, Rules{Allow: []string{"edit"}, Deny: []string{"edit"}, Ask: []string{text}}).Decide("edit", e); d.Answer != Deny {
			t.Errorf("it is %+v", d)
		}
		if denied, err := New(Config{Dir: r.dir, Home: r.home, Rules: deny(text)}); err == nil && g.Decide("edit", e).Rule != "" {
			if d := denied.Decide("edit", e); d.Answer != Deny {
				t.Errorf("%q allows, but as a rule that denies it gives %+v", text, d)
			}
		}
	})
}

func FuzzCommands(f *testing.F) {
	for _, s := range []string{
		"git status", "git status; rm x", "A=1 git status >/dev/null 2>&1 | ls", "sudo -u x sh -c 'eval \"rm $X\"'", "$(rm)", "git \\\nstatus",
		"find . -exec rm {} +", "if ls; then git status; fi", "cat <<E\n$(rm)\nE", "ls # rm", "((", "ls {a,b}", "xargs -n1 rm", "é $'x' \\",
	} {
		f.Add(s)
	}
	r := newRig(f)
	strict := r.guard("", allow("bash(git status*)", "bash(ls *)"))
	denying := r.guard(ModeAll, deny("bash(rm *)"))
	f.Fuzz(func(t *testing.T, line string) {
		d := strict.Decide("bash", run(line))
		if d.Answer == Deny {
			t.Errorf("%q is %+v", line, d)
		}
		if d.Answer == Allow {
			for _, more := range []string{"; rm x", "\nrm x", " && rm x", " | rm x"} {
				if strings.ContainsAny(line, "#'\"\\") {
					break // it may be in a comment or a quotation
				}
				if d := strict.Decide("bash", run(line+more)); d.Answer == Allow {
					t.Errorf("%q is %+v", line+more, d)
				}
				if d := denying.Decide("bash", run(line+more)); d.Answer != Deny {
					t.Errorf("where rm is denied, %q is %+v", line+more, d)
				}
			}
		}
		denying.Decide("bash", run(line))
		exact, like := strict.Propose("bash", run(line))
		for _, rule := range append(exact, like...) {
			if _, err := New(Config{Dir: r.dir, Home: r.home, Rules: Rules{Allow: []string{rule}}}); err != nil {
				t.Errorf("for %q it proposes %q: %v", line, rule, err)
			}
		}
	})
}
