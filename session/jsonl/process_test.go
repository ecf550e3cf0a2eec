//go:build !windows

package jsonl_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// TestHolderChild is the child of TestLockOfAnotherProcess: it holds a session
// until it is killed or its input ends.
func TestHolderChild(t *testing.T) {
	p := os.Getenv("CLEW_TEST_HOLD")
	if p == "" {
		t.Skip("only as a child of TestLockOfAnotherProcess")
	}
	f, err := jsonl.Open(ctx, p, jsonl.Options{Program: "the other"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("holding", say(t, f, "theirs"))
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Another process that has the session open is named; when it ends, by itself or
// by kill -9, the session is free.
func TestLockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		t.Run(fmt.Sprintf("kill=%v", kill), func(t *testing.T) {
			p := write(t, lines(head3, msg("a", "")))
			cmd := child(t, "TestHolderChild", "CLEW_TEST_HOLD="+p)
			in, err := cmd.StdinPipe()
			must(t, err)
			out, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			must(t, err)
			_, err = tryOpen(p)
			checkError(t, err, p, fmt.Sprintf("the other, process %d on ", cmd.Process.Pid))
			if !errors.Is(err, jsonl.ErrLocked) {
				t.Errorf("error %v", err)
			}
			if kill {
				must(t, cmd.Process.Signal(syscall.SIGKILL))
			}
			must(t, in.Close())
			if err := cmd.Wait(); (err != nil) != kill {
				t.Errorf("the holder ended with %v", err)
			}
			f := open(t, p)
			id := say(t, f, "ours")
			if got, want := ids(t, f), "a "+strings.TrimSpace(strings.TrimPrefix(line, "holding "))+" "+id; got != want {
				t.Errorf("entries %q, want %q", got, want)
			}
		})
	}
}

// TestFullChild is the child of TestFullDisk: it may write files of 64 KiB only,
// and appends until it can't.
func TestFullChild(t *testing.T) {
	p := os.Getenv("CLEW_TEST_FULL")
	if p == "" {
		t.Skip("only as a child of TestFullDisk")
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Skip(err)
	}
	f, err := tryOpen(p)
	must(t, err)
	for n := range 1000 {
		before := read(t, p)
		err := f.Append(ctx, []*session.Entry{entryOf(t, msg(fmt.Sprint("e", n), ""))}, session.AppendOptions{})
		if err != nil {
			if read(t, p) != before {
				t.Error("a part of the entry stayed in the file")
			}
			fmt.Println("full:", n, err)
			return
		}
	}
	t.Error("the limit was never met")
}

// The system itself cuts a write short: here by a limit for the size of files,
// which meets a process as a full disk does.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := write(t, lines(head3))
	out, err := child(t, "TestFullChild", "CLEW_TEST_FULL="+p).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var n int
	if _, err := fmt.Sscanf(string(out), "full: %d", &n); err != nil {
		t.Skipf("no such limit here: %s", out)
	}
	sound(t, read(t, p))
	f := open(t, p)
	if got := len(strings.Fields(ids(t, f))); got != n || codes(t, f) != "" {
		t.Errorf("%d entries, want %d; problems %s", got, n, codes(t, f))
	}
	say(t, f, "and on")
	t.Logf("%d entries fitted; %s", n, strings.TrimSpace(string(out)))
}

// The same on a disk that is full, for whoever has one to spare: a folder on a
// small file system, named by CLEW_SMALL_DISK. It is filled and emptied again.
func TestSmallDisk(t *testing.T) {
	dir := os.Getenv("CLEW_SMALL_DISK")
	if dir == "" {
		t.Skip("CLEW_SMALL_DISK names no folder on a small file system")
	}
	p := dir + "/clew-test.jsonl"
	must(t, os.WriteFile(p, []byte(lines(head3)), 0o600))
	defer os.Remove(p)
	f := open(t, p)
	filler := strings.Repeat("x", 1<<20)
	for n := range 1 << 14 {
		before, err := os.Stat(p)
		must(t, err)
		raw := strings.Replace(msg(fmt.Sprint("e", n), ""), `"text":"`, `"text":"`+filler, 1)
		err = f.Append(ctx, []*session.Entry{entryOf(t, raw)}, session.AppendOptions{})
		if err == nil {
			continue
		}
		checkError(t, err, p, "free some space")
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("error %v", err)
		}
		after, err := os.Stat(p)
		must(t, err)
		if after.Size() != before.Size() {
			t.Error("a part of the entry stayed in the file")
		}
		if got := len(strings.Fields(ids(t, f))); got != n {
			t.Errorf("%d entries, want %d", got, n)
		}
		return
	}
	t.Error("the disk was never full")
}
