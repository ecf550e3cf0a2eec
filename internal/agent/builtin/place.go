package builtin

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/text"
)

const (
	maxPath  = 4096 // bytes of a path: PATH_MAX of Linux
	maxLinks = 40   // symbolic links on the way to a place, as in Linux
)

// place is where a path leads to.
type place struct {
	abs     string // absolute, clean, without symbolic links as far as it exists
	rel     string // below the project, for an os.Root; not when outside
	outside bool
	folder  bool // the path ends with a separator
	shown   string
}

// resolve finds out where the path of a call leads. It opens nothing.
func (s *Set) resolve(op, arg string) (place, error) {
	refuse := func(err error, hint string) (place, error) {
		return place{}, &Error{Op: op, Subject: oneLine(arg), Err: err, Hint: hint}
	}
	switch {
	case arg == "":
		return refuse(wrong("the path is empty"), `give a path in the project, such as src/main.go, or "." for the project itself`)
	case len(arg) > maxPath:
		return refuse(wrong("the path is longer than 4096 bytes"), "take a shorter one")
	case !utf8.ValidString(arg) || strings.ContainsFunc(arg, unicode.IsControl):
		return refuse(wrong("the path has a control character in it, or is no UTF-8"), "leave it out, or use bash for a file that is really named so")
	}
	name, err := s.expand(arg)
	if err != nil {
		return refuse(err, "give the absolute path")
	}
	abs, inProject := filepath.Clean(name), true
	switch {
	case filepath.IsAbs(name):
		var rel string
		if rel, inProject = s.below(abs); inProject {
			abs = filepath.Join(s.dir, rel)
		}
	case !filepath.IsLocal(abs):
		return refuse(files.Refused("the path leads out of the project"), "if that is meant, give the absolute path, "+filepath.Join(s.dir, abs)+": the user is asked")
	default:
		abs = filepath.Join(s.dir, abs)
	}
	real, err := follow(abs, 0)
	if err != nil {
		return place{}, fail(op, oneLine(arg), err)
	}
	p := place{abs: real, folder: os.IsPathSeparator(arg[len(arg)-1])}
	rel, in := s.below(real)
	switch {
	case (special(abs) || special(real)) && !special(s.dir):
		return refuse(files.Refused("what is there are devices and views of the system, no files"), "use bash, if it has to be")
	case in:
		p.abs, p.rel = filepath.Join(s.dir, rel), rel
		p.shown = text.Valid(filepath.ToSlash(rel))
		return p, nil
	case inProject:
		return refuse(files.Refused("a symbolic link on the way leads out of the project, to "+text.Valid(real)), "if that is meant, give that path: the user is asked")
	}
	p.outside, p.shown = true, text.Valid(real)
	return p, nil
}

// expand puts the home folder for ~.
func (s *Set) expand(arg string) (string, error) {
	if arg != "~" && (len(arg) < 2 || arg[0] != '~' || !os.IsPathSeparator(arg[1])) {
		return arg, nil
	}
	if !filepath.IsAbs(s.home) {
		return "", wrong("the meaning of ~ is unknown, because the home folder is not set")
	}
	return filepath.Join(s.home, arg[1:]), nil
}

// below returns the path from the project to what an absolute path names, if that is
// in the project.
func (s *Set) below(name string) (string, bool) {
	for _, dir := range []string{s.dir, s.given} {
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	// The folder may have other spellings: upper case, a link, a mount.
	for at := name; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, s.info) {
			rel, err := filepath.Rel(at, name)
			return rel, err == nil && filepath.IsLocal(rel)
		}
		if filepath.Dir(at) == at {
			return "", false
		}
	}
}

// follow resolves the symbolic links of an absolute path, as far as it exists. What
// does not exist is taken as it is written, the target of a link too. links is how many led there.
func follow(name string, links int) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if _, why := os.Stat(name); why != nil { // the system's words
			err = why
		}
	}
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(name) == name {
		return real, err
	}
	dir, err := follow(filepath.Dir(name), links)
	if err != nil {
		return "", err
	}
	at := filepath.Join(dir, filepath.Base(name))
	target, err := os.Readlink(at)
	switch {
	case err != nil: // there is nothing
		return at, nil
	case links == maxLinks:
		return "", syscall.ELOOP
	case !filepath.IsAbs(target):
		target = filepath.Join(dir, target)
	}
	return follow(target, links+1)
}

// special reports whether an absolute path is one of the system's own.
func special(name string) bool {
	if runtime.GOOS == "windows" {
		return strings.HasPrefix(name, `\\.\`) || strings.HasPrefix(name, `\\?\`)
	}
	name = strings.ToLower(name) + "/" // some systems do not tell upper case from lower
	return slices.ContainsFunc([]string{"/dev/", "/proc/", "/sys/"}, func(dir string) bool { return strings.HasPrefix(name, dir) })
}

// ignoreBytes is how much of a .gitignore is read.
const ignoreBytes = 1 << 20

// ignored are the rules of the .gitignore files from a folder up to the project, and
// of .git/info/exclude. What lies above the project is not looked at, nor git's
// configuration.
type ignored struct {
	rules []ignoreRule // of the folders entered, the outermost first
}

type ignoreRule struct {
	base    string // the folder of the file, "." for the top
	glob    string // relative to base
	keep    bool   // "!": what matches is not ignored
	folders bool   // only folders match
}

// enter reads the rules of a folder, whose parents were entered before. Rules of
// folders that it does not lie in are forgotten.
func (g *ignored) enter(root *os.Root, dir string) {
	for len(g.rules) > 0 && !inFolder(dir, g.rules[len(g.rules)-1].base) {
		g.rules = g.rules[:len(g.rules)-1]
	}
	names := []string{".gitignore"}
	if dir == "." {
		names = []string{".git/info/exclude", ".gitignore"}
	}
	for _, name := range names {
		f, _, err := files.Open(root, path.Join(dir, name))
		if err != nil {
			continue
		}
		data, _ := io.ReadAll(io.LimitReader(f, ignoreBytes)) // what can be read counts
		_ = f.Close()
		for l := range strings.SplitSeq(strings.TrimPrefix(string(data), bom), "\n") {
			if r, ok := parseIgnore(strings.TrimSuffix(l, "\r")); ok {
				r.base = dir
				g.rules = append(g.rules, r)
			}
		}
	}
}

// inFolder reports whether a path is a folder or lies below it.
func inFolder(name, dir string) bool {
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

func parseIgnore(l string) (r ignoreRule, ok bool) {
	for strings.HasSuffix(l, " ") && !strings.HasSuffix(l, `\ `) {
		l = l[:len(l)-1]
	}
	if l == "" || l[0] == '#' {
		return r, false
	}
	l, r.keep = strings.CutPrefix(l, "!")
	l, r.folders = strings.CutSuffix(l, "/")
	anchored := strings.Contains(l, "/")
	l = strings.TrimPrefix(l, "/")
	if l == "" {
		return r, false
	}
	if strings.HasSuffix(l, "/**") { // all that is in a folder, not the folder
		l += "/*"
	}
	if !anchored {
		l = "**/" + l
	}
	// Braces mean nothing here.
	r.glob = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`).Replace(l)
	return r, doublestar.ValidatePattern(r.glob)
}

// match reports whether a file or folder is ignored. Its parents are not.
func (g *ignored) match(name string, folder bool) bool {
	for i := len(g.rules) - 1; i >= 0; i-- {
		r := g.rules[i]
		if r.folders && !folder || !inFolder(name, r.base) {
			continue
		}
		rel := name
		if r.base != "." {
			rel = strings.TrimPrefix(name[len(r.base):], "/")
		}
		if hit, err := doublestar.Match(r.glob, rel); err == nil && hit {
			return !r.keep
		}
	}
	return false
}

// enter opens the folder of a place: the project, or outside the nearest one that exists.
func (s *Set) enter(p place) (files.Place, error) {
	if p.outside {
		return files.Enter(p.abs)
	}
	return files.Place{Root: s.root, Name: p.rel}, nil
}
