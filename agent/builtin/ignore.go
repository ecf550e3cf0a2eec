package builtin

import (
	"io"
	"os"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

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
		f, _, err := openFile(root, path.Join(dir, name))
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
