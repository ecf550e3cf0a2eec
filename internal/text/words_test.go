package text_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/text"
)

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"Done. Now test it.", []string{"Done.", "Now test it."}},
		{"Use main.go, e.g. for the flags. Then stop!", []string{"Use main.go, e.g. for the flags.", "Then stop!"}},
		{"one\n\ntwo", []string{"one", "two"}},
		{"1. first\n2. second", []string{"1. first", "2. second"}},
		{"不要改这个文件。请用中文！好吗？", []string{"不要改这个文件。", "请用中文！", "好吗？"}},
		{"He said \"no.\" Then left.", []string{"He said \"no.\"", "Then left."}},
		{"version 1.2.3 is out. 4 tests fail", []string{"version 1.2.3 is out.", "4 tests fail"}},
		{"Call `a. B` now. Then `c`.", []string{"Call `a. B` now.", "Then `c`."}},
		{"Press ` once. Then stop.\nSee `x`.", []string{"Press ` once.", "Then stop.", "See `x`."}},
		{"", nil},
		{" \n ", nil},
	} {
		if got := text.Sentences(c.in); !slices.Equal(got, c.want) {
			t.Errorf("Sentences(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	names := map[text.Class]string{
		text.URL: "url", text.Path: "path", text.File: "file", text.UUID: "uuid", text.Hash: "hash", text.Ref: "ref",
		text.Env: "env", text.Ident: "ident", text.Flag: "flag", text.Number: "number",
	}
	for _, c := range []struct{ in, want string }{
		{"see https://example.org/a/b#frag.", "url:https://example.org/a/b"},
		{"in ./src/core/agent.ts:12:5 and /abs/src/core/agent.ts", "path:core/agent.ts path:core/agent.ts"},
		{"open main.go, then README.md.", "file:main.go file:README.md"},
		{"id 0db2eb3b-5ed8-4b70-88c6-a3f7104eb251 here", "uuid:0db2eb3b-5ed8-4b70-88c6-a3f7104eb251"},
		{"commit 1507f8b done", "hash:1507f8b"},
		{"fixes #288 and ABC-123", "ref:#288 ref:ABC-123"},
		{"set MAX_TOKENS to 64000", "env:MAX_TOKENS number:64000"},
		{"parseEntry calls read_file of SessionStore", "ident:parseEntry ident:read_file ident:SessionStore"},
		{"run it with --no-verify", "flag:--no-verify"},
		{"go 1.26.0", "number:1.26.0"},
		{"plain words only, and a-b", ""},
		{"session.parseEntry(x)", "ident:parseEntry"},
		{"改 `newStore` 的名字", "ident:newStore"},
		{"@scope/pkg/sub", "path:pkg/sub"},
		{"ends with src/", ""},
		{"JavaScript", ""},
	} {
		var got []string
		for id := range text.Identifiers(c.in) {
			got = append(got, fmt.Sprintf("%s:%s", names[id.Class], id.Text))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("Identifiers(%q)\n got %s\nwant %s", c.in, s, c.want)
		}
	}
}

func TestPlain(t *testing.T) {
	for _, c := range [][2]string{
		{"\x1b[31mred\x1b[0m and \x1b]8;;http://x\x07link\x1b]8;;\x07", "red and link"},
		{"10%\r50%\r100%\nnext\r\n", "100%\nnext\n"},
		{"nothing to do", "nothing to do"},
	} {
		if got := text.Plain(c[0]); got != c[1] {
			t.Errorf("Plain(%q) = %q, want %q", c[0], got, c[1])
		}
	}
}
