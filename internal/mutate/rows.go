package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The table of statements, and the file that says which row each sentence of the documents is.
const (
	tableFile     = "testdata/seeds.md"
	sentencesFile = "testdata/seeds-sentences.txt"
)

// A row is one statement of the table: a behaviour, the tests that show it, and the mutations that take it away.
type row struct {
	id        string
	tests     []string // as go test -run names them: TestX or TestX/sub
	mutations []string
	open      string // "open 3" where it is not so yet, with the number of a point; else ""
	tries     []*try
}

// A try is a test of a row under a mutation of the row. Rows that name the same pair share it.
type try struct {
	mutation // with the pair's test alone
	files    []string
	rows     []string
}

var (
	rowID   = regexp.MustCompile(`^[A-E]\d+$`)
	quoted  = regexp.MustCompile("`([^`]+)`")
	openRow = regexp.MustCompile(`^open \d+$`)
)

// readRows reads the rows of the table: lines of six cells, of which the first is an id.
func readRows(root string) ([]*row, error) {
	page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(tableFile)))
	if err != nil {
		return nil, err
	}
	var rows []*row
	var errs []error
	seen := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		id := strings.TrimSpace(cells[0])
		if !rowID.MatchString(id) {
			continue
		}
		if len(cells) != 6 || seen[id] {
			errs = append(errs, fmt.Errorf("%s: %d cells, want 6, and each id once", id, len(cells)))
			continue
		}
		seen[id] = true
		r := &row{id: id, open: openRow.FindString(strings.TrimSpace(cells[4]))}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			r.tests = append(r.tests, m[1])
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[4], -1) {
			r.mutations = append(r.mutations, m[1])
		}
		rows = append(rows, r)
	}
	return rows, errors.Join(errs...)
}

// pairUp finds the tries of every row and returns them all, and what does not fit: each test of a row must be one that
// a mutation of the row names, and each mutation of a row must name a test of the row.
func pairUp(root string, rows []*row, all []*mutation) (tries []*try, errs []error) {
	declared := map[string][]string{} // by folder and test: the files
	byName := map[string]*mutation{}
	for _, m := range all {
		byName[m.name] = m
	}
	known := map[string]*try{}
	for _, r := range rows {
		if r.open != "" {
			continue
		}
		used := map[string]bool{}
		for _, name := range r.mutations {
			m := byName[name]
			if m == nil {
				errs = append(errs, fmt.Errorf("%s: there is no mutation %s", r.id, name))
				continue
			}
			for _, test := range r.tests {
				top, _, _ := strings.Cut(test, "/")
				chosen, _, _ := strings.Cut(m.run, "/")
				if ok, _ := regexp.MatchString(chosen, top); !ok || m.run == "" { // checked when it was read
					continue
				}
				files := declaredIn(root, m, top, declared)
				if files == nil {
					continue
				}
				used[name], used[test] = true, true
				key := name + " " + test
				if known[key] == nil {
					t := &try{mutation: *m, files: append(files, "testdata/mutations/"+name+".txt")}
					t.name = key
					t.run = "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
					for _, c := range m.changes {
						t.files = append(t.files, c.file)
					}
					known[key] = t
					tries = append(tries, t)
				}
				known[key].rows = append(known[key].rows, r.id)
				r.tries = append(r.tries, known[key])
			}
			if !used[name] {
				errs = append(errs, fmt.Errorf("%s: none of its tests is named by its mutation %s (%s)", r.id, name, m.testLine()))
			}
		}
		for _, test := range r.tests {
			if !used[test] {
				errs = append(errs, fmt.Errorf("%s: no mutation of the row names %s, or there is no such test", r.id, test))
			}
		}
	}
	return tries, errs
}

// declaredIn returns the test files of m's packages that declare the test.
func declaredIn(root string, m *mutation, test string, known map[string][]string) []string {
	var all []string
	for _, pkg := range m.pkgs {
		key := pkg + " " + test
		if _, ok := known[key]; !ok {
			files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go")) // the pattern is sound
			for _, f := range files {
				src, _ := os.ReadFile(f) // a file that can't be read declares nothing
				if regexp.MustCompile(`(?m)^func ` + test + `\(`).Match(src) {
					rel, _ := filepath.Rel(root, f) // both are absolute
					known[key] = append(known[key], filepath.ToSlash(rel))
				}
			}
		}
		all = append(all, known[key]...)
	}
	return all
}

// rowOptions are the flags of -rows.
type rowOptions struct {
	check     bool
	only      *regexp.Regexp // ids of the rows to try
	since     string         // only rows that this git revision's successors touch
	documents string         // folder of the documents
	most      int            // how many mutations to try, 0 for all
	jobs      int
	verbose   bool
}

// runRows checks the table, prints its counts, and tries the rows.
func (r *runner) runRows(ctx context.Context, all []*mutation, o rowOptions, w io.Writer) error {
	rows, err := readRows(r.root)
	if err != nil {
		return err
	}
	tries, complaints := pairUp(r.root, rows, all)
	open, bare := 0, []string{}
	for _, row := range rows {
		switch {
		case row.open != "":
			if open++; o.verbose {
				fmt.Fprintf(w, "%-8s %s\n", row.open, row.id)
			}
		case len(row.tries) == 0:
			bare = append(bare, row.id)
		}
	}
	sentences, err := checkSentences(r.root, o.documents, rows)
	if complaints = append(complaints, err); len(bare) > 0 {
		complaints = append(complaints, fmt.Errorf("no test and mutation: %s", strings.Join(bare, " ")))
	}
	fmt.Fprintf(w, "rows: %s%d statements: %d open, %d without a test and its mutation\n", sentences, len(rows), open, len(bare))
	if err := errors.Join(complaints...); err != nil || o.check {
		return err
	}
	if tries, err = touched(ctx, r.root, tries, o); err != nil || len(tries) == 0 {
		fmt.Fprintln(w, "rows: none to try")
		return err
	}
	if n := len(tries); o.most > 0 && n > o.most {
		fmt.Fprintf(w, "rows: %d mutations are asked for, and %d of them tried, all over the table\n", n, o.most)
		for i := range o.most {
			tries[i] = tries[i*n/o.most]
		}
		tries = tries[:o.most]
	}
	chosen := make([]*mutation, len(tries))
	for i, t := range tries {
		t.name = strings.Join(t.rows, ",") + " " + t.name
		chosen[i] = &t.mutation
	}
	err = r.runAndReport(ctx, chosen, o.jobs, o.verbose, w)
	tried := map[string]bool{}
	for _, t := range tries {
		for _, id := range t.rows {
			tried[id] = true
		}
	}
	fmt.Fprintf(w, "rows: %d of %d tried\n", len(tried), len(rows)-open)
	return err
}

// touched returns the tries of the rows that are asked for.
func touched(ctx context.Context, root string, tries []*try, o rowOptions) ([]*try, error) {
	changed := map[string]bool{}
	if o.since != "" {
		cmd := exec.CommandContext(ctx, "git", "diff", "--name-only", "--relative", o.since, "--")
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("git diff %s: %w", o.since, err)
		}
		for name := range strings.Lines(string(out)) {
			changed[strings.TrimSpace(name)] = true
		}
	}
	return slices.DeleteFunc(tries, func(t *try) bool {
		return !slices.ContainsFunc(t.rows, o.only.MatchString) ||
			o.since != "" && !slices.ContainsFunc(t.files, func(f string) bool { return changed[f] })
	}), nil
}

// checkSentences reads which row each sentence of the documents is, and says how many there are. Its lines are
// "A 12 3f09ab17 A4 A5": the document, the sentence's number, a hash of its text, and rows or the word prose.
// The documents are not part of the project; where their folder is given, the file must fit them.
func checkSentences(root, dir string, rows []*row) (counts string, err error) {
	file, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(sentencesFile)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	ids := map[string]bool{"prose": true}
	for _, r := range rows {
		ids[r.id] = true
	}
	var errs []error
	listed := map[string]bool{}
	prose, statements := 0, 0
	for line := range strings.Lines(string(file)) {
		words := strings.Fields(line)
		if len(words) < 4 {
			errs = append(errs, fmt.Errorf("%s: %q names no row", sentencesFile, strings.TrimSpace(line)))
			continue
		}
		for _, id := range words[3:] {
			if !ids[id] {
				errs = append(errs, fmt.Errorf("%s: sentence %s %s: there is no row %s", sentencesFile, words[0], words[1], id))
			}
		}
		if words[3] == "prose" {
			prose++
		} else {
			statements++
		}
		listed[strings.Join(words[:3], " ")] = true
	}
	if dir != "" {
		found, err := splitDocuments(dir)
		errs = append(errs, err)
		for _, s := range found {
			if !listed[s.key] {
				errs = append(errs, fmt.Errorf("no row, and not marked as prose: %s  %s", s.key, s.text))
			}
			delete(listed, s.key)
		}
		for key := range listed {
			errs = append(errs, fmt.Errorf("%s: no document has the sentence %s", sentencesFile, key))
		}
	}
	return fmt.Sprintf("%d sentences, %d of them prose; ", statements+prose, prose), errors.Join(errs...)
}

type sentence struct{ key, text string }

// splitDocuments splits the text files of dir, which are A, B, C in the order of their names, into sentences.
func splitDocuments(dir string) ([]sentence, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no documents (*.txt) in %s: %w", dir, err)
	}
	var all []sentence
	for i, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			for _, s := range splitLine(line) {
				n++
				hash := sha256.Sum256([]byte(s))
				all = append(all, sentence{fmt.Sprintf("%c %d %x", 'A'+i, n, hash[:4]), s})
			}
		}
	}
	return all, nil
}

// splitLine returns the sentences of a line. What is drawn around the words of a diagram does not count, and
// neither does what has no words.
func splitLine(line string) []string {
	line = strings.Map(func(c rune) rune {
		if c >= 0x2190 && c <= 0x21ff || c >= 0x2500 && c <= 0x25ff {
			return ' '
		}
		return c
	}, line)
	line = strings.NewReplacer("。", "。\n", "！", "！\n", "？", "？\n", "；", "；\n", ". ", ".\n").Replace(line)
	var all []string
	for s := range strings.Lines(line) {
		if s = strings.Join(strings.Fields(s), " "); strings.IndexFunc(s, unicode.IsLetter) >= 0 {
			all = append(all, s)
		}
	}
	return all
}
