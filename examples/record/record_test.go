package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/wire"

	"github.com/clew-dev/clew/message"
)

const example = "../long-session.jsonl"

func exampleData(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(example))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestExample checks the session that ships: it is sound and has all it must.
func TestExample(t *testing.T) {
	rep, err := examine(t.Context(), exampleData(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.failed(); err != nil {
		t.Error(err)
	}
}

// TestExampleOpens reads the session as users do: from its file, without
// problems, and as a request that a provider would take.
func TestExampleOpens(t *testing.T) {
	ctx := t.Context()
	f, err := jsonl.Read(ctx, example, bytes.NewReader(exampleData(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for _, err := range f.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if want := bytes.Count(exampleData(t), []byte("\n")) - 1; n != want {
		t.Errorf("%d entries, want %d", n, want)
	}
	if p := f.Problems(); len(p) > 0 {
		t.Errorf("problems: %+v", p)
	}
	last, err := f.Last(ctx)
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.ContextAt(ctx, f, last.ID)
	if err != nil {
		t.Fatal(err)
	}
	var msgs []*message.Message
	for _, it := range c.Items {
		msgs = append(msgs, it.Message)
	}
	for _, profile := range []wire.Profile{wire.Anthropic, wire.OpenAIChat, wire.OpenAIResponses, wire.Gemini} {
		req, _, err := wire.Build(msgs, profile, wire.Target{Provider: provider, Model: "scripted-2", TakesImages: true}, wire.Options{})
		if err != nil {
			t.Errorf("%s: %v", profile.Name, err)
			continue
		}
		if err := wire.Validate(req, profile, msgs); err != nil {
			t.Errorf("%s: %v", profile.Name, err)
		}
	}
}

// TestExamineBites shows that the check would notice: each change of the file
// makes it unsound in a way that must be named.
func TestExamineBites(t *testing.T) {
	data := exampleData(t)
	lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	lines[len(lines)-1] = append(bytes.Clone(lines[len(lines)-1]), '\n')
	result := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"role":"toolResult"`)) })
	for _, tc := range []struct {
		name string
		data []byte
		want string
	}{
		{"cut", data[:len(data)-1], "does not end"},
		{"no header", bytes.Join(lines[1:], nil), "the first record must have"},
		{"an entry twice", slices.Concat(data, lines[len(lines)-1]), "is empty or taken"},
		{"an entry missing", bytes.Join(slices.Delete(slices.Clone(lines), 3, 4), nil), "no entry"},
		{"two records on a line", bytes.Replace(data, []byte("\n{\"type\":\"message\""), []byte("{\"type\":\"message\""), 1), "line"},
		{"a result for another call", bytes.Join(slices.Concat(lines[:result],
			[][]byte{bytes.Replace(lines[result], []byte(`"toolCallId":"call_`), []byte(`"toolCallId":"cell_`), 1)}, lines[result+1:]), nil), "which was not called"},
		{"earlier than its parent", bytes.Replace(data, []byte("T09:0"), []byte("T07:0"), 1), "earlier than"},
		{"a real folder", bytes.Replace(data, []byte("I keep long"), []byte("I keep in /home/somebody long"), 1), "real machine"},
		{"a real temporary folder", bytes.Replace(data, []byte("I keep long"), []byte(`I keep in\n/tmp/x long`), 1), "real machine"},
	} {
		if bytes.Equal(tc.data, data) {
			t.Errorf("%s: nothing was changed", tc.name)
			continue
		}
		rep, err := examine(t.Context(), tc.data)
		if err == nil {
			err = rep.failed()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
	}
	short := bytes.Join(lines[:6], nil)
	if rep, err := examine(t.Context(), short); err != nil || rep.failed() == nil {
		t.Errorf("a short session: %v; want a report of what is missing", err)
	}
}

// TestScript checks that the script can be read and that it asks for what only
// the recording can show.
func TestScript(t *testing.T) {
	steps, err := loadScript(scripts)
	if err != nil {
		t.Fatal(err)
	}
	fails := 0
	for _, s := range steps {
		for _, c := range s.calls {
			if c.fails {
				fails++
			}
		}
	}
	if fails < 5 {
		t.Errorf("%d calls that must fail, want 5 or more", fails)
	}
}

func TestParseScript(t *testing.T) {
	steps, err := parseScript("s", `a comment
@user

Two
lines

@assistant
@think
why
@say
what
@call read path="a b.go" offset=3
@call edit path=x :fails :want="not in it" :takes=2s
<<<<
old
====
new "text" <b>
>>>>
@results 2,1
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) != 2 || steps[0].text != "Two\nlines" || steps[0].at != "s:2" {
		t.Fatalf("steps %+v", steps)
	}
	a := steps[1]
	if !slices.Equal(a.thinking, []string{"why"}) || !slices.Equal(a.says, []string{"what"}) || !slices.Equal(a.order, []int{1, 0}) {
		t.Errorf("answer %+v", a)
	}
	if got := string(a.calls[0].args); got != `{"path":"a b.go","offset":3}` {
		t.Errorf("arguments %s", got)
	}
	want := `{"path":"x","edits":[{"oldText":"old\n","newText":"new \"text\" <b>\n"}]}`
	if c := a.calls[1]; string(c.args) != want || !c.fails || c.takes != 2*time.Second || !slices.Equal(c.want, []string{"not in it"}) {
		t.Errorf("call %+v with %s", c, c.args)
	}
}

func TestParseScriptRefuses(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"@", "s:1: a lone @"},
		{"@sing", "unknown step @sing"},
		{"@user\n@say\nx", "s:2: @say outside"},
		{"@assistant\n@call", "without a tool"},
		{"@assistant\n@call read path=\"a", "does not end"},
		{"@assistant\n@call read :wants=x", "unknown key :wants"},
		{"@assistant\n@call read offset=x", "invalid syntax"},
		{"@assistant\n@call edit path=x\n<<<<\nold\n====\nnew", "needs <<<<"},
		{"@assistant\n@call edit path=x\nold", "outside <<<<"},
		{"@assistant\n@call ls\n@results 2", "each of 1 to 1"},
		{"@assistant\n@call ls\n@call ls\n@results 1", "each of 1 to 2"},
		{"@assistant\n@call ls\n@call ls\n@results 1,1", "each of 1 to 2"},
	} {
		if _, err := parseScript("s", tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestClean(t *testing.T) {
	b := &sandbox{hide: []string{"/tmp/rec1", "", "/opt/go", sceneRoot}}
	for _, tc := range []struct{ text, want string }{
		{"/tmp/rec1/home/dev/clew/x.go:3: no", "/home/dev/clew/x.go:3: no"},
		{"/opt/go/src/fmt", "/usr/local/go/src/fmt"},
		{"WORK=/tmp/rec1/var/tmp/go-build2931", "WORK=/var/tmp/go-build1"},
		{"/tmp/rec1/var/tmp/TestFind3829101/001/a.jsonl", "/var/tmp/TestFind1/001/a.jsonl"},
		{"--- PASS: TestX (1.27s)", "--- PASS: TestX (0.00s)"},
	} {
		if got := b.clean(tc.text); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
	one, two := b.clean("ok  \tx/y\t0.31s"), b.clean("UTC: ok  \tx/y\t12.001s")
	if "UTC: "+one != two || strings.Contains(one, "0.31s") {
		t.Errorf("%q and %q; want the same time, and not the real one", one, two)
	}
}

// scratch returns a sandbox without a repository in it.
func scratch(t *testing.T, files map[string]string) *sandbox {
	t.Helper()
	b := &sandbox{root: t.TempDir(), goroot: "/nowhere", hide: []string{"\x00", ""}}
	for name, content := range files {
		if r := b.write(toolArgs{Path: name, Content: content}); r.failed {
			t.Fatal(r.text())
		}
	}
	return b
}

func TestTools(t *testing.T) {
	b := scratch(t, map[string]string{
		"a.go": "one\ntwo\nthree\nfour\n", "d/b.txt": "two more\n", "d/c.go": "none\n", "bin": "\x00",
	})
	for _, tc := range []struct {
		name, tool, args string
		want             string
		failed           bool
	}{
		{"read", "read", `{"path":"a.go"}`, "one\ntwo\nthree\nfour\n", false},
		{"a part", "read", `{"path":"a.go","offset":2,"limit":2}`, "two\nthree\n\n[1 more lines; go on with offset=4]", false},
		{"behind the end", "read", `{"path":"a.go","offset":5}`, "a.go has 4 lines; offset 5 is behind its end", true},
		{"missing", "read", `{"path":"x.go"}`, "No such file: x.go", true},
		{"binary", "read", `{"path":"bin"}`, "bin is binary", true},
		{"absolute", "read", `{"path":"/home/dev/clew/d/c.go"}`, "none\n", false},
		{"ls", "ls", `{}`, "a.go\nbin\nd/", false},
		{"ls of nothing", "ls", `{"path":"x"}`, "No such file: x", true},
		{"find", "find", `{"pattern":"*.go"}`, "a.go\nd/c.go", false},
		{"find nothing", "find", `{"pattern":"*.c"}`, "No file matches", false},
		{"grep", "grep", `{"pattern":"t[wh]"}`, "a.go:2:two\na.go:3:three\nd/b.txt:1:two more", false},
		{"grep around", "grep", `{"pattern":"TWO","path":"a.go","ignoreCase":true,"context":1}`, "a.go-1-one\na.go:2:two\na.go-3-three", false},
		{"grep some", "grep", `{"pattern":"two","glob":"*.txt"}`, "d/b.txt:1:two more", false},
		{"grep nothing", "grep", `{"pattern":"six"}`, "No match", false},
		{"grep wrongly", "grep", `{"pattern":"("}`, "The pattern is no regular expression: error parsing regexp: missing closing ): `(`", true},
		{"edit what is not there", "edit", `{"path":"a.go","edits":[{"oldText":"six","newText":""}]}`, "a.go was not changed: the text of edit 1 is not in it", true},
		{"edit what is there twice", "edit", `{"path":"a.go","edits":[{"oldText":"o","newText":""}]}`, "a.go was not changed: the text of edit 1 stands in it more than once", true},
		{"edits that overlap", "edit", `{"path":"a.go","edits":[{"oldText":"one\ntwo","newText":""},{"oldText":"two\nthree","newText":""}]}`, "a.go was not changed: two edits overlap", true},
		{"write", "write", `{"path":"n/e.w","content":"x"}`, "Wrote 1 bytes to n/e.w", false},
	} {
		r, err := b.call(t.Context(), time.Time{}, tc.tool, []byte(tc.args))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		} else if r.text() != tc.want || r.failed != tc.failed {
			t.Errorf("%s: failed %t, got\n%s\nwant\n%s", tc.name, r.failed, r.text(), tc.want)
		}
	}
	if _, err := b.call(context.Background(), time.Time{}, "read", []byte(`{"file":"a.go"}`)); err == nil {
		t.Error("an unknown argument was accepted")
	}
}

func TestEditShowsDifferences(t *testing.T) {
	b := scratch(t, map[string]string{"f": "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"})
	r := b.edit(toolArgs{Path: "f", Edits: []replacement{{"11\n", "11\n11a\n"}, {"3\n4\n", "3\nfour\nand\n"}}})
	want := `--- f
+++ f
@@ -1,7 +1,8 @@
 1
 2
 3
-4
+four
+and
 5
 6
 7
@@ -9,5 +10,6 @@
 9
 10
 11
+11a
 12
 `
	if got := r.text() + "\n"; strings.TrimRight(got, " \n") != strings.TrimRight(want, " \n") {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	data, err := os.ReadFile(b.path("f"))
	if err != nil || string(data) != "1\n2\n3\nfour\nand\n5\n6\n7\n8\n9\n10\n11\n11a\n12\n" {
		t.Errorf("file %q, %v", data, err)
	}
}

// Usage: what a request reads from the cache is what the request before it left there.
func TestUsage(t *testing.T) {
	s := spent{context: 1000}
	m := message.Assistant(time.Time{}, message.ThinkingBlock(strings.Repeat("x", 36), ""), message.TextBlock("汉字"))
	u := s.answer(m)
	if u.CacheRead != 0 || u.CacheWrite != 960 || u.Input != 40 || u.Output != 16 || u.Reasoning != 10 || u.Total() != 1016 {
		t.Errorf("first: %+v", u)
	}
	s.context += 100
	if u := s.answer(m); u.CacheRead != 960 || u.CacheWrite != 128 || u.Input != 12 || u.Prompt() != 1100 {
		t.Errorf("second: %+v", u)
	}
}
