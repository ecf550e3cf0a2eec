package jsonl_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// A scenario is something done to a session file: steps that a store must do
// whole or not at all.
type scenario struct {
	name  string
	file  string // what is there before; "" for nothing
	steps []step
}

type step struct {
	name string
	do   func(w *work) error
	// parts says that a crash may leave a part of it: the first entries of a batch.
	parts bool
}

// work is a session that steps are done to.
type work struct {
	path string
	fs   vfs.FS
	f    *jsonl.File
	log  *session.Log
	n    int // of the next id
}

func (w *work) use(f *jsonl.File, err error) error {
	if err != nil {
		return err
	}
	jsonl.Impatient(f)
	w.f = f
	w.log, err = session.NewLog(ctx, f, session.Options{
		Clock: func() time.Time { return testHeader.Timestamp },
		NewID: func() string { w.n++; return fmt.Sprintf("%016x", w.n) },
	})
	return err
}

func (w *work) open() error {
	return w.use(jsonl.Open(ctx, w.path, jsonl.Options{FS: w.fs}))
}

func (w *work) close() {
	if w.f != nil {
		w.f.Close()
		w.f = nil
	}
}

func user(text string) session.Draft {
	return session.Message(message.User(text, testHeader.Timestamp))
}

func appending(texts ...string) step {
	return step{"append " + strings.Join(texts, " "), func(w *work) error {
		var drafts []session.Draft
		for _, s := range texts {
			drafts = append(drafts, user(s))
		}
		_, err := w.log.Append(ctx, drafts...)
		return err
	}, len(texts) > 1}
}

// big is text that does not fit into one page.
var big = strings.Repeat("0123456789abcdef", 1024)

var (
	creating = step{"create", func(w *work) error {
		return w.use(jsonl.Create(ctx, w.path, testHeader, jsonl.Options{FS: w.fs}))
	}, false}
	passing = step{"pass", func(w *work) error {
		last, err := w.f.Last(ctx)
		if err != nil {
			return err
		}
		_, err = w.log.AppendPass(ctx, last.ID, session.PassInfo{Reason: "manual"},
			session.NewContextEdit(session.ContextEdit{TargetID: last.ID, Content: []byte(`"edited"`)}),
			session.NewContextEdit(session.ContextEdit{TargetID: last.ID, Content: []byte(`"edited again"`)}),
			session.NewCompaction(session.Compaction{Summary: "[sum]" + big[:200], FirstKeptEntryID: last.ID}))
		return err
	}, false}
	undoing = step{"undo", func(w *work) error {
		_, err := w.log.Undo(ctx, session.UndoOptions{KeepLater: true})
		return err
	}, false}
	scenarios = []scenario{
		{"new", "", []step{creating, appending("a"), appending("b" + big), appending("c")}},
		{"written whole", "", []step{writing, appending("z")}},
		{"batch", lines(head3, msg("x", "")), []step{appending("a", "b", "c"+big), appending("d", "e")}},
		{"pass", lines(head3, msg("x", ""), msg("y", "x")), []step{appending("a"), passing, undoing, undoing, undoing, appending("b")}},
		{"undo with later messages", lines(head3, msg("x", "")), []step{appending("a"), passing, appending("b"), appending("c"), undoing}},
		{"no line break", strings.TrimSuffix(lines(head3, msg("x", "")), "\n"), []step{appending("a"), passing}},
		{"torn", lines(head3, msg("x", "")) + msg("torn", "x")[:70], []step{appending("a"), appending("b")}},
		{"part of a pass", lines(head3, msg("x", ""), passStart("p", "x", 3), edit("q", "p", "x", "X")), []step{appending("a"), passing}},
		{"version 1", lines(head1, old("x"), old("y"), oldCompaction("2")) + old("torn")[:60], []step{appending("a"), passing, undoing}},
		{"version 2", lines(head2, msg("x", "")), []step{passing}},
	}
)

// begin puts the file of a scenario into a folder.
func (s scenario) begin(t testing.TB, dir string, fsys vfs.FS) *work {
	t.Helper()
	w := &work{path: filepath.Join(dir, "s.jsonl"), fs: fsys}
	if s.file != "" {
		if err := os.WriteFile(w.path, []byte(s.file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// state is what is in a session and what it shows.
type state struct{ ids, shows string }

func stateOf(t testing.TB, path string) state {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return state{}
	}
	f := look(t, path)
	defer f.Close()
	return state{ids(t, f), shows(t, f, leaf(t, f))}
}

// states runs a scenario without faults and returns what is there before and
// after each step, and the operations of each.
func (s scenario) states(t testing.TB) (all []state, ops [][]string) {
	t.Helper()
	var now []string
	rec := &vfs.Fault{FS: vfs.OS{}, At: func(_ int, op, _ string) (int, error) { now = append(now, op); return 0, nil }}
	w := s.begin(t, t.TempDir(), rec)
	defer w.close()
	all = append(all, stateOf(t, w.path))
	if s.file != "" {
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
	}
	for _, st := range s.steps {
		now = nil
		if err := st.do(w); err != nil {
			t.Fatalf("%s: %v", st.name, err)
		}
		all = append(all, stateOf(t, w.path))
		ops = append(ops, now)
	}
	if len(now) == 0 {
		t.Fatal("the last step did nothing")
	}
	return all, ops
}

var errDisk = errors.New("the disk is on fire")

// Each changing operation of each step fails once, in several ways: the step
// returns an error and leaves the session as it was, and works when it is tried
// again.
func TestFaults(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want, ops := s.states(t)
			faults := 0
			var wg sync.WaitGroup
			room := make(chan struct{}, 16) // much of the time is spent waiting for the disk
			for i := range s.steps {
				for n, op := range ops[i] {
					shorts := []int{0}
					if op == "write" {
						shorts = []int{0, 1, 60, 1 << 30}
					}
					for _, short := range shorts {
						for _, forever := range []bool{false, true} {
							fault := []error{syscall.ENOSPC, syscall.EACCES, errDisk}[faults%3]
							at := fmt.Sprintf("step %q, operation %d, %s, short %d, forever %v: ", s.steps[i].name, n+1, op, short, forever)
							room <- struct{}{}
							wg.Go(func() {
								defer func() { <-room }()
								defer recovered()
								s.fault(failer{t, at}, i, n, short, forever, fault, want)
							})
							faults++
						}
					}
				}
			}
			wg.Wait()
			t.Logf("%d faults", faults)
		})
	}
}

// fault runs a scenario in which the n-th operation of step i fails, and all
// after it when forever is set.
func (s scenario) fault(t testing.TB, i, n, short int, forever bool, fault error, want []state) {
	t.Helper()
	var failed string
	count := -1 // not yet
	fsys := &vfs.Fault{FS: vfs.OS{}, At: func(_ int, op, _ string) (int, error) {
		if count < 0 {
			return 0, nil
		}
		count++
		if count == n+1 || count > n+1 && forever {
			if count == n+1 {
				failed = op
			}
			return short, fault
		}
		return 0, nil
	}}
	w := s.begin(t, t.TempDir(), fsys)
	defer w.close()
	if s.file != "" {
		if err := w.open(); err != nil {
			t.Fatal(err)
		}
	}
	for _, st := range s.steps[:i] {
		if err := st.do(w); err != nil {
			t.Fatal(err)
		}
	}
	var before string
	if i > 0 || s.file != "" {
		before = read(t, w.path)
	}
	count = 0
	ids := w.n
	err := s.steps[i].do(w)
	count = -1
	if failed == "" {
		t.Fatalf("never came")
	}
	if err == nil {
		// What tidies up may fail unnoticed, and a file system may be without links.
		if failed != "remove" && failed != "link" {
			t.Fatalf("no error though %s failed", failed)
		}
		if got := stateOf(t, w.path); got != want[i+1] {
			t.Fatalf("state %v, want %v", got, want[i+1])
		}
		return
	}
	if !errors.Is(err, fault) || !strings.Contains(err.Error(), w.path) {
		t.Errorf("error %v", err)
	}
	if errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "free some space") {
		t.Errorf("error %v says nothing of the disk", err)
	}
	after := ""
	if _, err := os.Stat(w.path); err == nil {
		after = read(t, w.path)
	}
	// As it was; where a write could not even be taken back, with a torn end.
	if got := stateOf(t, w.path); got != want[i] && (!forever || got != want[i+1]) && !s.steps[i].parts {
		t.Fatalf("state %v, want %v", got, want[i])
	}
	migrated := strings.Contains(before, head1) || strings.Contains(before, head2)
	if !forever && after != before && !strings.HasPrefix(before, after) && !migrated {
		t.Fatalf("the file was\n%q\nis\n%q", tailOf(before), tailOf(after))
	}
	if i == 0 && s.file == "" && after != "" {
		return // the file could not even be removed again
	}
	if w.f != nil && w.n > ids {
		w.n = ids // the same ids again, so that states can be compared
	}
	// Again, now that nothing is wrong any more, and on to the end.
	for k := i; k < len(s.steps); k++ {
		if err := s.steps[k].do(w); err != nil {
			t.Fatalf("%s afterwards: %v", s.steps[k].name, err)
		}
		if got := stateOf(t, w.path); got != want[k+1] {
			t.Fatalf("state after %s\n%v, want\n%v", s.steps[k].name, got, want[k+1])
		}
	}
	w.close()
	sound(t, read(t, w.path))
}

// What was appended without waiting for the disk is synced by Sync, by the next
// Append and by Close, and a failure to do so is reported.
func TestSyncFaults(t *testing.T) {
	syncs, fail := 0, false
	fsys := &vfs.Fault{FS: vfs.OS{}, At: func(_ int, op, _ string) (int, error) {
		if op != "sync" {
			return 0, nil
		}
		syncs++
		if fail {
			return 0, errDisk
		}
		return 0, nil
	}}
	f, err := jsonl.Open(ctx, write(t, lines(head3)), jsonl.Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := func(id string, noSync bool) {
		t.Helper()
		if err := f.Append(ctx, []*session.Entry{entryOf(t, msg(id, ""))}, session.AppendOptions{NoSync: noSync}); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(n int, what string) {
		t.Helper()
		if syncs != n {
			t.Errorf("%d syncs after %s, want %d", syncs, what, n)
		}
	}
	put("a", true)
	expect(0, "an append without sync")
	if err := f.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	expect(1, "a sync")
	if err := f.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	expect(1, "a sync of nothing")
	put("b", true)
	put("c", false)
	expect(2, "an append")
	if err := f.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	expect(2, "a sync of nothing")
	put("d", true)
	fail = true
	if err := f.Sync(ctx); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
	fail = false
	if err := f.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	expect(4, "two syncs")
	put("e", true)
	fail = true
	if err := f.Close(); !errors.Is(err, errDisk) {
		t.Errorf("error %v", err)
	}
}

// unopenable is the file system, in which no file that is there can be opened.
type unopenable struct{ vfs.OS }

func (u unopenable) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if flag&os.O_CREATE == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	return u.OS.OpenFile(name, flag, perm)
}

// A session that was created and can't be opened is not left behind. (Issue 11,
// defect 1.8: the result of an import that failed.)
func TestCreateThatFailsLeavesNothing(t *testing.T) {
	p := filepath.Join(t.TempDir(), "s.jsonl")
	if _, err := jsonl.Create(ctx, p, testHeader, jsonl.Options{FS: unopenable{}}); !errors.Is(err, syscall.EIO) {
		t.Errorf("error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(p), "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
