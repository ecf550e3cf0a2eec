package jsonl_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

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

// Whatever the bytes of a file are: reading ends, gives no panic and changes no
// byte; from the tail and from the beginning the same is read; an append hides
// nothing that was there and, but for an unfinished end, changes nothing.
func FuzzOpen(f *testing.F) {
	for seed := range uint64(3) {
		data := sessiongen.Generate(seed, sessiongen.Options{Entries: 12, UserBytes: 30, AnswerBytes: 30, ResultBytes: 30}).Bytes()
		f.Add(data)
		for k := range uint64(len(sessiongen.DamageKinds())) {
			broken, _ := sessiongen.Damage(seed*100+k, data)
			if len(broken) < 1<<16 {
				f.Add(broken)
			}
		}
	}
	a, b := msg("a", ""), msg("b", "a")
	for _, s := range []string{
		"", "\n", "null", head3, lines(head3, a, b), lines(head3, a) + b[:40], lines(head3, b[:40]+a), lines(head3, a+b),
		lines(head1, old("a"), oldCompaction("1"), old("b")), lines(head1, old("a")) + old("b")[:30], lines(head2, a, "x", b),
		lines(head3, a, passStart("p", "a", 2), edit("q", "p", "a", "A")), "\xef\xbb\xbf" + lines(head3, a), lines("x", head3, "{}", "1", a),
		lines(head3, a) + strings.Repeat("\x00", 20),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		dir := t.TempDir()
		p := filepath.Join(dir, "s.jsonl")
		if err := os.WriteFile(p, data, 0o600); err != nil {
			t.Fatal(err)
		}
		// From the tail.
		r, err := jsonl.Open(ctx, p, jsonl.Options{ReadOnly: true})
		if err != nil {
			if !errors.Is(err, session.ErrNotSession) && !errors.Is(err, jsonl.ErrEmpty) {
				t.Fatalf("error %v", err)
			}
			if w, err := jsonl.Open(ctx, p, jsonl.Options{FS: unsynced{}}); err == nil {
				w.Close()
				t.Fatal("it can be written, but not read")
			}
			unchanged(t, p, data)
			return
		}
		defer r.Close()
		last := leaf(t, r)
		c := full(contextOf(t, r, last))
		// From the beginning.
		s, err := jsonl.Read(ctx, "x", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]bool{}
		for e, err := range s.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			all[string(e.Raw())] = true
		}
		if leaf(t, s) != last || full(contextOf(t, s, last)) != c {
			t.Fatalf("from the tail the context is\n%s\nfrom the beginning\n%s", c, full(contextOf(t, s, last)))
		}
		ids(t, r)
		if len(r.Problems()) != len(s.Problems()) {
			t.Fatalf("problems %v and %v", r.Problems(), s.Problems())
		}
		unchanged(t, p, data)
		// Written to.
		w, err := jsonl.Open(ctx, p, jsonl.Options{FS: unsynced{}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		jsonl.Impatient(w)
		unchanged(t, p, data)
		err = w.Append(ctx, []*session.Entry{entryOf(t, msg("feedfeedfeedfeed", last))}, session.AppendOptions{})
		if errors.Is(err, session.ErrReadOnly) && w.Version() > 3 || errors.Is(err, session.ErrDuplicateID) {
			w.Close()
			unchanged(t, p, data)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if w.Close(); w.Version() == 3 && r.Version() == 3 {
			now, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			cut, _ := os.ReadFile(p + ".cut")
			sofar := bytes.TrimSuffix(data, bytes.TrimSuffix(cut, []byte("\n")))
			if !bytes.HasPrefix(now, sofar) || len(sofar)+max(len(cut)-1, 0) != len(data) {
				t.Fatalf("%q became %q, cut off was %q", data, now, cut)
			}
		}
		again, err := jsonl.Open(ctx, p, jsonl.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if leaf(t, again) != "feedfeedfeedfeed" {
			t.Fatalf("the leaf is %s", leaf(t, again))
		}
		for e, err := range again.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			delete(all, string(e.Raw()))
		}
		if len(all) > 0 {
			t.Fatalf("an append has hidden %v", all)
		}
	})
}

func unchanged(t testing.TB, path string, data []byte) {
	t.Helper()
	if read(t, path) != string(data) {
		t.Fatal("the file was changed")
	}
	left, err := filepath.Glob(path + ".*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if !strings.HasSuffix(name, ".lock") {
			t.Fatalf("%s was left", name)
		}
	}
}
