package clew_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test and file that docs/defects.md names exists.
func TestDefectsNameWhatExists(t *testing.T) {
	page, err := os.ReadFile("docs/defects.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(src, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+|[a-z/]+testdata/[^`]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 40 {
		t.Fatalf("only %d names found in docs/defects.md", len(named))
	}
	for _, m := range named {
		if strings.HasPrefix(m[1], "Test") {
			if !tests[m[1]] {
				t.Errorf("docs/defects.md names %s, which is no test", m[1])
			}
		} else if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("docs/defects.md: %v", err)
		}
	}
}
