package ledger

import (
	"path"
	"strings"
)

// maxPath is the longest path that is taken for one, in bytes: PATH_MAX of Linux.
const maxPath = 4096

// place resolves paths.
type place struct{ cwd string }

func newPlace(cwd string) place {
	if cwd == "" {
		return place{}
	}
	return place{cwd: clean(cwd)}
}

// norm returns the one spelling of a path: relative to the working directory
// where it lies below it, without "." and "..". dir is the directory that a
// relative path is relative to, "" for the working directory. "" is no path.
func (p place) norm(name, dir string) string {
	if name == "" || len(name) > maxPath || strings.ContainsAny(name, "\x00\n") {
		return ""
	}
	name = clean(strings.ToValidUTF8(name, "\uFFFD"))
	if dir != "" && !absolute(name) {
		name = clean(clean(dir) + "/" + name)
	}
	if p.cwd != "" && absolute(name) {
		if name == p.cwd {
			return "."
		}
		if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(p.cwd, "/")+"/"); ok {
			return rest
		}
	}
	// What leaves the working directory is absolute, where that is known.
	if p.cwd != "" && (name == ".." || strings.HasPrefix(name, "../")) {
		return clean(p.cwd + "/" + name)
	}
	return name
}

func clean(name string) string {
	if windowsPath(name) {
		name = strings.ReplaceAll(name, `\`, "/")
		if len(name) > 1 && name[1] == ':' {
			name = strings.ToUpper(name[:1]) + name[1:]
		}
	}
	return path.Clean(name)
}

// windowsPath reports whether backslashes in a path separate its components.
// Elsewhere they are part of a name.
func windowsPath(name string) bool {
	return driveAt(name) || strings.HasPrefix(name, `\\`) || strings.Contains(name, `\`) && !strings.Contains(name, "/")
}

func driveAt(name string) bool {
	return len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/') &&
		(name[0]|0x20 >= 'a' && name[0]|0x20 <= 'z')
}

func absolute(name string) bool {
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") || driveAt(name)
}
