//go:build !windows

package jsonl_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session/jsonl"
)

// The tests of this file start the test binary again, as a child that ends
// itself with SIGKILL, and look at what it leaves.

// child starts the test binary to run one test only.
func child(t testing.TB, test string, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^"+test+"$", "-test.count=1")
	// Coverage files of a killed process would be a part of nothing.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GOCOVERDIR=") }), env...)
	return cmd
}

// TestCrashChild is the child of TestCrashes: it does the steps of a scenario,
// says on its output which were acknowledged, and dies at one operation.
func TestCrashChild(t *testing.T) {
	job := strings.Split(os.Getenv("CLEW_TEST_CRASH"), ",")
	if len(job) != 4 {
		t.Skip("only as a child of TestCrashes")
	}
	s := scenarios[number(job[0])]
	target, short, dir := number(job[1]), number(job[2]), job[3]
	die := func(int) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	fsys := &vfs.Fault{FS: vfs.OS{}, Short: die}
	fsys.At = func(n int, op, _ string) (int, error) {
		switch {
		case n != target:
			return 0, nil
		case op == "write" && short > 0:
			return short, errDisk // dies behind the bytes
		}
		die(0)
		return 0, nil
	}
	w := s.begin(t, dir, fsys)
	if s.file != "" {
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
	}
	for i, st := range s.steps {
		if err := st.do(w); err != nil {
			t.Fatal(err)
		}
		last, err := w.f.Last(ctx)
		if err != nil {
			t.Fatal(err)
		}
		id := "none"
		if last != nil {
			id = last.ID
		}
		fmt.Printf("acknowledged %d %s\n", i, id)
	}
	w.close()
	fmt.Println("done")
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// A process is killed before each operation that changes something, and in the
// middle of each write. Afterwards the session opens, every acknowledged entry
// is there, a pass happened or did not, and work goes on. The lock of the dead
// is no obstacle.
func TestCrashes(t *testing.T) {
	if os.Getenv("CLEW_TEST_CRASH") != "" {
		t.Skip("a child")
	}
	room := make(chan struct{}, 4)
	for number, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want, ops := s.states(t)
			var all []string
			for _, o := range ops {
				all = append(all, o...)
			}
			var wg sync.WaitGroup
			crashes := 0
			for n, op := range all {
				shorts := []int{0}
				if op == "write" {
					shorts = []int{0, 100, 700, 1 << 30} // 700 is in the middle of a pass
					if testing.Short() || underRace {
						shorts = shorts[2:3]
					}
				}
				for _, short := range shorts {
					crashes++
					room <- struct{}{}
					at := fmt.Sprintf("killed at operation %d, %s, after %d bytes: ", n+1, op, short)
					wg.Go(func() {
						defer func() { <-room }()
						defer recovered()
						s.crash(failer{t, at}, number, n+1, short, want)
					})
				}
			}
			wg.Wait()
			t.Logf("%d crashes", crashes)
		})
	}
}

func (s scenario) crash(t testing.TB, number, n, short int, want []state) {
	t.Helper()
	dir := t.TempDir()
	cmd := child(t, "TestCrashChild", fmt.Sprintf("CLEW_TEST_CRASH=%d,%d,%d,%s", number, n, short, dir))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !ws.Signaled() || ws.Signal() != syscall.SIGKILL {
		t.Fatalf("the child was not killed: %v\n%s%s", err, out.Bytes(), errs.Bytes())
	}
	done := 0 // steps that were acknowledged
	var acknowledged []string
	for sc := bufio.NewScanner(&out); sc.Scan(); {
		var i int
		var id string
		if _, err := fmt.Sscanf(sc.Text(), "acknowledged %d %s", &i, &id); err != nil {
			t.Fatalf("%q", sc.Text())
		}
		done = i + 1
		if id != "none" {
			acknowledged = append(acknowledged, id)
		}
	}
	path := filepath.Join(dir, "s.jsonl")
	got := stateOf(t, path)
	for _, id := range acknowledged {
		if !slices.Contains(strings.Fields(got.ids), id) {
			t.Errorf("the acknowledged entry %s is gone: %v", id, got)
		}
	}
	if got != want[done] && got != want[done+1] {
		if !s.steps[done].parts || !strings.HasPrefix(want[done+1].ids, got.ids) || !strings.HasPrefix(got.ids, want[done].ids) {
			t.Errorf("state %v, want %v or %v", got, want[done], want[done+1])
		}
	}
	// Work goes on. The lock file of the dead is still there.
	if _, err := os.Stat(path + ".lock"); err != nil {
		t.Errorf("the child had no lock: %v", err)
	}
	f, err := tryOpen(path)
	if errors.Is(err, os.ErrNotExist) && done == 0 && s.file == "" {
		f, err = jsonl.Create(ctx, path, testHeader, jsonl.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	jsonl.Impatient(f)
	id := say(t, f, "after the crash")
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	now := stateOf(t, path)
	if now.ids != strings.TrimSpace(got.ids+" "+id) || now.shows != strings.TrimSpace(got.shows+" after the crash") {
		t.Errorf("state after going on %v, was %v", now, got)
	}
	sound(t, read(t, path))
	if old := strings.HasPrefix(s.file, head1) || strings.HasPrefix(s.file, head2); old && read(t, path+".bak") != s.file {
		t.Error("the backup is not the original")
	}
}
