package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// A mutation is one deliberate defect and the test that must notice it.
type mutation struct {
	name    string   // file name without ".txt"
	about   string   // first comment line: the invariant or defect it attacks
	ci      string   // the invariant, or "gate"; empty when CI does not run it
	pkgs    []string // package patterns given to go test
	run     string   // -run regexp, empty for every test of pkgs
	changes []change
}

// A change replaces one text in one file.
type change struct {
	file     string // slash-separated, relative to the module root
	old, new string
}

// testLine is the test as it stands in the file: mutations with the same line
// share one check that the test passes without any mutation.
func (m *mutation) testLine() string {
	s := strings.Join(m.pkgs, " ")
	if m.run != "" {
		s += " -run " + m.run
	}
	return s
}

// readMutations reads the *.txt files of dir that are wanted, sorted by name.
func readMutations(dir string, wanted func(*mutation) bool) ([]*mutation, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []*mutation
	var errs []error
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m, err := parseMutation(strings.TrimSuffix(filepath.Base(f), ".txt"), data)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", f, err))
		case wanted(m):
			all = append(all, m)
		}
	}
	return all, errors.Join(errs...)
}

// ciValue is what a ci line may say.
var ciValue = regexp.MustCompile(`^(I\d+|gate)$`)

// marker begins a section: "-- old --", "-- old other/file.go --", "-- new --".
var marker = regexp.MustCompile(`^-- (old|new)(?: (\S+))? --$`)

// parseMutation reads one mutation file. The header has comments (#) and the
// keys file and test; pairs of old and new sections follow. The newline before
// the next marker or the end of the file belongs to the format, not to the
// text, so a section can be whole lines or a part of one.
func parseMutation(name string, data []byte) (*mutation, error) {
	m := &mutation{name: name}
	var file string
	var section string // "", "old" or "new"
	var body [][]byte

	closeSection := func() {
		text := string(bytes.Join(body, []byte("\n")))
		switch section {
		case "old":
			m.changes[len(m.changes)-1].old = text
		case "new":
			m.changes[len(m.changes)-1].new = text
		}
		body = nil
	}

	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	for i, line := range lines {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		if mk := marker.FindSubmatch(line); mk != nil {
			kind, path := string(mk[1]), string(mk[2])
			switch {
			case kind == "old" && section == "old":
				return nil, fail("an old section without its new section before it")
			case kind == "new" && section != "old":
				return nil, fail("a new section must follow its old section")
			case kind == "new" && path != "":
				return nil, fail("only an old section may name a file")
			}
			closeSection()
			section = kind
			if kind == "old" {
				if path == "" {
					path = file
				}
				if err := checkTarget(path); err != nil {
					return nil, fail("%v", err)
				}
				m.changes = append(m.changes, change{file: path})
			}
			continue
		}
		if section != "" {
			body = append(body, line)
			continue
		}
		if err := m.header(string(line), &file); err != nil {
			return nil, fail("%v", err)
		}
	}
	if section == "old" {
		return nil, errors.New("the last old section has no new section")
	}
	closeSection()
	return m, m.check()
}

// header reads one line before the first section.
func (m *mutation) header(line string, file *string) error {
	line = strings.TrimSpace(line)
	if line == "" {
		return nil
	}
	if text, ok := strings.CutPrefix(line, "#"); ok {
		if m.about == "" {
			m.about = strings.TrimSpace(text)
		}
		return nil
	}
	key, value, ok := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	if !ok || value == "" {
		return fmt.Errorf("%q is neither a comment nor a key with a value", line)
	}
	switch key {
	case "file":
		if *file != "" {
			return errors.New("a second file; name it in its section: -- old path/to/file.go --")
		}
		*file = value
	case "ci":
		if !ciValue.MatchString(value) {
			return fmt.Errorf("ci is %q; it names an invariant, as I4, or is \"gate\"", value)
		}
		m.ci = value
	case "test":
		if m.pkgs != nil {
			return errors.New("a second test; one mutation names one")
		}
		return m.parseTest(value)
	default:
		return fmt.Errorf("unknown key %q; the keys are ci, file and test", key)
	}
	return nil
}

// parseTest reads "./pkg ./other/... -run REGEXP".
func (m *mutation) parseTest(value string) error {
	words := strings.Fields(value)
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "-run":
			if i+1 == len(words) {
				return errors.New("-run needs a regular expression")
			}
			i++
			m.run = strings.Trim(words[i], `'"`)
			if _, err := regexp.Compile(m.run); err != nil {
				return err
			}
		case w == "." || strings.HasPrefix(w, "./"):
			m.pkgs = append(m.pkgs, w)
		default:
			return fmt.Errorf("%q is neither a package pattern (./dir) nor -run", w)
		}
	}
	if m.pkgs == nil {
		return errors.New("test names no package")
	}
	return nil
}

// checkTarget refuses files that a mutation must not touch: outside the module,
// or a test, for weakening a test proves nothing about it.
func checkTarget(path string) error {
	switch {
	case path == "":
		return errors.New("the section has no file; add a file: line to the header")
	case !filepath.IsLocal(filepath.FromSlash(path)):
		return fmt.Errorf("file %q is not inside the module", path)
	case strings.HasSuffix(path, "_test.go"):
		return fmt.Errorf("file %q is a test; mutate what it tests", path)
	}
	return nil
}

func (m *mutation) check() error {
	switch {
	case m.about == "":
		return errors.New("no comment says which invariant or defect this attacks")
	case m.pkgs == nil:
		return errors.New("no test: line")
	case len(m.changes) == 0:
		return errors.New("no old and new sections")
	}
	for _, c := range m.changes {
		if c.old == "" {
			return errors.New("an old section is empty")
		}
		if c.old == c.new {
			return errors.New("old and new are the same")
		}
	}
	return nil
}

// mutated returns the changed text of every file that m changes. The tree is only read.
func (m *mutation) mutated(root string) (map[string]string, []error) {
	byFile := map[string][]change{}
	for _, c := range m.changes {
		byFile[c.file] = append(byFile[c.file], c)
	}
	texts := map[string]string{}
	var errs []error
	for file, changes := range byFile {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if texts[file], err = apply(string(text), changes); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		}
	}
	return texts, errs
}

// testFunc finds the names of the functions that go test -run chooses from.
var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// stale says what of m is not in the code: an old text, or every test of its test line.
func (m *mutation) stale(root string) []error {
	_, errs := m.mutated(root)
	// The part before the first slash of -run is for the function, the rest for subtests.
	top, _, _ := strings.Cut(m.run, "/")
	re, err := regexp.Compile(top)
	if err != nil {
		return append(errs, err)
	}
	for _, pkg := range m.pkgs {
		if strings.HasSuffix(pkg, "...") {
			return errs
		}
		files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go")) // the pattern is sound
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				return append(errs, err)
			}
			for _, name := range testFunc.FindAllSubmatch(src, -1) {
				if re.Match(name[1]) {
					return errs
				}
			}
		}
	}
	return append(errs, fmt.Errorf("no test matches: go test %s", m.testLine()))
}

// writeOverlay puts the changed files and the go command's overlay description
// into dir and returns the path of the latter.
func (m *mutation) writeOverlay(root, dir string) (string, error) {
	texts, errs := m.mutated(root)
	if errs != nil {
		return "", errors.Join(errs...)
	}
	replace := map[string]string{}
	for file, text := range texts {
		tmp := filepath.Join(dir, fmt.Sprintf("%d-%s", len(replace), filepath.Base(file)))
		if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = tmp
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
