package jsonl_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// these yields entries, and then an error unless that is nil.
func these(entries []*session.Entry, err error) iter.Seq2[*session.Entry, error] {
	return func(yield func(*session.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// odd are entries whose bytes are unusual, so that a copy that parses and writes
// again is noticed.
func odd(t testing.TB) []*session.Entry {
	t.Helper()
	return []*session.Entry{
		entryOf(t, msg("a", "")),
		entryOf(t, `{"id":"b",  "type":"later","parentId":"a","n":1.50,"s":"\u0041\ud83d","x":{"y":[ ]},"n":2}`),
		entryOf(t, msg("c", "b")+"  "),
	}
}

// writing is the step that TestFaults and TestCrashes do to it.
var writing = step{"write new", func(w *work) error {
	var entries []*session.Entry
	more := base("custom", "c", "b") + `,"customType":"x","data":"` + strings.Repeat(big, 20) + `"}` // more than is written at once
	for _, raw := range []string{msg("a", ""), msg("b", "a"), more, msg("d", "c")} {
		e, err := session.ParseEntry([]byte(raw))
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	if _, err := jsonl.WriteNew(ctx, w.path, testHeader, these(entries, nil), jsonl.Options{FS: w.fs}); err != nil {
		return err
	}
	return w.open()
}, false}

func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new.jsonl")
	n, err := jsonl.WriteNew(ctx, path, testHeader, these(odd(t), nil), jsonl.Options{ReadOnly: true})
	if err != nil || n != 3 {
		t.Fatal(n, err)
	}
	want := string(testHeader.JSON()) + "\n"
	for _, e := range odd(t) {
		want += string(e.Raw()) + "\n"
	}
	if got := read(t, path); got != want {
		t.Errorf("written\n%q\nwant\n%q", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Error(info.Mode(), err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("there is more than the file: %v", list)
	}
	f := look(t, path)
	defer f.Close()
	if ids(t, f) != "a b c" || codes(t, f) != "" {
		t.Error(ids(t, f), codes(t, f))
	}
	// Never over a file that is there.
	if _, err := jsonl.WriteNew(ctx, path, testHeader, these(nil, nil), jsonl.Options{}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "choose another name") {
		t.Error(err)
	}
	if read(t, path) != want {
		t.Error("the file was changed")
	}
	// A header alone is a session.
	empty := filepath.Join(dir, "empty.jsonl")
	if _, err := jsonl.WriteNew(ctx, empty, testHeader, these(nil, nil), jsonl.Options{}); err != nil {
		t.Fatal(err)
	}
	if say(t, writable(t, empty), "x") == "" {
		t.Error("it can't be written to")
	}
}

func writable(t testing.TB, path string) *jsonl.File {
	t.Helper()
	f, err := jsonl.Open(ctx, path, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestWriteNewRefuses: what goes wrong before the end leaves nothing behind.
func TestWriteNewRefuses(t *testing.T) {
	boom := errors.New("boom")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	good := entryOf(t, msg("a", ""))
	for name, tc := range map[string]struct {
		ctx     context.Context
		entries iter.Seq2[*session.Entry, error]
		want    error
	}{
		"source fails": {ctx, these(odd(t), boom), boom},
		"cancelled":    {gone, these(odd(t), nil), context.Canceled},
		"twice":        {ctx, these([]*session.Entry{good, good}, nil), session.ErrDuplicateID},
		"no id":        {ctx, these([]*session.Entry{good, entryOf(t, `{"type":"message"}`)}, nil), session.ErrBadEntry},
		"header":       {ctx, these([]*session.Entry{entryOf(t, head3)}, nil), session.ErrBadEntry},
		"elsewhere":    {ctx, these([]*session.Entry{good, entryOf(t, msg("b", "x")).Attached("a")}, nil), session.ErrBadEntry},
		"nothing":      {ctx, these([]*session.Entry{nil}, nil), session.ErrBadEntry},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "new.jsonl")
		n, err := jsonl.WriteNew(tc.ctx, path, testHeader, tc.entries, jsonl.Options{})
		if n != 0 || !errors.Is(err, tc.want) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if list, _ := os.ReadDir(dir); len(list) > 0 {
			t.Errorf("%s: left %v", name, list)
		}
	}
	if _, err := jsonl.WriteNew(ctx, filepath.Join(t.TempDir(), "no", "new.jsonl"), testHeader, these(nil, nil), jsonl.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	// While another one writes the same name.
	path := filepath.Join(t.TempDir(), "new.jsonl")
	slow := func(yield func(*session.Entry, error) bool) {
		if _, err := jsonl.WriteNew(ctx, path, testHeader, these(nil, nil), jsonl.Options{}); !errors.Is(err, jsonl.ErrLocked) {
			t.Error(err)
		}
		yield(good, nil)
	}
	if n, err := jsonl.WriteNew(ctx, path, testHeader, slow, jsonl.Options{}); n != 1 || err != nil {
		t.Error(n, err)
	}
}

// noReopen is a file system on which a session can be made and not opened again.
type noReopen struct {
	vfs.OS
	path string
}

func (n noReopen) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	if name == n.path {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EIO}
	}
	return n.OS.OpenFile(name, flag, perm)
}

// Issue 11, defect 8: an import that failed with EIO left a session of no message.
func TestCreateThatFailsLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "session.jsonl")
	_, err := jsonl.Create(ctx, path, testHeader, jsonl.Options{FS: noReopen{path: path}})
	if !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v, want the error of opening the file", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("the folder has %v (%v), want nothing", left, err)
	}
}
