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

// all returns what an object has in it, and what that has; a nil node has nothing.
func (n *node) all() (all []*node) {
	if n == nil {
		return nil
	}
	for _, kid := range n.kids {
		all = append(append(all, kid), kid.all()...)
	}
	return all
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

// Member returns the value that the content of a settings file gives to a name, as JSON;
// nil for none. A dot in the name stands for an object in an object.
func Member(data []byte, name string) []byte {
	v, err := parseText("", data)
	if err != nil {
		return nil
	}
	if found := find(&v, name); found != nil {
		return plain(*found)
	}
	return nil
}

// find returns the value under a name as a whole, or under its parts in objects.
func find(v *hujson.Value, name string) *hujson.Value {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	var in *hujson.Value
	for i, m := range object.Members {
		key := nameOf(m)
		if key == name {
			return &object.Members[i].Value
		}
		if rest, ok := strings.CutPrefix(name, key+"."); ok && in == nil {
			in = find(&object.Members[i].Value, rest)
		}
	}
	return in
}

// SetMember returns the content of a settings file with another value, given as JSON,
// under a name. Everything else stays as it is, comments and all.
func SetMember(data []byte, name string, value []byte) ([]byte, error) {
	if len(data) == 0 {
		data = []byte("{}\n")
	}
	v, err := parseText("", data)
	if err != nil {
		return nil, err
	}
	if at := find(&v, name); at != nil {
		at.Value = hujson.Literal(value) // it is written as it is
		return v.Pack(), nil
	}
	if err := addMember(&v, name, value, "\n"); err != nil {
		return nil, err
	}
	return v.Pack(), nil
}

// addMember puts a new member at the end of an object whose closing brace stands after
// outer: a line break and the object's indentation.
func addMember(v *hujson.Value, name string, value []byte, outer string) error {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return errors.New("it is no JSON object")
	}
	inner := outer + "  "
	key, rest, dotted := strings.Cut(name, ".")
	if dotted {
		for i, m := range object.Members {
			if nameOf(m) == key {
				return addMember(&object.Members[i].Value, rest, value, inner)
			}
		}
		parts := strings.Split(rest, ".")
		for _, part := range slices.Backward(parts) {
			value = []byte("{" + string(hujson.String(part)) + ": " + string(value) + "}")
		}
	}
	before := []byte(inner)
	switch left := bytes.TrimRight(object.AfterExtra, " \t\r\n"); {
	case len(left) > 0: // a comment behind the last member stays there
		before, object.AfterExtra = append(bytes.Clone(left), inner...), hujson.Extra(outer)
	case len(object.Members) == 0:
		object.AfterExtra = hujson.Extra(outer)
	}
	object.Members = append(object.Members, hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: before, Value: hujson.String(key)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: hujson.Literal(value)},
	})
	return nil
}

// EditFile changes the content of a settings file, which need not be there.
func EditFile(path string, change func([]byte) ([]byte, error)) error {
	data, err := os.ReadFile(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		data, err = change(data)
	}
	if bad, ok := errors.AsType[*Error](err); ok && bad.File+bad.Var+bad.Flag == "" {
		bad.File = path
	}
	if err != nil {
		return err
	}
	return WriteFile(path, data)
}

// WriteFile writes a file whole: readers see the old content or the new. Its folder is
// made, links are followed, a file that is there keeps its permissions, and a new one is
// for the user alone.
func WriteFile(path string, data []byte) (err error) {
	perm := fs.FileMode(0o600)
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(perm), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
