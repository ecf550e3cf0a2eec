package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// File is a rules file as it was read.
type File struct {
	// Path is absolute.
	Path string `json:"path"`
	// Hash is the SHA-256 of Text, in hexadecimal.
	Hash string `json:"hash"`
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
	for i := range s.Files {
		w.file(&s.Files[i])
	}
	return w.b.String()
}

// Diff returns what has changed from one set to another, as text for a message:
// files that are new or changed, whole, and the names of those that are gone. It is
// "" when nothing has.
func Diff(old, now Set) string {
	was := map[string]*File{}
	for i := range old.Files {
		was[old.Files[i].Path] = &old.Files[i]
	}
	var changed []*File
	var all []File
	for i := range now.Files {
		f := &now.Files[i]
		before := was[f.Path]
		delete(was, f.Path)
		if before == nil || before.Text != f.Text || before.Size != f.Size {
			changed, all = append(changed, f), append(all, *f)
		}
	}
	if len(changed) == 0 && len(was) == 0 {
		return ""
	}
	w := newWriter(all)
	w.b.WriteString("The rules files have changed. What follows takes the place of what these files said before.\n")
	if len(changed) > 0 {
		fmt.Fprintf(&w.b, "Each file stands between two lines with %s, a mark that no file has in it.\n", w.tag)
	}
	for _, f := range changed {
		w.file(f)
	}
	for i := range old.Files {
		if path := old.Files[i].Path; was[path] != nil {
			delete(was, path)
			fmt.Fprintf(&w.b, "\n%s is gone; its rules hold no longer.\n", heading(path))
		}
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
	for i := range files {
		f := &files[i]
		fmt.Fprintf(h, "%q %d %q\n", f.Path, f.Size, f.Text)
	}
	for {
		tag := "rules-" + hex.EncodeToString(h.Sum(nil)[:8])
		free := true
		for i := range files {
			free = free && !strings.Contains(files[i].Text, tag) && !strings.Contains(files[i].Path, tag)
		}
		if free {
			return &writer{tag: tag}
		}
		fmt.Fprintln(h, tag)
	}
}

func (w *writer) file(f *File) {
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

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
