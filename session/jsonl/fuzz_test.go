package jsonl_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

func addFiles(f *testing.F) {
	for seed := range uint64(3) {
		data := sessiongen.Generate(seed, sessiongen.Options{Entries: 4, UserBytes: 20, AnswerBytes: 20, ResultBytes: 20}).Bytes()
		f.Add(data)
		for k := range uint64(len(sessiongen.DamageKinds())) {
			broken, _ := sessiongen.Damage(seed*100+k, data)
			if len(broken) < 1<<12 {
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
}

// Whatever the bytes are: reading ends, gives no panic and changes no byte, and
// from the tail and from the beginning the same is read.
func FuzzRead(f *testing.F) {
	addFiles(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		before := string(data)
		tail, err := jsonl.Read(ctx, "x", bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, session.ErrNotSession) && !errors.Is(err, jsonl.ErrEmpty) {
				t.Fatalf("error %v", err)
			}
			return
		}
		last := leaf(t, tail)
		c := full(contextOf(t, tail, last))
		if _, _, err := session.Settings(ctx, tail, last); err != nil {
			t.Fatal(err)
		}
		whole, err := jsonl.Read(ctx, "x", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		all := ids(t, whole)
		if leaf(t, whole) != last || full(contextOf(t, whole, last)) != c {
			t.Fatalf("from the tail the context is\n%s\nfrom the beginning\n%s", c, full(contextOf(t, whole, last)))
		}
		if got := ids(t, tail); got != all || len(tail.Problems()) != len(whole.Problems()) {
			t.Fatalf("entries %s and %s, problems %v and %v", got, all, tail.Problems(), whole.Problems())
		}
		if before != string(data) {
			t.Fatal("the input was changed")
		}
	})
}

// Whatever the bytes of a file are: opening changes no byte, and an append hides
// nothing that was there and, but for an unfinished end, changes nothing.
func FuzzAppend(f *testing.F) {
	addFiles(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := jsonl.Read(ctx, "x", bytes.NewReader(data))
		if err != nil || len(data) > 1<<14 {
			return
		}
		last := leaf(t, r)
		all := map[string]bool{}
		for e, err := range r.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			all[string(e.Raw())] = true
		}
		p := filepath.Join(t.TempDir(), "s.jsonl")
		must(t, os.WriteFile(p, data, 0o600))
		w, err := openQuick(p)
		must(t, err)
		defer w.Close()
		unchanged(t, p, data)
		err = w.Append(ctx, []*session.Entry{entryOf(t, msg("feedfeedfeedfeed", last))}, session.AppendOptions{})
		if errors.Is(err, session.ErrReadOnly) && r.Version() > 3 || errors.Is(err, session.ErrDuplicateID) {
			w.Close()
			unchanged(t, p, data)
			return
		}
		must(t, err)
		if w.Close(); r.Version() == 3 {
			now := []byte(read(t, p))
			cut, _ := os.ReadFile(p + ".cut")
			sofar := bytes.TrimSuffix(data, bytes.TrimSuffix(cut, []byte("\n")))
			if !bytes.HasPrefix(now, sofar) || len(sofar)+max(len(cut)-1, 0) != len(data) {
				t.Fatalf("%q became %q, cut off was %q", data, now, cut)
			}
		}
		again := look(t, p)
		if leaf(t, again) != "feedfeedfeedfeed" {
			t.Fatalf("the leaf is %s", leaf(t, again))
		}
		for e, err := range again.All(ctx) {
			must(t, err)
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
