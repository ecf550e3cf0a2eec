package builtin

import (
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

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

// look enters the place that a call looks through. It may be a file.
func (s *Set) look(op, arg string) (*tree, error) {
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
