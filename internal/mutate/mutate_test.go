package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tinyModule writes a module with one package, its tests and the given
// mutations, and returns its folder.
func tinyModule(t *testing.T, mutations map[string]string) string {
	t.Helper()
	// A run of mutate over this package must not leak its overlay into the
	// modules that its own tests make.
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	// The space in the name is there on purpose: home folders have them.
	dir := filepath.Join(t.TempDir(), "tiny module")
	files := map[string]string{
		"go.mod": "module example.test/tiny\n\ngo 1.26.0\n",
		"max/max.go": `package max

// Of returns the larger of a and b.
func Of(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Limit is the largest value in use.
const Limit = 100
`,
		"max/max_test.go": `package max

import "testing"

func TestOf(t *testing.T) {
	t.Run("left", func(t *testing.T) {
		if Of(2, 1) != 2 {
			t.Error("wrong")
		}
	})
}

func TestAlwaysFails(t *testing.T) { t.Error("as ever") }

func TestSkipped(t *testing.T) { t.Skip("not here") }
`,
	}
	for name, text := range mutations {
		files["testdata/mutations/"+name+".txt"] = text
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// mutationText is a mutation of max.go with the given test line.
func mutationText(test, old, replacement string) string {
	return "# a defect\nfile: max/max.go\ntest: " + test + "\n-- old --\n" + old + "\n-- new --\n" + replacement + "\n"
}

func TestRunTellsTheVerdictsApart(t *testing.T) {
	const of = "./max -run ^TestOf$"
	dir := tinyModule(t, map[string]string{
		"killed":      strings.Replace(mutationText(of, "\t\treturn a\n", "\t\treturn b\n"), "file:", "ci: I1\nfile:", 1),
		"survives":    mutationText(of, "const Limit = 100", "const Limit = 101"),
		"stale":       mutationText(of, "return c", "return a"),
		"ambiguous":   mutationText(of, "return", "panic(1); return"),
		"uncompiled":  mutationText(of, "return a", "return nonesuch"),
		"unmatched":   mutationText("./max -run ^TestNone$", "return a", "return b"),
		"skipped":     mutationText("./max -run ^TestSkipped$", "return a", "return b"),
		"red-anyway":  mutationText("./max -run ^TestAlwaysFails$", "return a", "return b"),
		"unknown-pkg": mutationText("./nonesuch", "return a", "return b"),
	})
	target := filepath.Join(dir, "max", "max.go")
	before, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}

	var out, errOut bytes.Buffer
	if code := run(t.Context(), dir, nil, &out, &errOut); code != 1 {
		t.Errorf("exit status %d, want 1; stderr: %s", code, &errOut)
	}
	for _, want := range []string{
		`(?m)^killed   killed +\d+\.\ds  TestOf/left$`,
		`(?m)^SURVIVED survives +\d+\.\ds  passed: go test \./max -run \^TestOf\$\n +a defect$`,
		`(?m)^ERROR    stale .*max/max.go: old text 1 is not in the file; .*"return c"$`,
		`(?m)^ERROR    ambiguous .*max/max.go: old text 1 is in the file more than once; .*"return"$`,
		`(?m)^ERROR    uncompiled .*the mutant does not compile: example.test/tiny/max`,
		`undefined: nonesuch`,
		`(?m)^ERROR    unmatched .*no test matches: go test ./max -run \^TestNone\$$`,
		`(?m)^ERROR    skipped .*every test is skipped here`,
		`(?m)^ERROR    red-anyway .*the test fails even without the mutation: TestAlwaysFails$`,
		`(?m)^ERROR    unknown-pkg `,
		`mutate: 1 killed, 1 survived, 7 errors, 0 not run; 9 mutations in \d+s\n$`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("output does not match %q", want)
		}
	}
	if t.Failed() {
		t.Logf("output:\n%s", &out)
	}
	after, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the run has changed the tree")
	}

	t.Run("choosing a killed one", func(t *testing.T) {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), filepath.Join(dir, "max"), []string{"-run", "^killed$"}, &out, &errOut); code != 0 {
			t.Errorf("exit status %d, want 0\n%s%s", code, &out, &errOut)
		}
		if !strings.Contains(out.String(), "mutate: 1 killed, 0 survived, 0 errors, 0 not run; 1 mutations") {
			t.Errorf("unexpected count line:\n%s", &out)
		}
	})
	t.Run("the list of stale ones", func(t *testing.T) {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), dir, []string{"-check"}, &out, &errOut); code != 1 {
			t.Errorf("exit status %d, want 1\n%s%s", code, &out, &errOut)
		}
		for _, want := range []string{
			`(?m)^stale    stale .*max/max.go: old text 1 is not in the file; .*"return c"$`,
			`(?m)^stale    ambiguous .*more than once`,
			`(?m)^stale    unmatched .*no test matches: go test ./max -run \^TestNone\$$`,
			`(?m)^stale    unknown-pkg .*no test matches`,
			`\Qmutate: 9 mutations, 4 complaints\E\n$`,
		} {
			if !regexp.MustCompile(want).Match(out.Bytes()) {
				t.Errorf("output does not match %q:\n%s", want, &out)
			}
		}
	})
	t.Run("those of CI, known to pass", func(t *testing.T) {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), dir, []string{"-ci", "-green"}, &out, &errOut); code != 0 {
			t.Errorf("exit status %d, want 0\n%s%s", code, &out, &errOut)
		}
		if !strings.Contains(out.String(), "mutate: 1 killed, 0 survived, 0 errors, 0 not run; 1 mutations") {
			t.Errorf("unexpected count line:\n%s", &out)
		}
	})
}

// CI must attack every invariant in at least three ways.
func TestCIAttacksEveryInvariant(t *testing.T) {
	all, err := readMutations(filepath.Join("..", "..", "testdata", "mutations"), func(m *mutation) bool { return m.ci != "" })
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, m := range all {
		count[m.ci]++
	}
	t.Log(count)
	for i := 1; i <= 12; i++ {
		if name := fmt.Sprintf("I%d", i); count[name] < 3 {
			t.Errorf("%d mutations of %s are run by CI, want at least 3", count[name], name)
		}
	}
	if len(all) > 80 {
		t.Errorf("CI runs %d mutations; more than 80 take too long", len(all))
	}
}

func TestRunRefusesWrongUsage(t *testing.T) {
	dir := tinyModule(t, map[string]string{"one": mutationText("./max", "return a", "return b")})
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"-run", "("}, "-run: "},
		{[]string{"-run", "nothing"}, "no mutation in "},
		{[]string{"-j", "0"}, "must be at least 1"},
		{[]string{"-timeout", "0"}, "must be more than 0"},
		{[]string{"one"}, `unexpected argument "one"`},
		{[]string{"-since", "x"}, "are for -rows"},
		{[]string{"-nonesuch"}, "not defined"},
	} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), dir, tc.args, &out, &errOut); code != 2 || !strings.Contains(errOut.String(), tc.want) {
			t.Errorf("%q: exit status %d, stderr %q; want 2 and %q", tc.args, code, &errOut, tc.want)
		}
	}
	var out, errOut bytes.Buffer
	if code := run(t.Context(), t.TempDir(), nil, &out, &errOut); code != 2 || !strings.Contains(errOut.String(), "not inside a Go module") {
		t.Errorf("outside a module: exit status %d, stderr %q", code, &errOut)
	}
}

func TestParseMutation(t *testing.T) {
	m, err := parseMutation("m", []byte(`# I4: why
# more

file: a/b.go
test: ./a ./c/... -run 'TestX|TestY'
-- old --
	x := 1

	y := 2
-- new --
-- old c/d.go --
part
-- new --
other
`))
	if err != nil {
		t.Fatal(err)
	}
	if m.about != "I4: why" || m.testLine() != "./a ./c/... -run TestX|TestY" {
		t.Errorf("about %q, test %q", m.about, m.testLine())
	}
	want := []change{{"a/b.go", "\tx := 1\n\n\ty := 2", ""}, {"c/d.go", "part", "other"}}
	if len(m.changes) != 2 || m.changes[0] != want[0] || m.changes[1] != want[1] {
		t.Errorf("changes %q, want %q", m.changes, want)
	}
}

func TestParseMutationRefuses(t *testing.T) {
	const head = "# why\nfile: a.go\ntest: ./a\n"
	const body = "-- old --\nx\n-- new --\ny\n"
	for _, tc := range []struct{ text, want string }{
		{"", "no comment says"},
		{"file: a.go\ntest: ./a\n" + body, "no comment says"},
		{"# why\nfile: a.go\n" + body, "no test: line"},
		{"# why\ntest: ./a\n" + body, "the section has no file"},
		{head, "no old and new sections"},
		{head + "-- old --\nx\n", "has no new section"},
		{head + "-- old --\nx\n-- old --\ny\n", "line 6: an old section without its new section"},
		{head + "-- new --\nx\n", "line 4: a new section must follow"},
		{head + "-- old --\nx\n-- new b.go --\ny\n", "only an old section may name a file"},
		{head + "-- old --\n-- new --\ny\n", "an old section is empty"},
		{head + "-- old --\nx\n-- new --\nx\n", "old and new are the same"},
		{head + "-- old b_test.go --\nx\n-- new --\ny\n", "is a test"},
		{head + "-- old ../b.go --\nx\n-- new --\ny\n", "is not inside the module"},
		{head + "file: b.go\n" + body, "a second file"},
		{head + "test: ./b\n" + body, "a second test"},
		{head + "color: red\n" + body, `unknown key "color"`},
		{head + "ci: yes\n" + body, `ci is "yes"`},
		{head + "what is this\n" + body, "neither a comment nor a key"},
		{"# why\nfile: a.go\ntest: a\n" + body, `"a" is neither a package pattern`},
		{"# why\nfile: a.go\ntest: -run X\n" + body, "names no package"},
		{"# why\nfile: a.go\ntest: ./a -run\n" + body, "-run needs"},
		{"# why\nfile: a.go\ntest: ./a -run (\n" + body, "error parsing regexp"},
	} {
		if _, err := parseMutation("m", []byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestApply(t *testing.T) {
	ch := func(old, replacement string) change { return change{"f", old, replacement} }
	for _, tc := range []struct {
		text    string
		changes []change
		want    string // result, or with wantErr a part of the error
		wantErr bool
	}{
		{"one two three", []change{ch("three", "3"), ch("one ", "")}, "two 3", false},
		{"one two", []change{ch("one", "two"), ch("two", "one")}, "two one", false},
		{"aaa", []change{ch("aa", "b")}, "more than once", true},
		{"abc", []change{ch("ab", "x"), ch("bc", "y")}, "overlap", true},
		{"abc", []change{ch("ABC", "x")}, "not in the file", true},
	} {
		got, err := apply(tc.text, tc.changes)
		if tc.wantErr {
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q: error %v, want %q", tc.text, err, tc.want)
			}
		} else if err != nil || got != tc.want {
			t.Errorf("%q: %q, %v; want %q", tc.text, got, err, tc.want)
		}
	}
}

func TestReadEvents(t *testing.T) {
	res, err := readEvents(bytes.NewBufferString(`{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
not from a test
{"Action":"output","Package":"p","Test":"TestB","Output":"panic: test timed out after 1s\n"}
{"Action":"fail","Package":"p","Test":"TestB/deep"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p"}
{"Action":"fail","Package":"q"}
{"Action":"skip","Package":"r","Test":"TestC"}
{"Action":"pass","Package":"r"}
`))
	if err != nil {
		t.Fatal(err)
	}
	if res.passed != 1 || res.skipped != 1 || !res.timedOut || res.unbuilt != "" {
		t.Errorf("got %+v", res)
	}
	// q failed outside of any test, in TestMain or an init function.
	if got := strings.Join(res.failed, " "); got != "TestB/deep q" {
		t.Errorf("failed %q", got)
	}
	if !strings.Contains(res.output, "not from a test\n") {
		t.Errorf("output %q", res.output)
	}
}

// The rows of the table name tests and mutations that exist and belong together, and the
// file of sentences names rows.
func TestRowsAreSound(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all code")
	}
	var out, errOut bytes.Buffer
	if code := run(t.Context(), ".", []string{"-rows", "-check"}, &out, &errOut); code != 0 {
		t.Errorf("exit status %d\n%s%s", code, &out, &errOut)
	}
	t.Log(out.String())
}

func TestRows(t *testing.T) {
	const of = "./max -run ^TestOf$"
	dir := tinyModule(t, map[string]string{
		"taken":     mutationText(of, "\t\treturn a\n", "\t\treturn b\n"),
		"untouched": mutationText(of, "const Limit = 100", "const Limit = 101"),
		"of-others": mutationText("./max -run ^TestSkipped$", "return a", "return b"),
	})
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	try := func(wantCode int, args []string, want ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := run(t.Context(), dir, append([]string{"-rows"}, args...), &out, &out); code != wantCode {
			t.Errorf("%q: exit status %d, want %d\n%s", args, code, wantCode, &out)
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%q: no %q in\n%s", args, w, &out)
			}
		}
		return out.String()
	}
	table := func(rows ...string) {
		write("testdata/seeds.md", "# Rows\n\n| | statement | here | test | mutation | differs |\n|---|---|---|---|---|---|\n"+strings.Join(rows, "\n")+"\n")
	}
	const sound = "| A1 | the larger | `Of` | `TestOf` | `taken` | |\n| A2 | the same | `Of` | `TestOf/left` | `taken` | |"

	// A row's test bites, or it does not.
	table(sound, "| B1 | not yet | | | open 3 | |")
	try(0, nil, "3 statements: 1 open, 0 without", "killed   A1 taken TestOf ", "killed   A2 taken TestOf/left ", "rows: 2 of 2 tried")
	try(0, []string{"-run", "^A1$"}, "rows: 1 of 2 tried")
	table(sound, "| B1 | a limit | `Limit` | `TestOf` | `untouched` | |")
	try(1, nil, "SURVIVED B1 untouched TestOf")

	// What does not fit is said before anything is run.
	table("| A1 | x | | `TestOf` | `nonesuch` | |", "| A2 | x | | `TestOf` | `of-others` | |", "| A3 | x | | `TestNone` | `taken` | |", "| A4 | x | | | | |")
	if out := try(1, nil, "A1: there is no mutation nonesuch", "A2: none of its tests is named by its mutation of-others", "A3: no mutation of the row names TestNone",
		"no test and mutation: A1 A2 A3 A4", "4 without a test"); strings.Contains(out, "killed") {
		t.Errorf("something was run:\n%s", out)
	}
	table(sound, "| A1 | twice | | `TestOf` | `taken` | |", "| A9 | a cell too many | | | | | |")
	try(1, []string{"-check"}, "A1: 6 cells, want 6, and each id once", "A9: 7 cells")

	// Sentences of documents.
	table(sound)
	write("seeds/0.txt", "# Title\n│ The larger. ──► The same！\n  └──┘\n")
	out := try(1, []string{"-check", "-documents", filepath.Join(dir, "seeds")}, "no row, and not marked as prose: A 1 ", "  # Title", "  The larger.", "  The same！")
	var lines []string
	for line := range strings.Lines(out) {
		if _, key, ok := strings.Cut(line, "as prose: "); ok {
			lines = append(lines, strings.Join(strings.Fields(key)[:3], " "))
		}
	}
	if len(lines) != 3 {
		t.Fatalf("%d sentences:\n%s", len(lines), out)
	}
	write("testdata/seeds-sentences.txt", lines[0]+" prose\n"+lines[1]+" A1\n"+lines[2]+" A1 A2\n")
	try(0, []string{"-check", "-documents", filepath.Join(dir, "seeds")}, "3 sentences, 1 of them prose; 2 statements: 0 open")
	write("seeds/0.txt", "# Title\nThe smaller. The same！\n")
	try(1, []string{"-check", "-documents", filepath.Join(dir, "seeds")}, "A 2 ", "no document has the sentence "+lines[1])
	write("testdata/seeds-sentences.txt", lines[0]+" A7\n"+lines[1]+"\n")
	try(1, []string{"-check"}, "there is no row A7", "names no row")
	write("testdata/seeds-sentences.txt", "")

	// Only what was touched since a revision.
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.test"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	try(0, []string{"-since", "HEAD"}, "none to try")
	write("max/other.go", "package max\n")
	git("add", ".")
	try(0, []string{"-since", "HEAD"}, "none to try")
	write("testdata/mutations/taken.txt", mutationText(of, "\t\treturn a\n", "\t\treturn b + 0\n"))
	try(0, []string{"-since", "HEAD"}, "rows: 2 of 2 tried")
	try(0, []string{"-most", "1"}, "mutations are asked for, and 1 of them tried")
	try(1, []string{"-since", "nonesuch"}, "git diff nonesuch")
}
