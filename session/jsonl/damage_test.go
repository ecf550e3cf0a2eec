package jsonl_test

import (
	"os"
	"strings"
	"testing"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// Files with damage, and what is read of them.
func TestDamage(t *testing.T) {
	t.Parallel()
	a, b, c, d, e := msg("a", ""), msg("b", "a"), msg("c", "b"), msg("d", "c"), msg("e", "d")
	half := func(s string, keep int) string { return s[:keep] }
	call := base("message", "t", "a") + `,"message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1","name":"read","arguments":{"timestamp":"now"}},{"type":"text","timestamp":"x","text":"`
	nested := base("custom", "n", "a") + `,"customType":"x","data":[` + msg("inner", "a") + `,`
	for _, c := range []struct {
		name, data string
		ids        string // all entries
		path       string // of the leaf
		codes      string
	}{
		{"sound", lines(head3, a, b, c), "a b c", "a b c", ""},
		{"header alone", lines(head3), "", "", ""},
		{"header without line break", head3, "", "", ""},
		{"byte order mark", "\xef\xbb\xbf" + lines(head3, a, b), "a b", "a b", "bom"},
		{"CRLF", strings.ReplaceAll(lines(head3, a, b), "\n", "\r\n"), "a b", "a b", ""},
		{"CRLF and torn", strings.TrimSuffix(strings.ReplaceAll(lines(head3, a, b), "\n", "\r\n"), "\n"), "a b", "a b", ""},
		{"blank lines", "\n \n" + lines(head3, "", a, "\t", "\r", b, "", ""), "a b", "a b", ""},
		{"white space at the end", lines(head3, a) + "  ", "a", "a", ""},
		{"null lines", lines("null", head3, a, "null", b, "null"), "a b", "a b", "stray-value stray-value"},
		{"an empty object", lines(head3, a, "{}", b), "a b", "a b", "no-id"},
		{"an empty object at the end", lines(head3, a, b, "{}"), "a b", "a b", "no-id"},
		{"a number at the end", lines(head3, a, b, "123"), "a b", "a b", "stray-value"},
		{"other values", lines(head3, a, `"x"`, "[]", "true", b), "a b", "a b", "stray-value stray-value stray-value"},
		{"garbage before the header", lines("not JSON", "{", head3, a), "a", "a", "before-header"},
		{"joined records", lines(head3, a, b+c, d), "a b c d", "a b c d", "joined-records"},
		{"joined with blanks", lines(head3, a, b+" \t"+c+" ", d), "a b c d", "a b c d", "joined-records"},
		{"joined to the header", lines(head3+a, b), "a b", "a b", ""},
		{"all on one line", head3 + a + b + c, "a b c", "a b c", "joined-records"},
		{"half a record before another", lines(head3, a, half(b, 60)+c, d), "a c d", "a c d", "bad-line joined-records missing-parent"},
		{"half in a text", lines(head3, a, half(b, len(b)-6)+c, d), "a c d", "a c d", "bad-line joined-records missing-parent"},
		{"half after a colon", lines(head3, a, strings.Split(b, `{"role"`)[0]+c, d), "a c d", "a c d", "bad-line joined-records missing-parent"},
		{"half of a call before another", lines(head3, a, call+b), "a b", "a b", "bad-line joined-records"},
		{"half after a nested record", lines(head3, a, nested+b), "a b", "a b", "bad-line joined-records"},
		{"a record before half of one", lines(head3, a, b+half(c, 40), d), "a b d", "a b d", "bad-line joined-records missing-parent"},
		{"torn inside a call", lines(head3, a) + call, "a", "a", "torn-tail"},
		{"torn after a nested record", lines(head3, a) + nested, "a", "a", "torn-tail"},
		{"torn right after a nested record", lines(head3, a) + strings.TrimSuffix(nested, ","), "a", "a", "torn-tail"},
		{"a bad line that ends after a call", lines(head3, a, call[:strings.Index(call, `,{"type":"text"`)], b), "a b", "a b", "bad-line"},
		{"torn after a record on its line", lines(head3, a) + b + half(c, 30), "a b", "a b", "torn-tail"},
		{"torn after half a record", lines(head3, a) + half(b, 30) + half(c, 30), "a", "a", "torn-tail"},
		{"no line break at the end", strings.TrimSuffix(lines(head3, a, b), "\n"), "a b", "a b", ""},
		{"zeros at the end", lines(head3, a, b) + strings.Repeat("\x00", 300), "a b", "a b", "torn-tail"},
		{"zeros over the last record", lines(head3, a, half(b, 20)) + strings.Repeat("\x00", 300), "a", "a", "bad-line torn-tail"},
		{"zeros, then a line break", lines(head3, a, b, strings.Repeat("\x00", 300), c), "a b c", "a b c", "bad-line"},
		{"a bad line", lines(head3, a, b, half(c, 60), d, e), "a b d e", "a b d e", "bad-line missing-parent"},
		{"a bad line without an id", lines(head3, a, b, "<<<<<<< HEAD", d, e), "a b d e", "a b d e", "bad-line missing-parent"},
		{"two bad lines in a row", lines(head3, a, half(b, 60), half(c, 60), d, e), "a d e", "a d e", "bad-line bad-line missing-parent"},
		{"two bad lines apart", lines(head3, a, half(b, 60), c, half(d, 60), e), "a c e", "a c e", "bad-line bad-line missing-parent missing-parent"},
		{"the first entry is bad", lines(head3, half(a, 60), b, c), "b c", "b c", "bad-line missing-parent"},
		{"a missing parent without damage", lines(head3, a, msg("x", "nowhere"), msg("y", "x")), "a x y", "x y", "missing-parent"},
		{"a missing parent before the damage", lines(head3, msg("x", "nowhere"), b, "bad"), "x b", "b", "bad-line missing-parent missing-parent"},
		{"a duplicate id", lines(head3, a, b, msg("a", "b"), c), "a b a c", "a b c", "duplicate-id"},
		{"its own parent", lines(head3, a, msg("x", "x"), msg("y", "x")), "a x y", "x y", ""},
		{"a circle of two", lines(head3, a, msg("x", "y"), msg("y", "x"), msg("z", "y")), "a x y z", "x y z", ""},
		{"several roots", lines(head3, a, b, msg("r", ""), msg("s", "r")), "a b r s", "r s", ""},
		{"two headers", lines(head3, a, head3, b), "a b", "a b", "second-header"},
		{"a header at the end", lines(head3, a, b, head3), "a b", "a b", "second-header"},
		{"a child before its parent", lines(head3, a, c, b, d), "a c b d", "a b c d", ""},
		{"binary in the middle", lines(head3, a, "\xff\xfe\x01\x02", b), "a b", "a b", "bad-line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := write(t, c.data)
			f := look(t, p)
			if got := path(t, f, leaf(t, f)); got != c.path {
				t.Errorf("path %q, want %q", got, c.path)
			}
			if got := shows(t, f, leaf(t, f)); got != c.path {
				t.Errorf("the context shows %q, want %q", got, c.path)
			}
			if got := ids(t, f); got != c.ids {
				t.Errorf("entries %q, want %q", got, c.ids)
			}
			if got := codes(t, f); got != c.codes {
				t.Errorf("problems %q, want %q", got, c.codes)
			}
			// The order in which it is read makes no difference.
			g := look(t, p)
			if got := ids(t, g); got != c.ids {
				t.Errorf("entries %q when all are read first, want %q", got, c.ids)
			}
			if got := path(t, g, leaf(t, g)); got != c.path {
				t.Errorf("path %q when all are read first, want %q", got, c.path)
			}
			if got := codes(t, g); got != c.codes {
				t.Errorf("problems %q when all are read first, want %q", got, c.codes)
			}
			if read(t, p) != c.data {
				t.Fatal("reading has changed the file")
			}
			// An append goes behind what is sound, and everything is there again.
			w := open(t, p)
			jsonl.Impatient(w)
			id := say(t, w, "new")
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			after := read(t, p)
			if !strings.HasSuffix(after, "\n") || strings.Count(tailLine(after), `{"type":"`) != 2 { // the entry and its text block
				t.Errorf("the new record does not stand on a line of its own: %q", tailLine(after))
			}
			f = look(t, p)
			if got, want := ids(t, f), strings.TrimSpace(c.ids+" "+id); got != want {
				t.Errorf("entries %q after an append, want %q", got, want)
			}
			if got, want := path(t, f, id), strings.TrimSpace(c.path+" "+id); got != want {
				t.Errorf("path %q after an append, want %q", got, want)
			}
			// No byte is gone: what is not in the file any more was moved.
			cut, _ := os.ReadFile(p + ".cut")
			kept := strings.TrimSuffix(c.data, strings.TrimSuffix(string(cut), "\n"))
			if !strings.HasPrefix(after, kept) || len(cut) > 0 != strings.Contains(c.codes, "torn-tail") {
				t.Errorf("the file was %q, is %q, and cut off was %q", c.data, after, cut)
			}
		})
	}
}

// tailLine is the last line of a file.
func tailLine(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// Where a damaged line still says what it hung under, its children hang there;
// else under the record before it.
func TestDamagedParentIsSalvaged(t *testing.T) {
	a, b, c := msg("a", ""), msg("b", "a"), msg("c", "b")
	torn := func(s string) string { return s[:len(s)-20] }
	for _, x := range []struct{ name, data, leaf, path string }{
		{"its own parent, not the one before", lines(head3, a, b, c, torn(msg("x", "a")), msg("y", "x")), "y", "a y"},
		{"the parent of a lost parent", lines(head3, a, b, c, torn(msg("x", "a")), torn(msg("y", "x")), msg("z", "y")), "z", "a z"},
		{"a lost root", lines(head3, a, b, torn(msg("x", "")), msg("y", "x")), "y", "y"},
		{"a parent that is nowhere", lines(head3, a, b, torn(msg("x", "nowhere")), msg("y", "x")), "y", "a b y"},
		{"the line that has the id, not the nearest", lines(head3, a, torn(msg("x", "a")), b, torn(msg("q", "x")), msg("y", "x")), "y", "a y"},
		{"an id cut in two", lines(head3, a, b, `{"type":"message","id":"x`, msg("y", "xx")), "y", "a b y"},
		{"an id but no parent", lines(head3, a, b, `{"type":"message","id":"x","parentId`, msg("y", "x")), "y", "a b y"},
		{"members at the end", lines(head3, a, b, c, `{"type":"custom","data":{"a":`+"\x00"+`},"id":"x","parentId":"a",`+stamp+`}`, msg("y", "x")), "y", "a y"},
		{"a line that names itself as its child's child", lines(head3, a, torn(msg("x", "y")), msg("y", "x")), "y", "a y"},
		{"two lost lines in a circle", lines(head3, a, torn(msg("x", "z")), torn(msg("z", "x")), msg("y", "x")), "y", "a y"},
		{"the latest of two with the id", lines(head3, a, b, torn(msg("x", "a")), torn(msg("x", "b")), msg("y", "x")), "y", "a b y"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := look(t, write(t, x.data))
			if got := path(t, f, x.leaf); got != x.path {
				t.Errorf("path %q, want %q", got, x.path)
			}
			e, err := f.Get(ctx, x.leaf)
			if err != nil {
				t.Fatal(err)
			}
			p, err := f.Parent(ctx, e)
			if err != nil || p == nil && e.ParentID != "" || p != nil && e.ParentID != p.ID {
				t.Errorf("the entry says it hangs under %q; its parent is %v (%v)", e.ParentID, p, err)
			}
			if !strings.Contains(codes(t, f), "missing-parent") {
				t.Errorf("problems %s", codes(t, f))
			}
		})
	}
}

// Parents that are lost when a session is opened may be written later.
func TestLostParentComesLater(t *testing.T) {
	p := write(t, lines(head3, msg("a", ""), "bad line", msg("c", "b")))
	f := look(t, p)
	if got := path(t, f, "c"); got != "a c" {
		t.Fatalf("path %q", got)
	}
	appendRaw(t, p, lines(msg("b", "")))
	if n, err := f.Refresh(ctx); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if got := path(t, f, "c"); got != "b c" {
		t.Errorf("path %q", got)
	}
}

// A damaged file with very many of everything is read in reasonable time, and
// its list of problems stays short.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(head3 + "\n")
	const n = 8_000
	for range n {
		b.WriteString("x\n")
		b.WriteString("{}\n")
		b.WriteString(`{"type":"message","id":"` + randomID() + `","parentId":"` + randomID() + `"}` + "\n")
	}
	f := look(t, write(t, b.String()))
	count := 0
	for _, err := range f.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if count != n {
		t.Errorf("%d entries, want %d", count, n)
	}
	problems := f.Problems()
	if last := problems[len(problems)-1]; len(problems) > 10_001 || last.Code != "more" || !strings.Contains(last.What, "14000 more") {
		t.Errorf("%d problems, the last %+v", len(problems), last)
	}
	if _, err := session.Path(ctx, f, leaf(t, f)); err != nil {
		t.Error(err)
	}
}
