package builtin_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clew-dev/clew/internal/agent/builtin"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
)

func lines(from, to int) string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprintf("line %d", i))
	}
	return strings.Join(all, "\n")
}

func TestRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 300_000)
	for _, c := range []struct {
		name, content string
		args          []any
		want          string
		cut           bool
	}{
		{"whole", "a\nb\n", nil, "a\nb", false},
		{"no newline at the end", "a\nb", nil, "a\nb", false},
		{"empty", "", nil, "(the file is empty)", false},
		{"one empty line", "\n", nil, "", false},
		{"CR LF and a mark", "\ufeffa\r\nb\r\n", nil, "a\nb", false},
		{"range", lines(1, 10), []any{"offset", 3, "limit", 2}, "line 3\nline 4\n\n[lines 3 to 4 of 10; go on with offset 5]", true},
		{"range as text", lines(1, 10), []any{"offset", "9", "limit", "5"}, "line 9\nline 10\n\n[lines 9 to 10 of 10]", false},
		{"limit is all", lines(1, 3), []any{"limit", 3}, "line 1\nline 2\nline 3", false},
		{"offset 0, null", lines(1, 3), []any{"offset", 0, "limit", nil}, lines(1, 3), false},
		{"cap of lines", lines(1, 2500) + "\n", nil, lines(1, 2000) + "\n\n[lines 1 to 2000 of 2500; go on with offset 2001]", true},
		{"more lines when asked", lines(1, 2500), []any{"limit", 2400}, lines(1, 2400) + "\n\n[lines 1 to 2400 of 2500; go on with offset 2401]", true},
		{"not UTF-8", "gr\xfc\xdfe\n", nil, "gr\uFFFDe\n\n[bytes that are no UTF-8 are shown as \uFFFD]", false},
		{"long line", "a\n" + long + "\nb", []any{"offset", 2}, long[:262144] + "\n\n[line 2 has 600000 bytes, only the first 262144 are shown: use bash for the rest, with cut -c; lines 2 to 2 of 3; go on with offset 3]", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.put("f", c.content)
			_, r, err := b.call("read", append([]any{"path", "f"}, c.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			if got := textOf(r); got != c.want {
				t.Errorf("got %d bytes: %.300q…%q", len(got), got, got[max(0, len(got)-300):])
			}
			if details(t, r).Truncated != c.cut {
				t.Errorf("truncated is %v", !c.cut)
			}
		})
	}
}

// Read on as the results say gives the whole file.
func TestReadOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var all []string
	for i := range 9000 {
		all = append(all, strings.Repeat("x", i%200)+fmt.Sprint(i))
	}
	b.put("f", strings.Join(all, "\n")+"\n")
	var got []string
	for offset := 1; offset > 0; {
		text := b.ok("read", "path", "f", "offset", offset, "limit", 5000)
		body, mark, more := strings.Cut(text, "\n\n[")
		got = append(got, body)
		if len(body) > 256<<10 {
			t.Fatalf("%d bytes at once", len(body))
		}
		offset = 0
		if _, next, ok := strings.Cut(mark, "go on with offset "); more && ok {
			_, _ = fmt.Sscan(next, &offset)
		}
	}
	if strings.Join(got, "\n") != strings.Join(all, "\n") || len(got) < 3 {
		t.Errorf("%d pages are not the file", len(got))
	}
}

func TestReadImages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	for kind, data := range map[string]string{
		"image/png": buf.String(), "image/jpeg": "\xff\xd8\xff\xe0 and so on", "image/gif": "GIF89a and so on", "image/webp": "RIFF\x04\x00\x00\x00WEBPVP8 ",
	} {
		b.put("picture.txt", data) // the content says what it is
		_, r, err := b.call("read", "path", "picture.txt")
		if err != nil || len(r.Content) != 2 || r.Content[1].Type != message.BlockImage || r.Content[1].MIMEType != kind {
			t.Errorf("%s: %+v %v", kind, r.Content, err)
			continue
		}
		if got, _ := base64.StdEncoding.DecodeString(r.Content[1].Data); string(got) != data {
			t.Errorf("%s: other bytes", kind)
		}
	}
	b.put("large.png", buf.String()+strings.Repeat("x", 5<<20))
	contains(t, b.bad("read", "path", "large.png").Error(), "image", "5242880", "smaller")
}

func TestReadWhatIsNoText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.zip", "PK\x03\x04\x00\x00rest")
	b.put("wide.txt", "\xff\xfea\x00b\x00")
	contains(t, b.ok("read", "path", "a.zip"), "no text", "application/zip", "10 bytes", "50 4b 03 04", "bash")
	contains(t, b.ok("read", "path", "wide.txt"), "UTF-16", "iconv")
	b.put("late.txt", strings.Repeat("x", 9000)+"\x00")
	contains(t, b.ok("read", "path", "late.txt"), "x\uFFFD\n\n[bytes")
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", lines(1, 3))
	b.put("d/x", "")
	for want, a := range map[string][]any{
		"there is no such file or folder; look for it with find or ls": {"path", "none"},
		"it is a folder; name a file in it":                            {"path", "d"},
		"the path names a folder":                                      {"path", "f/"},
		"is a file, not a folder":                                      {"path", "f/x"},
		"the file has 3 lines, there is no line 4":                     {"path", "f", "offset", 4},
		"no whole number":                                              {"path", "f", "offset", 1.5},
		"no number":                                                    {"path", "f", "limit", "all"},
		"limit: the argument is no number from 0":                      {"path", "f", "limit", -1},
		"the argument is missing; call it with {":                      {"file", "f"},
	} {
		contains(t, b.bad("read", a...).Error(), want)
	}
}

// What is no regular file is refused at once: opening a pipe would wait for ever.
func TestOnlyRegularFiles(t *testing.T) {
	unixOnly(t)
	b := newBench(t)
	makePipe(t, b.path("pipe"))
	makePipe(t, b.path("/pipe"))
	if err := os.MkdirAll(b.path("d"), 0o755); err != nil {
		t.Fatal(err)
	}
	// The names of sockets have to be short. Another working folder would keep the result
	// of this package from being cached.
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	l, err := net.Listen("unix", filepath.Join(short, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Rename(filepath.Join(short, "socket"), b.path("socket")); err != nil {
		t.Fatal(err)
	}
	b.link("pipe", "link")
	for path, want := range map[string]string{"pipe": "named pipe", b.path("/pipe"): "named pipe", "socket": "socket", "link": "named pipe", "d": "folder"} {
		contains(t, b.bad("read", "path", path).Error(), want)
		contains(t, b.bad("write", "path", path, "content", "x").Error(), want)
		contains(t, b.bad("edit", "path", path, "oldText", "a", "newText", "b").Error(), want)
		if path != "d" {
			contains(t, b.bad("grep", "path", path, "pattern", "x").Error(), want)
			contains(t, b.bad("ls", "path", path).Error(), "not a folder")
		}
	}
	contains(t, b.ok("grep", "pattern", "x"), "No line matches x")
}

func TestWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e, r, err := b.call("write", "path", "new/deep/a.go", "content", "one\ntwo")
	if err != nil || b.get("new/deep/a.go") != "one\ntwo" {
		t.Fatal(err)
	}
	if e.Kind != tool.Write || e.Line != "write new/deep/a.go (7 bytes)" || e.Outside || e.Paths[0] != b.path("new/deep/a.go") {
		t.Errorf("%+v", e)
	}
	if textOf(r) != "Created new/deep/a.go: 7 bytes, 2 lines" {
		t.Errorf("%q", textOf(r))
	}
	want := "--- /dev/null\n+++ new/deep/a.go\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n"
	if d := details(t, r).Diff; d != want || e.Diff != want {
		t.Errorf("diff %q, announced %q", d, e.Diff)
	}
	e, r, _ = b.call("write", "path", "new/deep/a.go", "content", "one\n")
	if textOf(r) != "Overwrote new/deep/a.go: 4 bytes, 1 line; the file was there before, with 7 bytes" {
		t.Errorf("%q", textOf(r))
	}
	if d := details(t, r).Diff; d != e.Diff || !strings.Contains(d, "-two\n") {
		t.Errorf("diff %q, announced %q", d, e.Diff)
	}
	e, r, _ = b.call("write", "path", "new/deep/a.go", "content", "one\n")
	contains(t, textOf(r), "the same content")
	if e.Diff != "" || r.Details != nil {
		t.Errorf("a change of nothing: %q %s", e.Diff, r.Details)
	}
	b.ok("write", "path", "empty", "content", "")
	if b.get("empty") != "" {
		t.Error("not empty")
	}
	// No half of a file lies around.
	for _, dir := range []string{".", "new/deep"} {
		list, _ := os.ReadDir(b.path(dir))
		for _, d := range list {
			if strings.HasPrefix(d.Name(), ".clew") {
				t.Errorf("%s was left", d.Name())
			}
		}
	}
	b.put("file", "x")
	for want, a := range map[string][]any{
		"is a file, not a folder":         {"path", "file/x", "content", ""},
		"it is a folder":                  {"path", "new", "content", ""},
		"the path names a folder":         {"path", "fresh/", "content", ""},
		"content: the argument is miss":   {"path", "file"},
		"content: the argument is no str": {"path", "file", "content", 5},
	} {
		contains(t, b.bad("write", a...).Error(), want)
	}
	if b.get("file") != "x" {
		t.Error("a call that failed changed a file")
	}
	if _, err := os.Stat(b.path("fresh")); err == nil {
		t.Error("a call that failed made a folder")
	}
}

func TestWriteKeepsTheMode(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	b := newBench(t)
	for _, mode := range []os.FileMode{0o755, 0o600, 0o664} {
		b.put("run.sh", "old")
		if err := os.Chmod(b.path("run.sh"), mode); err != nil {
			t.Fatal(err)
		}
		b.ok("write", "path", "run.sh", "content", "echo new")
		b.ok("edit", "path", "run.sh", "oldText", "new", "newText", "newer")
		info, err := os.Stat(b.path("run.sh"))
		if err != nil || info.Mode().Perm() != mode || b.get("run.sh") != "echo newer" {
			t.Errorf("%v became %v %v", mode, info.Mode(), err)
		}
	}
}

// A file that must not be written to is not replaced by one that may.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	if os.Geteuid() == 0 {
		t.Skip("root may write to every file")
	}
	b := newBench(t)
	b.put("fixed", "old")
	if err := os.Chmod(b.path("fixed"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := b.bad("write", "path", "fixed", "content", "new"); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
	if b.get("fixed") != "old" {
		t.Error("it was replaced")
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	type pair = map[string]any
	p := func(before, after string) pair { return pair{"oldText": before, "newText": after} }
	for _, c := range []struct {
		name, content string
		args          []any
		want          string // the file afterwards
		says          string
	}{
		{"one", "a\nb\nc\n", []any{"edits", []pair{p("b", "B")}}, "a\nB\nc\n", "Edited f: 1 edit, at line 2"},
		{"at the top level", "a\nb\n", []any{"oldText", "b", "newText", ""}, "a\n\n", "1 edit, at line 2"},
		{"both", "a\nb\n", []any{"edits", []pair{p("a", "A")}, "oldText", "b", "newText", "B"}, "A\nB\n", "2 edits, at lines 1 and 2"},
		{"a list as text", "a\nb\n", []any{"edits", `[{"oldText":"a","newText":"A"}]`}, "A\nb\n", ""},
		{"an object for a list", "a\nb\n", []any{"edits", p("a", "A")}, "A\nb\n", ""},
		{"found in the file as it is", "a b c", []any{"edits", []pair{p("a", "b"), p("b", "c"), p("c", "a")}}, "b c a", "3 edits"},
		{"in any order", "1\n2\n3\n", []any{"edits", []pair{p("3", "three"), p("1", "one")}}, "one\n2\nthree\n", "lines 3 and 1"},
		{"side by side", "abcd", []any{"edits", []pair{p("ab", "x"), p("cd", "y")}}, "xy", ""},
		{"CR LF", "a\r\nb\r\nc\r\n", []any{"oldText", "a\nb", "newText", "a\nx\nb"}, "a\r\nx\r\nb\r\nc\r\n", ""},
		{"CR LF in the edit", "a\nb\nc\n", []any{"oldText", "a\r\nb", "newText", "x\r\ny"}, "x\ny\nc\n", ""},
		{"the newline of CR LF", "a\r\nb\r\n", []any{"oldText", "\nb", "newText", "\nc"}, "a\r\nc\r\n", ""},
		{"up to CR LF", "a\r\nb\r\n", []any{"oldText", "a", "newText", "z"}, "z\r\nb\r\n", ""},
		{"mixed ends", "a\nb\r\nc\n", []any{"oldText", "b\nc", "newText", "x\ny"}, "a\nx\ny\n", ""},
		{"the ends of other lines", "a\nb\r\nc\rd\n", []any{"oldText", "a", "newText", "A"}, "A\nb\r\nc\rd\n", ""},
		{"byte order mark", "\ufeffa\nb\n", []any{"oldText", "\ufeffa", "newText", "\ufeffA"}, "\ufeffA\nb\n", ""},
		{"at the mark", "\ufeffa\nb\n", []any{"oldText", "a", "newText", "A"}, "\ufeffA\nb\n", ""},
		{"bytes that are no UTF-8 stay", "gr\xfcn\nb\n", []any{"oldText", "b", "newText", "B"}, "gr\xfcn\nB\n", ""},
		{"CJK", "天気\n雨\n", []any{"oldText", "雨", "newText", "晴れ"}, "天気\n晴れ\n", ""},
		{"the whole file", "a", []any{"oldText", "a", "newText", ""}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.put("f", c.content)
			e, r, err := b.call("edit", append([]any{"path", "f"}, c.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.get("f"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			contains(t, textOf(r), "Edited f: ", c.says)
			if d := details(t, r).Diff; d == "" || d != e.Diff {
				t.Errorf("diff %q, announced %q", d, e.Diff)
			}
			if e.Kind != tool.Write || !strings.HasPrefix(e.Line, "edit f") {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestEditErrors(t *testing.T) {
	t.Parallel()
	type pair = map[string]any
	content := "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\nthe new text\n"
	for _, c := range []struct {
		args []any
		want []string
	}{
		{[]any{"oldText", "return 1", "newText", "x"}, []string{"occurs 2 times", "lines 2 and 6", "give more of the lines"}},
		{[]any{"oldText", "return 2", "newText", "x"}, []string{"oldText is not in the file", "read the file again"}},
		{[]any{"oldText", "func b() {\n    return 1", "newText", "x"}, []string{"not in the file", "other spaces", "line 5"}},
		{[]any{"oldText", "the old text", "newText", "the new text"}, []string{"newText is there already, at line 8"}},
		{[]any{"oldText", "", "newText", "x"}, []string{"oldText is empty"}},
		{[]any{"oldText", "return", "newText", "return"}, []string{"are the same"}},
		{[]any{"edits", []pair{{"oldText": "func a", "newText": "x"}, {"oldText": "nope", "newText": "x"}}}, []string{"edit 2 is not in the file", "nothing was changed"}},
		{[]any{"edits", []pair{{"oldText": "a() {", "newText": "x"}, {"oldText": "func a", "newText": "x"}}}, []string{"edits 1 and 2 overlap, at line 1"}},
		{[]any{"edits", []pair{{"oldText": "func a", "newText": "x"}, {"oldText": "func a", "newText": "y"}}}, []string{"overlap"}},
		{[]any{"edits", []pair{{"oldText": "func a"}}}, []string{"newText", "missing"}},
		{[]any{"edits", 7}, []string{"no list"}},
		{[]any{"edits", "[oops"}, []string{"no list"}},
		{[]any{"edits", []any{1}}, []string{"edit 1 is no object"}},
		{[]any{"edits", []any{}}, []string{"oldText", "missing"}},
		{[]any{}, []string{"oldText", "missing"}},
	} {
		b := newBench(t)
		b.put("f", content)
		err := b.bad("edit", append([]any{"path", "f"}, c.args...)...)
		contains(t, err.Error(), c.want...)
		if b.get("f") != content {
			t.Errorf("%s: the file was changed", args(c.args...))
		}
	}
	b := newBench(t)
	b.put("bin", "a\x00b")
	contains(t, b.bad("edit", "path", "bin", "oldText", "a", "newText", "x").Error(), "no text")
	contains(t, b.bad("edit", "path", "none", "oldText", "a", "newText", "x").Error(), "no such file", "write")
	b.put("many", strings.Repeat("ab\n", 20))
	contains(t, b.bad("edit", "path", "many", "oldText", "ab", "newText", "x").Error(), "20 times", "lines 1, 2, 3, 4, 5 and 6 and further on")
	b.put("over", "aaa")
	contains(t, b.bad("edit", "path", "over", "oldText", "aa", "newText", "x").Error(), "2 times")
	large := strings.Repeat("x\n", 9<<20)
	b.put("large", large)
	contains(t, b.bad("edit", "path", "large", "oldText", "x", "newText", "y").Error(), "larger than 16 MiB")
	_, r, err := b.call("write", "path", "large", "content", "small")
	if err != nil || b.get("large") != "small" {
		t.Error(err)
	}
	contains(t, textOf(r), fmt.Sprintf("with %d bytes", len(large)))
}

// Edits of one file that run at the same time all land.
func TestParallelEdits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const n = 40
	var content strings.Builder
	for i := range n {
		fmt.Fprintf(&content, "<%d>\n", i)
	}
	b.put("f", content.String())
	b.link(b.path("f"), "alias")
	edit := b.tool("edit")
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			path := []string{"f", "./f", "alias", b.path("f")}[i%4]
			a := args("path", path, "oldText", fmt.Sprintf("<%d>", i), "newText", fmt.Sprintf("[%d]", i))
			if _, err := edit.Effect(a); err != nil {
				t.Error(err)
			}
			if _, err := edit.Run(t.Context(), tool.Call{Arguments: a}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, want := b.get("f"), strings.NewReplacer("<", "[", ">", "]").Replace(content.String()); got != want {
		t.Errorf("%q", got)
	}
}

// An edit may depend on one before it in the same answer: Effect does not judge it.
func TestEffectOfAnEditToCome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "one")
	second := args("path", "f", "oldText", "two", "newText", "three")
	e, err := b.tool("edit").Effect(second)
	if err != nil || e.Diff != "" {
		t.Errorf("%+v %v", e, err)
	}
	b.ok("edit", "path", "f", "oldText", "one", "newText", "two")
	if _, err := b.tool("edit").Run(t.Context(), tool.Call{Arguments: second}); err != nil || b.get("f") != "three" {
		t.Errorf("%v %q", err, b.get("f"))
	}
}

// FuzzEdit: an edit that is made changes the one place and nothing else, and one that
// is not made changes nothing.
func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\r\nc", "b", "x\ny")
	f.Add("\ufeffa\nb", "a", "\r\n")
	f.Add("aaa", "aa", "b")
	f.Add("a\rb\r\r\nc\xff", "\r", "")
	f.Add("a\x00", "a", "b")
	f.Add("a\r\n\r\nb", "\n\nb", "\n")
	dir := f.TempDir()
	set, err := builtin.New(builtin.Config{Dir: dir})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { set.Close() })
	edit := set.Tools()[2]
	file := filepath.Join(dir, "f")
	unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	f.Fuzz(func(t *testing.T, content, before, after string) {
		before, after = strings.ToValidUTF8(before, "?"), strings.ToValidUTF8(after, "?")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, runErr := edit.Run(t.Context(), tool.Call{Arguments: args("path", "f", "oldText", before, "newText", after)})
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := string(data)
		if runErr != nil {
			if got != content {
				t.Fatalf("failed with %v, and changed %q to %q", runErr, content, got)
			}
			return
		}
		body, marked := strings.CutPrefix(content, "\ufeff")
		if marked {
			before, after = strings.TrimPrefix(unix(before), "\ufeff"), strings.TrimPrefix(unix(after), "\ufeff")
			if !strings.HasPrefix(got, "\ufeff") {
				t.Fatalf("the mark is gone: %q", got)
			}
			got = strings.TrimPrefix(got, "\ufeff")
		}
		if strings.Count(unix(body), unix(before)) != 1 {
			t.Fatalf("%q is not once in %q", before, content)
		}
		head, tail, _ := strings.Cut(unix(body), unix(before))
		// Joined, a CR before and a LF after an edit are a line end; so compare without.
		flat := strings.NewReplacer("\r", "").Replace
		if flat(got) != flat(head+unix(after)+tail) {
			t.Fatalf("%q with %q for %q is %q", content, after, before, got)
		}
		if !strings.Contains(before+after, "\n") {
			at := strings.Index(body, before)
			if at >= 0 && got != body[:at]+after+body[at+len(before):] {
				t.Fatalf("%q with %q for %q is %q", content, after, before, got)
			}
		}
	})
}

func there(path string) bool { _, err := os.Stat(path); return err == nil }

// Each change is told before it is made, with all that is needed to take it back.
func TestChangesAreRecordedFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("old", "1\n")
	var told []tool.Change
	var refuse error
	run := func(name string, pairs ...any) error {
		_, err := b.tool(name).Run(t.Context(), tool.Call{ID: "c", Arguments: args(pairs...), Record: func(_ context.Context, changes ...tool.Change) error {
			for _, c := range changes {
				now, err := os.ReadFile(c.Path)
				if name != "bash" && string(now) != string(c.Before) || name != "bash" && (err == nil) != (c.Before != nil) {
					t.Errorf("%s: when it was told, the file had %q (%v)", name, now, err)
				}
			}
			told = append(told, changes...)
			return refuse
		}})
		return err
	}
	want := func(path, before, after string) {
		t.Helper()
		c := told[len(told)-1]
		if c.Path != b.path(path) || string(c.Before) != before || string(c.After) != after || c.Mode == 0 {
			t.Errorf("it told %+v", c)
		}
	}
	for _, err := range []error{
		run("write", "path", "new/x", "content", "x"), run("write", "path", "new/x", "content", "x"), run("edit", "path", "old", "oldText", "1", "newText", "2"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want("old", "1\n", "2\n")
	if len(told) != 2 || told[0].Before != nil || told[0].Path != b.path("new/x") { // the second wrote what was there
		t.Errorf("it told %+v", told)
	}
	refuse = errors.New("no room to keep it")
	for _, err := range []error{run("write", "path", "old", "content", "3"), run("write", "path", "other", "content", "3"), run("edit", "path", "old", "oldText", "2", "newText", "3")} {
		if err == nil || !strings.Contains(err.Error(), "no room to keep it") {
			t.Errorf("a change that can't be kept: %v", err)
		}
	}
	if b.get("old") != "2\n" || there(b.path("other")) {
		t.Error("a change that can't be kept was made")
	}

	refuse = nil
	if err := run("bash", "command", "git init -q && git add -A && echo 4 > old"); err != nil {
		t.Fatal(err)
	}
	n := len(told) // the repository was not there when it began
	if err := run("bash", "command", "echo 5 > old; rm new/x"); err != nil || len(told) != n+2 {
		t.Fatalf("%v: %d changes", err, len(told)-n)
	}
	want("old", "4\n", "5\n")
}
