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
	"unicode/utf8"
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
	raw  json.RawMessage // of anything else
}

// readFile reads a settings file; nil for one that is not there.
func readFile(path string) (*node, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
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

// parse reads the content of a settings file.
func parse(path string, data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, &Error{File: path, Problem: "it is not UTF-8", Hint: "save it as UTF-8"}
	}
	p := &parser{path: path, data: plain(data)}
	if len(bytes.TrimSpace(p.data)) == 0 {
		return &node{line: 1}, nil
	}
	p.d = json.NewDecoder(bytes.NewReader(p.data))
	root := &node{line: 1}
	if err := p.value(root, 0); err != nil {
		return nil, err
	}
	if _, err := p.d.Token(); !errors.Is(err, io.EOF) {
		return nil, p.bad(p.line(), "something follows the end of the settings", "put everything between the first { and its }")
	}
	if root.raw != nil {
		return nil, p.bad(1, "it is no JSON object", `write {"key": value, ...}`)
	}
	return root, nil
}

type parser struct {
	path string
	data []byte
	d    *json.Decoder
}

func (p *parser) bad(line int, what, hint string) error {
	return &Error{File: p.path, Line: line, Problem: what, Hint: hint}
}

// line is that of what comes next.
func (p *parser) line() int {
	at := min(int(p.d.InputOffset()), len(p.data))
	for at < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[at]) >= 0 {
		at++
	}
	return 1 + bytes.Count(p.data[:at], []byte("\n"))
}

// value reads the next value into a node.
func (p *parser) value(n *node, depth int) error {
	line := p.line()
	if !p.nextIsObject() {
		if err := p.d.Decode(&n.raw); err != nil {
			return p.syntax(line, err)
		}
		return nil
	}
	if depth == maxDepth {
		return p.bad(line, "objects are put too deep into each other", "no setting is that deep")
	}
	if _, err := p.d.Token(); err != nil {
		return p.syntax(line, err)
	}
	for p.d.More() {
		kid := &node{line: p.line()}
		t, err := p.d.Token()
		if err != nil {
			return p.syntax(kid.line, err)
		}
		kid.key, _ = t.(string)
		kid.name = strings.TrimPrefix(n.name+"."+kid.key, ".")
		for _, o := range n.kids {
			if o.key == kid.key {
				return &Error{File: p.path, Line: kid.line, Key: kid.name, Problem: fmt.Sprintf("it is in line %d too", o.line), Hint: "leave one of them out"}
			}
		}
		if err := p.value(kid, depth+1); err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
	}
	if _, err := p.d.Token(); err != nil {
		return p.syntax(p.line(), err)
	}
	return nil
}

func (p *parser) nextIsObject() bool {
	for _, c := range p.data[min(int(p.d.InputOffset()), len(p.data)):] {
		if strings.IndexByte(" \t\r\n,:", c) < 0 {
			return c == '{'
		}
	}
	return false
}

// syntax says where the text stops being JSON.
func (p *parser) syntax(line int, err error) error {
	var at *json.SyntaxError
	if errors.As(err, &at) {
		line = 1 + bytes.Count(p.data[:min(int(at.Offset), len(p.data))], []byte("\n"))
	}
	what := strings.TrimPrefix(err.Error(), "json: ")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		what = "it ends too early"
	}
	return p.bad(line, "this is no JSON: "+what, "look for a missing quote, comma or bracket before it")
}

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
