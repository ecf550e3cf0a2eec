package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a file below a folder.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReadFindsEachOnce: commands and skills of the user and the project are found, the
// user's before the project's, a nearer folder before one above, and none of a folder
// above the project.
func TestReadFindsEachOnce(t *testing.T) {
	home := t.TempDir()
	user, top := filepath.Join(home, ".config", "clew"), filepath.Join(home, "work", "app")
	dir := filepath.Join(top, "sub")
	put(t, top, ".git", "gitdir: elsewhere")
	put(t, user, "commands/deploy.md", "mine")
	put(t, home, ".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: >-\n  Reads\n  PDF files\n---\nHow to read one")
	put(t, home, "work/.claude/commands/above.md", "not of this project")
	put(t, top, ".clew/commands/deploy.md", "theirs")
	put(t, top, ".clew/commands/test.md", "top")
	put(t, top, ".claude/commands/git/commit.md", "---\ndescription: \"Commit\"\nargument-hint: [message]\n---\nCommit $ARGUMENTS")
	put(t, top, ".agents/skills/lint/SKILL.md", "# Lint\nRun it")
	put(t, dir, ".clew/commands/test.md", "near")
	put(t, dir, ".clew/commands/no name.md", "no")
	put(t, dir, ".clew/commands/notes.txt", "no")
	put(t, dir, ".clew/commands/empty.md", "---\ndescription: x\n---\n")
	put(t, dir, ".clew/commands/long.md", strings.Repeat("x", MaxFile+1))
	put(t, dir, ".clew/commands/review.md", "Review as we do")

	set := Read(Config{Dir: dir, Home: home, User: user})
	var got []string
	for _, c := range set.Commands {
		got = append(got, c.Name+"="+string(c.From))
	}
	if want := "deploy=user git:commit=project init=built in lint=project pdf=user review=project test=project"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	for name, want := range map[string]Command{
		"deploy":     {Body: "mine"},
		"test":       {Body: "near"},
		"git:commit": {Body: "Commit $ARGUMENTS", Description: "Commit", Arguments: "[message]"},
		"pdf":        {Body: "How to read one", Description: "Reads PDF files", Skill: true},
		"lint":       {Body: "# Lint\nRun it", Description: "Lint", Skill: true},
	} {
		c, ok := set.Find(name)
		if !ok || c.Body != want.Body || want.Description != "" && c.Description != want.Description || c.Arguments != want.Arguments || c.Skill != want.Skill {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if len(set.Warnings) != 2 || !strings.Contains(set.Warnings[0], "empty.md is passed over: it says nothing") || !strings.Contains(set.Warnings[1], "long.md is passed over: it has 65537 bytes") {
		t.Errorf("%q", set.Warnings)
	}
}

// TestProjectLinksDoNotLeaveIt: a project can't have a file of the user's read through a link.
func TestProjectLinksDoNotLeaveIt(t *testing.T) {
	dir := t.TempDir()
	secret := put(t, t.TempDir(), "secret.md", "a secret")
	put(t, dir, ".clew/commands/ok.md", "fine")
	if err := os.Symlink(secret, filepath.Join(dir, ".clew", "commands", "leak.md")); err != nil {
		t.Skip(err)
	}
	set := Read(Config{Dir: dir})
	if _, ok := set.Find("leak"); ok {
		t.Error("a file outside of the project was read")
	}
	if _, ok := set.Find("ok"); !ok || len(set.Warnings) != 1 {
		t.Errorf("%+v", set)
	}
	if set := Read(Config{User: filepath.Join(dir, ".clew")}); len(set.Warnings) != 0 {
		t.Errorf("the user's own links: %q", set.Warnings)
	}
}

func TestExpand(t *testing.T) {
	for _, c := range []struct{ body, arguments, want string }{
		{"Fix $ARGUMENTS now", " the test ", "Fix the test now"},
		{"From $1 to $2, not $3.", "a b", "From a to b, not ."},
		{"Fix it", "the test", "Fix it\n\nthe test"},
		{"Fix it", "", "Fix it"},
		{"Say $ARGUMENTS", "$1 $ARGUMENTS", "Say $1 $ARGUMENTS"}, // what is put in is not looked at again
		{"$HOME and $10", "x", "$HOME and x0"},
	} {
		if got := (Command{Body: c.body}).Expand(c.arguments); got != c.want {
			t.Errorf("%q with %q is %q, want %q", c.body, c.arguments, got, c.want)
		}
	}
}

// FuzzParse: whatever a file holds, what is listed of it is one short line.
func FuzzParse(f *testing.F) {
	f.Add("---\ndescription: |\n  a\n  b\n---\nbody")
	f.Add("---\n---\n")
	f.Add("# \x1b[31mred")
	f.Fuzz(func(t *testing.T, data string) {
		c := parse("x", data)
		for _, s := range []string{c.Description, c.Arguments} {
			if strings.ContainsAny(s, "\n\r\x1b") || len([]rune(s)) > maxLine {
				t.Errorf("%q gives %q", data, s)
			}
		}
		c.Expand(data)
	})
}
