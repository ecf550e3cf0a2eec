package clew_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every test, mutation and file that a page names or links to exists.
func TestDocsNameWhatExists(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
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
	mutations := regexp.MustCompile("`((?:agent|clew|compact|jsonl|llm|model|session|wire)-[a-z0-9-]+)`")
	names := regexp.MustCompile("`(Test\\w+|[a-z/]+testdata/[^`]+)`")
	links := regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)]*))?\)`)
	rich := []string{"testdata/defects.md", "docs/seeds.md", "testdata/seeds.md"} // in tests that they name
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 15 {
		t.Fatal(pages, err)
	}
	pages = append(pages, "README.md", "CONTRIBUTING.md", "docs/decisions/README.md", "examples/README.md", "bench/README.md", "testdata/defects.md", "testdata/seeds.md")
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		named := names.FindAllStringSubmatch(string(page), -1)
		for _, m := range links.FindAllStringSubmatch(string(page), -1) {
			target := filepath.Join(filepath.Dir(name), m[1])
			if m[1] == "" {
				target = name
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if m[2] != "" && !slices.Contains(anchors(t, target), m[2]) {
				t.Errorf("%s: %s has no heading for #%s", name, target, m[2])
			}
		}
		if slices.Contains(rich, name) && len(named) < 40 {
			t.Fatalf("only %d names found in %s", len(named), name)
		}
		for _, m := range named {
			if strings.HasPrefix(m[1], "Test") {
				if !tests[m[1]] {
					t.Errorf("%s names %s, which is no test", name, m[1])
				}
			} else if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !slices.Contains(rich, name) {
			continue
		}
		for _, m := range mutations.FindAllStringSubmatch(string(page), -1) {
			if _, err := os.Stat(filepath.Join("testdata", "mutations", m[1]+".txt")); err != nil {
				t.Errorf("%s names the mutation %s: %v", name, m[1], err)
			}
		}
	}
}

// anchors are the names under which GitHub links to a page's headings.
func anchors(t *testing.T, page string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(string(m[1])), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
