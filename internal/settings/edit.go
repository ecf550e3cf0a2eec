package settings

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

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
	if bad := (*Error)(nil); errors.As(err, &bad) && bad.File+bad.Var+bad.Flag == "" {
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
