package jsonl_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

var ctx = context.Background()

const (
	head3 = `{"type":"session","version":3,"id":"s","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/x"}`
	stamp = `"timestamp":"2025-01-02T03:04:05.678Z"`
)

// base writes the members that all entries share.
func base(typ, id, parent string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return `{"type":"` + typ + `","id":"` + id + `","parentId":` + p + `,` + stamp
}

// msg writes a message entry whose text is its id.
func msg(id, parent string) string {
	return base("message", id, parent) + `,"message":{"role":"user","content":[{"type":"text","text":"` + id + `"}]}}`
}

func compaction(id, parent, kept string) string {
	return base("compaction", id, parent) + `,"summary":"sum-` + id + `","firstKeptEntryId":"` + kept + `","tokensBefore":9}`
}

func edit(id, parent, target, content string) string {
	return base("context_edit", id, parent) + `,"targetId":"` + target + `","replacement":{"content":"` + content + `"}}`
}

func passStart(id, parent string, lines int) string {
	n, _ := json.Marshal(lines)
	return base("custom", id, parent) + `,"customType":"clew.pass","data":{"lines":` + string(n) + `}}`
}

// lines joins records to the bytes of a file.
func lines(records ...string) string { return strings.Join(records, "\n") + "\n" }

// write makes a session file.
func write(t testing.TB, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ids lists the entries of a log, in file order.
func ids(t testing.TB, s session.Store) string {
	t.Helper()
	var list []string
	for e, err := range s.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.ID)
	}
	return strings.Join(list, " ")
}

func path(t testing.TB, s session.Store, leaf string) string {
	t.Helper()
	entries, err := session.Path(ctx, s, leaf)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.ID)
	}
	return strings.Join(list, " ")
}

// leaf is where a session stands when it is opened.
func leaf(t testing.TB, s session.Store) string {
	t.Helper()
	last, err := s.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if last == nil {
		return ""
	}
	return last.ID
}

// shows writes what the model sees at a leaf.
func shows(t testing.TB, s session.Store, leaf string) string {
	t.Helper()
	c, err := session.ContextAt(ctx, s, leaf)
	if err != nil {
		t.Fatal(err)
	}
	return view(c)
}

func view(c *session.Context) string {
	var parts []string
	for _, it := range c.Items {
		parts = append(parts, it.Message.Text()+it.Message.Summary)
	}
	return strings.Join(parts, " ")
}

// codes lists the problems of a session that was read to its beginning.
func codes(t testing.TB, s session.Store) string {
	t.Helper()
	ids(t, s)
	var list []string
	for _, p := range s.Problems() {
		list = append(list, p.Code)
		if p.What == "" || p.Meaning == "" || p.Remedy == "" || p.Severity == "" {
			t.Errorf("a problem that does not say what, what of it and what to do: %+v", p)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// say appends a message through a log of its own and returns its id.
func say(t testing.TB, s session.Store, text string) string {
	t.Helper()
	log, err := session.NewLog(ctx, s, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := log.Append(ctx, session.Message(message.User(text, testHeader.Timestamp)))
	if err != nil {
		t.Fatal(err)
	}
	return entries[0].ID
}

// sound fails unless every line of a file is one JSON object.
func sound(t testing.TB, data string) {
	t.Helper()
	if !strings.HasSuffix(data, "\n") {
		t.Fatalf("the file does not end in a line break: %q", tailOf(data))
	}
	for line := range bytes.Lines([]byte(data)) {
		var o map[string]json.RawMessage
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
}

func tailOf(s string) string { return s[max(0, len(s)-80):] }

func entryOf(t testing.TB, raw string) *session.Entry {
	t.Helper()
	e, err := session.ParseEntry([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func tryOpen(path string) (*jsonl.File, error) { return jsonl.Open(ctx, path, jsonl.Options{}) }

func withTimeout(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// unsynced is the file system without waiting for the disk.
type unsynced struct{ vfs.OS }

func (unsynced) SyncDir(string) error { return nil }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := u.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error { return nil }

// openQuick opens a session for writing that waits for nothing: not for the
// disk, nor for other writers.
func openQuick(path string) (*jsonl.File, error) {
	f, err := jsonl.Open(ctx, path, jsonl.Options{FS: unsynced{}})
	if err == nil {
		jsonl.Impatient(f)
	}
	return f, err
}
