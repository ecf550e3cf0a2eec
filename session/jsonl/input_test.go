package jsonl_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// What is no session is refused with one clear line, and stays as it was.
func TestDefect088_WhatIsNoSessionIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		name, data string
		says       string
	}{
		{"empty", "", "the file is empty"},
		{"blank", " \n\n\t", "an empty page"},
		{"text", "Dear diary,\ntoday I wrote a parser.\n", "text, not JSON"},
		{"text in UTF-16", "\xff\xfeh\x00i\x00", "a binary file"},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\x00", "a binary file"},
		{"gzip", "\x1f\x8b\x08\x00\xde\xad\xbe\xef\x99\x98\x97", "a binary file"},
		{"JSON null", "null\n", "a JSON value, but no record"},
		{"a number", "42\n", "a JSON value, but no record"},
		{"an object", "{}\n", "the first record must have"},
		{"an entry first", lines(msg("a", ""), msg("b", "a")), "header, is missing"},
		{"a header without an id", `{"type":"session","version":3}` + "\n", "the first record must have"},
		{"half a header", head3[:50], "its first line, the header, is damaged"},
		{"half a header and entries", lines(head3[:50], msg("a", "")), "its first line, the header, is damaged"},
		{"a header with zeros", lines(head3[:30]+strings.Repeat("\x00", 60), msg("a", "")), "its first line, the header, is damaged"},
		{"absurd nesting", strings.Repeat("[", 1_000_000), "a JSON list"},
		{"pi version 4", `{"v":4,"kind":"header","id":"x","storageVersion":1}` + "\n", "pi's next format"},
		{"Claude Code", `{"parentUuid":null,"sessionId":"x","uuid":"y","type":"user","message":{}}` + "\n", "a Claude Code session"},
		{"Claude Code, a summary first", `{"type":"summary","summary":"x","leafUuid":"y"}` + "\n", "a Claude Code session"},
		{"Claude Code, a snapshot first", `{"type":"file-history-snapshot","messageId":"x","snapshot":{}}` + "\n", "a Claude Code session"},
		{"Claude Code, later", lines(`{"type":"odd"}`, `{"parentUuid":null,"uuid":"y"}`), "a Claude Code session"},
		{"Codex", `{"timestamp":"x","type":"session_meta","payload":{"id":"x"}}` + "\n", "a Codex session"},
		{"Copilot CLI", `{"type":"user.message","data":{"content":"x"},"id":"b","timestamp":"x","parentId":"a"}` + "\n", "a GitHub Copilot CLI session"},
		{"Gemini CLI", `{"sessionId":"x","projectHash":"y","messages":[]}`, "a Gemini CLI session"},
		{"Gemini conversation", "[\n {\"role\":\"user\",\"parts\":[]}\n]\n", "a conversation of Gemini CLI"},
		{"mini-swe-agent", "{\n \"info\": {},\n \"messages\": [\n", "a trajectory of mini-swe-agent"},
		{"SWE-agent", "{\n \"trajectory\": [\n  {\"action\"", "a trajectory of SWE-agent"},
		{"OpenHands", `{"instance_id":"x","test_result":{},"history":[]}`, "an output of OpenHands"},
		{"a request", `{"model":"m","messages":[]}`, "a list of chat messages"},
		{"messages", `[{"role":"user","content":"x"}]`, "a list of chat messages"},
		{"messages, one a line", lines(`{"role":"user","content":"x"}`, `{"role":"assistant","content":"y"}`), "chat messages, one a line"},
		{"a list", `[1,2]`, "a JSON list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := write(t, c.data)
			for _, opt := range []jsonl.Options{{}, {ReadOnly: true}} {
				f, err := jsonl.Open(ctx, p, opt)
				if err == nil {
					f.Close()
					t.Fatal("it was opened")
				}
				checkError(t, err, p, c.says)
				if c.data != "" && !errors.Is(err, session.ErrNotSession) {
					t.Errorf("%v is no ErrNotSession", err)
				}
			}
			if _, err := jsonl.Read(ctx, "standard input", strings.NewReader(c.data)); err == nil {
				t.Error("it was read")
			} else {
				checkError(t, err, "standard input", c.says)
			}
			if read(t, p) != c.data {
				t.Error("the file was changed")
			}
			onlyFile(t, p)
		})
	}
}

// checkError holds an error against what people are promised: one line that
// names the subject, says what is wrong and what to do.
func checkError(t testing.TB, err error, subject, says string) {
	t.Helper()
	var rich *session.Error
	if !errors.As(err, &rich) || rich.Subject != subject || rich.Op == "" || rich.Hint == "" {
		t.Errorf("error %#v", err)
	}
	if text := err.Error(); !strings.Contains(text, says) || strings.Contains(text, "\n") || len(text) > 400+len(subject) {
		t.Errorf("error %q, want one line with %q", text, says)
	}
}

func onlyFile(t testing.TB, path string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 {
		t.Errorf("files were left beside it: %v", left)
	}
}

// Real files of other programs are named for what they are.
func TestForeignSessionsOfTheField(t *testing.T) {
	want := map[string]string{
		"claude-code": "a Claude Code session", "codex": "a Codex session", "gemini-cli": "Gemini CLI", "copilot-cli": "a GitHub Copilot CLI session",
		"mini-swe-agent": "mini-swe-agent", "openhands": "OpenHands", "swe-agent": "a trajectory of SWE-agent",
	}
	n := 0
	for _, file := range corpus(t, "sessions/*/*") {
		format := filepath.Base(filepath.Dir(file))
		f, err := jsonl.Open(ctx, file, jsonl.Options{ReadOnly: true})
		switch {
		case format == "pi" && err == nil:
			f.Close()
		case format == "pi" || err == nil:
			t.Errorf("%s: error %v", file, err)
		default:
			checkError(t, err, file, want[format])
		}
		n++
	}
	t.Logf("%d files", n)
}

// corpus lists files of the folder of real sessions.
func corpus(t testing.TB, pattern string) []string {
	t.Helper()
	dir := os.Getenv("CLEW_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	files, _ := filepath.Glob(filepath.Join(dir, pattern))
	if len(files) == 0 {
		if os.Getenv("CLEW_CORPUS") != "" {
			t.Fatalf("CLEW_CORPUS=%s holds no %s", dir, pattern)
		}
		t.Skip("no real sessions here")
	}
	return files
}

func TestWhatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	_, err := tryOpen(dir)
	checkError(t, err, dir, "it is a folder")
	nowhere := filepath.Join(dir, "no", "s.jsonl")
	_, err = tryOpen(nowhere)
	checkError(t, err, nowhere, "no such file")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	_, err = jsonl.Create(ctx, nowhere, testHeader, jsonl.Options{})
	checkError(t, err, nowhere, "no such file")
	if runtime.GOOS != "windows" {
		_, err = tryOpen(os.DevNull)
		checkError(t, err, os.DevNull, "not a regular file")
		_, err = jsonl.Open(ctx, os.DevNull, jsonl.Options{ReadOnly: true})
		checkError(t, err, os.DevNull, "the file is empty")
	}
}

// unreadable refuses to open files as a system does that denies it.
type unreadable struct{ vfs.OS }

func (unreadable) OpenFile(name string, _ int, _ fs.FileMode) (vfs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

func TestUnreadable(t *testing.T) {
	p := write(t, lines(head3, msg("a", "")))
	_, err := jsonl.Open(ctx, p, jsonl.Options{FS: unreadable{}})
	checkError(t, err, p, "permission denied")
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
	onlyFile(t, p)
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		return // who may do everything is denied nothing
	}
	if err := os.Chmod(p, 0o200); err != nil {
		t.Fatal(err)
	}
	_, err = tryOpen(p)
	checkError(t, err, p, "permission denied")
}

// A read-only file in a folder that can't be written is still read.
func TestReadOnlyNeedsNoLock(t *testing.T) {
	p := write(t, lines(head3, msg("a", "")))
	w := open(t, p)
	f := look(t, p)
	if got := ids(t, f); got != "a" {
		t.Errorf("entries %q", got)
	}
	err := f.Append(ctx, []*session.Entry{entryOf(t, msg("b", "a"))}, session.AppendOptions{})
	if !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("error %v", err)
	}
	id := say(t, w, "new")
	if n, err := f.Refresh(ctx); n != 1 || err != nil || leaf(t, f) != id {
		t.Error(n, err, leaf(t, f))
	}
	r, err := jsonl.Read(ctx, "standard input", strings.NewReader(read(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := ids(t, r); got != "a "+id {
		t.Errorf("entries %q", got)
	}
	if err := r.Append(ctx, nil, session.AppendOptions{}); !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("error %v", err)
	}
	if n, err := r.Refresh(ctx); n != 0 || err != nil {
		t.Error(n, err)
	}
}

func TestCreate(t *testing.T) {
	p := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := jsonl.Create(ctx, p, testHeader, jsonl.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, p); got != string(testHeader.JSON())+"\n" {
		t.Errorf("%s", got)
	}
	if f.Header().ID != testHeader.ID || f.Path() != p || f.Version() != 3 {
		t.Errorf("%+v", f.Header())
	}
	id := say(t, f, "one")
	f.Close()
	onlyFile(t, p)
	if got := ids(t, look(t, p)); got != id {
		t.Errorf("entries %q", got)
	}
}

// Nothing is created over something, be it a session or not; see TestCrashes for
// what a kill leaves.
func TestDefect100_NothingIsOverwritten(t *testing.T) {
	for _, data := range []string{"", "not a session", lines(head3, msg("a", ""))} {
		p := write(t, data)
		f := look(t, write(t, lines(head3, msg("b", ""))))
		for what, do := range map[string]func() error{
			"create": func() error { _, err := jsonl.Create(ctx, p, testHeader, jsonl.Options{}); return err },
			"copy":   func() error { return f.CopyTo(ctx, p) },
		} {
			err := do()
			checkError(t, err, p, "exists")
			if !errors.Is(err, fs.ErrExist) || read(t, p) != data {
				t.Errorf("%s: error %v", what, err)
			}
			onlyFile(t, p)
		}
	}
}

// What the user typed is on the disk when Append returns: written, then synced.
func TestDefect103_InputIsDurableAtOnce(t *testing.T) {
	var ops []string
	fsys := &vfs.Fault{FS: vfs.OS{}, At: func(_ int, op, _ string) (int, error) { ops = append(ops, op); return 0, nil }}
	p := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := jsonl.Create(ctx, p, testHeader, jsonl.Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ops = nil
	say(t, f, "typed by the user")
	if got := strings.Join(ops, " "); got != "write sync" {
		t.Errorf("Append did %q", got)
	}
	if !strings.Contains(read(t, p), "typed by the user") {
		t.Error("it is not in the file")
	}
}

// The order of the file is that of the causes: an entry stands behind the one it
// hangs under, however many append at once.
func TestDefect095_ParentsStandFirst(t *testing.T) {
	p := write(t, lines(head3))
	f := open(t, p)
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if _, err := log.AppendNoSync(ctx, user("call"), user("result")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{"": true}
	n := 0
	for e, err := range look(t, p).All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if !seen[e.ParentID] {
			t.Errorf("%s stands before its parent %s", e.ID, e.ParentID)
		}
		seen[e.ID] = true
		n++
	}
	if n != 320 || len(strings.Fields(path(t, f, log.Leaf()))) != 320 {
		t.Errorf("%d entries", n)
	}
}

// A name with line breaks and control characters is one record.
func TestDefect106_NamesStayOnOneLine(t *testing.T) {
	p := write(t, lines(head3))
	f := open(t, p)
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := "two\nlines\r\n\x1b[31m\x00\u2028"
	if _, err := log.Append(ctx, session.NewSessionInfo(name)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	sound(t, read(t, p))
	last, err := look(t, p).Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := last.SessionName(); got != name || strings.Count(read(t, p), "\n") != 2 {
		t.Errorf("%q", got)
	}
}

func TestDefect089_OneHeader(t *testing.T) {
	p := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := jsonl.Create(ctx, p, testHeader, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		say(t, f, "x")
		f.Close()
		f = open(t, p)
	}
	if n := strings.Count(read(t, p), `"type":"session"`); n != 1 {
		t.Errorf("%d headers", n)
	}
}

// Records with fields that are missing or of the wrong kind hinder nobody.
func TestDefect097_MalformedRecords(t *testing.T) {
	t.Parallel()
	contexts := 0
	var stats sessiongen.Stats
	for seed := range uint64(20) {
		s := sessiongen.Generate(seed, sessiongen.Options{
			UserBytes: 100, AnswerBytes: 100, ResultBytes: 100,
			Odds: sessiongen.Odds{Malformed: 0.3, DuplicateID: 0.02, Cycle: 0.02, Unknown: 0.05, DanglingRef: 0.05},
		})
		stats.Merge(s.Stats)
		f := look(t, write(t, string(s.Bytes())))
		for e, err := range f.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			c, err := session.ContextAt(ctx, f, e.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range c.Items {
				if it.Message == nil || it.Message.Role == "" {
					t.Fatalf("%s gives no message", it.Entry.Raw())
				}
			}
			contexts++
		}
		f.Close()
	}
	if stats.Count[sessiongen.MalformedRecords] < 100 {
		t.Errorf("only %d malformed records", stats.Count[sessiongen.MalformedRecords])
	}
	t.Logf("%d contexts, %d malformed records", contexts, stats.Count[sessiongen.MalformedRecords])
}

// Only LF ends a record.
func TestDefect107_LineSeparators(t *testing.T) {
	text := "a\u2028b\u2029c\u0085d\\r\\ne"
	rec := base("message", "a", "") + `,"message":{"role":"user","content":"` + text + `"}}`
	p := write(t, lines(head3, rec)+msg("b", "a")+"\r\n")
	f := open(t, p)
	if got := shows(t, f, leaf(t, f)); got != "a\u2028b\u2029c\u0085d\r\ne b" {
		t.Errorf("%q", got)
	}
	id := say(t, f, "x\u2028y\u2029z\r\n")
	f.Close()
	f = open(t, p)
	if got := shows(t, f, id); !strings.HasSuffix(got, "x\u2028y\u2029z\r\n") || codes(t, f) != "" {
		t.Errorf("%q, problems %s", got, codes(t, f))
	}
	if strings.Count(read(t, p), "\n") != 4 {
		t.Error("a record stands on more than one line")
	}
}

func TestLongHeaderAndDeepNesting(t *testing.T) {
	long := strings.Replace(head3, `"cwd"`, `"x":"`+strings.Repeat("y", 1<<20)+`","cwd"`, 1)
	deep := func(id string, n int) string {
		return base("custom", id, "a") + `,"data":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
	}
	p := write(t, lines(long, msg("a", ""), deep("ok", 5000), deep("too-deep", 300_000), msg("b", "ok")))
	f := open(t, p)
	if f.Header().Cwd != "/x" {
		t.Errorf("%+v", f.Header().Cwd)
	}
	if got := ids(t, f); got != "a ok b" || codes(t, f) != "bad-line" {
		t.Errorf("entries %q, problems %s", got, codes(t, f))
	}
	id := say(t, f, "new")
	f.Close()
	f = open(t, p)
	if got := path(t, f, id); got != "a ok b "+id {
		t.Errorf("path %q", got)
	}
}

// A session has one lock and stays one file under all its names.
func TestDefect105_SymbolicLinks(t *testing.T) {
	p := write(t, lines(head1, old("a")))
	link := filepath.Join(t.TempDir(), "link.jsonl")
	if err := os.Symlink(p, link); err != nil {
		t.Skip(err)
	}
	f := open(t, link)
	if _, err := tryOpen(p); !errors.Is(err, jsonl.ErrLocked) {
		t.Errorf("error %v", err)
	}
	id := say(t, f, "new")
	f.Close()
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced by a file: %v, %v", info, err)
	}
	if got := leaf(t, look(t, p)); got != id {
		t.Errorf("the leaf is %q", got)
	}
	if read(t, p+".bak") != lines(head1, old("a")) {
		t.Error("no backup beside the file")
	}
	// Through a link in a folder of the path, too.
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Symlink(filepath.Dir(p), dir); err != nil {
		t.Fatal(err)
	}
	open(t, filepath.Join(dir, "s.jsonl"))
	if _, err := tryOpen(link); !errors.Is(err, jsonl.ErrLocked) {
		t.Errorf("error %v", err)
	}
}
