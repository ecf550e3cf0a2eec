package permission

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
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
	base string         // as slashed writes it
	rest []string       // patterns of names
	re   *regexp.Regexp // all of them
}

const anyFolders = "**"

func hasWild(name string) bool { return strings.ContainsAny(name, "*?") }

// places returns what a pattern stands for. It is one place, or two where a link
// leads from the one to the other.
func (s scope) places(pattern string, in Answer) ([]place, error) {
	p, err := s.parse(pattern)
	if err != nil {
		return nil, err
	}
	// The paths of calls have no links in them. What a rule denies is denied under both
	// names. But a rule that allows a part of the project does not allow what a link
	// there points to: whoever wrote the project made it.
	stop := func(real string) bool { return in == Allow && inside(slashed(s.dir), real) }
	found := []place{p}
	if real := p.real(stop); real.base != p.base {
		found = append(found, real)
	}
	for i := range found {
		re := regexp.QuoteMeta(found[i].base)
		for _, name := range p.rest {
			if name == anyFolders {
				re += `(?:/[^/]+)*`
			} else {
				re += "/" + expr(name, "[^/]", "[^/]")
			}
		}
		if s.fold && in != Allow {
			re = "(?i:" + re + ")"
		}
		found[i].re = whole(re)
	}
	return found, nil
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
	root := slashed(filepath.VolumeName(base))
	p := place{base: slashed(base)}
	for name := range strings.SplitSeq(rest, "/") {
		switch {
		case name == "" || name == ".":
		case name == ".." && (len(p.rest) > 0 || p.base == root):
			return place{}, fmt.Errorf("%s has a .. that leads above the root or stands behind a * or ?; write the path without it", shown(pattern))
		case name == "..":
			p.base = p.base[:strings.LastIndexByte(p.base, '/')]
		case strings.Contains(name, anyFolders) && name != anyFolders:
			return place{}, fmt.Errorf("in %s the ** is not alone, but it stands for whole folders; write * for a part of a name", shown(name))
		case len(p.rest) > 0 || hasWild(name):
			p.rest = append(p.rest, name)
		default:
			p.base += "/" + name
		}
	}
	if strings.HasSuffix(rest, "/") {
		p.rest = append(p.rest, anyFolders)
	}
	return p, nil
}

// real resolves the links in the base of a place, as far as it exists, and no
// further than to where stop says.
func (p place) real(stop func(real string) bool) place {
	out, above := p, ""
	for name := range strings.SplitAfterSeq(p.base+"/", "/") {
		if above += name; len(above) < 2 {
			continue
		}
		real, err := filepath.EvalSymlinks(native(above))
		if err != nil {
			continue
		}
		real = slashed(real)
		out.base = strings.TrimSuffix(real+"/"+strings.TrimPrefix(p.base+"/", above), "/")
		if stop(real) {
			break
		}
	}
	return out
}

// slashed is an absolute path with a slash before each name, the volume of Windows first; "" is the root.
func slashed(path string) string {
	if names := strings.Trim(filepath.ToSlash(path), "/"); names != "" {
		return "/" + names
	}
	return ""
}

// native is the opposite of slashed, for a path that ends with a slash.
func native(slashed string) string {
	first, _, _ := strings.Cut(slashed[1:], "/")
	switch {
	case filepath.Separator == '/':
		return slashed
	case strings.HasSuffix(first, ":"):
		return filepath.FromSlash(slashed[1:])
	default:
		return filepath.FromSlash("/" + slashed)
	}
}

// inside reports whether a path is a folder or below it.
func inside(folder, path string) bool { return strings.HasPrefix(path+"/", folder+"/") }
