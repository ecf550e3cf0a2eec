package measure

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// Identifiers lie in the text, one behind the other, and stand there as they are
// given.
func FuzzIdentifiers(f *testing.F) {
	if data, err := os.ReadFile("testdata/identifiers.txt"); err == nil {
		for line := range strings.Lines(string(data)) {
			f.Add(line)
		}
	}
	f.Add("https://a#b ./../~/-- --- #1 ### a//b/ \xff\x00 é/中/x_y")
	f.Fuzz(func(t *testing.T, s string) {
		at := 0
		for id := range Identifiers(s) {
			if id.From < at || id.To <= id.From || id.To > len(s) {
				t.Fatalf("%q: %v after %d", s, id, at)
			}
			at = id.To
			if id.Class >= NumClasses || !strings.Contains(s[id.From:id.To], id.Text) || len(id.Text) < minRef {
				t.Fatalf("%q: %v", s, id)
			}
		}
		plainWords(s, func(w string) {
			if w == "" {
				t.Fatal("an empty word")
			}
		})
		if p := PlainShare(s); p < 0 || p > 1 {
			t.Fatalf("%q is plain to %v", s, p)
		}
	})
}

// A text keeps its own sentences, and any text can be read as a list of files.
func FuzzSentences(f *testing.F) {
	f.Add("Never do that. Always this one!\n```\ncode\n")
	f.Add("请不要这样做。好的！ ok then we go on")
	f.Fuzz(func(t *testing.T, s string) {
		said := spokenOf(s)
		for _, sentence := range Sentences(s) {
			if !strings.Contains(s, "```") && !said.keeps(&sentence) {
				t.Fatalf("%q does not keep its sentence %q", s, sentence.Text)
			}
		}
		for _, p := range Stated(s) {
			if p.Path == "" || p.Op >= numOps {
				t.Fatalf("%q states %v", s, p)
			}
		}
	})
}

// Whatever a call holds, its trail is read without harm, and stating it is right.
func FuzzTrail(f *testing.F) {
	f.Add("bash", `{"command":"rm -rf a.go && cat <<EOF > b.go\nx\nEOF\ngit mv c.go d.go"}`, "exit code: 1", false)
	f.Add("apply_patch", `{"input":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch"}`, "ok", false)
	f.Add("shell", `{"command":["bash","-lc","echo 'a' 2>&1 | tee >x"]}`, "", true)
	f.Add("str_replace_editor", `{"command":"view","path":"/a/b.c"}`, "", false)
	f.Add("Write", `not json`, "", false)
	f.Fuzz(func(t *testing.T, tool, args, result string, failed bool) {
		ds := Digests([]Message{
			{Kind: Agent, Calls: []Call{{"1", tool, json.RawMessage(args)}}},
			{Kind: World, CallID: "1", Text: result, Failed: failed},
		})
		trail := NewTrail(ds, "/work")
		if c := trail.compare(trail.Pairs); len(c.missing)+len(c.wrong) > 0 {
			t.Fatalf("%v held against itself: missing %v, wrong %v", trail.Pairs, c.missing, c.wrong)
		}
		NewPoint(ds, nil, nil, ds, "/work").Score(args+"\n"+result, "", 100)
	})
}
