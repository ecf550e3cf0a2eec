package hook_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/message"
)

// The test program is its own hook: with HOOKTEST_DO set it does what that says.
func TestMain(m *testing.M) {
	if do := os.Getenv("HOOKTEST_DO"); do != "" {
		os.Exit(act(do, os.Getenv("HOOKTEST_ARG")))
	}
	os.Exit(m.Run())
}

// act is what the hook does. It gives the exit code.
func act(do, arg string) int {
	out := bufio.NewWriter(os.Stdout)
	defer func() { _ = out.Flush() }()
	read := func() []byte { b, _ := io.ReadAll(os.Stdin); return b }
	switch do {
	case "say": // reads all, and answers
		read()
		out.WriteString(arg)
	case "say-unread":
		out.WriteString(arg)
	case "close-early":
		_ = os.Stdin.Close()
		out.WriteString(arg)
	case "exit":
		fmt.Fprint(os.Stderr, "because \x1b[31mof\nthis")
		var code int
		_, _ = fmt.Sscan(arg, &code)
		return code
	case "hang":
		read()
		waittest.Forever()
	case "hang-deaf":
		waittest.Forever()
	case "term", "term-deaf": // says that it has begun, and that it was told to end
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		file := os.Getenv("HOOKTEST_FILE")
		_ = os.WriteFile(file, fmt.Append(nil, os.Getpid()), 0o600)
		<-told
		_ = os.WriteFile(file+".told", nil, 0o600)
		if do == "term-deaf" {
			waittest.Forever()
		}
		out.WriteString(arg)
	case "flood":
		for i := 0; i < 100; i++ {
			_, _ = out.Write(bytes.Repeat([]byte{'x'}, 1<<20))
		}
	case "flood-stderr":
		_, _ = os.Stderr.Write(bytes.Repeat([]byte{'x'}, 100<<20))
		out.WriteString(arg)
	case "crash":
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Kill()
		}
		waittest.Forever()
	case "deep":
		out.WriteString(strings.Repeat(`{"x":`, 100_000))
	case "drip":
		for _, r := range arg {
			_, _ = out.WriteRune(r)
			_ = out.Flush()
			runtime.Gosched()
		}
	case "child", "child-hang": // leaves a child that holds the pipes
		exe, _ := os.Executable()
		c := exec.CommandContext(context.Background(), exe)
		c.Env = append(os.Environ(), "HOOKTEST_DO=hang-deaf")
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			return 1
		}
		if file := os.Getenv("HOOKTEST_FILE"); file != "" {
			_ = os.WriteFile(file, fmt.Append(nil, c.Process.Pid), 0o600)
		}
		if do == "child-hang" {
			waittest.Forever()
		}
		out.WriteString(arg)
	case "env":
		read()
		b, _ := json.Marshal(map[string]string{"add": strings.Join(os.Environ(), "\n")})
		_, _ = out.Write(b)
	case "where":
		dir, _ := os.Getwd()
		b, _ := json.Marshal(map[string]string{"add": dir + "|" + strings.Join(os.Args[1:], "|")})
		_, _ = out.Write(b)
	case "keep": // writes the event to a file
		_ = os.WriteFile(os.Getenv("HOOKTEST_FILE"), read(), 0o600)
		out.WriteString(arg)
	}
	return 0
}

// doing is a hook that does what act says.
func doing(t *testing.T, event, do, arg string, change ...func(*hook.Config)) clew.Hooks {
	t.Helper()
	t.Setenv("HOOKTEST_DO", do)
	t.Setenv("HOOKTEST_ARG", arg)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := hook.Config{Event: event, Command: exe, Name: do, Env: []string{"HOOKTEST_*", "GORACE"}}
	for _, f := range change {
		f(&c)
	}
	h, err := hook.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// full is a session whose next Prepare makes a pass.
func full(t *testing.T, hooks ...clew.Hooks) *clew.Session { return turns(t, 14, hooks...) }

// turns is a session of n turns.
func turns(t *testing.T, many int, hooks ...clew.Hooks) *clew.Session {
	t.Helper()
	n := 0
	s, err := clew.New(clew.Config{
		Cwd: "/repo", Policy: compact.Policy{Window: 8_000}, Hooks: hooks,
		NewID: func() string { n++; return fmt.Sprintf("%08x%08x", n*2654435761&0xffffffff, n) },
		Clock: func() time.Time { return start },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for k := range many {
		id := fmt.Sprintf("c%d", k)
		add(t, s, message.User(fmt.Sprintf("request %d", k), start),
			message.Assistant(start, message.TextBlock("I read it."), message.ToolCallBlock(id, "read", []byte(`{"path":"a.go"}`))),
			message.ToolResult(id, "read", strings.Repeat(fmt.Sprintf("line %d of the file. ", k), 100), false, start),
			message.Assistant(start, message.TextBlock("done")))
	}
	return s
}

func add(t *testing.T, s *clew.Session, msgs ...*message.Message) {
	t.Helper()
	if _, err := s.Append(context.Background(), msgs...); err != nil {
		t.Fatal(err)
	}
}

func prepare(t *testing.T, s *clew.Session) *clew.Prepared {
	t.Helper()
	p, err := s.Prepare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func shown(msgs []*message.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		b.Write(m.JSON())
		b.WriteByte('\n')
	}
	return b.String()
}
