package builtin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

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
		return place{}, &Error{Op: op, Subject: text.OneLine(arg, maxLine), Err: err, Hint: hint}
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
		return refuse(refused("the path leads out of the project"), "if that is meant, give the absolute path, "+filepath.Join(s.dir, abs)+": the user is asked")
	default:
		abs = filepath.Join(s.dir, abs)
	}
	real, err := realPath(abs)
	if err != nil {
		return place{}, fail(op, text.OneLine(arg, maxLine), err)
	}
	p := place{abs: real, folder: os.IsPathSeparator(arg[len(arg)-1])}
	rel, in := s.below(real)
	switch {
	case (special(abs) || special(real)) && !special(s.dir):
		return refuse(refused("what is there are devices and views of the system, no files"), "use bash, if it has to be")
	case in:
		p.abs, p.rel = filepath.Join(s.dir, rel), rel
		p.shown = text.Valid(filepath.ToSlash(rel))
		return p, nil
	case inProject:
		return refuse(refused("a symbolic link on the way leads out of the project, to "+text.Valid(real)), "if that is meant, give that path: the user is asked")
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
		return "", wrong("it is not known what ~ is: the home folder is not set")
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

// realPath resolves the symbolic links of an absolute path, as far as it exists. What
// does not exist is taken as it is written, the target of a link too.
func realPath(name string) (string, error) {
	const sep = string(filepath.Separator)
	split := func(p string) []string {
		return strings.FieldsFunc(p[len(filepath.VolumeName(p)):], func(r rune) bool { return r < utf8.RuneSelf && os.IsPathSeparator(uint8(r)) })
	}
	at, todo := filepath.VolumeName(name)+sep, split(name)
	links, missing := 0, false
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		switch {
		case part == ".":
			continue
		case part == ".." && missing:
			return "", fs.ErrNotExist
		case part == "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		if missing {
			at = next
			continue
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			at, missing = next, true
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", refused("its symbolic links lead round in a circle")
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if filepath.IsAbs(target) {
				at = filepath.VolumeName(target) + sep
			}
			todo = append(split(target), todo...)
		case !info.IsDir() && len(todo) > 0:
			return "", &fs.PathError{Op: "open", Path: next, Err: syscall.ENOTDIR}
		default:
			at = next
		}
	}
	return at, nil
}

// special reports whether an absolute path is one of the system's own.
func special(name string) bool {
	if runtime.GOOS == "windows" {
		return strings.HasPrefix(name, `\\.\`) || strings.HasPrefix(name, `\\?\`)
	}
	name = strings.ToLower(name) + "/" // some systems do not tell upper case from lower
	for _, dir := range []string{"/dev/", "/proc/", "/sys/"} {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}
