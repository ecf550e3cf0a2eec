package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/model"
)

func (s *Set) lsTool() tool.Tool {
	return at(s, model.Tool{
		Name:        "ls",
		Description: "List what is in a folder, sorted, hidden files included. Folders end with /, symbolic links with @.",
		Parameters:  parameters[listCall](),
	}, `{"path": "src"}`, nil,
		func(c listCall) string { return c.Path },
		func(p place, _ listCall) (tool.Effect, error) { return readIn(p, "ls "), nil }, s.list)
}

type listCall struct {
	Path  string `arg:"path" unset:"." about:"The folder, relative to the project (default: the project)."`
	Limit int    `arg:"limit" least:"1" most:"100000" unset:"500" about:"At most so many names (default 500)."`
}

// readIn is the effect of a call that looks through a folder.
func readIn(p place, line string) tool.Effect {
	return tool.Effect{Kind: tool.Read, Line: line + p.shown}
}

func (s *Set) list(_ context.Context, p place, c listCall, _ tool.Call) (tool.Result, error) {
	t, info, err := s.open(p)
	if err != nil {
		return tool.Result{}, err
	}
	defer t.Close()
	if !info.IsDir() {
		return tool.Result{}, errNotFolder
	}
	list, err := fs.ReadDir(t.Root.FS(), t.start)
	if err != nil {
		return tool.Result{}, err
	}
	slices.SortStableFunc(list, func(a, b fs.DirEntry) int {
		return cmp.Compare(strings.ToLower(a.Name()), strings.ToLower(b.Name()))
	})
	if len(list) == 0 {
		return tool.Text("(the folder is empty)"), nil
	}
	var names []string
	for _, d := range list[:min(c.Limit, len(list))] {
		name := oneName(d.Name())
		switch {
		case d.IsDir():
			name += "/"
		case d.Type()&fs.ModeSymlink != 0:
			name += "@"
		}
		names = append(names, name)
	}
	more := ""
	if len(list) > c.Limit {
		more = fmt.Sprintf("%d of %d names; give a larger limit for the rest", c.Limit, len(list))
	}
	return tool.Text(strings.Join(names, "\n") + note(more)).With(tool.Details{Truncated: more != ""}), nil
}

var errNotFolder = errors.New("it is a file, not a folder")

func (s *Set) findTool() tool.Tool {
	return at(s, model.Tool{
		Name: "find",
		Description: "Find files and folders by name. What .gitignore names is left out, hidden files are not. " +
			"Results are relative to the project; folders end with /.",
		Parameters: parameters[findCall](),
	}, `{"pattern": "**/*.go", "path": "src"}`,
		func(a *arguments) findCall {
			c := read[findCall](a)
			c.Pattern = parseGlob(a, "pattern", c.Pattern)
			return c
		},
		func(c findCall) string { return c.Path },
		func(p place, c findCall) (tool.Effect, error) {
			return readIn(p, "find "+string(c.Pattern)+" in "), nil
		}, s.find)
}

type findCall struct {
	Pattern glob   `arg:"pattern!" about:"A glob: *.go anywhere below, src/**/*_test.go from the path on; ** is any number of folders, {a,b} is one of both."`
	Path    string `arg:"path" unset:"." about:"The folder to look in (default: the project)."`
	Limit   int    `arg:"limit" least:"1" most:"100000" unset:"1000" about:"At most so many (default 1000)."`
}

// glob is a pattern for paths. Without a slash it is about names.
type glob string

func parseGlob(a *arguments, name string, g glob) glob {
	pattern := strings.TrimPrefix(string(g), "./")
	switch {
	case pattern == "":
		a.bad(name, "the pattern is empty")
	case filepath.IsAbs(pattern):
		a.bad(name, "the pattern begins with a folder: give that as path")
	case !doublestar.ValidatePattern(pattern):
		a.bad(name, "the pattern is no glob: a bracket, brace or backslash is not closed")
	}
	return glob(pattern)
}

func (g glob) match(rel string) bool {
	if !strings.Contains(string(g), "/") {
		rel = path.Base(rel)
	}
	ok, err := doublestar.Match(string(g), rel)
	return err == nil && ok
}

func (s *Set) find(ctx context.Context, p place, c findCall, _ tool.Call) (tool.Result, error) {
	t, info, err := s.open(p)
	if err != nil {
		return tool.Result{}, err
	}
	defer t.Close()
	if !info.IsDir() {
		return tool.Result{}, errNotFolder
	}
	var found []string
	more := ""
	err = t.walk(ctx, func(name string, d fs.DirEntry) error {
		if !c.Pattern.match(t.rel(name)) {
			return nil
		}
		if len(found) == c.Limit {
			more = fmt.Sprintf("there are more than %d; narrow the pattern down or give a larger limit", c.Limit)
			return fs.SkipAll
		}
		shown := t.shown(name)
		if d.IsDir() {
			shown += "/"
		}
		found = append(found, shown)
		return nil
	})
	if err != nil {
		return tool.Result{}, err
	}
	text := strings.Join(found, "\n")
	if len(found) == 0 {
		text = "Nothing found: no name matches " + oneName(string(c.Pattern))
	}
	return tool.Text(text + note(more, t.rest())).With(tool.Details{Truncated: more != "" || t.full}), nil
}

// maxSeen is how many files and folders one call looks at at most.
const maxSeen = 500_000

// tree is a folder that a call looks through.
type tree struct {
	files.Place
	p     place
	start string // with slashes, below the root
	seen  int
	// denied counts folders and files that could not be read.
	denied int
	full   bool // maxSeen was reached
}

// open opens the place that a call looks through. It may be a file.
func (s *Set) open(p place) (*tree, fs.FileInfo, error) {
	h, err := s.enter(p)
	if err != nil {
		return nil, nil, err
	}
	info, err := h.Root.Lstat(h.Name)
	if err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	return &tree{Place: h, p: p, start: filepath.ToSlash(h.Name)}, info, nil
}

// shown is what a result calls a file: relative to the project, or absolute outside.
func (t *tree) shown(name string) string {
	if t.p.outside {
		if t.start == "." { // the root is the place itself
			name = path.Join(filepath.ToSlash(t.p.abs), name)
		} else {
			name = filepath.ToSlash(t.p.abs)
		}
	}
	return oneName(name)
}

// oneName makes the name of a file fit to stand on a line of a result.
func oneName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
}

// rel is a name relative to where the call began.
func (t *tree) rel(name string) string {
	if t.start == "." {
		return name
	}
	return strings.TrimPrefix(name, t.start+"/")
}

// walk calls fn for each file and folder below the start, in the order of their names,
// without those that git ignores. Links are told and not followed.
func (t *tree) walk(ctx context.Context, fn func(name string, d fs.DirEntry) error) error {
	var g ignored
	g.enter(t.Root, ".")
	for i, c := range t.start + "/" {
		if c == '/' && t.start != "." {
			g.enter(t.Root, t.start[:i])
		}
	}
	return fs.WalkDir(t.Root.FS(), t.start, func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if name == t.start {
				return err
			}
			t.denied++
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if name == t.start {
			return nil
		}
		if t.seen++; t.seen > maxSeen {
			t.full = true
			return fs.SkipAll
		}
		if d.IsDir() {
			if slices.Contains(versionControl, d.Name()) || g.match(name, true) {
				return fs.SkipDir
			}
			g.enter(t.Root, name)
		} else if g.match(name, false) {
			return nil
		}
		return fn(name, d)
	})
}

var versionControl = []string{".git", ".hg", ".svn", ".jj"}

// rest says what of the tree was not looked at, "" when all was.
func (t *tree) rest() string {
	switch {
	case t.full:
		return "there are more than 500000 files: the rest was not looked at; give a path further down"
	case t.denied > 0:
		return "some folders or files could not be read"
	}
	return ""
}

// note is the last line of a result that is not complete.
func note(parts ...string) string {
	said := slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	if len(said) == 0 {
		return ""
	}
	return "\n\n[" + strings.Join(said, "; ") + "]"
}
