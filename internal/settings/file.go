package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const (
	// fileName is the name of both files in their folders.
	fileName = "settings.json"
	// maxFile is the most that a settings file may have, in bytes.
	maxFile = 1 << 20
	// maxDepth is the deepest that objects are put into each other.
	maxDepth = 6
)

// node is a value of a file, with the line of its key.
type node struct {
	name string // the keys that lead to it, with dots
	key  string
	line int
	kids []*node         // of an object
	list []*node         // of a list
	raw  json.RawMessage // of anything but an object
}

// readFile reads a settings file; nil for one that is not there.
func readFile(path string) (*node, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	bad := func(what, hint string) error { return &Error{File: path, Problem: what, Hint: hint} }
	switch {
	case err != nil:
		return nil, bad("it can't be read: "+err.Error(), "make it readable, or remove it")
	case !info.Mode().IsRegular():
		return nil, bad("it is no file", "put a file there, or remove it")
	case info.Size() > maxFile:
		return nil, bad(fmt.Sprintf("it has %d bytes, and settings have at most %d", info.Size(), maxFile), "is it another file?")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, bad("it can't be read: "+err.Error(), "make it readable, or remove it")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, bad("it can't be read: "+err.Error(), "")
	}
	return parse(path, data)
}

// parse reads the content of a settings file: JSON with comments and trailing commas.
func parse(path string, data []byte) (*node, error) {
	v, err := parseText(path, data)
	if err != nil {
		return nil, err
	}
	p := &parser{path: path, data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	root := &node{line: 1}
	if err := p.value(root, v, 0); err != nil {
		return nil, err
	}
	if root.raw != nil {
		return nil, p.bad(1, "it is no JSON object", `write {"key": value, ...}`)
	}
	return root, nil
}

// maxBrackets is how many objects and lists a file may have; no reader has to bear more
// of them in each other.
const maxBrackets = 10_000

// parseText parses a settings file. One without any value is an empty object.
func parseText(path string, data []byte) (hujson.Value, error) {
	bad := func(line int, what, hint string) error {
		return &Error{File: path, Line: line, Problem: what, Hint: hint}
	}
	if !utf8.Valid(data) {
		return hujson.Value{}, bad(0, "it is not UTF-8", "save it as UTF-8")
	}
	if bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) > maxBrackets {
		return hujson.Value{}, bad(1, "objects are put too deep into each other, or there are too many", "no setting is that deep")
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	v, err := hujson.Parse(data)
	if err == nil {
		return v, nil
	}
	// A comment that the file ends with has to end, and a file of nothing else is empty.
	for _, end := range []string{"\n", "\n{}\n"} {
		if v, err := hujson.Parse(append(bytes.Clone(data), end...)); err == nil {
			return v, nil
		}
	}
	line, column := 1, 0
	_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d", &line, &column)
	_, what, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": ")
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		what = "it ends too early"
	case strings.HasSuffix(what, "after top-level value"):
		return v, bad(line, "something follows the end of the settings", "put everything between the first { and its }")
	}
	return v, bad(line, "this is no JSON: "+what, "look for a missing quote, comma or bracket before it")
}

type parser struct {
	path string
	data []byte
}

func (p *parser) bad(line int, what, hint string) error {
	return &Error{File: p.path, Line: line, Problem: what, Hint: hint}
}

func (p *parser) lineOf(v hujson.Value) int {
	return 1 + bytes.Count(p.data[:min(v.StartOffset, len(p.data))], []byte("\n"))
}

// value makes a node of a value.
func (p *parser) value(n *node, v hujson.Value, depth int) error {
	if depth == maxDepth {
		return p.bad(p.lineOf(v), "objects are put too deep into each other", "no setting is that deep")
	}
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		n.raw = plain(v)
		return p.list(n, v, depth)
	}
	for _, m := range object.Members {
		key := nameOf(m)
		kid := &node{key: key, name: strings.TrimPrefix(n.name+"."+key, "."), line: p.lineOf(m.Name)}
		for _, o := range n.kids {
			if o.key == kid.key {
				return &Error{File: p.path, Line: kid.line, Key: kid.name, Problem: fmt.Sprintf("it is in line %d too", o.line), Hint: "leave one of them out"}
			}
		}
		if err := p.value(kid, m.Value, depth+1); err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
	}
	return nil
}

// list makes nodes of what a list has in it.
func (p *parser) list(n *node, v hujson.Value, depth int) error {
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil
	}
	n.list = []*node{}
	for i, e := range list.Elements {
		item := &node{name: fmt.Sprintf("%s[%d]", n.name, i), line: p.lineOf(e)}
		if err := p.value(item, e, depth+1); err != nil {
			return err
		}
		n.list = append(n.list, item)
	}
	return nil
}

// plain is a value as JSON without comments.
func plain(v hujson.Value) []byte {
	v = v.Clone()
	v.Standardize()
	return bytes.TrimSpace(v.Pack())
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// projectFile returns the settings file of the project that a folder belongs to, which a
// program keeps in a folder of its own there, "" for none: in the folder, or in the nearest one above it up to the one with .git.
// Without .git there is nothing to say where a project ends, so only the folder itself counts.
func projectFile(dir, own string) string {
	top, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	found := ""
	for d := top; ; d = filepath.Dir(d) {
		file := filepath.Join(d, own, fileName)
		if _, err := os.Lstat(file); err == nil && found == "" {
			found = file
		}
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return found
		}
		if filepath.Dir(d) == d {
			break
		}
	}
	if found == filepath.Join(top, own, fileName) {
		return found
	}
	return ""
}

// UserFile returns the settings file of the user, "" where the system knows no folder
// for it.
func UserFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "clew", fileName)
}
