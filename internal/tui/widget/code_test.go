package widget

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestCodeIsPainted: colours come and the text stays; without colours nothing is added.
func TestCodeIsPainted(t *testing.T) {
	dark := NewTheme(ModeDark, true)
	for _, c := range []struct{ language, line, want string }{
		{"go", `	return "a // b", 12 // why`, dark.Paint(dark.Good, `"a // b"`)},
		{"go", `	return "a // b", 12 // why`, dark.Paint(dark.Dim, " // why")},
		{"go", "func returned() {", dark.Paint(dark.Accent, "func")},
		{"sh", "echo $# # why", dark.Paint(dark.Dim, " # why")},
		{"sql", "SELECT 1 -- why", dark.Paint(dark.Warning, "1")},
	} {
		got := paintCode(dark, c.language, c.line)
		if !strings.Contains(got, c.want) || ansi.Strip(got) != c.line {
			t.Errorf("%s: %q has no %q", c.language, got, c.want)
		}
		if got := paintCode(none(), c.language, c.line); got != c.line {
			t.Errorf("without colours: %q", got)
		}
	}
	if line := "if it is text for people"; paintCode(dark, "text", line) != line || paintCode(dark, "", line) != line {
		t.Error("text is painted as code")
	}
}
