package widget

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares what draw makes at both sizes, without colour, with a file.
func golden(t *testing.T, name string, draw func(t *Theme, width, height int) []string) {
	t.Helper()
	var b bytes.Buffer
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		fmt.Fprintf(&b, "== %dx%d\n", size[0], size[1])
		lines := draw(none(), size[0], size[1])
		checkWidth(t, name, lines, size[0])
		for _, l := range lines {
			if strings.Contains(l, "\x1b") {
				t.Errorf("an escape without colour: %q", l)
			}
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
		for _, theme := range []*Theme{NewTheme(ModeDark, true), NewTheme(ModeLight, false)} {
			checkWidth(t, name, draw(theme, size[0], size[1]), size[0])
		}
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if got := b.String(); got != strings.ReplaceAll(string(want), "\r\n", "\n") {
		t.Errorf("%s has changed; look at it, then go test -update:\n%s", path, got)
	}
}
