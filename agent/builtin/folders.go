package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/clew-dev/clew/agent/tool"
	"github.com/clew-dev/clew/model"
)

const lsLimit = 500 // names, where the call has no limit

func (s *Set) lsTool() tool.Tool {
	return &one{
		spec: model.Tool{
			Name:        "ls",
			Description: "List what is in a folder, sorted, hidden files included. Folders end with /, symbolic links with @.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The folder, relative to the project (default: the project)."},
    "limit": {"type": "integer", "minimum": 1, "description": "At most so many names (default 500)."}
  }
}`),
		},
		example: `{"path": "src"}`,
		effect: func(a arguments) (tool.Effect, error) {
			arg, _, err := parseFolder(a, lsLimit)
			if err != nil {
				return tool.Effect{}, err
			}
			return s.folderEffect("ls", arg, "")
		},
		run: func(ctx context.Context, a arguments, _ tool.Call) (tool.Result, error) {
			arg, limit, err := parseFolder(a, lsLimit)
			if err != nil {
				return tool.Result{}, err
			}
			t, err := s.openTree("ls", arg)
			if err != nil {
				return tool.Result{}, err
			}
			defer t.Close()
			r, err := t.list(limit)
			return r, fail("ls", t.p.shown, err)
		},
	}
}

// parseFolder reads the arguments of calls that look through a folder.
func parseFolder(a arguments, unset int) (arg string, limit int, err error) {
	if arg, _, err = a.text("path"); err != nil {
		return "", 0, err
	}
	if arg == "" {
		arg = "."
	}
	limit, err = a.count("limit", unset, 100_000)
	return arg, limit, err
}

// folderEffect is the effect of such a call.
func (s *Set) folderEffect(op, arg, what string) (tool.Effect, error) {
	p, err := s.announce(op, arg)
	if err != nil {
		return tool.Effect{}, err
	}
	line := op
	if what != "" {
		line += " " + what + " in"
	}
	return tool.Effect{Kind: tool.Read, Paths: []string{p.abs}, Outside: p.outside, Line: line + " " + p.shown}, nil
}

func (t *tree) list(limit int) (tool.Result, error) {
	info, err := t.root.Lstat(t.name)
	if err != nil {
		return tool.Result{}, err
	}
	if !info.IsDir() {
		return tool.Result{}, errNotFolder
	}
	list, err := fs.ReadDir(t.root.FS(), t.start)
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
	for _, d := range list[:min(limit, len(list))] {
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
	if len(list) > limit {
		more = fmt.Sprintf("%d of %d names; give a larger limit for the rest", limit, len(list))
	}
	r := tool.Text(strings.Join(names, "\n") + note(more))
	r.Details = tool.Details{Truncated: more != ""}.JSON()
	return r, nil
}

var errNotFolder = errors.New("it is a file, not a folder")

const findLimit = 1_000 // names, where the call has no limit

func (s *Set) findTool() tool.Tool {
	return &one{
		spec: model.Tool{
			Name: "find",
			Description: "Find files and folders by name. What .gitignore names is left out, hidden files are not. " +
				"Results are relative to the project; folders end with /.",
			Parameters: json.RawMessage(`{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "description": "A glob: *.go anywhere below, src/**/*_test.go from the path on; ** is any number of folders, {a,b} is one of both."},
    "path": {"type": "string", "description": "The folder to look in (default: the project)."},
    "limit": {"type": "integer", "minimum": 1, "description": "At most so many (default 1000)."}
  },
  "required": ["pattern"]
}`),
		},
		example: `{"pattern": "**/*.go", "path": "src"}`,
		effect: func(a arguments) (tool.Effect, error) {
			g, err := parseGlob(a, "pattern")
			if err != nil {
				return tool.Effect{}, err
			}
			arg, _, err := parseFolder(a, findLimit)
			if err != nil {
				return tool.Effect{}, err
			}
			return s.folderEffect("find", arg, string(g))
		},
		run: func(ctx context.Context, a arguments, _ tool.Call) (tool.Result, error) {
			g, err := parseGlob(a, "pattern")
			if err != nil {
				return tool.Result{}, err
			}
			arg, limit, err := parseFolder(a, findLimit)
			if err != nil {
				return tool.Result{}, err
			}
			t, err := s.openTree("find", arg)
			if err != nil {
				return tool.Result{}, err
			}
			defer t.Close()
			r, err := t.find(ctx, g, limit)
			return r, fail("find", t.p.shown, err)
		},
	}
}

// glob is a pattern for paths. Without a slash it is about names.
type glob string

func parseGlob(a arguments, name string) (glob, error) {
	pattern, err := a.need(name)
	if err != nil {
		return "", err
	}
	switch {
	case pattern == "":
		return "", a.bad(name, "the pattern is empty")
	case filepath.IsAbs(pattern):
		return "", a.bad(name, "the pattern begins with a folder: give that as path")
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if !doublestar.ValidatePattern(pattern) {
		return "", a.bad(name, "the pattern is no glob: a bracket, brace or backslash is not closed")
	}
	return glob(pattern), nil
}

func (g glob) match(rel string) bool {
	if !strings.Contains(string(g), "/") {
		rel = path.Base(rel)
	}
	ok, err := doublestar.Match(string(g), rel)
	return err == nil && ok
}

func (t *tree) find(ctx context.Context, g glob, limit int) (tool.Result, error) {
	info, err := t.root.Lstat(t.name)
	if err != nil {
		return tool.Result{}, err
	}
	if !info.IsDir() {
		return tool.Result{}, errNotFolder
	}
	var found []string
	more := ""
	err = t.walk(ctx, func(name string, d fs.DirEntry) error {
		if !g.match(t.rel(name)) {
			return nil
		}
		if len(found) == limit {
			more = fmt.Sprintf("there are more than %d; narrow the pattern down or give a larger limit", limit)
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
		text = "Nothing found: no name matches " + oneName(string(g))
	}
	r := tool.Text(text + note(more, t.rest()))
	r.Details = tool.Details{Truncated: more != "" || t.full}.JSON()
	return r, nil
}

// maxSeen is how many files and folders one call looks at at most.
const maxSeen = 500_000

// tree is a folder that a call looks through.
type tree struct {
	handle
	p     place
	start string // with slashes, below the root
	seen  int
	// denied counts folders and files that could not be read.
	denied int
	full   bool // maxSeen was reached
}

// openTree opens the place that a call looks through. It may be a file.
func (s *Set) openTree(op, arg string) (*tree, error) {
	p, err := s.again(op, arg)
	if err != nil {
		return nil, err
	}
	h, err := s.enter(p)
	if err != nil {
		return nil, fail(op, p.shown, err)
	}
	return &tree{handle: h, p: p, start: filepath.ToSlash(h.name)}, nil
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
	for dir := range parents(t.start) {
		g.enter(t.root, dir)
	}
	return fs.WalkDir(t.root.FS(), t.start, func(name string, d fs.DirEntry, err error) error {
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
			if versionControl(d.Name()) || g.match(name, true) {
				return fs.SkipDir
			}
			g.enter(t.root, name)
		} else if g.match(name, false) {
			return nil
		}
		return fn(name, d)
	})
}

func versionControl(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".jj":
		return true
	}
	return false
}

// parents yields the folders from the top down to a name, itself included.
func parents(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		if !yield(".") || name == "." {
			return
		}
		for i := 0; i < len(name); i++ {
			if name[i] == '/' && !yield(name[:i]) {
				return
			}
		}
		yield(name)
	}
}

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
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "\n\n[" + strings.Join(said, "; ") + "]"
}
