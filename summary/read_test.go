package summary

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestRead: testdata/read has answers as models write them and what is read from them.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/read/*.txt")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range a.Files[1:] {
			tmpl, err := FindTemplate(want.Name)
			if err != nil {
				t.Fatal(err)
			}
			d, _ := tmpl.Read(string(a.Files[0].Data))
			if got := tmpl.Render(d); got != strings.TrimSpace(string(want.Data)) {
				t.Errorf("%s, %s:\n%s", name, want.Name, got)
			}
		}
	}
}

// TestReadReadsWhatItRenders: an answer in the form that was asked for is read as it is.
func TestReadReadsWhatItRenders(t *testing.T) {
	line := func(s string) []Line { return []Line{{Text: s}} }
	d := Document{
		Goal: line("accept comments"), Constraints: line("never touch schema.sql"), Done: line("parseValue"), InProgress: line("escapes"),
		Blocked: line("TestComments fails"), Next: line("write the README"), Decisions: line("as TOML does"), Story: line("one request"),
	}
	for _, tmpl := range Templates() {
		want := tmpl.Render(d)
		read, headings := tmpl.Read(want)
		if got := tmpl.Render(read); got != want || headings < 6 {
			t.Errorf("%s, %d headings:\n%s\nwant\n%s", tmpl.Name(), headings, got, want)
		}
	}
}

// FuzzRead: any text is read without a panic, and what is read renders to something that
// Parse knows.
func FuzzRead(f *testing.F) {
	f.Add("## Goal\n- a\n**Done**\n[x] b\n```\nc\n```\n> d")
	f.Fuzz(func(t *testing.T, s string) {
		for _, tmpl := range Templates() {
			d, _ := tmpl.Read(s)
			if out := tmpl.Render(d); out != "" {
				if back, ok := Parse(out); !ok || tmpl.Render(back) != out {
					t.Fatalf("%q gives %q", s, out)
				}
			}
		}
	})
}
