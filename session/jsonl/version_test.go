package jsonl_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

const (
	head1 = `{"type":"session","id":"s1",` + stamp + `,"cwd":"/x","provider":"p","modelId":"m","thinkingLevel":"off"}`
	head2 = `{"type":"session","version":2,"id":"s2",` + stamp + `,"cwd":"/x"}`
)

// old writes a message of version 1.
func old(text string) string {
	return `{"type":"message",` + stamp + `,"message":{"role":"user","content":"` + text + `"}}`
}

func oldCompaction(index string) string {
	return `{"type":"compaction",` + stamp + `,"summary":"sum","firstKeptEntryIndex":` + index + `,"tokensBefore":5}`
}

// firstKeptEntryIndex counts the records from the header, which is 0.
func TestVersion1FirstKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, shown string }{
		{"the first", lines(head1, old("a"), old("b"), oldCompaction("1"), old("c")), "sum a b c"},
		{"the second", lines(head1, old("a"), old("b"), oldCompaction("2"), old("c")), "sum b c"},
		{"itself", lines(head1, old("a"), old("b"), oldCompaction("3"), old("c")), "sum c"},
		{"the header", lines(head1, old("a"), oldCompaction("0"), old("c")), "sum c"},
		{"nothing", lines(head1, old("a"), oldCompaction("99"), old("c")), "sum c"},
		{"negative", lines(head1, old("a"), oldCompaction("-1"), old("c")), "sum c"},
		{"not whole", lines(head1, old("a"), oldCompaction("1.5"), old("c")), "sum c"},
		{"a text", lines(head1, old("a"), oldCompaction(`"1"`), old("c")), "sum c"},
		{"joined records count each", lines(head1, old("a")+old("b"), old("c"), oldCompaction("3"), old("d")), "sum c d"},
		{"null lines do not count", lines(head1, old("a"), "null", "", old("b"), oldCompaction("2"), old("c")), "sum b c"},
		{"other values count", lines(head1, old("a"), "7", "{}", old("b"), oldCompaction("4"), old("c")), "sum b c"},
		{"bad lines do not count", lines(head1, old("a"), "bad", old("b"), oldCompaction("2"), old("c")), "sum b c"},
		{"two compactions", lines(head1, old("a"), oldCompaction("1"), old("b"), oldCompaction("3"), old("c")), "sum b c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := write(t, c.data)
			f := open(t, p)
			if got := shows(t, f, leaf(t, f)); got != c.shown {
				t.Errorf("the context is %q, want %q", got, c.shown)
			}
			if f.Version() != 1 || f.Header().Version != 1 {
				t.Errorf("version %d", f.Version())
			}
			before := ids(t, f)
			id := say(t, f, "new")
			if got := shows(t, f, id); got != c.shown+" new" {
				t.Errorf("the context after the append is %q", got)
			}
			f.Close()
			f = open(t, p)
			if got := shows(t, f, id); got != c.shown+" new" || ids(t, f) != before+" "+id {
				t.Errorf("the context after reopening is %q, entries %q, were %q", got, ids(t, f), before)
			}
			if read(t, p+".bak") != c.data {
				t.Error("the backup is not the original")
			}
		})
	}
}

// Ids of version 1 are the same at every opening, differ between sessions, and
// stay when the file is turned into version 3.
func TestVersion1IDsAreStable(t *testing.T) {
	data := lines(head1, old("a"), old("b"), `{"type":"model_change",`+stamp+`,"provider":"p","modelId":"m"}`)
	p := write(t, data)
	first := ids(t, look(t, p))
	if again := ids(t, look(t, p)); again != first || len(strings.Fields(first)) != 3 {
		t.Fatalf("%q and %q", first, again)
	}
	other := ids(t, look(t, write(t, strings.Replace(data, `"s1"`, `"s9"`, 1))))
	for _, id := range strings.Fields(first) {
		if len(id) != 16 || strings.Contains(other, id) {
			t.Errorf("id %s", id)
		}
	}
	// Appended to by an old pi, the ids of what was there stay.
	f := look(t, p)
	appendRaw(t, p, lines(old("c")))
	if n, err := f.Refresh(ctx); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if got := ids(t, f); !strings.HasPrefix(got, first+" ") || len(strings.Fields(got)) != 4 {
		t.Errorf("%q, was %q", got, first)
	}
	id := say(t, open(t, p), "new")
	if got := ids(t, look(t, p)); !strings.HasPrefix(got, first+" ") || !strings.HasSuffix(got, " "+id) {
		t.Errorf("%q, was %q", got, first)
	}
}

// In versions 1 and 2 the role custom was called hookMessage.
func TestHookMessage(t *testing.T) {
	hook := `,"message":{"role":"hookMessage","customType":"ext","content":"hooked","display":true,"x":12345678901234567890}}`
	for _, data := range []string{
		lines(head2, msg("a", ""), base("message", "b", "a")+hook, msg("c", "b")),
		lines(head1, old("a"), `{"type":"message",`+stamp+hook, old("c")),
	} {
		p := write(t, data)
		check := func(f session.Store) {
			t.Helper()
			c, err := session.ContextAt(ctx, f, leaf(t, f))
			if err != nil {
				t.Fatal(err)
			}
			if m := c.Items[1].Message; m.Role != message.RoleCustom || m.Text() != "hooked" || m.CustomType != "ext" ||
				!strings.Contains(string(m.JSON()), `"x":12345678901234567890`) {
				t.Errorf("%s", m.JSON())
			}
		}
		f := open(t, p)
		check(f)
		say(t, f, "new")
		check(f)
		f.Close()
		check(look(t, p))
		if got := read(t, p); strings.Contains(got, "hookMessage") || !strings.Contains(got, `"version":3`) {
			t.Errorf("%s", got)
		}
	}
	// The word in a text stays a word.
	text := base("message", "a", "") + `,"message":{"role":"user","content":"what is a hookMessage?"}}`
	f := look(t, write(t, lines(head2, text)))
	if got := shows(t, f, "a"); got != "what is a hookMessage?" {
		t.Error(got)
	}
}

// A version 2 file keeps its ids, its tree and its bytes, but for the header.
func TestVersion2(t *testing.T) {
	data := lines(head2, msg("a", ""), msg("b", "a"), `{ "type":"custom", "id":"x", "parentId":"a", "y":1e400, "y":2 }`, "bad line", msg("c", "b"))
	p := write(t, data)
	f := open(t, p)
	if got := path(t, f, "c"); got != "a b c" || f.Version() != 2 {
		t.Errorf("path %q, version %d", got, f.Version())
	}
	say(t, f, "new")
	f.Close()
	after := read(t, p)
	_, rest, _ := strings.Cut(data, "\n")
	_, now, _ := strings.Cut(after, "\n")
	if !strings.HasPrefix(now, rest) || !strings.HasPrefix(after, `{"type":"session","version":3,`) {
		t.Errorf("%s\nbecame\n%s", data, after)
	}
}

// Each migration keeps the file it found, under a name that is free.
func TestBackups(t *testing.T) {
	p := write(t, lines(head1, old("a")))
	for name, data := range map[string]string{".bak": "something else", ".bak2": "and another"} {
		if err := os.WriteFile(p+name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	say(t, open(t, p), "new")
	if read(t, p+".bak") != "something else" || read(t, p+".bak2") != "and another" || read(t, p+".bak3") != lines(head1, old("a")) {
		t.Error("a backup was overwritten or is not the original")
	}
	// A .bak that is the file itself, from an attempt that went no further, is enough.
	p = write(t, lines(head1, old("a")))
	if err := os.Link(p, p+".bak"); err != nil {
		t.Skip("no hard links here")
	}
	say(t, open(t, p), "new")
	if _, err := os.Stat(p + ".bak2"); err == nil || read(t, p+".bak") != lines(head1, old("a")) {
		t.Error("a second backup of the same file")
	}
}

// Reading, and appending nothing, migrates nothing.
func TestDefect104_ResumeIsReadOnly(t *testing.T) {
	for _, data := range []string{lines(head1, old("a"), "bad"), lines(head2, msg("a", "")), lines(head3, msg("a", "")), lines(head3, msg("a", "")) + `{"torn`} {
		p := write(t, data)
		f := open(t, p)
		shows(t, f, leaf(t, f))
		ids(t, f)
		if _, _, err := session.Settings(ctx, f, leaf(t, f)); err != nil {
			t.Error(err)
		}
		if err := f.Append(ctx, nil, session.AppendOptions{}); err != nil {
			t.Error(err)
		}
		if err := f.Append(ctx, []*session.Entry{entryOf(t, msg("z", ""))}, session.AppendOptions{IfLast: "other"}); !errors.Is(err, session.ErrConflict) {
			t.Error(err)
		}
		if _, err := f.Refresh(ctx); err != nil {
			t.Error(err)
		}
		f.Close()
		if read(t, p) != data {
			t.Errorf("%q became %q", data, read(t, p))
		}
		if left, _ := os.ReadDir(p[:len(p)-len("s.jsonl")]); len(left) != 1 {
			t.Errorf("files were left: %v", left)
		}
	}
}

// A later version is read as far as we understand it, and never written.
func TestFutureVersion(t *testing.T) {
	data := lines(strings.Replace(head3, `"version":3`, `"version":4`, 1), msg("a", ""), `{"type":"new-thing","id":"n","parentId":"a"}`)
	p := write(t, data)
	f := open(t, p)
	if got := ids(t, f); got != "a n" || f.Version() != 4 || codes(t, f) != "future-version" {
		t.Errorf("entries %q, version %d, problems %q", got, f.Version(), codes(t, f))
	}
	err := f.Append(ctx, []*session.Entry{entryOf(t, msg("b", "n"))}, session.AppendOptions{})
	if !errors.Is(err, session.ErrReadOnly) || !strings.Contains(err.Error(), "version 4") {
		t.Errorf("error %v", err)
	}
	f.Close()
	if read(t, p) != data {
		t.Error("the file was changed")
	}
}

// TestVerifyAfterFailedMigration shows that a file which could not be turned into
// version 3 can still be verified.
func TestVerifyAfterFailedMigration(t *testing.T) {
	p := write(t, lines(head1, `{"type":"message",`+stamp+`,"message":{"role":"user","content":"hello"}}`))
	fault := &vfs.Fault{FS: vfs.OS{}, At: func(_ int, op, _ string) (int, error) {
		if op == "rename" {
			return 0, errDisk
		}
		return 0, nil
	}}
	f, err := jsonl.Open(ctx, p, jsonl.Options{FS: fault})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := session.NewLog(ctx, f, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(ctx, user("more")); !errors.Is(err, errDisk) {
		t.Fatalf("the migration did not fail: %v", err)
	}
	if _, err := f.Verify(ctx); err != nil {
		t.Error(err)
	}
}
