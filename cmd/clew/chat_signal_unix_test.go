//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session/jsonl"
)

// A signal ends the work: exit code 130, and the session can be gone on with.
func TestChatSignals(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skip("the tests were started so that the signal does nothing, as by nohup")
			}
			srv := modeltest.Start(modeltest.Config{}, modeltest.Text("never").With(modeltest.Faults{Delay: time.Hour}), modeltest.Text("Here I am."))
			defer srv.Close()
			t.Setenv("MODEL_KEY", modeltest.Key)
			t.Setenv("CLEW_DATA_DIR", t.TempDir())
			project := t.TempDir()
			flags := []string{"chat", "-p", "--cwd", project, "--model", "anthropic/claude-sonnet-4-5", "--base-url", srv.URL, "--key-env", "MODEL_KEY"}
			var out, errOut bytes.Buffer
			code := make(chan int, 1)
			go func() { code <- Main(append(flags, "say hello"), strings.NewReader(""), &out, &errOut) }()
			waittest.Until(t, "the model to be asked", func() bool { return srv.Left() < 2 })
			if err := syscall.Kill(os.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
			if got := <-code; got != exitInterrupted || out.Len() > 0 {
				t.Errorf("exit code %d, %q", got, &out)
			}
			m := regexp.MustCompile(`(?m)^clew: interrupted; clew chat --session (.*\.jsonl) continues it$`).FindStringSubmatch(errOut.String())
			if m == nil || !strings.HasPrefix(m[1], filepath.Clean(os.Getenv("CLEW_DATA_DIR"))) {
				t.Fatalf("%q", &errOut)
			}
			f, err := jsonl.Open(context.Background(), m[1], jsonl.Options{})
			if err != nil {
				t.Fatalf("it is still open: %v", err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			errOut.Reset()
			if got := Main(append(flags, "--session", m[1], "are you there?"), strings.NewReader(""), &out, &errOut); got != exitDone || out.String() != "Here I am.\n" {
				t.Errorf("%d, %q, %q", got, &out, &errOut)
			}
			if bad := srv.Violations(); len(bad) > 0 {
				t.Error(bad)
			}
		})
	}
}

// A signal ends chat also while nobody reads what it writes.
func TestChatEndsUnread(t *testing.T) {
	for _, mode := range [][]string{{"--rpc"}, {"--print", "--json", "say hello"}} {
		t.Run(mode[0], func(t *testing.T) {
			t.Setenv("MODEL_KEY", modeltest.Key)
			t.Setenv("CLEW_DATA_DIR", t.TempDir())
			// Nobody listens at the address: the first line is written before anything is asked.
			args := append([]string{"chat", "--cwd", t.TempDir(), "--model", "anthropic/claude-sonnet-4-5", "--base-url", "http://127.0.0.1:1", "--key-env", "MODEL_KEY"}, mode...)
			in, typing := io.Pipe()
			defer typing.Close()
			unread, out := io.Pipe()
			defer unread.Close()
			first := &told{to: out, first: make(chan struct{})}
			code := make(chan int, 1)
			go func() { code <- Main(args, in, first, io.Discard) }()
			if mode[0] != "--rpc" {
				_ = typing.Close()
			}
			<-first.first
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-code:
				if got != exitInterrupted {
					t.Errorf("exit code %d", got)
				}
			case <-time.After(20 * time.Second):
				t.Error("it does not end")
			}
		})
	}
}

// told says when the first write begins.
type told struct {
	to    io.Writer
	once  sync.Once
	first chan struct{}
}

func (w *told) Write(data []byte) (int, error) {
	w.once.Do(func() { close(w.first) })
	return w.to.Write(data)
}
