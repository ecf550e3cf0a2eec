package blob_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/blob"
)

var hello = blob.IDOf([]byte("hello"))

func TestFileName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ hint, want string }{
		{"", "content-#.txt"},
		{"main.go", "main-#.go"},
		{"src/cmd/main.go", "main-#.go"},
		{`C:\Users\x\Report.PDF`, "Report-#.pdf"},
		{"/home/x/project/", "project-#.txt"},
		{"Makefile", "Makefile-#.txt"},
		{"npm test -- --watch=false", "npm-test-watch-false-#.txt"},
		{"go test ./...", "go-test-#.txt"},
		{"cat a.json", "cat-a-#.json"},
		{"archive.tar.gz", "archive-tar-gz-#.txt"},
		{"my notes.md", "my-notes-#.md"},
		{".bashrc", "bashrc-#.txt"},
		{".json", "content-#.json"},
		{"-rf", "rf-#.txt"},
		{"snake_case.py", "snake_case-#.py"},
		{"отчёт за май.csv", "отчёт-за-май-#.csv"},
		{"結果/一覧.json", "一覧-#.json"},
		{"रिपोर्ट.txt", "रिपोर्ट-#.txt"},
		// Traversal.
		{"..", "content-#.txt"},
		{"../../etc/passwd", "passwd-#.txt"},
		{`..\..\windows\system32`, "system32-#.txt"},
		{"/../..", "content-#.txt"},
		{"a/../..", "a-#.txt"},
		{"x\x00/../y", "y-#.txt"},
		{"%2e%2e%2fpasswd", "2e-2e-2fpasswd-#.txt"},
		// Names that mean something to a system.
		{"NUL", "NUL-#.txt"},
		{"con.json", "con-#.json"},
		{"aux.c.h", "aux-c-#.h"},
		{"COM1.log", "COM1-#.log"},
		{"file:stream", "file-stream-#.txt"},
		{"evil.exe", "evil-exe-#.txt"},
		{"evil.lnk", "evil-lnk-#.txt"},
		{"desktop.ini:$DATA", "desktop-ini-DATA-#.txt"},
		{"a<b>c|d?e*f\"g", "a-b-c-d-e-f-g-#.txt"},
		{"trailing. . .", "trailing-#.txt"},
		// What does not show, or shows as something else.
		{"invoice\u202Egnp.exe", "invoice-gnp-exe-#.txt"},
		{"a\u200bb\u3164c\ufe0fd", "a-b-c-d-#.txt"},
		{"\u0301\u0302", "content-#.txt"},
		{"a\n\r\tb\x1b[31m", "a-b-31m-#.txt"},
		{"\xff\xfea\xff", "a-#.txt"},
		{"☃ 💥", "content-#.txt"},
		{"a⁄b／c＼d․e", "a-b-c-d-e-#.txt"},
		// Length.
		{strings.Repeat("a", 31) + " b", strings.Repeat("a", 31) + "-#.txt"},
		{strings.Repeat("a", 30) + " b", strings.Repeat("a", 30) + "-b-#.txt"},
		{strings.Repeat("漢", 1000) + ".md", strings.Repeat("漢", 32) + "-#.md"},
		{"x." + strings.Repeat("e", 500), "x-" + strings.Repeat("e", 30) + "-#.txt"},
	} {
		want := strings.Replace(c.want, "#", "2cf24dba5fb0a30e", 1)
		if got := blob.FileName(hello, c.hint); got != want {
			t.Errorf("%q: %q, want %q", c.hint, got, want)
		}
		checkFileName(t, c.hint)
	}
}

var fileNameForm = regexp.MustCompile(`^[\pL\p{Nd}_][\pL\p{Nd}\p{M}_-]*-2cf24dba5fb0a30e\.[a-z0-9]{1,7}$`)

// checkFileName checks that a name is one safe file name, whatever the hint.
func checkFileName(t testing.TB, hint string) {
	t.Helper()
	name := blob.FileName(hello, hint)
	stem, _, _ := strings.Cut(name, "-2cf24dba5fb0a30e.")
	switch {
	case !utf8.ValidString(name) || len(name) > 200:
		t.Errorf("%q: %q has %d bytes", hint, name, len(name))
	case !fileNameForm.MatchString(name):
		t.Errorf("%q: %q has another form", hint, name)
	case strings.Contains(stem, "--") || strings.HasSuffix(stem, "-"):
		t.Errorf("%q: %q has a gap too many", hint, name)
	case !filepath.IsLocal(name) || filepath.Base(name) != name:
		t.Errorf("%q: %q leads elsewhere", hint, name)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }):
		t.Errorf("%q: %q has what does not print", hint, name)
	case name != blob.FileName(hello, hint):
		t.Errorf("%q: another name the second time", hint)
	case name == blob.FileName(blob.IDOf(nil), hint):
		t.Errorf("%q: other content has the same name", hint)
	}
}

// Random hints from what is dangerous give safe names.
func TestFileNameOfRandomHints(t *testing.T) {
	t.Parallel()
	parts := []string{"..", "/", `\`, ":", ".", "-", " ", "a", "Ab", "CON", "nul", "漢", "é", "e\u0301", "\u202e", "\x00", "\xff", "💥", ".go", ".exe", "_", "\u3164", strings.Repeat("z", 40), "٣", "ﬀ", "İ", "\n"}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 5000 {
		var b strings.Builder
		for range rng.IntN(9) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		checkFileName(t, b.String())
	}
}

func FuzzFileName(f *testing.F) {
	for _, hint := range []string{"", "main.go", "../../x", `C:\NUL.txt`, "npm test", "\u202ea\u0301", "\xff"} {
		f.Add(hint)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, hint string) {
		checkFileName(t, hint)
		path := filepath.Join(dir, blob.FileName(hello, hint))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatalf("%q: %v", hint, err)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Fatalf("%q: the file is elsewhere: %v, %v", hint, list, err)
		}
		must(t, os.Remove(path))
	})
}

func TestID(t *testing.T) {
	t.Parallel()
	text := hello.String()
	if id, err := blob.ParseID(text); err != nil || id != hello || hello.IsZero() || !(blob.ID{}).IsZero() {
		t.Errorf("%v, %v", id, err)
	}
	digits := strings.TrimPrefix(text, "sha256-")
	for _, bad := range []string{
		"", "sha256-", digits, "sha256:" + digits, "SHA256-" + digits, "sha256-" + strings.ToUpper(digits),
		text + "0", text[:len(text)-1], text[:len(text)-1] + "g", " " + text, text + "\n", "../" + text, "sha256-" + strings.Repeat("../", 21) + "x",
		strings.Repeat("x", 1<<20),
	} {
		id, err := blob.ParseID(bad)
		if err == nil || !id.IsZero() || len(err.Error()) > 500 {
			t.Errorf("%.80q: %v, %v", bad, id, err)
		}
	}

	type record struct {
		ID  blob.ID            `json:"id"`
		Not blob.ID            `json:"not,omitzero"`
		By  map[blob.ID]string `json:"by"`
	}
	p, err := json.Marshal(record{ID: hello, By: map[blob.ID]string{hello: "x"}})
	must(t, err)
	if want := `{"id":"` + text + `","by":{"` + text + `":"x"}}`; string(p) != want {
		t.Errorf("%s, want %s", p, want)
	}
	var back record
	must(t, json.Unmarshal(p, &back))
	if back.ID != hello || back.By[hello] != "x" {
		t.Errorf("%+v", back)
	}
	kept := record{ID: hello}
	if err := json.Unmarshal([]byte(`{"id":"sha256-x"}`), &kept); err == nil || kept.ID != hello {
		t.Errorf("%+v, %v", kept, err)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add(hello.String())
	f.Add("sha256-")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := blob.ParseID(s); err == nil && id.String() != s {
			t.Errorf("%q became %q", s, id)
		}
	})
}
