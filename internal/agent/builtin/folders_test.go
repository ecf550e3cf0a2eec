package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/agent/tool"
)

func folderBench(t *testing.T) *bench {
	b := newBench(t)
	b.put("main.go", "package main\n\nfunc main() {\n\tHello()\n}\n")
	b.put("sub/hello.go", "package sub\n\n// Hello says hello.\nfunc Hello() {}\n")
	b.put("sub/deep/hello_test.go", "package sub\r\nfunc TestHello() {}\r\n")
	b.put("sub/.hidden", "hello hidden\n")
	b.put(".gitignore", "*.log\n/build/\n!keep.log\n")
	b.put("sub/.gitignore", "secret*\n")
	b.put("sub/secret.txt", "hello secret")
	b.put("a.log", "hello log")
	b.put("keep.log", "hello kept")
	b.put("build/out.go", "hello build")
	b.put("sub/build/in.go", "hello inner build")
	b.put(".git/config", "hello git")
	b.put("bin", "hello\x00")
	b.put("empty.txt", "")
	return b
}

func TestGrep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []any
		want string
	}{
		{"all", []any{"pattern", "[Hh]ello"}, `keep.log:1: hello kept
main.go:4: 	Hello()
sub/.hidden:1: hello hidden
sub/build/in.go:1: hello inner build
sub/deep/hello_test.go:2: func TestHello() {}
sub/hello.go:3: // Hello says hello.
sub/hello.go:4: func Hello() {}`},
		{"path and glob", []any{"pattern", "hello", "path", "sub", "glob", "*.go"}, "sub/build/in.go:1: hello inner build\nsub/hello.go:3: // Hello says hello."},
		{"glob with folders", []any{"pattern", "ello", "glob", "sub/*/*.go"}, "sub/build/in.go:1: hello inner build\nsub/deep/hello_test.go:2: func TestHello() {}"},
		{"case", []any{"pattern", "HELLO SAYS", "ignoreCase", "true"}, "sub/hello.go:3: // Hello says hello."},
		{"literal", []any{"pattern", "Hello() {", "literal", true, "path", "sub/hello.go"}, "sub/hello.go:4: func Hello() {}"},
		{"end of a line with CR", []any{"pattern", `sub$`, "path", "sub/deep"}, "sub/deep/hello_test.go:1: package sub"},
		{"a file that git ignores, by its name", []any{"pattern", "hello", "path", "a.log"}, "a.log:1: hello log"},
		{"a folder that git ignores, by its name", []any{"pattern", "hello", "path", "build"}, "build/out.go:1: hello build"},
		{"none", []any{"pattern", "nothing here"}, "No line matches nothing here"},
		{"empty files have no lines", []any{"pattern", "^$", "glob", "*.txt"}, "No line matches ^$"},
		{"binary", []any{"pattern", "hello", "path", "bin"}, "No line matches hello\n\n[the file is no text and was not searched; use bash]"},
		{"limit", []any{"pattern", "ello", "limit", 2}, "keep.log:1: hello kept\nmain.go:4: \tHello()\n\n[there are more than 2 matches; narrow the search down or give a larger limit]"},
		{"limit is all", []any{"pattern", "ello", "limit", 3, "path", "sub/hello.go"}, "sub/hello.go:3: // Hello says hello.\nsub/hello.go:4: func Hello() {}"},
		{"context", []any{"pattern", "func|Hello says", "context", 1, "path", "."}, `main.go-2- 
main.go:3: func main() {
main.go-4- 	Hello()
--
sub/deep/hello_test.go-1- package sub
sub/deep/hello_test.go:2: func TestHello() {}
--
sub/hello.go-2- 
sub/hello.go:3: // Hello says hello.
sub/hello.go:4: func Hello() {}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := folderBench(t)
			if got := b.ok("grep", c.args...); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	b := folderBench(t)
	for want, a := range map[string][]any{
		"RE2":                        {"pattern", "(?=x)"},
		"missing closing )":          {"pattern", "("},
		"the pattern is empty":       {"pattern", ""},
		"no glob":                    {"pattern", "x", "glob", "[a"},
		"neither true nor false":     {"pattern", "x", "literal", "perhaps"},
		"no number from 0 to 100":    {"pattern", "x", "context", 101},
		"there is no such file or":   {"pattern", "x", "path", "none"},
		"pattern: the argument is m": {},
	} {
		contains(t, b.bad("grep", a...).Error(), want)
	}
	b.put("long.txt", strings.Repeat("x", 100)+"needle"+strings.Repeat("ä", 2<<20))
	got := b.ok("grep", "pattern", "needle")
	if len(got) > 2000 {
		t.Errorf("%d bytes of a long line", len(got))
	}
	contains(t, got, "needle", "long lines are cut")
	b.put("huge.txt", strings.Repeat("needle\n", 5<<20))
	contains(t, b.ok("grep", "pattern", "needle", "path", "huge.txt"), "larger than 32 MiB not searched")
	e, _, _ := b.call("grep", "pattern", "x", "path", "sub")
	if e.Kind != tool.Read || e.Outside || e.Paths[0] != b.path("sub") || e.Line != "grep x in sub" {
		t.Errorf("%+v", e)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{"pattern", "*.go"}, "main.go\nsub/build/in.go\nsub/deep/hello_test.go\nsub/hello.go"},
		{[]any{"pattern", "**/*.go", "path", "sub"}, "sub/build/in.go\nsub/deep/hello_test.go\nsub/hello.go"},
		{[]any{"pattern", "./sub/*.go"}, "sub/hello.go"},
		{[]any{"pattern", "{main,hello}*"}, "main.go\nsub/deep/hello_test.go\nsub/hello.go"},
		{[]any{"pattern", "deep"}, "sub/deep/"},
		{[]any{"pattern", ".*"}, ".gitignore\nsub/.gitignore\nsub/.hidden"},
		{[]any{"pattern", "*.log"}, "keep.log"},
		{[]any{"pattern", "secret*"}, "Nothing found: no name matches secret*"},
		{[]any{"pattern", "*.go", "limit", 2}, "main.go\nsub/build/in.go\n\n[there are more than 2; narrow the pattern down or give a larger limit]"},
		{[]any{"pattern", "*.go", "limit", 4}, "main.go\nsub/build/in.go\nsub/deep/hello_test.go\nsub/hello.go"},
	} {
		if got := folderBench(t).ok("find", c.args...); got != c.want {
			t.Errorf("%s: got\n%s", args(c.args...), got)
		}
	}
	b := folderBench(t)
	for want, a := range map[string][]any{
		"no glob":              {"pattern", "{a"},
		"the pattern is empty": {"pattern", ""},
		"give that as path":    {"pattern", b.dir + "/*.go"},
		"not a folder":         {"pattern", "*", "path", "main.go"},
		"no such file":         {"pattern", "*", "path", "none"},
	} {
		contains(t, b.bad("find", a...).Error(), want)
	}
}

func TestLs(t *testing.T) {
	t.Parallel()
	b := folderBench(t)
	b.link("main.go", "Link")
	b.put("odd\nname", "")
	want := ".git/\n.gitignore\na.log\nbin\nbuild/\nempty.txt\nkeep.log\nLink@\nmain.go\nodd\uFFFDname\nsub/"
	if got := b.ok("ls"); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := b.ok("ls", "path", "sub/", "limit", 2); got != ".gitignore\n.hidden\n\n[2 of 6 names; give a larger limit for the rest]" {
		t.Errorf("got\n%s", got)
	}
	if err := os.Mkdir(b.path("void"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := b.ok("ls", "path", "void"); got != "(the folder is empty)" {
		t.Errorf("got %q", got)
	}
	contains(t, b.bad("ls", "path", "main.go").Error(), "not a folder")
	contains(t, b.bad("ls", "path", "none").Error(), "no such file or folder")
}

// A search does not leave the project by a link, and does not go round in circles.
func TestI12SearchFollowsNoLinks(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	b.put("/out/secret.txt", "a secret")
	b.put("in.txt", "a secret, too")
	b.link("../out", "out")
	b.link("../out/secret.txt", "file")
	b.link(".", "self")
	b.link("../out/secret.txt", ".gitignore")
	if got := b.ok("grep", "pattern", "secret"); got != "in.txt:1: a secret, too" {
		t.Errorf("%q", got)
	}
	if got := b.ok("find", "pattern", "*"); got != ".gitignore\nfile\nin.txt\nout\nself" {
		t.Errorf("%q", got)
	}
}

func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	if os.Geteuid() == 0 {
		t.Skip("root may read every folder")
	}
	b := newBench(t)
	b.put("a/x", "needle")
	b.put("b/x", "needle")
	if err := os.Chmod(b.path("a"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(b.path("a"), 0o755) }) // so that it can be removed
	contains(t, b.ok("grep", "pattern", "needle"), "b/x:1: needle", "could not be read")
}

func TestSearchIsCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 300 {
		b.put(fmt.Sprintf("d%d/f", i), strings.Repeat("a line\n", 3000))
	}
	for _, op := range []string{"grep", "find"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		_, err := b.tool(op).Run(ctx, tool.Call{Arguments: args("pattern", "(x+x+)+y")})
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", op, err)
		}
	}
}

// What is left out is what git leaves out.
func TestIgnoreAsGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git to compare with")
	}
	files := []string{
		"a.txt", "b.txt", "#x", "!y", "sp ace", "trail ", "x.log", "dir/x.log", "dir/sub/x.log", "dir/sub/y.txt", "build/a", "sub/build/a", "foo/bar", "foo/baz/q",
		"deep/foo/bar", "node_modules/m/i.js", "sub/node_modules/m/i.js", "c{1,2}", "c1", "[x]", "x", "é.txt", "doc/a.md", "doc/in/b.md", "abc/x/y/z", "abc/z", ".hid/a", "tmp1", "tmp2", "tmpx", "a/b/c/d.txt", "back\\slash",
	}
	patterns := []string{
		"*.log", "!dir/x.log", "!x.log", "/build", "build/", "foo/bar", "foo/**", "!foo/bar", "foo/**\n!foo/bar", "**/foo", "**/bar", "node_modules", "\\#x", "\\!y", "sp ace", "trail\\ ", "trail ", "c{1,2}", "\\[x\\]", "[x]",
		"é*", "doc/*.md", "abc/**/z", "a?c", "tmp[0-9]", "tmp[!0-9]", "*", "!*/", "!*.txt", "/*", "!/dir", ".hid", "# comment", "", "   ", "a/**/d.txt", "dir/*", "!dir/sub/", "/", "**", "sub/", "*/a", "back\\\\slash", "[", "d\\", "x.log/", "\ufeff", "/**/a",
	}
	rng := newRandom(7)
	differ := 0
	rounds := 120
	if testing.Short() {
		rounds = 20
	}
	for round := range rounds {
		b := newBench(t)
		for _, f := range files {
			b.put(f, "")
		}
		pick := func() string {
			var out []string
			for range 1 + rng(4) {
				out = append(out, patterns[rng(len(patterns))])
			}
			return strings.Join(out, "\n") + "\n"
		}
		b.put(".gitignore", pick())
		if round%2 == 0 {
			b.put("dir/.gitignore", pick())
			b.put("sub/.gitignore", pick())
		}
		cmd := exec.Command(git, "init", "-q")
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git does not work here: %v %s", err, out)
		}
		b.put(".git/info/exclude", pick())
		cmd = exec.Command(git, "-c", "core.excludesFile=/dev/null", "-c", "core.ignoreCase=false", "ls-files", "-z", "--others", "--exclude-standard")
		cmd.Dir = b.dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
		var got []string
		for _, l := range strings.Split(b.ok("find", "pattern", "*"), "\n") {
			if !strings.HasSuffix(l, "/") && !strings.HasPrefix(l, "Nothing found") {
				got = append(got, l)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			differ++
			t.Errorf("round %d: .gitignore %q, dir %q, sub %q, exclude %q\n got %q\nwant %q", round, b.get(".gitignore"), may(b, "dir/.gitignore"), may(b, "sub/.gitignore"), b.get(".git/info/exclude"), got, want)
		}
		if differ > 3 {
			t.FailNow()
		}
	}
}

func may(b *bench, name string) string {
	if data, err := os.ReadFile(b.path(name)); err == nil {
		return string(data)
	}
	return ""
}

func newRandom(seed uint64) func(n int) int {
	return func(n int) int {
		seed = seed*6364136223846793005 + 1442695040888963407
		return int(seed>>33) % n
	}
}

// A search through a folder is asked about once, so it keeps out of files with secrets.
func TestGrepPassesOverSecrets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("sub/.env", "KEY=secret\n")
	b.put("sub/.env.example", "KEY=example\n")
	if got := b.ok("grep", "pattern", "KEY"); !strings.Contains(got, "example") || strings.Contains(got, "=secret") || !strings.Contains(got, "1 file was passed over") {
		t.Errorf("it found %q", got)
	}
	if got := b.ok("grep", "pattern", "KEY", "path", "sub/.env"); !strings.Contains(got, "=secret") {
		t.Errorf("named as the path it found %q", got)
	}
}
