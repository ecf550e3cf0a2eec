package widget

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// TestCodeIsPainted: colours come and the text stays; without colours nothing is added.
func TestCodeIsPainted(t *testing.T) {
	dark := NewTheme(ModeDark, true)
	for _, c := range []struct{ language, line, want string }{
		{"go", `  return "a // b", 12 // why`, dark.Paint(dark.Good, `"a // b"`)},
		{"go", `  return "a // b", 12 // why`, dark.Paint(dark.Dim, " // why")},
		{"go", "func returned() {", dark.Paint(dark.Accent, "func")},
		{"sh", "echo $# # why", dark.Paint(dark.Dim, " # why")},
		{"sql", "SELECT 1 -- why", dark.Paint(dark.Warning, "1")},
	} {
		got := paintCode(dark, dark.Text, c.language, c.line)
		if !strings.Contains(got, c.want) || ansi.Strip(got) != c.line {
			t.Errorf("%s: %q has no %q", c.language, got, c.want)
		}
		if got := paintCode(none(), none().Text, c.language, c.line); got != c.line {
			t.Errorf("without colours: %q", got)
		}
	}
	if line := "if it is text for people"; paintCode(dark, dark.Text, "text", line) != line || paintCode(dark, dark.Text, "", line) != line {
		t.Error("text is painted as code")
	}
}

// TestDiffTellsLinesFromNamesOfFiles: what a hunk has is no name of a file, whatever it begins with.
func TestDiffTellsLinesFromNamesOfFiles(t *testing.T) {
	dark := NewTheme(ModeDark, true)
	lines := Diff(dark, "--- a.sql\n+++ a.sql\n@@ -1,2 +1,2 @@\n x\n--- old\n+++ new\n--- b.sql\n+++ b.sql\n@@ -1 +0,0 @@\n--- gone\n", 40, 0)
	for i, style := range []lipgloss.Style{dark.Bold, dark.Bold, dark.Hunk, dark.Text, dark.Removed, dark.Added, dark.Bold, dark.Bold, dark.Hunk, dark.Removed} {
		if before, _, _ := strings.Cut(dark.Paint(style, "x"), "x"); !strings.HasPrefix(lines[i], before) {
			t.Errorf("line %d has another style: %q", i+1, lines[i])
		}
	}
}

// TestDiffHasTheColoursOfItsLanguage: a keyword stands out in added and removed lines, on the
// background of these.
func TestDiffHasTheColoursOfItsLanguage(t *testing.T) {
	dark := NewTheme(ModeDark, true)
	const diff = "--- a/x.go\n+++ b/x.go\n@@ -1,2 +1,2 @@\n package x\n-var a = 1\n+var b = 2\n"
	lines := Diff(dark, diff, 40, 0)
	for i, style := range map[int]lipgloss.Style{4: dark.Removed, 5: dark.Added} {
		want := dark.Paint(dark.Accent.Background(style.GetBackground()), "var")
		if !strings.Contains(lines[i], want) {
			t.Errorf("%q has no %q", lines[i], want)
		}
	}
	if plain := strings.Join(Diff(none(), diff, 40, 0), "\n"); ansi.Strip(strings.Join(lines, "\n")) != plain {
		t.Errorf("the text has changed: %q", plain)
	}
}
