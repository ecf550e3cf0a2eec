package permission

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A scope is what patterns of places are relative to: absolute, clean folders.
type scope struct {
	dir  string // the project, without symbolic links
	home string // likewise; "" where it is not known
	fold bool   // small and capital letters are the same in names of files
}

// A place is a set of paths: what matches rest below base.
type place struct {
	base []string       // names, as they are
	rest []string       // patterns of names
	re   *regexp.Regexp // all of them
}

const anyFolders = "**"

func hasWild(name string) bool { return strings.ContainsAny(name, "*?") }

// places returns what a pattern stands for. It is one place, or two where a link
// leads from the one to the other.
func (s scope) places(pattern string, in list) ([]place, error) {
	p, err := s.parse(pattern)
	if err != nil {
		return nil, err
	}
	dir := names(s.dir)
	// The paths of calls have no links in them. What a rule denies is denied under both
	// names. But a rule that allows a part of the project does not allow what a link
	// there points to: whoever wrote the project made it.
	stop := func(real []string) bool { return in == allowList && inside(dir, real) }
	found := []place{p}
	if real := p.real(stop); !slices.Equal(real.base, p.base) {
		found = append(found, real)
	}
	for i := range found {
		re := regexp.QuoteMeta(slashed(found[i].base))
		for _, name := range p.rest {
			if name == anyFolders {
				re += `(?:/[^/]+)*`
			} else {
				re += "/" + expr(name, "[^/]", "[^/]")
			}
		}
		if s.fold && in != allowList {
			re = "(?i:" + re + ")"
		}
		found[i].re = whole(re)
	}
	return found, nil
}

// slashed is a path of names.
func slashed(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "/" + strings.Join(names, "/")
}

// parse reads a pattern.
func (s scope) parse(pattern string) (place, error) {
	if _, choice, ok := strings.Cut(pattern, "{"); ok {
		if choice, _, ok := strings.Cut(choice, "}"); ok && strings.Contains(choice, ",") {
			return place{}, errors.New("braces do not stand for a choice; write one rule for each")
		}
	}
	base, rest := s.dir, filepath.ToSlash(pattern)
	volume := filepath.VolumeName(pattern)
	switch {
	case rest == "~" || strings.HasPrefix(rest, "~/"):
		if s.home == "" {
			return place{}, errors.New("the home folder is not known; write the path from the root on")
		}
		base, rest = s.home, rest[1:]
	case volume != "":
		base, rest = volume, rest[len(volume):]
	case strings.HasPrefix(rest, "/"):
		base = filepath.VolumeName(s.dir)
	}
	root := len(names(filepath.VolumeName(base)))
	p := place{base: names(base)}
	for name := range strings.SplitSeq(rest, "/") {
		switch {
		case name == "" || name == ".":
		case name == ".." && (len(p.rest) > 0 || len(p.base) <= root):
			return place{}, fmt.Errorf("%s has a .. that leads above the root or stands behind a * or ?; write the path without it", shown(pattern))
		case name == "..":
			p.base = p.base[:len(p.base)-1]
		case strings.Contains(name, anyFolders) && name != anyFolders:
			return place{}, fmt.Errorf("in %s the ** is not alone, but it stands for whole folders; write * for a part of a name", shown(name))
		case len(p.rest) > 0 || hasWild(name):
			p.rest = append(p.rest, name)
		default:
			p.base = append(p.base, name)
		}
	}
	if strings.HasSuffix(rest, "/") {
		p.rest = append(p.rest, anyFolders)
	}
	return p, nil
}

// real resolves the links in the base of a place, as far as it exists, and no
// further than to where stop says.
func (p place) real(stop func(real []string) bool) place {
	out := p
	for n := 1; n <= len(p.base); n++ {
		real, err := filepath.EvalSymlinks(pathOf(p.base[:n]))
		if err != nil {
			continue
		}
		out.base = append(names(real), p.base[n:]...)
		if stop(names(real)) {
			break
		}
	}
	return out
}

// names returns the names in a path, with the volume of Windows first.
func names(path string) []string {
	return strings.FieldsFunc(filepath.ToSlash(path), func(r rune) bool { return r == '/' })
}

// pathOf is the opposite of names, for at least one name.
func pathOf(names []string) string {
	joined := filepath.Join(names...)
	switch {
	case filepath.Separator == '/':
		return "/" + joined
	case strings.HasSuffix(names[0], ":"):
		return names[0] + `\` + filepath.Join(names[1:]...)
	default:
		return `\\` + joined
	}
}

// inside reports whether a path is a folder or below it.
func inside(folder, path []string) bool {
	return len(path) >= len(folder) && slices.Equal(folder, path[:len(folder)])
}
