package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sections reads a case: parts that each begin with a line "-- name --".
func sections(t testing.TB, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, name := map[string]string{}, ""
	for line := range strings.Lines(string(data)) {
		if s, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(s, " --") {
			name = strings.TrimSuffix(s, " --")
			out[name] = ""
			continue
		}
		if name != "" {
			out[name] += line
		}
	}
	return out
}

// sketch reads a conversation. A message begins with "user:", "agent:", "world:",
// "summary:", "think:" (of the agent message before it) or "call NAME JSON"; "ok:"
// and "fail:" are the result of the oldest call without one. Other lines go on with
// the text before them.
func sketch(t testing.TB, text string) []*Digest {
	t.Helper()
	var (
		msgs    []Message
		waiting []string
		calls   int
	)
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		head, rest, _ := strings.Cut(line, ":")
		rest = strings.TrimPrefix(rest, " ")
		kind, isMessage := map[string]Kind{"user": User, "agent": Agent, "world": World, "summary": Summary}[head]
		switch {
		case isMessage:
			msgs = append(msgs, Message{Kind: kind, Text: rest})
		case head == "ok" || head == "fail":
			if len(waiting) == 0 {
				t.Fatalf("%q answers no call", line)
			}
			msgs = append(msgs, Message{Kind: World, Text: rest, CallID: waiting[0], Failed: head == "fail"})
			waiting = waiting[1:]
		case head == "think":
			msgs[len(msgs)-1].Hidden += rest
		case strings.HasPrefix(line, "call "):
			name, args, _ := strings.Cut(strings.TrimPrefix(line, "call "), " ")
			if len(msgs) == 0 || msgs[len(msgs)-1].Kind != Agent {
				msgs = append(msgs, Message{Kind: Agent})
			}
			calls++
			id := fmt.Sprintf("call%d", calls)
			m := &msgs[len(msgs)-1]
			m.Calls = append(m.Calls, Call{ID: id, Name: name, Arguments: json.RawMessage(args)})
			waiting = append(waiting, id)
		case len(msgs) > 0:
			msgs[len(msgs)-1].Text += "\n" + line
		case line != "":
			t.Fatalf("%q begins no message", line)
		}
	}
	return Digests(msgs)
}

// figures are what a case may ask for, each as text.
func figures(p *Point, s *Score) map[string]string {
	of := func(m Measured) string {
		if !m.OK {
			return "nothing to measure"
		}
		return fmt.Sprintf("%.2f", m.Value)
	}
	var needs, pairs, turns []string
	for _, n := range p.Needs {
		needs = append(needs, fmt.Sprintf("%s×%d", n.Text, n.Uses))
	}
	for _, q := range p.Trail.Pairs {
		pairs = append(pairs, q.Op.String()+" "+q.Path)
	}
	for _, u := range p.Trail.Turns {
		turns = append(turns, u.Path+u.Command+" "+u.Last.String())
	}
	return map[string]string{
		"needs": strings.Join(needs, " "), "CR": of(s.Recall), "CRu": of(s.RecallByUse), "cCR": of(s.Contextual),
		"IR": of(s.Instructions), "IR-c": of(s.Constraints), "precision": of(s.Precision),
		"trail": strings.Join(pairs, ", "), "turns": strings.Join(turns, ", "), "F1": of(s.TrailF1), "modified": of(s.Modified),
		"fresh": of(s.Fresh), "foreign": strings.Join(s.ForeignIDs, " "), "missed": strings.Join(s.MissedSentences, " | "),
	}
}

// Each case is a conversation cut in two, a text in the place of its first part,
// and what the measures must say of it.
func TestPoints(t *testing.T) {
	files, err := filepath.Glob("testdata/points/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases (%v)", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			part := sections(t, f)
			p := NewPoint(sketch(t, part["dropped"]), sketch(t, part["kept"]), sketch(t, part["always"]), sketch(t, part["future"]), strings.TrimSpace(part["cwd"]))
			s := p.Score(part["text"], part["frame"], 0)
			got := figures(p, &s)
			want := strings.TrimSpace(part["want"])
			if want == "" {
				t.Fatal("the case wants nothing")
			}
			for line := range strings.SplitSeq(want, "\n") {
				name, value, ok := strings.Cut(line, ":")
				if _, known := got[name]; !ok || !known {
					t.Fatalf("no figure %q", name)
				}
				if value = strings.TrimSpace(value); got[name] != value {
					t.Errorf("%s\n got %q\nwant %q", name, got[name], value)
				}
			}
		})
	}
}

// Each line of the file is a text and, after "=>", the identifiers in it.
func TestIdentifiers(t *testing.T) {
	data, err := os.ReadFile("testdata/identifiers.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		text, want, ok := strings.Cut(strings.TrimRight(line, "\n"), "=>")
		if !ok || strings.HasPrefix(line, "#!") {
			continue
		}
		n++
		var got []string
		for id := range Identifiers(strings.TrimSpace(text)) {
			got = append(got, id.Class.String()+" "+id.Text)
		}
		if g, w := strings.Join(got, ", "), strings.TrimSpace(want); g != w {
			t.Errorf("%s\n got %s\nwant %s", text, g, w)
		}
	}
	if n < 30 {
		t.Errorf("only %d lines were read", n)
	}
}

// Each line is a list of sentences as they must come out, after the text they are
// in; "!" marks a constraint.
func TestSentences(t *testing.T) {
	data, err := os.ReadFile("testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for block := range strings.SplitSeq(string(data), "\n====\n") {
		text, want, ok := strings.Cut(block+"\n", "\n=>\n")
		if !ok {
			t.Fatalf("no => in %q", block)
		}
		n++
		var got []string
		for _, s := range Sentences(text) {
			mark := ""
			if s.Constraint {
				mark = "! "
			}
			got = append(got, mark+s.Text)
		}
		if g, w := strings.Join(got, "\n"), strings.TrimSpace(want); g != w {
			t.Errorf("%s\n got\n%s\nwant\n%s", text, g, w)
		}
	}
	if n < 6 {
		t.Errorf("only %d blocks were read", n)
	}
}

// Each block is a text and the pairs it states.
func TestStated(t *testing.T) {
	data, err := os.ReadFile("testdata/stated.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for block := range strings.SplitSeq(string(data), "\n====\n") {
		text, want, ok := strings.Cut(block+"\n", "\n=>\n")
		if !ok {
			t.Fatalf("no => in %q", block)
		}
		n++
		var got []string
		for _, p := range Stated(text) {
			got = append(got, p.Op.String()+" "+p.Path)
		}
		if g, w := strings.Join(got, "\n"), strings.TrimSpace(want); g != w {
			t.Errorf("%s\n got\n%s\nwant\n%s", text, g, w)
		}
	}
	if n < 6 {
		t.Errorf("only %d blocks were read", n)
	}
}
