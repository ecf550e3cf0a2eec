package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// writeOverlay puts the mutated files and the go command's overlay description
// into dir and returns the path of the latter. The module itself is only read.
func writeOverlay(root, dir string, changes []change) (string, error) {
	byFile := map[string][]change{}
	for _, c := range changes {
		byFile[c.file] = append(byFile[c.file], c)
	}
	replace := map[string]string{}
	for file, cs := range byFile {
		path := filepath.Join(root, filepath.FromSlash(file))
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		mutated, err := apply(string(text), cs)
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		tmp := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(file)))
		if err := os.WriteFile(tmp, []byte(mutated), 0o600); err != nil {
			return "", err
		}
		replace[path] = tmp
	}
	desc, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, desc, 0o600)
}

// apply makes every change to src. Each old text must be there exactly once in
// src as it stands, and no two may overlap, so that the order of the
// changes does not matter.
func apply(src string, changes []change) (string, error) {
	type span struct {
		at int
		change
	}
	spans := make([]span, 0, len(changes))
	for i, c := range changes {
		// Counted by hand: strings.Count would not see a second, overlapping one.
		at := strings.Index(src, c.old)
		if at < 0 {
			return "", fmt.Errorf("old text %d is not in the file; the code has changed, bring the mutation up to date: %q", i+1, text.FirstLine(c.old))
		}
		if strings.Contains(src[at+1:], c.old) {
			return "", fmt.Errorf("old text %d is in the file more than once; add lines around it: %q", i+1, text.FirstLine(c.old))
		}
		spans = append(spans, span{at, c})
	}
	sort.Slice(spans, func(i, j int) bool { return spans[i].at < spans[j].at })

	var b strings.Builder
	end := 0
	for _, s := range spans {
		if s.at < end {
			return "", fmt.Errorf("two old texts overlap: %q", text.FirstLine(s.old))
		}
		b.WriteString(src[end:s.at])
		b.WriteString(s.new)
		end = s.at + len(s.old)
	}
	b.WriteString(src[end:])
	return b.String(), nil
}
