package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
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

// all yields what an object has in it, and what that has; a nil node has nothing.
func (n *node) all() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		if n == nil {
			return
		}
		for _, kid := range n.kids {
			if !yield(kid) {
				return
			}
			for below := range kid.all() {
				if !yield(below) {
					return
				}
			}
		}
	}
}

// scalar reads a number, a text or a truth value as the environment would have it.
func (n *node) scalar(set setter) (text string, err error) {
	if n.raw == nil {
		return "", errors.New("it is an object, and must be a single value")
	}
	switch n.raw[0] {
	case '[', 'n':
		return "", fmt.Errorf("it is %.20s, and must be a number, a text, true or false", n.raw)
	case '"':
		err = json.Unmarshal(n.raw, &text)
	default:
		text = string(n.raw)
	}
	if err == nil {
		err = set.read(text)
	}
	return text, err
}

// readFile reads a settings file; nil for one that is not there.
func readFile(path string) (*node, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
	case !info.Mode().IsRegular():
		return nil, &Error{File: path, Problem: "it is no file", Hint: "put a file there, or remove it"}
	case info.Size() > maxFile:
		return nil, &Error{File: path, Problem: fmt.Sprintf("it has %d bytes, and settings have at most %d", info.Size(), maxFile), Hint: "is it another file?"}
	default:
		var data []byte
		if data, err = os.ReadFile(path); err == nil {
			return parse(path, data)
		}
	}
	return nil, &Error{File: path, Problem: "it can't be read: " + err.Error(), Hint: "make it readable, or remove it"}
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
		return nil, &Error{File: path, Line: 1, Problem: "it is no JSON object", Hint: `write {"key": value, ...}`}
	}
	return root, nil
}

// maxBrackets is how many objects and lists a file may have; no reader has to bear more
// of them in each other.
const maxBrackets = 10_000

// parseText parses a settings file. One without any value is an empty object.
func parseText(path string, data []byte) (hujson.Value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	bad := &Error{File: path, Line: 1}
	switch {
	case !utf8.Valid(data):
		bad.Line, bad.Problem, bad.Hint = 0, "it is not UTF-8", "save it as UTF-8"
		return hujson.Value{}, bad
	case bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) > maxBrackets:
		bad.Problem, bad.Hint = "objects are put too deep into each other, or there are too many", "no setting is that deep"
		return hujson.Value{}, bad
	}
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
	column := 0
	_, _ = fmt.Sscanf(err.Error(), "hujson: line %d, column %d", &bad.Line, &column)
	_, what, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": ")
	bad.Hint = "look for a missing quote, comma or bracket before it"
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		bad.Problem = "this is no JSON: it ends too early"
	case strings.HasSuffix(what, "after top-level value"):
		bad.Problem, bad.Hint = "something follows the end of the settings", "put everything between the first { and its }"
	default:
		bad.Problem = "this is no JSON: " + what
	}
	return v, bad
}

type parser struct {
	path string
	data []byte
}

func (p *parser) lineOf(v hujson.Value) int {
	return 1 + bytes.Count(p.data[:min(v.StartOffset, len(p.data))], []byte("\n"))
}

// value makes nodes of a value and of what it has in it.
func (p *parser) value(n *node, v hujson.Value, depth int) error {
	if depth == maxDepth {
		return &Error{File: p.path, Line: p.lineOf(v), Problem: "objects are put too deep into each other", Hint: "no setting is that deep"}
	}
	switch in := v.Value.(type) {
	case *hujson.Object:
		for _, m := range in.Members {
			key := nameOf(m)
			kid := &node{key: key, name: strings.TrimPrefix(n.name+"."+key, "."), line: p.lineOf(m.Name)}
			if at := slices.IndexFunc(n.kids, func(o *node) bool { return o.key == key }); at >= 0 {
				return &Error{File: p.path, Line: kid.line, Key: kid.name, Problem: fmt.Sprintf("it is in line %d too", n.kids[at].line), Hint: "leave one of them out"}
			}
			if err := p.value(kid, m.Value, depth+1); err != nil {
				return err
			}
			n.kids = append(n.kids, kid)
		}
		return nil
	case *hujson.Array:
		n.list = []*node{}
		for i, e := range in.Elements {
			item := &node{name: fmt.Sprintf("%s[%d]", n.name, i), line: p.lineOf(e)}
			if err := p.value(item, e, depth+1); err != nil {
				return err
			}
			n.list = append(n.list, item)
		}
	}
	n.raw = plain(v)
	return nil
}

// plain is a value as JSON without comments.
func plain(v hujson.Value) []byte {
	v = v.Clone()
	v.Standardize()
	return bytes.TrimSpace(v.Pack())
}

func nameOf(m hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }
