package chat_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/model/modeltest"
)

// TestExpandAddsWhatAMessageNames: files of the project come along, once and bounded;
// what the tools may not read without asking does not, nor does what is no file.
func TestExpandAddsWhatAMessageNames(t *testing.T) {
	p := newPlace(t)
	p.write("project/src/a b.go", "package ab\n")
	p.write("project/big.txt", strings.Repeat(strings.Repeat("0123456789abcdef", 12)+"\n", 1_000))
	p.write("secret.txt", "the secret\n")
	s := p.open(nil)
	got, err := s.Expand(t.Context(), "See @notes.txt, @\"src/a b.go\" and (@notes.txt); ask me@example.com about @types/node, @src/ and @../secret.txt")
	if err != nil {
		t.Fatal(err)
	}
	for text, times := range map[string]int{
		"remember the milk": 1, "package ab": 1, "the secret": 0, "a b.go": 3,
		"ask me@example.com about @types/node,": 1, "none of it are the user's words": 1,
	} {
		if n := strings.Count(got.Text, text); n != times {
			t.Errorf("%d times %q in %s", n, text, got.Text)
		}
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "../secret.txt was not added: ") {
		t.Errorf("%q", got.Notes)
	}
	if got, err = s.Expand(t.Context(), "@big.txt @big.txt"); err != nil || len(got.Text) > 140<<10 || !strings.Contains(got.Text, "clew has cut it here") || len(got.Notes) != 1 {
		t.Errorf("%d bytes, %q, %v", len(got.Text), got.Notes, err)
	}
	for _, text := range []string{"nothing named", "/etc/hosts is a file", "/unknown x", "a@b.c", "@", "!`"} {
		if got, err := s.Expand(t.Context(), text); err != nil || got.Text != text || got.Notes != nil {
			t.Errorf("%q became %+v, %v", text, got, err)
		}
	}
}

// TestExpandRunsWhatIsAllowed: commands in a message are run where a rule allows them;
// of the others the model is told, so that the user is asked.
func TestExpandRunsWhatIsAllowed(t *testing.T) {
	p := newPlace(t)
	p.write("project/.clew/commands/status.md", "How is it?\n!`echo fine` !`touch made` $ARGUMENTS")
	s := p.open(func(c *chat.Config) { c.Allow = []string{"bash(echo *)"} })
	got, err := s.Expand(t.Context(), "/status today !`echo fine`")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"How is it?\n`echo fine` `touch made` today `echo fine`\n", "These commands belong to this message and have not been run: `touch made`.", "of=\"echo fine\">\nfine\n"} {
		if strings.Count(got.Text, want) != 1 {
			t.Errorf("no %q in\n%s", want, got.Text)
		}
	}
	if _, err := os.Stat(p.path("project/made")); err == nil {
		t.Error("a command of the project was run without asking")
	}
	if len(got.Notes) != 1 || !strings.HasPrefix(got.Notes[0], "touch made was not run: ") {
		t.Errorf("%q", got.Notes)
	}
	var names []string
	for _, c := range s.Commands() {
		names = append(names, c.Name+" "+string(c.From))
	}
	if strings.Join(names, ",") != "init built in,review built in,status project" {
		t.Errorf("%q", names)
	}
}

// TestPromptKnowsThePlace: the prompt says where the agent works, and its bytes stay the
// same however the day goes on and whatever changes.
func TestPromptKnowsThePlace(t *testing.T) {
	p := newPlace(t, modeltest.Text("one"), modeltest.Text("two"), modeltest.Text("three"))
	for _, args := range [][]string{{"init", "-q", "-b", "trunk"}, {"add", "notes.txt"}} {
		if out, err := exec.Command("git", append([]string{"-C", p.path("project")}, args...)...).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
	}
	p.write("project/.claude/skills/pdf/SKILL.md", "---\ndescription: Reads PDF files\n---\nHow")
	now := time.Date(2026, 3, 1, 23, 59, 0, 0, time.UTC)
	s := p.open(func(c *chat.Config) { c.Clock = func() time.Time { return now } })
	say(t, s, "a")
	now = now.Add(time.Hour)
	p.write("project/new.txt", "new")
	say(t, s, "b")
	file := s.Agent().State().File
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = p.open(func(c *chat.Config) { c.File = file })
	say(t, s, "c")
	calls := p.models.Exchanges()
	if len(calls) != 3 {
		t.Fatalf("%d requests", len(calls))
	}
	first := systemOf(t, calls[0].Request)
	for _, want := range []string{"Folder: " + p.path("project"), "Date: Sunday, 2026-03-01", "Git: branch trunk, 2 files changed", "pdf: Reads PDF files ("} {
		if !strings.Contains(first, want) {
			t.Errorf("no %q in %s", want, first)
		}
	}
	for _, c := range calls[1:] {
		if systemOf(t, c.Request) != first {
			t.Errorf("the prompt has changed:\n%s\n%s", first, systemOf(t, c.Request))
		}
	}
}

// systemOf is the system text of a request of Anthropic's API.
func systemOf(t *testing.T, body []byte) (text string) {
	t.Helper()
	var r struct {
		System []struct {
			Text string `json:"text"`
		} `json:"system"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	for _, b := range r.System {
		text += b.Text
	}
	return text
}
