package blob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/clew-dev/clew/blob"
)

func residentSource(context.Context, blob.ID) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(resident)), nil
}

// A recorder counts the changes that go through it, and lets some fail.
type recorder struct {
	mu    sync.Mutex
	trace []string
	fails func(n int) (short int, err error) // from 1; nil: none
}

func (r *recorder) step(op, name string) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if dir, ok := strings.CutPrefix(name, "tmp/part-"); ok && len(dir) > 0 {
		name = "tmp/part"
	}
	r.trace = append(r.trace, op+" "+name)
	if r.fails == nil {
		return 0, nil
	}
	return r.fails(len(r.trace))
}

func (r *recorder) wrap(f blob.Files) blob.Files { return blob.Faulty(blob.NoSync(f), r.step) }

// The order of the steps is what makes content survive a power failure: the bytes
// are durable before they have their name, and the name before Put returns.
func TestDirOrderOfSteps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rec := &recorder{}
	d := blob.Wrap(openDir(t, dir), rec.wrap)
	steps := func(do func()) []string {
		rec.trace = nil
		do()
		return rec.trace
	}
	text := strings.Repeat("x", 70_000)
	id := blob.IDOf([]byte(text))
	shard := id.String()[7:9]
	path := shard + "/" + id.String()
	for _, c := range []struct {
		name string
		do   func()
		want []string
	}{
		{"new", func() { putText(t, d, text) }, []string{
			"mkdir tmp", "create tmp/part", "write tmp/part", "write tmp/part", "sync tmp/part",
			"mkdir " + shard, "rename " + path, "syncdir " + shard, "syncdir .",
		}},
		// Whoever wrote it first may not have come to syncing the folders.
		{"there already", func() { putText(t, d, text) }, []string{
			"mkdir tmp", "create tmp/part", "write tmp/part", "write tmp/part",
			"syncdir " + shard, "syncdir .", "remove tmp/part",
		}},
		{"delete", func() { must(t, d.Delete(ctx, id)) }, []string{"remove " + path, "syncdir " + shard}},
		{"delete again", func() { must(t, d.Delete(ctx, id)) }, nil},
	} {
		if got := steps(c.do); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// A fault scenario is something done to a store or cache that has content already.
type faultScenario struct {
	name string
	do   func(d *blob.Dir, c *blob.Cache) error
	// put says that it gives to the store or the cache, so that an error must
	// mean: keep the content.
	put bool
}

var (
	resident = strings.Repeat("resident ", 100)
	arriving = strings.Repeat("arriving ", 10_000) // more than one write
)

var faultScenarios = []faultScenario{
	{"put", func(d *blob.Dir, _ *blob.Cache) error {
		id, err := d.Put(ctx, strings.NewReader(arriving))
		if (err == nil) == id.IsZero() {
			return fmt.Errorf("address %v with error %w", id, err)
		}
		return err
	}, true},
	{"put what is there", func(d *blob.Dir, _ *blob.Cache) error {
		_, err := d.Put(ctx, strings.NewReader(resident))
		return err
	}, true},
	{"delete", func(d *blob.Dir, _ *blob.Cache) error { return d.Delete(ctx, blob.IDOf([]byte(resident))) }, false},
	{"remove all", func(d *blob.Dir, _ *blob.Cache) error { return d.RemoveAll(ctx) }, false},
	{"path", func(_ *blob.Dir, c *blob.Cache) error {
		path, err := c.Path(ctx, blob.IDOf([]byte(resident)), "new", residentSource)
		return checkPath(path, err, resident)
	}, true},
	{"path of a changed file", func(_ *blob.Dir, c *blob.Cache) error {
		path, err := c.Path(ctx, blob.IDOf([]byte(resident)), "changed", residentSource)
		return checkPath(path, err, resident)
	}, true},
}

func checkPath(path string, err error, want string) error {
	if err != nil {
		if path != "" {
			return fmt.Errorf("path %s with error %w", path, err)
		}
		return err
	}
	if got, rerr := os.ReadFile(path); rerr != nil || string(got) != want {
		return errors.New("the path has something else")
	}
	return nil
}

// A fault at any step, of any kind, leaves all of the content or none, touches
// nothing else, says what happened, and stands in nobody's way afterwards.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, sc := range faultScenarios {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			total := sweepFaults(t, sc, 0, nil, nil, false)
			if total < 1 {
				t.Fatalf("%d steps; the test tests little", total)
			}
			for n := 1; n <= total; n++ {
				sweepFaults(t, sc, n, syscall.ENOSPC, blob.ErrFull, false)
				other := []struct{ err, kind error }{
					{&fs.PathError{Op: "x", Err: fs.ErrPermission}, blob.ErrDenied},
					{syscall.EROFS, blob.ErrDenied},
					{syscall.EIO, syscall.EIO},
				}[n%3]
				sweepFaults(t, sc, n, other.err, other.kind, true)
			}
		})
	}
}

// sweepFaults runs a scenario in which step n fails with err; with crash, all
// after it too, as for a process that is killed. It returns how many steps it saw.
func sweepFaults(t *testing.T, sc faultScenario, n int, fault, kind error, crash bool) int {
	t.Helper()
	base := t.TempDir()
	dir, cacheDir := filepath.Join(base, "store"), filepath.Join(base, "cache")
	where := fmt.Sprintf("step %d fails with %v, crash %v", n, fault, crash)

	// What is there before. Folders that a store makes itself it syncs, which takes
	// most of the time.
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.Mkdir(cacheDir, 0o700))
	plain := blob.Wrap(openDir(t, dir), blob.NoSync)
	putText(t, plain, "another")
	putText(t, plain, resident)
	plainCache, err := blob.OpenCache(cacheDir)
	must(t, err)
	blob.Wrap(plainCache, blob.NoSync)
	changed, err := plainCache.Path(ctx, blob.IDOf([]byte(resident)), "changed", plain.Open)
	must(t, err)
	must(t, os.WriteFile(changed, []byte("a tool wrote here"), 0o600))

	// The scenario.
	rec := &recorder{fails: func(k int) (int, error) {
		if k == n || crash && k > n {
			return 1 + k*1000, fault
		}
		return 0, nil
	}}
	if n == 0 {
		rec.fails = nil
	}
	d := blob.Wrap(openDir(t, dir), rec.wrap)
	c, err := blob.OpenCache(cacheDir)
	must(t, err)
	err = sc.do(d, blob.Wrap(c, rec.wrap))
	total := len(rec.trace)
	switch {
	case n == 0:
		must(t, err)
	case err == nil:
		// Only what is tidied up in passing may fail unnoticed.
		if failed := rec.trace[n-1]; failed != "remove tmp/part" {
			t.Errorf("%s: %q failed and nobody says so", where, failed)
		}
	default:
		var rich *blob.Error
		if !errors.As(err, &rich) || !errors.Is(err, kind) {
			t.Errorf("%s: error %v", where, err)
		}
		if sc.put && !blob.KeepInline(err) {
			t.Errorf("%s: error %v does not say to keep the content", where, err)
		}
	}

	// What is there after: nothing partial, and of the rest all.
	if !strings.HasPrefix(sc.name, "remove all") {
		if got := getText(t, plain, blob.IDOf([]byte("another"))); got != "another" {
			t.Errorf("%s: other content is %q", where, got)
		}
		if sc.name != "delete" {
			getText(t, plain, blob.IDOf([]byte(resident)))
		}
	}
	checkWhole(t, where, dir)
	for _, name := range glob(t, filepath.Join(cacheDir, "*.txt")) {
		if p, err := os.ReadFile(name); err != nil || string(p) != resident && name != changed {
			t.Errorf("%s: %s has %d bytes, %v", where, name, len(p), err)
		}
	}
	tidied := n == 0 || n <= total && rec.trace[n-1] != "remove tmp/part"
	for _, dir := range []string{dir, cacheDir} {
		if left := temps(t, dir); tidied && !crash && len(left) > 0 {
			t.Errorf("%s: %v are left", where, left)
		}
	}

	// And it works afterwards, also for what was left.
	later := time.Now().Add(24 * time.Hour)
	plain = blob.Wrap(blob.At(openDir(t, dir), func() time.Time { return later }), blob.NoSync)
	plainCache, err = blob.OpenCache(cacheDir)
	must(t, err)
	blob.At(blob.Wrap(plainCache, blob.NoSync), func() time.Time { return later })
	if got := getText(t, plain, putText(t, plain, arriving)); got != arriving {
		t.Errorf("%s: afterwards it stores something else", where)
	}
	putText(t, plain, resident)
	for _, hint := range []string{"new", "changed", "third"} {
		path, err := plainCache.Path(ctx, blob.IDOf([]byte(resident)), hint, plain.Open)
		must(t, checkPath(path, err, resident))
	}
	for _, dir := range []string{dir, cacheDir} {
		if left := temps(t, dir); len(left) > 0 {
			t.Errorf("%s: %v are left for ever", where, left)
		}
	}
	if crash {
		must(t, os.RemoveAll(cacheDir))
		must(t, plain.RemoveAll(ctx))
		if left := tree(t, base); left != "" {
			t.Errorf("%s: at the end there is\n%s", where, left)
		}
	}
	return total
}

// checkWhole reads everything that stands under the name of content.
func checkWhole(t testing.TB, where, dir string) {
	t.Helper()
	for _, name := range glob(t, filepath.Join(dir, "*", "sha256-*")) {
		p, err := os.ReadFile(name)
		must(t, err)
		if blob.IDOf(p).String() != filepath.Base(name) {
			t.Errorf("%s: %s has %d bytes of something else", where, name, len(p))
		}
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	must(t, err)
	return names
}

func TestKeepInline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{context.Canceled, false},
		{&blob.Error{Op: "put", Err: context.DeadlineExceeded}, false},
		{&blob.Error{Op: "put", Err: blob.ErrSource}, false},
		{&blob.Error{Op: "cache", Err: blob.ErrNotFound}, false},
		{&blob.Error{Op: "cache", Err: blob.ErrCorrupt}, false},
		{&blob.Error{Op: "put", Err: blob.ErrFull}, true},
		{errors.New("the bucket is gone"), true},
	} {
		if got := blob.KeepInline(c.err); got != c.want {
			t.Errorf("KeepInline(%v) is %v", c.err, got)
		}
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{&blob.Error{Op: "put", Subject: "/data", Err: blob.ErrFull, Hint: "free some"}, "put content /data: no room; free some"},
		{&blob.Error{Op: "list", Err: blob.ErrDenied}, "list content: not allowed"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
