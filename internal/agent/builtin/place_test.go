package builtin_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/agent/builtin"
	"github.com/clew-dev/clew/internal/agent/tool"
)

// fileCalls are calls of all tools that take a path.
var fileCalls = map[string][]any{
	"read":  nil,
	"write": {"content", "changed"},
	"edit":  {"oldText", "secret", "newText", "changed"},
	"grep":  {"pattern", "secret"},
	"find":  {"pattern", "*"},
	"ls":    nil,
}

// I12: no call of a model reads or writes outside the project, but by an absolute path
// that was announced as one outside.
func TestI12NothingLeavesTheProject(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	b.put("/secret.txt", "a secret")
	b.put("/other/secret.txt", "a secret")
	b.put("in/file.txt", "fine")
	b.link("../secret.txt", "link-file")
	b.link(b.path("/other"), "link-dir")
	b.link("..", "up")
	b.link("link-dir", "chain")
	b.link("../../secret.txt", "in/link")
	b.link("../no-such-file", "dangling")
	b.link("loop2", "loop1")
	b.link("loop1", "loop2")
	for _, path := range []string{
		"../secret.txt", "in/../../secret.txt", "..", "../", "../project/../secret.txt", "./../other/secret.txt",
		"link-file", "link-dir/secret.txt", "link-dir", "up/secret.txt", "up/other", "chain/secret.txt", "in/link", "dangling",
		"link-dir/../secret.txt/x", "up/project/../secret.txt", "loop1", "loop1/x", "in/../link-file",
		b.dir + "/link-file", b.dir + "/in/../up/secret.txt", b.dir + "/link-dir/new.txt", "link-dir/new/deep.txt",
		"/dev/null", "/dev/zero", "/dev/stdin", "/dev/fd/0", "/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/self/cwd/in/file.txt", "/sys/kernel", "/DEV/null",
		"/dev/../dev/null", "//dev/null",
		"a\x00b", "in/file.txt\x00", "a\nb", "\x1b[2J", "", strings.Repeat("a", 5000), strings.Repeat("a", 300), strings.Repeat("a/", 3000),
	} {
		for name, more := range fileCalls {
			if path == "" && (name == "ls" || name == "grep" || name == "find") {
				continue // they take the project
			}
			if path == "link-dir/../secret.txt/x" && name == "write" {
				continue // it is secret.txt/x in the project
			}
			pairs := append([]any{"path", path}, more...)
			tl := b.tool(name)
			_, err := tl.Effect(args(pairs...))
			// Run must hold alone, too.
			r, runErr := tl.Run(t.Context(), tool.Call{Arguments: args(pairs...)})
			if runErr == nil || strings.Contains(textOf(r), "a secret") {
				t.Errorf("%s %q: %q", name, path, textOf(r))
			}
			if e := (*builtin.Error)(nil); runErr != nil && (!errors.As(runErr, &e) || e.Hint == "") {
				t.Errorf("%s %q: %v says not what to do", name, path, runErr)
			}
			if err == nil && runErr == nil {
				t.Errorf("%s %q is allowed", name, path)
			}
		}
	}
	if got := b.get("/secret.txt") + b.get("/other/secret.txt"); got != "a secreta secret" {
		t.Errorf("files outside were changed: %q", got)
	}
	for _, name := range []string{"/no-such-file", "/other/new.txt", "/other/new"} {
		if _, err := os.Lstat(b.path(name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	contains(t, b.bad("read", "path", "../secret.txt").Error(), "leads out of the project", b.path("/secret.txt"), "the user is asked")
	contains(t, b.bad("read", "path", "link-file").Error(), "symbolic link", b.path("/secret.txt"))
}

func TestPlacesInside(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	b.put("in/file.txt", "fine")
	b.put("..hidden", "fine")
	b.put("~odd", "fine")
	b.put("a\u202eb", "fine")
	b.link("in/file.txt", "relative")
	b.link(b.path("in"), "absolute") // os.Root alone refuses it
	b.link("../in/../relative", "in/back")
	for _, path := range []string{
		"in/file.txt", "./in/file.txt", "in//file.txt", "in/../in/file.txt", b.path("in/file.txt"), b.dir + "/./in/x/../file.txt",
		"relative", "absolute/file.txt", "in/back", "..hidden", "~odd", "a\u202eb",
	} {
		e, r, err := b.call("read", "path", path)
		if err != nil || textOf(r) != "fine" || e.Outside || e.Kind != tool.Read {
			t.Errorf("%q: %+v %q %v", path, e, textOf(r), err)
			continue
		}
		if len(e.Paths) != 1 || !strings.HasPrefix(e.Paths[0], b.dir+"/") {
			t.Errorf("%q: paths %q", path, e.Paths)
		}
		if strings.Contains(e.Line, "\u202e") {
			t.Errorf("the line %q can turn what is shown around", e.Line)
		}
	}
	// A link stays a link; what it leads to is changed.
	b.ok("write", "path", "relative", "content", "new")
	if got, _ := os.Readlink(b.path("relative")); got != "in/file.txt" || b.get("in/file.txt") != "new" {
		t.Errorf("link %q, file %q", got, b.get("in/file.txt"))
	}
	e, _, _ := b.call("write", "path", "absolute/deep/new.txt", "content", "x")
	if e.Outside || e.Paths[0] != b.path("in/deep/new.txt") || b.get("in/deep/new.txt") != "x" {
		t.Errorf("%+v", e)
	}
}

// The project may be named through a link, as /tmp is on macOS.
func TestProjectThroughALink(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	b.put("a.txt", "fine")
	b.link(b.dir, "/alias")
	b.link(b.dir, "/other-alias")
	set, err := builtin.New(builtin.Config{Dir: b.path("/alias")})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	c := &bench{t: t, dir: b.dir, set: set}
	for _, path := range []string{"a.txt", b.path("/alias/a.txt"), b.path("a.txt"), b.path("/other-alias/a.txt")} {
		e, r, err := c.call("read", "path", path)
		if err != nil || textOf(r) != "fine" || e.Outside || e.Paths[0] != b.path("a.txt") {
			t.Errorf("%s: %+v %v", path, e, err)
		}
	}
}

func TestPlacesOutside(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t, func(c *builtin.Config) {
		c.Environ = []string{"HOME=" + filepath.Dir(c.Dir), "PATH=" + os.Getenv("PATH")}
	})
	b.put("/other/a.txt", "outside")
	b.link("other/a.txt", "/link")
	for _, path := range []string{b.path("/other/a.txt"), "~/other/a.txt", b.path("/link"), b.path("/other") + "/../other/a.txt"} {
		e, r, err := b.call("read", "path", path)
		if err != nil || !e.Outside || e.Paths[0] != b.path("/other/a.txt") || textOf(r) != "outside" {
			t.Errorf("%q: %+v %q %v", path, e, textOf(r), err)
		}
	}
	e, r, err := b.call("write", "path", "~/fresh/deep/b.txt", "content", "made")
	if err != nil || !e.Outside || b.get("/fresh/deep/b.txt") != "made" || !strings.HasPrefix(textOf(r), "Created ") {
		t.Errorf("%+v %+v %v", e, r, err)
	}
	b.ok("edit", "path", "~/other/a.txt", "oldText", "out", "newText", "in")
	contains(t, b.ok("grep", "path", "~/other", "pattern", "inside"), b.path("/other/a.txt")+":1: inside")
	contains(t, b.ok("grep", "path", "~/other/a.txt", "pattern", "inside"), b.path("/other/a.txt")+":1: inside")
	contains(t, b.ok("find", "path", "~/other", "pattern", "*.txt"), b.path("/other/a.txt"))
	contains(t, b.ok("ls", "path", "~"), "project/")
	// What nobody was asked about is not opened.
	_, err = b.tool("read").Run(t.Context(), tool.Call{Arguments: args("path", b.path("/other/a.txt"), "limit", 3)})
	if !errors.Is(err, builtin.ErrRefused) {
		t.Errorf("run without an effect: %v", err)
	}
}

func TestNoHome(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *builtin.Config) { c.Environ = []string{"PATH=" + os.Getenv("PATH")} })
	contains(t, b.bad("read", "path", "~/x").Error(), "home folder is not set")
}

// A path that leads elsewhere at Run than at Effect is not opened: the user agreed to
// the one place.
func TestPlaceChangesBetweenEffectAndRun(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	for name, to := range map[string]string{"outside": "../secret.txt", "inside": "b.txt", "folder": ".", "device": "/dev/null"} {
		for op, more := range fileCalls {
			t.Run(name+" "+op, func(t *testing.T) {
				b := newBench(t)
				b.put("a.txt", "secret")
				b.put("b.txt", "secret")
				b.put("/secret.txt", "secret")
				b.link("a.txt", "link")
				a := args(append([]any{"path", "link"}, more...)...)
				if _, err := b.tool(op).Effect(a); err != nil {
					t.Fatal(err)
				}
				if err := os.Remove(b.path("link")); err != nil {
					t.Fatal(err)
				}
				b.link(to, "link")
				if _, err := b.tool(op).Run(t.Context(), tool.Call{Arguments: a}); err == nil {
					t.Error("it ran at another place")
				}
				if got := b.get("a.txt") + b.get("b.txt") + b.get("/secret.txt"); got != "secretsecretsecret" {
					t.Errorf("changed: %q", got)
				}
			})
		}
	}
}

// Two calls with the same path, between which the link is turned: it is not known to
// which place the user agreed.
func TestPlaceChangesBetweenTwoEffects(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	b.put("/x/1.txt", "one")
	b.put("/x/2.txt", "two")
	turn := func(to string) {
		_ = os.Remove(b.path("/link"))
		b.link(to, "/link")
	}
	a := args("path", b.path("/link"))
	read := b.tool("read")
	for _, last := range []string{"x/1.txt", "x/2.txt"} {
		for _, to := range []string{"x/1.txt", "x/2.txt"} {
			turn(to)
			if _, err := read.Effect(a); err != nil {
				t.Fatal(err)
			}
		}
		turn(last)
		if r, err := read.Run(t.Context(), tool.Call{Arguments: a}); !errors.Is(err, builtin.ErrChanged) {
			t.Errorf("%s: %q %v", last, textOf(r), err)
		}
	}
	// Asked once more, it is clear.
	if e, r, err := b.call("read", "path", b.path("/link")); err != nil || textOf(r) != "two" || e.Paths[0] != b.path("/x/2.txt") {
		t.Errorf("%+v %v", e, err)
	}
}

// The property behind the two: however links are turned while calls run, nothing
// outside is read or written.
func TestI12LinksTurnedWhileCallsRun(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	b.put("/out/f", "secret")
	b.put("in/f", "public")
	b.link("in", "d")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			to := "in"
			if i%2 == 0 {
				to = "../out"
			}
			_ = os.Remove(b.path("d.new"))
			_ = os.Symlink(to, b.path("d.new"))
			_ = os.Rename(b.path("d.new"), b.path("d"))
		}
	}()
	done := 0
	for range 3000 {
		for op, more := range map[string][]any{"read": nil, "grep": {"pattern", "."}, "write": {"content", "public"}} {
			a := args(append([]any{"path", "d/f"}, more...)...)
			tl := b.tool(op)
			if _, err := tl.Effect(a); err != nil {
				continue
			}
			r, err := tl.Run(t.Context(), tool.Call{Arguments: a})
			if strings.Contains(textOf(r), "secret") {
				t.Fatalf("%s read outside", op)
			}
			if err == nil {
				done++
			}
		}
	}
	close(stop)
	<-stopped
	if b.get("/out/f") != "secret" {
		t.Error("a file outside was written")
	}
	if list, _ := os.ReadDir(b.path("/out")); len(list) != 1 {
		t.Errorf("files were made outside: %v", list)
	}
	t.Logf("%d calls were done", done)
	if done == 0 {
		t.Error("no call was done: the test shows nothing")
	}
}

// FuzzPath: whatever a path is, a call that says it stays inside does.
func FuzzPath(f *testing.F) {
	for _, s := range []string{
		"a.txt", "../secret.txt", "link/../x", "/etc/passwd", "~/x", "~", "in/up/../../secret.txt", "up/up/project/a.txt", "a/./b//c/", `..\secret.txt`, "C:\\x",
		"/proc/self/cwd/a.txt", "\x00", "up/project/link/secret.txt", "...", "./..//.", "dangling/x",
	} {
		f.Add(s)
	}
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	project := filepath.Join(dir, "project")
	for _, d := range []string{"project/in", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	secret := filepath.Join(dir, "secret.txt")
	for _, name := range []string{secret, filepath.Join(dir, "other", "secret.txt"), filepath.Join(project, "a.txt")} {
		if err := os.WriteFile(name, []byte("content of "+name), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": "../other", "up": "..", "in/up": "..", "dangling": "../nothing", "self": "."} {
		if err := os.Symlink(to, filepath.Join(project, name)); err != nil {
			f.Skip(err)
		}
	}
	set, err := builtin.New(builtin.Config{Dir: project, Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { set.Close() })
	read := set.Tools()[0]
	f.Fuzz(func(t *testing.T, path string) {
		a, err := json.Marshal(map[string]string{"path": path})
		if err != nil {
			t.Skip()
		}
		e, err := read.Effect(a)
		if err != nil {
			return
		}
		inside := e.Paths[0] == project || strings.HasPrefix(e.Paths[0], project+string(filepath.Separator))
		if e.Outside == inside {
			t.Fatalf("%q leads to %q, outside is %v", path, e.Paths[0], e.Outside)
		}
		if strings.ContainsAny(e.Line, "\n\r\x1b") {
			t.Fatalf("%q: line %q", path, e.Line)
		}
		r, err := read.Run(t.Context(), tool.Call{Arguments: a})
		if err == nil && !e.Outside && strings.Contains(textOf(r), "secret.txt") {
			t.Fatalf("%q read %q", path, textOf(r))
		}
	})
}
