package files_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// rig is a project with a session in memory.
type rig struct {
	*files.History
	t     testing.TB
	dir   string
	blobs *blob.Memory
	log   *session.Log
	full  error // nothing can be appended
	calls int
}

func newRig(t testing.TB) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	r := &rig{t: t, dir: dir, blobs: new(blob.Memory)}
	r.log, err = session.NewLog(t.Context(), session.NewMemory(session.Header{ID: "s"}), session.Options{})
	must(t, err)
	r.open()
	return r
}

// open is what the next run of the program does.
func (r *rig) open() {
	r.History = files.New(files.Config{
		Dir: r.dir, Blobs: r.blobs, Entries: r.log.Store().All,
		Append: func(_ context.Context, d session.Draft) (string, error) {
			if r.full != nil {
				return "", r.full
			}
			return r.append(d), nil
		},
	})
}

func (r *rig) append(d session.Draft) string {
	r.t.Helper()
	entries, err := r.log.Append(r.t.Context(), d)
	must(r.t, err)
	return entries[0].ID
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rig) says(text string) string {
	r.t.Helper()
	return r.append(session.Message(message.User(text, time.Time{})))
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// get is what is in a file, "<none>" where there is none.
func (r *rig) get(name string) string {
	data, err := os.ReadFile(r.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return "<none>"
	}
	must(r.t, err)
	return string(data)
}

func (r *rig) put(name, content string) {
	r.t.Helper()
	must(r.t, os.MkdirAll(filepath.Dir(r.path(name)), 0o755))
	must(r.t, os.WriteFile(r.path(name), []byte(content), 0o644))
}

// record is the first half of a tool's change; "<none>" is no file.
func (r *rig) record(name, content string) {
	r.t.Helper()
	bytes := func(s string) []byte {
		if s == "<none>" {
			return nil
		}
		return []byte(s)
	}
	r.calls++
	must(r.t, r.Record(r.t.Context(), fmt.Sprint("call", r.calls), tool.Change{Path: r.path(name), Before: bytes(r.get(name)), After: bytes(content), Mode: 0o644}))
}

// change is a change by a tool.
func (r *rig) change(name, content string) {
	r.t.Helper()
	r.record(name, content)
	if content == "<none>" {
		must(r.t, os.Remove(r.path(name)))
		return
	}
	r.put(name, content)
}

func (r *rig) restore(to string, force bool) files.Restored {
	r.t.Helper()
	out, err := r.Restore(r.t.Context(), to, force)
	must(r.t, err)
	return out
}

func (r *rig) want(name, content string) {
	r.t.Helper()
	if got := r.get(name); got != content {
		r.t.Errorf("%s has %q, want %q", name, got, content)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("a", "1")
	r.put("gone", "here")
	first := r.says("one")
	r.change("a", "2")
	r.change("sub/new", "n")
	second := r.says("two")
	r.change("a", "3")
	r.change("gone", "<none>")
	r.change("empty", "")

	turns, err := r.Turns(t.Context())
	must(t, err)
	if len(turns) != 2 || turns[0].ID != first || turns[1].Text != "two" || !slices.Equal(turns[1].Files, []string{"a", "gone", "empty"}) {
		t.Errorf("the turns are %+v", turns)
	}
	changed, err := r.Changes(t.Context(), second)
	must(t, err)
	if len(changed) != 3 || !strings.Contains(changed[0].Diff, "-2\n") || !strings.Contains(changed[0].Diff, "+3\n") || changed[1].After != "" || changed[2].Before != "" {
		t.Errorf("the second turn changed %+v", changed)
	}
	all, err := r.Changes(t.Context(), "")
	must(t, err)
	if len(all) != 4 || !strings.Contains(all[0].Diff, "-1\n") || !strings.Contains(all[0].Diff, "+3\n") {
		t.Errorf("the session changed %+v", all)
	}

	done := r.restore(second, false)
	r.want("a", "2")
	r.want("gone", "here")
	r.want("empty", "<none>")
	if !slices.Equal(done.Files, []string{"a", "gone", "empty"}) || r.log.Leaf() != done.ID {
		t.Errorf("it restored %+v", done)
	}
	e, err := r.log.Store().Get(t.Context(), done.ID)
	must(t, err)
	if m, ok := e.CustomMessage(); !ok || !strings.Contains(m.Text(), "a, gone, empty") {
		t.Error("the model is not told")
	}
	if again := r.restore(second, false); again.ID != "" {
		t.Errorf("a second time it restored %+v", again)
	}
	r.restore(done.ID, false) // takes it back
	r.want("a", "3")
	r.want("gone", "<none>")
	r.want("empty", "")
	r.open()
	r.restore(first, false)
	r.want("a", "1")
	r.want("gone", "here")
	r.want("sub/new", "<none>")
	r.want("empty", "<none>")
	if all, err := r.Changes(t.Context(), ""); err != nil || len(all) > 0 {
		t.Errorf("all was taken back, and %+v is shown as changed (%v)", all, err)
	}
	for _, fn := range []func() error{
		func() error { _, err := r.Restore(t.Context(), "nothing", false); return err },
		func() error { _, err := r.Changes(t.Context(), "nothing"); return err },
	} {
		if err := fn(); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("an entry that there is not: %v", err)
		}
	}
}

// TestRestoreRefusesForeignChanges: what a user has written since is never lost.
func TestRestoreRefusesForeignChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("a", "1")
	turn := r.says("go")
	r.change("a", "2")
	r.change("b", "x")
	r.put("a", "mine")
	_, err := r.Restore(t.Context(), turn, false)
	if !errors.Is(err, files.ErrChanged) || !strings.Contains(err.Error(), "a: ") {
		t.Errorf("it says %v", err)
	}
	r.want("a", "mine")
	r.want("b", "x") // all or nothing
	done := r.restore(turn, true)
	r.want("a", "1")
	r.want("b", "<none>")
	r.restore(done.ID, false)
	r.want("a", "mine")
	r.want("b", "x")
	must(t, os.Remove(r.path("a")))
	if _, err := r.Restore(t.Context(), turn, false); !errors.Is(err, files.ErrChanged) {
		t.Errorf("the file was removed by the user: %v", err)
	}
}

// TestKilled: wherever a program ends, what a file was can be had back.
func TestKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("a", "1")
	turn := r.says("go")
	r.record("a", "2") // and killed before the write
	r.open()
	if done := r.restore(turn, false); len(done.Files) > 0 {
		t.Errorf("nothing was changed, and %+v restored", done)
	}
	r.put("a", "2") // killed after it
	r.open()
	r.restore(turn, false)
	r.want("a", "1")

	// Killed in the middle of a restore of two files.
	next := r.says("again")
	r.change("a", "3")
	r.change("b", "3")
	done := r.restore(next, false)
	r.put("b", "3") // as if it had not come to this one
	r.open()
	r.restore(next, false)
	r.want("a", "1")
	r.want("b", "<none>")
	r.restore(done.ID, false)
	r.want("a", "3")
	r.want("b", "3")

	r.full = errors.New("no space left")
	if err := r.Record(t.Context(), "c", tool.Change{Path: r.path("a"), Before: []byte("3"), After: []byte("4")}); err == nil || !strings.Contains(err.Error(), "a is not changed, because") {
		t.Errorf("a change that could not be kept: %v", err)
	}
	if _, err := r.Restore(t.Context(), turn, false); err == nil {
		t.Error("a restore that could not be kept was made")
	}
	r.want("a", "3")
}

func TestRestoreKeepsAway(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need rights on Windows")
	}
	r := newRig(t)
	other := t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "x"), []byte("theirs"), 0o600))
	r.put("sub/x", "1")
	turn := r.says("go")
	r.change("sub/x", "theirs")
	must(t, os.RemoveAll(r.path("sub")))
	must(t, os.Symlink(other, r.path("sub")))
	if _, err := r.Restore(t.Context(), turn, true); err == nil {
		t.Error("a link leads it out of the project")
	}
	if data, err := os.ReadFile(filepath.Join(other, "x")); err != nil || string(data) != "theirs" {
		t.Errorf("the file outside has %q (%v)", data, err)
	}
	must(t, os.Remove(r.path("sub")))
	must(t, os.MkdirAll(r.path("sub/x"), 0o700))
	if _, err := r.Restore(t.Context(), turn, true); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder in its place: %v", err)
	}
	must(t, os.RemoveAll(r.path("sub")))
	r.put("sub/x", "theirs")
	must(t, os.Chmod(r.path("sub/x"), 0o755))
	r.restore(turn, false)
	if info, err := os.Stat(r.path("sub/x")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the permissions are %v (%v)", info.Mode(), err)
	}

	// Outside of the project a path is whole.
	out := filepath.Join(r.dir, "..", "outside-"+filepath.Base(r.dir))
	must(t, r.Record(t.Context(), "c", tool.Change{Path: filepath.Clean(out), After: []byte("o")}))
	must(t, os.WriteFile(out, []byte("o"), 0o600))
	r.restore(turn, false)
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Error("the file outside was not taken away")
	}
	large := r.says("large")
	must(t, r.Record(t.Context(), "c", tool.Change{Path: r.path("large"), After: []byte("l"), Lost: true}))
	r.put("large", "l")
	if _, err := r.Restore(t.Context(), large, true); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("what was not kept: %v", err)
	}
	r.want("large", "l")
}

// TestRestoreIsAnInverse: whatever was done, restoring to a turn gives the files of then.
func TestRestoreIsAnInverse(t *testing.T) {
	t.Parallel()
	for seed := range 60 {
		rng := rand.New(rand.NewPCG(3, uint64(seed)))
		r := newRig(t)
		names := []string{"a", "b", "sub/c", "sub/deep/d"}
		state := func() string {
			var b strings.Builder
			for _, n := range names {
				b.WriteString(n + "=" + r.get(n) + "\n")
			}
			return b.String()
		}
		then := map[string]string{}
		var points []string
		for range 3 + rng.IntN(8) {
			before := state()
			var id string
			if len(points) > 0 && rng.IntN(3) == 0 {
				to := points[rng.IntN(len(points))]
				done := r.restore(to, rng.IntN(2) == 0)
				if got := state(); got != then[to] {
					t.Fatalf("seed %d: after restoring to %s:\n%swant\n%s", seed, to, got, then[to])
				}
				id = done.ID
			} else {
				id = r.says("go")
				for range rng.IntN(4) {
					n := names[rng.IntN(len(names))]
					content := fmt.Sprint(rng.IntN(5))
					if r.get(n) != "<none>" && rng.IntN(4) == 0 {
						content = "<none>"
					}
					r.change(n, content)
				}
			}
			if id != "" {
				points, then[id] = append(points, id), before
			}
		}
	}
}

func TestCommandsAreSeenByGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	r := newRig(t)
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = r.dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	none := files.NewGit(r.dir, env)
	if at := none.Look(t.Context()); at != "" {
		t.Errorf("without a repository there is %q", at)
	}
	must(t, none.Close())
	run("git", "init", "-q")
	r.put("clean", "1\n")
	r.put("dirty", "1\n")
	r.put(".gitignore", "ignored\n")
	r.put(".gitattributes", "*.f filter=e=v\n")
	run("git", "config", "filter.e=v.clean", "touch "+r.path("RAN")+"; cat")
	run("git", "config", "core.fsmonitor", "touch "+r.path("RAN"))
	run("git", "-c", "core.fsmonitor=false", "add", ".")
	run("git", "-c", "core.fsmonitor=false", "commit", "-qm", "x")
	r.put("dirty", "2\n")
	r.put("untracked", "u\n")
	r.put("x.f", "f\n")
	index, err := os.ReadFile(r.path(".git/index"))
	must(t, err)

	g := files.NewGit(r.dir, env)
	turn := r.says("run it")
	before := g.Look(t.Context())
	r.put("clean", "c\n")
	r.put("dirty", "3\n")
	must(t, os.Remove(r.path("untracked")))
	r.put("sub/made", "m\n")
	r.put("binary", "\x00\xff\n")
	r.put("ignored", "i\n")
	r.put("x.f", "ff\n")
	run("git", "-c", "core.fsmonitor=false", "add", "dirty") // what it stages changes nothing here
	index2, err := os.ReadFile(r.path(".git/index"))
	must(t, err)
	changes, err := g.Changes(t.Context(), before)
	must(t, err)
	var names []string
	for _, c := range changes {
		names = append(names, strings.TrimPrefix(filepath.ToSlash(c.Path), filepath.ToSlash(r.dir)+"/"))
	}
	slices.Sort(names)
	if want := []string{"binary", "clean", "dirty", "sub/made", "untracked", "x.f"}; before == "" || !slices.Equal(names, want) {
		t.Fatalf("since %q it saw %q, want %q", before, names, want)
	}
	must(t, r.Record(t.Context(), "c", changes...))
	r.restore(turn, false)
	r.want("clean", "1\n")
	r.want("dirty", "2\n")
	r.want("untracked", "u\n")
	r.want("sub/made", "<none>")
	r.want("binary", "<none>")
	r.want("x.f", "f\n")
	r.want("ignored", "i\n")
	r.want("RAN", "<none>")
	if again, err := g.Changes(t.Context(), g.Look(t.Context())); err != nil || len(again) > 0 {
		t.Errorf("nothing was changed, and it saw %+v (%v)", again, err)
	}
	if now, err := os.ReadFile(r.path(".git/index")); err != nil || string(now) != string(index2) || string(index) == string(index2) {
		t.Errorf("the user's index was written (%v)", err)
	}
	if out := run("git", "-c", "core.fsmonitor=false", "count-objects"); !strings.HasPrefix(out, "6 ") { // 4 files and a tree, and the one that was staged
		t.Logf("the repository has %s", out)
	}
	must(t, g.Close())
	if at := g.Look(t.Context()); at != "" {
		t.Errorf("after Close there is %q", at)
	}
}
