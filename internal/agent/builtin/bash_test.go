//go:build unix

package builtin_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/agent/builtin"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/internal/waittest"
)

func TestBash(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t, func(c *builtin.Config) {
		c.Environ = append(os.Environ(), "FROM_OUTSIDE=yes", "TERM=xterm-256color", "PAGER=less")
	})
	b.put("f", "")
	for _, c := range []struct {
		command, want string
		code          int
	}{
		{"echo hi", "hi\n\nCommand exited with code 0", 0},
		{"true", "(no output)\n\nCommand exited with code 0", 0},
		{"echo out; echo err >&2; echo out; exit 3", "out\nerr\nout\n\nCommand exited with code 3", 3},
		{"ls", "f\n\nCommand exited with code 0", 0},
		{"pwd", b.dir + "\n\nCommand exited with code 0", 0},
		{"echo $FROM_OUTSIDE $TERM $PAGER $GIT_PAGER", "yes dumb cat cat\n\nCommand exited with code 0", 0},
		{"cat; echo read", "read\n\nCommand exited with code 0", 0}, // there is no input
		{"kill -9 $$", "(no output)\n\nCommand exited with code 137 (killed: killed)", 137},
		{"no-such-program-at-all 2>/dev/null", "(no output)\n\nCommand exited with code 127", 127},
		{`printf '\033[31mred\033[0m \033]0;title\007x\033(By\n'`, "red xy\n\nCommand exited with code 0", 0},
		{`printf '10%%\r50%%\r100%%\ndone\r\n'`, "100%\ndone\n\nCommand exited with code 0", 0},
		{`printf 'a\0b\007c\200d\n'`, "abc\uFFFDd\n\nCommand exited with code 0", 0},
		{`printf 'N\bNA\bA'`, "NA\n\nCommand exited with code 0", 0},
		{`printf '\033]0;no end'`, "]0;no end\n\nCommand exited with code 0", 0},
		{"cat <<'X'\n  indented\nX", "  indented\n\nCommand exited with code 0", 0},
	} {
		e, r, err := b.call("bash", "command", c.command)
		if err != nil {
			t.Errorf("%s: %v", c.command, err)
			continue
		}
		d := details(t, r)
		if textOf(r) != c.want || r.IsError != (c.code != 0) || d.ExitCode == nil || *d.ExitCode != c.code {
			t.Errorf("%s: %q %+v, want %q", c.command, textOf(r), d, c.want)
		}
		if e.Kind != tool.Run || e.Command != c.command || strings.ContainsAny(e.Line, "\n\x1b") || !strings.HasPrefix(e.Line, "bash: ") {
			t.Errorf("%+v", e)
		}
	}
	for want, a := range map[string][]any{
		"the argument is missing":    {},
		"the argument is empty":      {"command", " \n"},
		"NUL":                        {"command", "a\x00b"},
		"no number from 0 to 3600":   {"command", "true", "timeout", 3601},
		"timeout: the argument is n": {"command", "true", "timeout", "soon"},
	} {
		contains(t, b.bad("bash", a...).Error(), want)
	}
	contains(t, b.bad("bash", "command", "echo "+strings.Repeat("x", 3<<20)).Error(), "can't be started", "use write")
}

func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	// A zombie that nobody waits for is not running.
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// gone waits until the processes with the ids in the files are no more.
func (b *bench) gone(files ...string) {
	b.t.Helper()
	for _, f := range files {
		pid, err := strconv.Atoi(strings.TrimSpace(b.get(f)))
		if err != nil {
			b.t.Fatal(err)
		}
		waittest.Until(b.t, "the process of "+f+" to end", func() bool { return !alive(pid) })
	}
}

func (b *bench) await(file string) {
	b.t.Helper()
	waittest.Until(b.t, file+" to be written", func() bool {
		data, err := os.ReadFile(b.path(file))
		return err == nil && strings.HasSuffix(string(data), "\n")
	})
}

// stubborn is a command with children and grandchildren that do not want to end.
const stubborn = `trap '' TERM INT HUP
sleep 300 & echo $! >child.pid
bash -c 'trap "" TERM; sleep 300 & echo $! >grand.pid; wait; sleep 300' &
echo so far
echo $$ >self.pid
while true; do sleep 1; done`

func TestBashIsCancelled(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	type answer struct {
		tool.Result
		err error
	}
	done := make(chan answer, 1)
	go func() {
		r, err := b.tool("bash").Run(ctx, tool.Call{Arguments: args("command", stubborn)})
		done <- answer{r, err}
	}()
	for _, f := range []string{"child.pid", "grand.pid", "self.pid"} {
		b.await(f)
	}
	cancel()
	r := <-done // the command would go on for ever
	if r.err != nil || !r.IsError {
		t.Errorf("%+v", r)
	}
	contains(t, textOf(r.Result), "so far", "cancelled by the user")
	b.gone("child.pid", "grand.pid", "self.pid")
}

func TestBashTimeout(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	_, r, err := b.call("bash", "command", stubborn, "timeout", 0.7)
	if err != nil || !r.IsError || details(t, r).ExitCode != nil {
		t.Errorf("%+v %v", r, err)
	}
	contains(t, textOf(r), "so far", "did not end in 700ms", "longer timeout")
	b.gone("child.pid", "grand.pid", "self.pid")
}

// What a command leaves in the background does not hold the call up, and is stopped.
func TestBashBackground(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	for _, command := range []string{
		"sleep 300 & echo $! >child.pid; echo started",
		"sleep 300 >/dev/null 2>&1 & echo $! >child.pid; echo started",
		"nohup sleep 300 >/dev/null 2>&1 & echo $! >child.pid; echo started",
	} {
		text := b.ok("bash", "command", command)
		contains(t, text, "started\n", "background was stopped", "Command exited with code 0")
		b.gone("child.pid")
	}
	// One with a group of its own stays, as the description of the tool says.
	text := b.ok("bash", "command", "set -m; sleep 300 >/dev/null 2>&1 & echo $! >child.pid")
	pid, err := strconv.Atoi(strings.TrimSpace(b.get("child.pid")))
	if err != nil || !alive(pid) || strings.Contains(text, "stopped") {
		t.Errorf("%q %v", text, err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	b.gone("child.pid")
}

// A stopped process can't keep a call from ending.
func TestBashStoppedProcess(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	_, r, err := b.call("bash", "command", "kill -STOP $$", "timeout", 0.5)
	if err != nil || !r.IsError {
		t.Errorf("%+v %v", r, err)
	}
}

// A command that floods is read to its end, and kept in part.
func TestBashKeepsBeginningAndEnd(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	_, r, err := b.call("bash", "command", "echo the beginning; yes 'a line of output that is repeated ä' | head -c 60000000; echo; echo the end; exit 2")
	if err != nil {
		t.Fatal(err)
	}
	text := textOf(r)
	if len(text) > 8<<20+1000 || len(text) < 7<<20 || !utf8.ValidString(text) || !details(t, r).Truncated {
		t.Errorf("%d bytes", len(text))
	}
	if !strings.HasPrefix(text, "the beginning\n") || !strings.HasSuffix(text, "the end\n\nCommand exited with code 2") {
		t.Errorf("%.50q … %q", text, text[len(text)-50:])
	}
	_, note, _ := strings.Cut(text, "\n[")
	var left int
	if _, err := fmt.Sscanf(note, "%d bytes of output are left out here]", &left); err != nil {
		t.Fatal(err)
	}
	// What is kept and what is left out is all there was.
	kept := len(text) - len("\n\nCommand exited with code 2") - len(fmt.Sprintf("[%d bytes of output are left out here]\n", left))
	all := 60000000 + len("the beginning\n\nthe end\n")
	if d := kept + left - all; d < -3 || d > 3 {
		t.Errorf("%d kept and %d left out are not %d", kept, left, all)
	}
}

func TestBashTellsOutputAsItComes(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	var mu sync.Mutex
	var pieces []string
	first := make(chan struct{})
	var once sync.Once
	call := tool.Call{
		Arguments: args("command", `echo one; while [ ! -e go ]; do sleep 0.01; done; printf '\033[3'; sleep 0.05; printf '1mred\033[0m \303'; sleep 0.05; printf '\244\r\n10%%\r20%%'`),
		Output: func(s string) {
			mu.Lock()
			defer mu.Unlock()
			pieces = append(pieces, s)
			once.Do(func() { close(first) })
		},
	}
	go func() {
		<-first
		b.put("go", "")
	}()
	r, err := b.tool("bash").Run(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		if !utf8.ValidString(p) || strings.ContainsAny(p, "\x1b\r") || p == "" {
			t.Errorf("piece %q", p)
		}
	}
	if got := strings.Join(pieces, ""); got != "one\nred ä\n10%\n20%" || len(pieces) < 2 {
		t.Errorf("%q", pieces)
	}
	contains(t, textOf(r), "one\nred ä\n20%")
}

func TestParallelBash(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r, err := b.tool("bash").Run(t.Context(), tool.Call{Arguments: args("command", fmt.Sprintf("echo %d", i))})
			if err != nil || textOf(r) != fmt.Sprintf("%d\n\nCommand exited with code 0", i) {
				t.Errorf("%q %v", textOf(r), err)
			}
		})
	}
	all.Wait()
}

func TestShell(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t, func(c *builtin.Config) { c.Shell = "/bin/sh" })
	contains(t, b.ok("bash", "command", "echo $0"), "sh\n")
}
