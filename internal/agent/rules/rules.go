// Package rules reads what the user and the project tell every agent: the files
// AGENTS.md.
//
//	set, err := rules.Read(rules.Config{Dir: ".", Home: home, User: filepath.Join(config, "clew")})
//	system := prompt + "\n\n" + set.Text()
//	// later, at a pass or before a request:
//	now, err := rules.Read(config)
//	message := rules.Diff(set, now) // "" when nothing has changed
//
// The user's own file comes first, then those of the folders from the top of the
// project down to where the agent works, so that what is nearer is read last. The top
// is the folder with .git in it, a folder or, in a worktree, a file. Without one it
// is the folder below the home folder, or the root of the file system. A folder that has
// no AGENTS.md may have a CLAUDE.md.
//
// A file of a project is data of whoever wrote the project. It is not read through a
// link that leads out of the project. Nor is one that lies above the folder where the
// agent works, in a folder that all users of the machine share, such as /tmp.
package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// File is a rules file as it was read.
type File struct {
	// Path is absolute.
	Path string `json:"path"`
	// Text is valid UTF-8 with line ends of one character, without white space at its
	// ends.
	Text string `json:"text"`
	// Size is that of the whole file in bytes, when Text is only its beginning; else 0.
	Size int64 `json:"size,omitempty"`
}

// Set is all rules files there were, in the order in which they are to be read. The
// zero value is that of none. It is JSON.
type Set struct {
	Files []File `json:"files,omitempty"`
	// Warnings are sentences for the user: what could not be read, and what was cut.
	// They are about one reading, and not kept.
	Warnings []string `json:"-"`
}

// Text returns the files for the system prompt, each between two lines with its path
// and a mark that stands in no file; "" when there are none.
func (s Set) Text() string {
	if len(s.Files) == 0 {
		return ""
	}
	w := newWriter(s.Files)
	fmt.Fprintf(&w.b, "These are the rules of the user and of the project. Each file stands between two lines with %s, "+
		"a mark that no file has in it. Where they differ, a later file goes before an earlier one, and what the user says before all.\n", w.tag)
	for _, f := range s.Files {
		w.file(f)
	}
	return w.b.String()
}

// Diff returns what has changed from one set to another, as text for a message:
// files that are new or changed, whole, and the names of those that are gone. It is
// "" when nothing has.
func Diff(old, now Set) string {
	changed := slices.DeleteFunc(slices.Clone(now.Files), func(f File) bool { return slices.Contains(old.Files, f) })
	gone := slices.DeleteFunc(slices.Clone(old.Files), func(f File) bool {
		return slices.ContainsFunc(now.Files, func(n File) bool { return n.Path == f.Path })
	})
	if len(changed) == 0 && len(gone) == 0 {
		return ""
	}
	w := newWriter(changed)
	w.b.WriteString("The rules files have changed. What follows takes the place of what these files said before.\n")
	if len(changed) > 0 {
		fmt.Fprintf(&w.b, "Each file stands between two lines with %s, a mark that no file has in it.\n", w.tag)
	}
	for _, f := range changed {
		w.file(f)
	}
	for _, f := range gone {
		fmt.Fprintf(&w.b, "\n%s is gone; its rules hold no longer.\n", heading(f.Path))
	}
	return w.b.String()
}

type writer struct {
	b   strings.Builder
	tag string
}

// newWriter makes a mark of what the files say: whoever writes one of them can't
// know it, because it changes with what is written. That it stands in none is
// checked too.
func newWriter(files []File) *writer {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %d %q\n", f.Path, f.Size, f.Text)
	}
	for {
		tag := "rules-" + hex.EncodeToString(h.Sum(nil)[:8])
		if !slices.ContainsFunc(files, func(f File) bool { return strings.Contains(f.Text+f.Path, tag) }) {
			return &writer{tag: tag}
		}
		fmt.Fprintln(h, tag)
	}
}

func (w *writer) file(f File) {
	fmt.Fprintf(&w.b, "\n<%s file=%s>\n%s\n", w.tag, heading(f.Path), f.Text)
	if f.Size > 0 {
		fmt.Fprintf(&w.b, "[clew has cut the file here: these are the first %d of its %d bytes.]\n", len(f.Text), f.Size)
	}
	fmt.Fprintf(&w.b, "</%s>\n", w.tag)
}

// heading writes a path so that it stays on its line.
func heading(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) || r == '"' || r == '>' }) {
		return strconv.Quote(path)
	}
	return path
}

// The most that is taken, in bytes.
const (
	MaxFile = 64 << 10
	MaxAll  = 256 << 10
)

// names are the files that are looked for, the first that a folder has.
var names = []string{"AGENTS.md", "CLAUDE.md"}

// FS is what is read through. Paths are absolute.
type FS interface {
	Lstat(path string) (fs.FileInfo, error)
	Stat(path string) (fs.FileInfo, error)
	EvalSymlinks(path string) (string, error)
	Open(path string) (io.ReadCloser, error)
}

// Config says where rules are. Dir is required.
type Config struct {
	// Dir is the folder where the agent works, an absolute path.
	Dir string
	// Home is the user's home folder: above it nothing is looked for, nor in it, unless
	// it is Dir or the top of a repository. Default: none.
	Home string
	// User is the folder with the user's own file, for all projects. Default: none.
	User string
	// FS is for tests. Default: the file system of the operating system.
	FS FS
}

// Read reads the rules files there are. A file that is missing is no error, and one
// that can't be read is a warning: the error is that of a Config that makes no sense.
func Read(c Config) (Set, error) {
	if c.FS == nil {
		c.FS = system{}
	}
	for _, f := range []struct{ what, path string }{{"the folder", c.Dir}, {"the home folder", c.Home}, {"the user's folder", c.User}} {
		if !filepath.IsAbs(f.path) && (f.path != "" || f.what == "the folder") {
			return Set{}, fmt.Errorf("%s of the rules is %q, but what it means would depend on where clew was started; give an absolute path", f.what, f.path)
		}
	}
	dir, err := c.FS.EvalSymlinks(c.Dir)
	if err != nil {
		return Set{}, fmt.Errorf("no rules can be read for the folder %s: %w; give a folder that is there", c.Dir, err)
	}
	c.Dir = dir
	if home, err := c.FS.EvalSymlinks(c.Home); err == nil {
		c.Home = home
	}
	r := reader{Config: c, done: map[string]bool{}}
	r.read()
	return Set{Files: r.files, Warnings: r.warnings}, nil
}

type reader struct {
	Config
	files    []File
	warnings []string
	done     map[string]bool // files that were read, without links
}

func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

func (r *reader) read() {
	if r.User != "" {
		r.folder(filepath.Clean(r.User), "")
	}
	folders, top := r.folders()
	for _, dir := range folders {
		within := top
		if within == "" {
			within = dir
		}
		r.folder(dir, within)
	}
	r.fit()
}

// folders returns the folders of the project, from its top to Dir. top is the top of
// the repository, "" without one.
func (r *reader) folders() (list []string, top string) {
	for dir := r.Dir; ; {
		if dir == r.Home && dir != r.Dir && !r.isTop(dir) {
			break
		}
		list = append(list, dir)
		if r.isTop(dir) {
			top = dir
			break
		}
		up := filepath.Dir(dir)
		if up == dir || dir == r.Home {
			break
		}
		dir = up
	}
	slices.Reverse(list)
	return list, top
}

func (r *reader) isTop(dir string) bool {
	_, err := r.FS.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// folder reads the first of the files that a folder has. A link may lead anywhere
// below within; "" is everywhere.
func (r *reader) folder(dir, within string) {
	for _, name := range names {
		path := filepath.Join(dir, name)
		_, err := r.FS.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			if info, err := r.FS.Stat(path); err == nil && info.IsDir() {
				continue
			}
			err = r.file(dir, path, within)
		}
		if err != nil {
			r.warn("the rules file %s was not read, so its rules are not followed: %v", path, err)
		}
		return
	}
}

func (r *reader) file(dir, path, within string) error {
	if dir != r.Dir && within != "" && r.anyones(dir) {
		return fmt.Errorf("every user of this machine may write to %s; work in that folder itself to use it", dir)
	}
	real, err := r.FS.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if within != "" && !below(within, real) {
		return fmt.Errorf("it is a link that leads out of %s, to %s; copy the file", within, real)
	}
	if r.done[real] {
		return nil
	}
	info, err := r.FS.Stat(real)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() { // to open a pipe would wait
		return errors.New("it is not a file but a device, a pipe or the like; put a file there")
	}
	f, err := r.FS.Open(real)
	if err != nil {
		return err
	}
	defer f.Close()
	const more = 16 // so that a character that is cut here is beyond what is used
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+more))
	if err != nil {
		return err
	}
	r.done[real] = true
	if t := clean(data); t != "" {
		r.files = append(r.files, File{Path: path, Text: t, Size: max(info.Size(), int64(len(data)))})
	}
	return nil
}

// anyones reports whether a folder is one that all users of the machine share, such
// as /tmp.
func (r *reader) anyones(dir string) bool {
	info, err := r.FS.Stat(dir)
	return err == nil && info.Mode()&fs.ModeSticky != 0 && info.Mode().Perm()&0o002 != 0
}

// clean makes text of what is in a file.
func clean(data []byte) string {
	s := strings.TrimPrefix(string(data), "\uFEFF")
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
}

// fit cuts what is too long. The files that are nearest to where the agent works
// are given room first, after the user's.
func (r *reader) fit() {
	var order []int
	for i := range slices.Backward(r.files) {
		order = append(order, i)
	}
	if n := len(order); n > 0 && r.User != "" && filepath.Dir(r.files[0].Path) == filepath.Clean(r.User) {
		order = append([]int{0}, order[:n-1]...)
	}
	left := MaxAll
	for _, i := range order {
		f := &r.files[i]
		if room := min(left, MaxFile); len(f.Text) <= room && f.Size <= MaxFile {
			f.Size = 0
		} else {
			f.Text = strings.TrimSpace(text.Head(f.Text, room))
			r.warn("the rules file %s was cut: of its %d bytes the first %d are used (at most %d of a file, %d of all); make it shorter",
				f.Path, f.Size, len(f.Text), MaxFile, MaxAll)
		}
		left -= len(f.Text)
	}
}

// below reports whether a path is in a folder.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// system is the file system of the operating system.
type system struct{}

func (system) Lstat(path string) (fs.FileInfo, error)   { return os.Lstat(path) }
func (system) Stat(path string) (fs.FileInfo, error)    { return os.Stat(path) }
func (system) EvalSymlinks(path string) (string, error) { return filepath.EvalSymlinks(path) }
func (system) Open(path string) (io.ReadCloser, error)  { return os.Open(path) }
