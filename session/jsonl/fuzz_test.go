package jsonl_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/sessiongen"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// addFiles adds small files: what fuzzing finds it minimizes, at a cost that grows
// with the square of the size.
func addFiles(f *testing.F) {
	const head = `{"type":"session","version":3,"id":"s"}`
	m := func(id, parent string) string {
		return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"timestamp":"2025-01-02T03:04:05Z","message":{"role":"user","content":"x"}}`
	}
	a, b := m("a", "null"), m("b", `"a"`)
	small := []byte(lines(head, a, b, m("c", `"b"`)))
	for k := range uint64(len(sessiongen.DamageKinds())) {
		broken, _ := sessiongen.Damage(k, small)
		f.Add(broken[:min(len(broken), 1<<10)])
	}
	const v1, o = `{"type":"session","id":"s"}`, `{"type":"message","message":{"role":"user","content":"x"}}`
	for _, s := range []string{
		"", "\n", "null", head, lines(head, a, b), lines(head, a) + b[:40], lines(head, b[:40]+a), lines(head, a+b),
		lines(v1, o, `{"type":"compaction","summary":"s","firstKeptEntryIndex":1}`, o), lines(v1, o) + o[:30],
		lines(`{"type":"session","version":2,"id":"s"}`, a, "x", b),
		lines(head, a, `{"type":"custom","id":"p","parentId":"a","customType":"clew.pass","data":{"lines":2}}`, `{"type":"context_edit","id":"q","parentId":"p","targetId":"a","replacement":null}`),
		lines(head, m("a", `"b"`), b), lines(head, a, `{"type":"compaction","id":"k","parentId":"a","summary":"s","firstKeptEntryId":"a"}`, m("b", `"k"`)),
		"\xef\xbb\xbf" + lines(head, a), lines("x", head, "{}", "1", a), lines(head, a) + strings.Repeat("\x00", 20),
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
		const p = "/no/such/folder/s.jsonl"
		disk := memFS{p: {bytes.Clone(data)}}
		w, err := jsonl.OpenUnlocked(ctx, p, jsonl.Options{FS: disk})
		must(t, err)
		jsonl.Impatient(w)
		defer w.Close()
		disk.unchanged(t, p, data)
		err = w.Append(ctx, []*session.Entry{entryOf(t, msg("feedfeedfeedfeed", last))}, session.AppendOptions{})
		if errors.Is(err, session.ErrReadOnly) && r.Version() > 3 || errors.Is(err, session.ErrDuplicateID) {
			w.Close()
			disk.unchanged(t, p, data)
			return
		}
		must(t, err)
		if w.Close(); r.Version() == 3 {
			now, cut := disk[p].data, []byte(nil)
			if f := disk[p+".cut"]; f != nil {
				cut = f.data
			}
			sofar := bytes.TrimSuffix(data, bytes.TrimSuffix(cut, []byte("\n")))
			if !bytes.HasPrefix(now, sofar) || len(sofar)+max(len(cut)-1, 0) != len(data) {
				t.Fatalf("%q became %q, cut off was %q", data, now, cut)
			}
		}
		again, err := jsonl.Read(ctx, "x", bytes.NewReader(disk[p].data))
		must(t, err)
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

func (m memFS) unchanged(t testing.TB, path string, data []byte) {
	t.Helper()
	if !bytes.Equal(m[path].data, data) || len(m) > 1 {
		t.Fatalf("the file was changed, or others were left: %d", len(m))
	}
}
