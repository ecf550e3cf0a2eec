package hook_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/internal/waittest"
)

func timeout(d time.Duration) func(*hook.Config) {
	return func(c *hook.Config) { c.Timeout = d }
}

// Whatever a program does, the pass is made as without it, soon, and a warning says
// what was wrong with the program.
func TestProgramsThatFail(t *testing.T) {
	const event = hook.SessionBeforeCompact
	short := timeout(300 * time.Millisecond)
	cases := []struct {
		do, arg string
		want    error
		text    string
		change  func(*hook.Config)
	}{
		{"hang", "", hook.ErrTimeout, "300ms", short},
		{"hang-deaf", "", hook.ErrTimeout, "killed", short},
		{"child-hang", "", hook.ErrTimeout, "killed", short},
		{"crash", "", hook.ErrFailed, "", nil},
		{"exit", "1", hook.ErrFailed, "because of this", nil},
		{"exit", "3", hook.ErrFailed, "exit status 3", nil},
		{"exit", "255", hook.ErrFailed, "exit status 255", nil},
		{"flood", "", hook.ErrTooLong, "1048576", nil},
		{"say", strings.Repeat(" ", 2000), hook.ErrTooLong, "1000", func(c *hook.Config) { c.MaxOutput = 1000 }},
		{"say", "hello", hook.ErrBadAnswer, `"hello"`, nil},
		{"say", "[]", hook.ErrBadAnswer, "{", nil},
		{"say", `{"cancel":true`, hook.ErrBadAnswer, "EOF", nil},
		{"say", `{"cancel":true} {"cancel":true}`, hook.ErrBadAnswer, "follows", nil},
		{"say", `{"cancle":true}`, hook.ErrBadAnswer, "cancle", nil},
		{"say", `{"compaction":{"summmary":"x"}}`, hook.ErrBadAnswer, "summmary", nil},
		{"say", `{"details":{}}`, nil, "belong to a Summary", nil},
		{"say", `{"cancel":"yes"}`, hook.ErrBadAnswer, "cancel", nil},
		{"say", `{"keep":"much"}`, hook.ErrBadAnswer, "no amount", nil},
		{"say", `{"edits":[{"entry":"x","content":"text"}]}`, hook.ErrBadAnswer, "array of blocks", nil},
		{"say", "{\"why\":\"\xff\xfe\"}", hook.ErrBadAnswer, "UTF-8", nil},
		{"deep", "", hook.ErrBadAnswer, "", nil},
		{"say", "", hook.ErrFailed, "can't be found", func(c *hook.Config) { c.Command = "no-such-program-of-clew" }},
		{"say", "", hook.ErrFailed, "no such", func(c *hook.Config) { c.Command = filepath.Join(t.TempDir(), "no such") }},
		{"say", "", hook.ErrFailed, "", func(c *hook.Config) { c.Dir = filepath.Join(t.TempDir(), "gone") }},
	}
	for i, c := range cases {
		t.Run(fmt.Sprintf("%d-%s", i, c.do), func(t *testing.T) {
			change := c.change
			if change == nil {
				change = func(*hook.Config) {}
			}
			s := full(t, doing(t, event, c.do, c.arg, change))
			p := prepare(t, s)
			var failed *clew.HookError
			if !p.Plan.Act || len(p.Warnings) != 1 || !errors.As(p.Warnings[0], &failed) || failed.Name != c.do || failed.Panic {
				t.Fatalf("act %v (%s), warnings %v", p.Plan.Act, p.Plan.Why, p.Warnings)
			}
			if c.want != nil && !errors.Is(failed, c.want) || !strings.Contains(failed.Error(), c.text) || strings.ContainsAny(failed.Error(), "\x1b\n") {
				t.Errorf("warning %q, want %v with %q", failed, c.want, c.text)
			}
		})
	}
}

// Odd programs that do answer.
func TestProgramsThatAnswer(t *testing.T) {
	const answer = ` {"cancel":true,"why":"not now"}` + "\n"
	for _, do := range []string{"say", "say-unread", "close-early", "flood-stderr", "drip", "child"} {
		t.Run(do, func(t *testing.T) {
			p := prepare(t, full(t, doing(t, hook.SessionBeforeCompact, do, answer)))
			if p.Plan.Act || !strings.Contains(p.Plan.Why, "not now") || len(p.Warnings) != 0 {
				t.Errorf("%v %s, warnings %v", p.Plan.Act, p.Plan.Why, p.Warnings)
			}
		})
	}
	for _, empty := range []string{"", " \n", "{}"} {
		if p := prepare(t, full(t, doing(t, hook.SessionBeforeCompact, "say", empty))); !p.Plan.Act || len(p.Warnings) != 0 {
			t.Errorf("answer %q: %v %v", empty, p.Plan.Act, p.Warnings)
		}
	}
}

// Exit code 2 blocks, with the standard error as the reason; a program that must answer
// blocks by failing too.
func TestExitCodeBlocks(t *testing.T) {
	p := prepare(t, full(t, doing(t, hook.SessionBeforeCompact, "exit", "2")))
	if p.Plan.Act || !strings.Contains(p.Plan.Why, "because of this") || len(p.Warnings) != 0 {
		t.Errorf("%v %q, warnings %v", p.Plan.Act, p.Plan.Why, p.Warnings)
	}
	must := func(c *hook.Config) { c.Required, c.Timeout = true, 300*time.Millisecond }
	p = prepare(t, full(t, doing(t, hook.SessionBeforeCompact, "hang", "", must)))
	if p.Plan.Act || !strings.Contains(p.Plan.Why, "must answer") {
		t.Errorf("%v %q", p.Plan.Act, p.Plan.Why)
	}
	for _, do := range []string{"exit", "crash"} {
		s := turns(t, 1, doing(t, hook.ToolResult, do, "2", must))
		if c := shown(prepare(t, s).Messages); strings.Contains(c, "line 0 of the file") || !strings.Contains(c, "withheld the result") {
			t.Errorf("%s: the result is there", do)
		}
	}
}

// A child that a program leaves behind does not outlive the call where there are
// process groups.
func TestChildrenAreKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	for _, do := range []string{"child", "child-hang"} {
		file := filepath.Join(t.TempDir(), "pid")
		t.Setenv("HOOKTEST_FILE", file)
		prepare(t, full(t, doing(t, hook.SessionBeforeCompact, do, "", timeout(time.Second))))
		pid, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, do+": the child to end", func() bool {
			stat, err := os.ReadFile("/proc/" + string(pid) + "/stat")
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}

// Cancelling the operation ends the program: it is told, may tidy up, and is killed when it does not end. What it
// answers then does not count.
func TestCancel(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no SIGTERM")
	}
	gone := func(pid []byte) bool {
		n := 0
		_, _ = fmt.Sscan(string(pid), &n)
		p, err := os.FindProcess(n)
		return err != nil || p.Signal(syscall.Signal(0)) != nil
	}
	for _, event := range []string{hook.SessionBeforeCompact, hook.SessionBeforeTree} {
		for _, do := range []string{"term", "term-deaf"} {
			file := filepath.Join(t.TempDir(), "pid")
			t.Setenv("HOOKTEST_FILE", file)
			s := full(t, doing(t, event, do, `{"summary":"too late"}`))
			leaf := s.Leaf()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				waittest.Until(t, do+" to begin", func() bool { pid, err := os.ReadFile(file); return err == nil && len(pid) > 0 })
				cancel()
			}()
			var err error
			if event == hook.SessionBeforeCompact {
				_, err = s.Prepare(ctx)
			} else {
				_, err = s.Branch(ctx, "", clew.BranchOptions{Summarize: true})
			}
			if !errors.Is(err, context.Canceled) || s.Leaf() != leaf {
				t.Errorf("%s, %s: %v", event, do, err)
			}
			if _, err := os.Stat(file + ".told"); err != nil {
				t.Errorf("%s, %s: it got no SIGTERM", event, do)
			}
			pid, err := os.ReadFile(file)
			if err != nil || !gone(pid) {
				t.Errorf("%s, %s: it still runs as %s (%v)", event, do, pid, err)
			}
		}
	}
}

func TestEnvironmentIsLimited(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-secret")
	t.Setenv("LC_ALL", "C")
	s := full(t, doing(t, hook.Context, "env", ""))
	c := shown(prepare(t, s).Messages)
	if strings.Contains(c, "sk-secret") || !strings.Contains(c, "LC_ALL=C") || !strings.Contains(c, "CLEW_HOOK_EVENT=context") || !strings.Contains(c, "PATH=") {
		t.Errorf("environment in %.2000s", c)
	}
}

// What is in an event or in the arguments is never read by a shell.
func TestNoShell(t *testing.T) {
	dir := t.TempDir()
	bad := "$(touch " + filepath.Join(dir, "made") + "); `id` | & > x"
	s := full(t, doing(t, hook.Context, "where", "", func(c *hook.Config) { c.Dir, c.Args = dir, []string{bad, "b c"} }))
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	last := prepare(t, s).Messages
	if text := last[len(last)-1].Text(); text != real+"|"+bad+"|b c" && text != dir+"|"+bad+"|b c" {
		t.Errorf("got %q", text)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Error("something was made")
	}
}

// The line that docs/hooks.md has for a summary by another model.
func TestLineOfTheDocs(t *testing.T) {
	doc, err := os.ReadFile("../docs/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(doc), "`\"shell\": true, \"command\": \"")
	line, _, ok := strings.Cut(line, "\"`")
	if _, err := exec.LookPath("jq"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs sh and jq")
	}
	h, err := hook.New(hook.Config{Event: hook.SessionBeforeCompact, Shell: true, Command: strings.Replace(line, "my-model", "head -n 1", 1)})
	if err != nil || !ok {
		t.Fatal(line, err)
	}
	p := prepare(t, full(t, h))
	if !strings.HasPrefix(p.Messages[0].Summary, "<given by=\"hook\">\n[User]: request 0\n") || len(p.Warnings) > 0 {
		t.Errorf("%.200s, warnings %v", p.Messages[0].Summary, p.Warnings)
	}
}

func TestShell(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	h, err := hook.New(hook.Config{
		Event: hook.Context, Shell: true, Command: `cat >/dev/null; printf '{"add":"%s of %s"}' "$1" "$(echo shell)"`, Args: []string{"word"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := prepare(t, full(t, h))
	if text := p.Messages[len(p.Messages)-1].Text(); text != "word of shell" {
		t.Errorf("got %q, warnings %v", text, p.Warnings)
	}
}

// A program below a folder is looked for there and nowhere else.
func TestCommandBelowDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "say.sh"), []byte("#!/bin/sh\necho '{\"add\":\"found\"}'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for command, found := range map[string]bool{"./say.sh": true, "say.sh": false} {
		h, err := hook.New(hook.Config{Event: hook.Context, Command: command, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		p := prepare(t, full(t, h))
		if got := strings.Contains(shown(p.Messages), "found"); got != found {
			t.Errorf("%s: found %v, warnings %v", command, got, p.Warnings)
		}
	}
}

func TestConcurrentSessions(t *testing.T) {
	h := doing(t, hook.Context, "say", `{"add":"noted"}`)
	sessions := make([]*clew.Session, 6)
	for i := range sessions {
		sessions[i] = full(t, h)
	}
	var wg sync.WaitGroup
	for _, s := range sessions {
		wg.Go(func() {
			p, err := s.Prepare(context.Background())
			if err != nil || len(p.Warnings) > 0 || !strings.Contains(shown(p.Messages), "noted") {
				t.Errorf("%v, %v", err, p)
			}
		})
	}
	wg.Wait()
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]hook.Config{
		"there are session_start": {Event: "session_compcat", Command: "x"},
		"names no command":        {Event: hook.Context},
		"zero byte":               {Event: hook.Context, Command: "a\x00b"},
		"timeout is -1s":          {Event: hook.Context, Command: "x", Timeout: -time.Second},
		"-5 bytes":                {Event: hook.Context, Command: "x", MaxOutput: -5},
	} {
		if h, err := hook.New(c); err == nil || h.Name != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
