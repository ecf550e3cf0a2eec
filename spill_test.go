package clew_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// large is output of about n bytes that says secret in the middle.
func large(n int, secret string) string {
	line := "2026-03-01 12:00:00 GET /index.html 200 \"ok\"\n"
	half := strings.Repeat(line, n/len(line)/2)
	return "first line\n" + half + secret + "\n" + half + "last line\n"
}

// outputs are two messages and two outputs that are just large enough for a place beside the log.
func outputs(secret string) []*message.Message {
	shell, err := message.Parse(jsonx.Set(
		[]byte(`{"role":"bashExecution","command":"make","output":"","exitCode":2,"cancelled":false,"truncated":false,"timestamp":3}`),
		"output", jsonx.Quote(large(1100<<10, secret))))
	if err != nil {
		panic(err)
	}
	return []*message.Message{
		message.User("look at the log", start),
		message.Assistant(start, message.ToolCallBlock("c1", "read", []byte(`{"path":"access.log"}`))),
		message.ToolResult("c1", "read", large(1200<<10, secret), false, start),
		shell,
	}
}

// TestSpill keeps large output beside the file, small and typed text in it,
// and gives all back as it was.
func TestSpill(t *testing.T) {
	ctx := context.Background()
	path := tempFile(t)
	cfg := fixed(small(200_000))
	s, err := clew.Open(ctx, path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	msgs := outputs("the needle")
	msgs = append(msgs, message.User(large(1200<<10, "typed by hand"), start))
	ids := add(t, s, msgs...)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 1600<<10 {
		t.Errorf("the file has %d bytes: output is in it", info.Size())
	}
	if data := read(t, path); strings.Contains(data, "the needle") || !strings.Contains(data, "typed by hand") || !strings.Contains(data, "last line") {
		t.Error("the file should have what was typed, and an excerpt of the output without its middle")
	}
	for _, again := range []bool{false, true} {
		for i, id := range ids {
			m, err := s.Recall(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(m.JSON()), string(msgs[i].JSON()); got != want {
				t.Errorf("message %d comes back with %d of %d bytes (opened again: %v)", i, len(got), len(want), again)
			}
		}
		if again {
			break
		}
		s.Close()
		if s, err = clew.Open(ctx, path, cfg); err != nil {
			t.Fatal(err)
		}
	}
	if p := prepare(t, s); len(p.Warnings) > 0 {
		t.Error(p.Warnings)
	}
	s.Close()

	// A copy stands alone, and what is lost is found out.
	copied := filepath.Join(t.TempDir(), "copy.jsonl")
	f, err := jsonl.Open(ctx, path, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CopyTo(ctx, copied); err != nil {
		t.Fatal(err)
	}
	if problems, err := clew.VerifySpilled(ctx, f, copied); err != nil || len(problems) != 2 {
		t.Errorf("a copy without its output: %v %v", problems, err)
	}
	if n, err := clew.CopySpilled(ctx, path, copied); n != 2 || err != nil {
		t.Error(n, err)
	}
	if problems, err := clew.VerifySpilled(ctx, f, copied); err != nil || len(problems) != 0 {
		t.Error(problems, err)
	}
	f.Close()
	if removed, err := clew.RemoveFile(ctx, path); err != nil || len(removed) != 2 {
		t.Error(removed, err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Error(left)
	}
	s, err = clew.Open(ctx, copied, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if m, err := s.Recall(ctx, ids[2]); err != nil || m.Text() != msgs[2].Text() {
		t.Error(err)
	}
	if err := os.RemoveAll(copied + ".blobs"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recall(ctx, ids[2]); !errors.Is(err, blob.ErrNotFound) || !strings.Contains(err.Error(), "excerpt") {
		t.Error(err)
	}
}

// The excerpt of large output says first what it is of: the tool, the path or command, the
// exit code, the size, and the handle of the whole.
func TestExcerptSaysWhatItIsOf(t *testing.T) {
	ctx := context.Background()
	s, err := clew.Open(ctx, tempFile(t), fixed(small(200_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	msgs := outputs("the needle")
	add(t, s, msgs[:2]...) // the call is in the log before its result is
	add(t, s, msgs[2:]...)
	items, err := s.Context(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{2: "[excerpt of read access.log: ", 3: "[excerpt of make, exit code 2: "} {
		text := items[i].Message.Text() + items[i].Message.Output
		first, rest, _ := strings.Cut(text, "\n")
		if !strings.HasPrefix(first, want) || !strings.Contains(first, " lines, ") || !strings.Contains(first, " bytes, #") || !strings.HasPrefix(rest, "first line\n") {
			t.Errorf("%q, then %.20q; want %q", first, rest, want)
		}
		if len(text) > compact.ExcerptLimit+500 {
			t.Errorf("%d bytes", len(text))
		}
	}
}

// fullStore can't take anything.
type fullStore struct {
	blob.Store
	err error
}

func (f fullStore) Put(context.Context, io.Reader) (blob.ID, error) { return blob.ID{}, f.err }

func TestSpillThatFailsStaysInline(t *testing.T) {
	mem := new(blob.Memory)
	denied := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(denied, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]blob.Store{
		"disk full":     fullStore{mem, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}},
		"no permission": fullStore{mem, &os.PathError{Op: "open", Path: "x", Err: syscall.EACCES}},
		"store full":    fullStore{mem, blob.ErrFull},
	} {
		cfg := small(4_000_000)
		cfg.Blobs = store
		s := newSession(t, cfg)
		msgs := outputs("the needle")
		add(t, s, msgs...)
		p := prepare(t, s)
		if got := shown(p.Messages); !strings.Contains(got, "the needle") {
			t.Errorf("%s: the output is not in the log", name)
		}
		if len(p.Warnings) != 2 || !strings.Contains(p.Warnings[0].Error(), "stays in the log") {
			t.Errorf("%s: warnings %v", name, p.Warnings)
		}
		if p := prepare(t, s); len(p.Warnings) != 0 {
			t.Errorf("%s: said again: %v", name, p.Warnings)
		}
	}
	// Cancelled is cancelled, and nothing is appended.
	ctx, cancel := context.WithCancel(context.Background())
	cfg := small(4_000_000)
	cfg.Blobs = cancelling{mem, cancel}
	s := newSession(t, cfg)
	if _, err := s.Append(ctx, outputs("x")...); !errors.Is(err, context.Canceled) || s.Leaf() != "" {
		t.Error(err, s.Leaf())
	}
	// A negative limit keeps all in the log.
	cfg.Blobs, cfg.SpillOver = mem, -1
	s = newSession(t, cfg)
	add(t, s, outputs("the needle")...)
	if !strings.Contains(logged(t, s.Log().Store()), "the needle") {
		t.Error("SpillOver -1 did not keep it")
	}
}

type cancelling struct {
	blob.Store
	cancel func()
}

func (c cancelling) Put(ctx context.Context, r io.Reader) (blob.ID, error) {
	c.cancel()
	return c.Store.Put(ctx, r)
}

// TestPurgeSpilled overwrites a secret in output beside the file, by entry and by
// text, and in nothing else.
func TestPurgeSpilled(t *testing.T) {
	ctx := context.Background()
	const secret = `pass "word" zq47y11`
	for _, byText := range []bool{false, true} {
		path := tempFile(t)
		s, err := clew.Open(ctx, path, fixed(small(200_000)))
		if err != nil {
			t.Fatal(err)
		}
		ids := add(t, s, outputs(secret)...)
		other := outputs("harmless")[2:]
		ids = append(ids, add(t, s, other...)...)
		s.Close()
		opt := jsonl.PurgeOptions{ID: ids[2]}
		want := 1
		if byText {
			opt, want = jsonl.PurgeOptions{Text: secret}, 2
		}
		opt.DryRun = true
		look, err := clew.Purge(ctx, path, opt)
		if err != nil {
			t.Fatal(err)
		}
		if problems := verifyOut(t, path); problems != 0 {
			t.Error("a dry run removed something")
		}
		opt.DryRun = false
		done, err := clew.Purge(ctx, path, opt)
		if err != nil {
			t.Fatal(err)
		}
		beside := 0
		for _, p := range done.Places {
			if strings.Contains(p.File, ".blobs") {
				beside++
			}
		}
		if beside != want || len(look.Places) != len(done.Places) {
			t.Errorf("by text %v: %d places beside the file, want %d; dry run %d, done %d", byText, beside, want, len(look.Places), len(done.Places))
		}
		// What was purged is not lost. (Issue 11, defect 1.8.)
		if problems := verifyOut(t, path); problems != 0 {
			t.Errorf("by text %v: after the purge %d outputs are reported as lost", byText, problems)
		}
		left := 0
		err = filepath.WalkDir(path+".blobs", func(p string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.Contains(read(t, p), "zq47y11") {
				left++
			}
			return err
		})
		if err != nil || left != 2-want {
			t.Error(left, err)
		}
		s, err = clew.Open(ctx, path, fixed(small(200_000)))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := s.Recall(ctx, ids[4]); err != nil || !strings.Contains(m.Text(), "harmless") {
			t.Error("other output is gone:", err)
		}
		s.Close()
	}
}

func verifyOut(t *testing.T, path string) int {
	t.Helper()
	f, err := jsonl.Open(context.Background(), path, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	problems, err := clew.VerifySpilled(context.Background(), f, path)
	if err != nil {
		t.Fatal(err)
	}
	return len(problems)
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestCacheFiles: notes name files that tools can read; they come back when they
// are deleted, and a folder that can't be written to costs nothing but the files.
func TestCacheFiles(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "cache")
	cfg := small(200_000)
	cfg.Cache = dir
	s := newSession(t, cfg)
	add(t, s, message.User("go", start))
	var ids []string
	for k := range 40 {
		id := "c" + string(rune('A'+k))
		ids = append(ids, add(t, s,
			message.Assistant(start, message.ToolCallBlock(id, "read", []byte(`{"path":"a.log"}`))),
			message.ToolResult(id, "read", large(20_000, id+" the needle"), false, start))...)
	}
	add(t, s, message.Assistant(start, message.TextBlock("Done.")), message.User("next", start))
	p := prepare(t, s)
	if !p.Plan.Act || len(p.Warnings) > 0 {
		t.Fatal(p.Plan.Why, p.Warnings)
	}
	named := func() (paths []string) {
		for _, m := range p.Messages {
			if _, after, ok := strings.Cut(m.Text(), "read "+dir); ok {
				name, _, _ := strings.Cut(after, " for the whole")
				paths = append(paths, dir+name)
			}
		}
		return paths
	}
	paths := named()
	if len(paths) < 5 {
		t.Fatalf("%d notes name a file", len(paths))
	}
	for _, again := range []string{"after the pass", "after they were deleted"} {
		for _, path := range paths {
			if !strings.Contains(read(t, path), "the needle") {
				t.Errorf("%s, %s has not the whole", again, path)
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		p = prepare(t, s)
	}
	path, err := s.Path(ctx, ids[1])
	if err != nil || !strings.Contains(read(t, path), "cA the needle") {
		t.Error(path, err)
	}
	if _, err := s.Path(ctx, "nothing"); !errors.Is(err, clew.ErrNotFound) {
		t.Error(err)
	}

	// What a summary stands for now is in no file any more; one that can't be deleted is a warning.
	stuck := paths[0]
	if err := errors.Join(os.Remove(stuck), os.MkdirAll(filepath.Join(stuck, "full"), 0o700)); err != nil {
		t.Fatal(err)
	}
	r, err := s.Compact(ctx, clew.CompactOptions{Keep: compact.Tokens(1_000)})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths[1:] {
		if _, err := os.Lstat(path); err == nil || !slices.Contains(r.Deleted, path) {
			t.Errorf("%s is still there, deleted were %v", path, r.Deleted)
		}
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Error(), "can't be deleted") || slices.Contains(r.Deleted, stuck) {
		t.Error("warnings", r.Warnings)
	}

	// An undo brings the notes back, and their files with them.
	if err := os.RemoveAll(stuck); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Undo(ctx, session.UndoOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if !strings.Contains(read(t, path), "the needle") {
			t.Errorf("after the undo %s has not the whole", path)
		}
	}

	// The folder can't be made: no note names a path, and a warning says why.
	blocked := filepath.Join(t.TempDir(), "blocked")
	cfg.Cache = blocked
	s = newSession(t, cfg)
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := clew.New(cfg); err == nil || !strings.Contains(err.Error(), "should be a folder and is a file") {
		t.Error("a file was taken for the folder:", err)
	}
	add(t, s, message.User("go", start))
	for k := range 40 {
		id := "c" + string(rune('A'+k))
		add(t, s,
			message.Assistant(start, message.ToolCallBlock(id, "read", []byte(`{"path":"a.log"}`))),
			message.ToolResult(id, "read", large(20_000, id), false, start))
	}
	p = prepare(t, s)
	dir = blocked
	if !p.Plan.Act || len(p.Warnings) == 0 || len(named()) > 0 {
		t.Error(p.Plan.Why, p.Warnings, named())
	}
	if strings.Contains(shown(p.Messages), "for the whole]") == false {
		t.Error("no note says how to have the whole")
	}
}

// TestByteBudget: the session keeps requests within a limit in bytes.
func TestByteBudget(t *testing.T) {
	cfg := small(1_000_000)
	cfg.Policy.MaxBytes = 200_000
	s := grown(t, cfg, 120)
	p := prepare(t, s)
	if !p.Plan.Act || p.Reading.Bytes > 200_000 || !strings.Contains(p.Plan.Why, "bytes") {
		t.Error(p.Plan.Act, p.Reading.Bytes, p.Plan.Why)
	}
	if p := prepare(t, s); p.Plan.Act {
		t.Error("a second pass:", p.Plan.Why)
	}
}
