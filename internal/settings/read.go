package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/vfs"
)

// inFile reads one file.
type inFile struct {
	s       *Settings
	scratch []Key // to try values out
	path    string
	from    Source
	seen    map[string]int // key → line
}

// file takes what a file says, or a text that takes the place of what is in it.
func (s *Settings) file(path string, text []byte, from Source) error {
	root, err := readFile(path)
	if text != nil {
		root, err = parse(path, text)
	}
	if err != nil || root == nil {
		return err
	}
	f := &inFile{s: s, scratch: Keys(), path: path, from: from, seen: map[string]int{}}
	return f.members(root)
}

func (f *inFile) bad(n *node, problem, hint string) error {
	return &Error{File: f.path, Line: n.line, Key: n.name, Problem: problem, Hint: hint}
}

func (f *inFile) members(of *node) error {
	for _, n := range of.kids {
		only := slices.IndexFunc(onlyInFiles, func(o onlyInFile) bool { return o.name == n.name })
		at := slices.IndexFunc(f.scratch, func(k Key) bool { return k.Name == n.name || k.isOther(n.name) })
		var err error
		switch {
		case only >= 0:
			err = onlyInFiles[only].read(f, n)
		case at >= 0:
			err = f.scalar(n, f.scratch[at])
		case n.raw == nil && slices.ContainsFunc(f.names(), func(name string) bool { return strings.HasPrefix(name, n.name+".") }):
			err = f.members(n)
		default:
			err = f.unknown(n, n.name, f.names(), "docs/settings.md lists the settings")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unknown says that a name is none of those that may stand here.
func (f *inFile) unknown(n *node, name string, names []string, hint string) error {
	if near := text.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return f.bad(n, "there is no such setting", hint)
}

func (f *inFile) names() []string {
	var names []string
	for _, o := range onlyInFiles {
		names = append(names, o.name)
	}
	for _, k := range f.scratch {
		names = append(names, k.Name)
		for _, o := range k.Other {
			if !o.Env {
				names = append(names, o.Name)
			}
		}
	}
	return names
}

// scalar takes a value. It is read here already, so that a mistake in a file is found
// although the environment says something else.
func (f *inFile) scalar(n *node, k Key) error {
	if line, ok := f.seen[k.Name]; ok {
		return f.bad(n, fmt.Sprintf("line %d sets the same", line), "leave one of them out")
	}
	f.seen[k.Name] = n.line
	text, err := n.scalar(k.set)
	if err != nil {
		return f.bad(n, err.Error(), "")
	}
	if why := f.notForProjects(k.Name, text); why == "" || f.mayUse(n, n.name+" is passed over, for "+why) {
		f.s.values[k.Name] = said{text, Origin{f.from, f.path, n.line}, n.name}
	}
	return nil
}

// notForProjects says why a project that is not trusted can't set a key to a value, ""
// where it can.
func (f *inFile) notForProjects(key, text string) string {
	freedom := func(mode string) int { return slices.Index(Modes(), mode) }
	switch {
	case key == "model", key == "summarizer.model":
		return "a project does not choose who reads the conversation"
	case key == "database", key == "blobs":
		return "a project does not choose where conversations are kept"
	case key == "agent.mode" && freedom(text) > freedom(cmp.Or(f.s.values[key].text, modeAsk)):
		return "a project does not choose what is done without asking"
	case key == "agent.webFetch" && text != "off":
		return "a project does not choose which servers are asked"
	}
	return ""
}

// folder is the one that the file lies in; project is that of the project whose file it is.
func (f *inFile) folder() string {
	abs, err := filepath.Abs(f.path)
	if err != nil {
		abs = f.path
	}
	return filepath.Dir(abs)
}

func (f *inFile) project() string { return filepath.Dir(f.folder()) }

// mayUse reports whether what needs trust may be used, and warns if not, unless there is
// nothing. The user trusts a project by its folder; links are followed on both sides, so that
// it has one name.
func (f *inFile) mayUse(n *node, why string) bool {
	dir := vfs.Real(f.project())
	if f.from != FromProject || f.s.trustAll || slices.ContainsFunc(f.s.trust, func(d string) bool { return vfs.Real(d) == dir }) {
		return true
	}
	if len(n.kids)+len(n.list) > 0 || n.raw != nil && n.list == nil {
		f.s.Warnings = append(f.s.Warnings, fmt.Sprintf("%s:%d: %s; to allow it, put %q into trustProjectHooks in your own settings", f.path, n.line, why, f.project()))
	}
	return false
}

// each calls fn for each member of an object with a provider, a server, a model for each key.
func (f *inFile) each(n *node, what, example string, fn func(kid *node) error) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object with "+what+" for each key", "such as "+example)
	}
	for _, kid := range n.kids {
		if err := fn(kid); err != nil {
			return err
		}
	}
	return nil
}

// object reads an object into a struct: each member to where own says, or into the field
// whose tag json names it.
func (f *inFile) object(n *node, to any, own map[string]any) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object", "")
	}
	fields := map[string]any{}
	for field, v := range reflect.ValueOf(to).Elem().Fields() {
		if name := field.Tag.Get("json"); name != "" && name != "-" {
			fields[name] = v.Addr().Interface()
		}
	}
	maps.Copy(fields, own)
	for _, kid := range n.kids {
		if fields[kid.key] == nil {
			names := slices.Sorted(maps.Keys(fields))
			return f.unknown(kid, kid.key, names, "there are "+strings.Join(names, ", "))
		}
		if err := f.field(kid, fields[kid.key]); err != nil {
			return err
		}
	}
	return nil
}

// field reads what the type of a field can hold, or what a setter takes.
func (f *inFile) field(n *node, to any) (err error) {
	switch to := to.(type) {
	case *string:
		if err = f.text(n, to); err == nil && strings.TrimSpace(*to) == "" {
			err = f.bad(n, "it is empty", "write something, or leave it out")
		}
		return err
	case *[]string:
		return f.texts(n, to)
	case *map[string]string:
		return f.named(n, to)
	case *bool:
		return f.decode(n, to, "true or false")
	case *time.Duration:
		_, err = n.scalar(into(to, timeout))
	case *compact.Amount:
		_, err = n.scalar(into(to, compact.ParseAmount))
	case *float64:
		_, err = n.scalar(into(to, price))
	case setter:
		_, err = n.scalar(to)
	default:
		return f.decode(n, to, "a whole number")
	}
	if err != nil {
		err = f.bad(n, err.Error(), "")
	}
	return err
}

// decode reads a value that is no object.
func (f *inFile) decode(n *node, to any, what string) error {
	if n.raw == nil || string(n.raw) == "null" || json.Unmarshal(n.raw, to) != nil {
		return f.bad(n, "it must be "+what, "")
	}
	return nil
}

// text reads a text that programs and headers can be given. Arguments and command lines may
// have line breaks.
func (f *inFile) text(n *node, to *string) error {
	err := f.decode(n, to, "a text")
	lines := n.key == "args" || n.key == "command"
	if err == nil && (strings.Contains(*to, "\x00") || !lines && strings.ContainsAny(*to, "\r\n")) {
		err = f.bad(n, "it has a line break or a zero byte in it", "take it out")
	}
	return err
}

// texts reads a list of texts.
func (f *inFile) texts(n *node, to *[]string) error {
	*to = []string{}
	var items []*string
	if err := f.decode(n, &items, "a list of texts"); err != nil {
		return err
	}
	for i, item := range items {
		if item == nil || n.key != "args" && strings.TrimSpace(*item) == "" {
			return f.bad(n, fmt.Sprintf("number %d is empty", i+1), "write something, or leave it out")
		}
		one := *n
		one.raw = n.list[i].raw
		if err := f.text(&one, item); err != nil {
			return err
		}
		*to = append(*to, *item)
	}
	return nil
}

// named reads an object of texts.
func (f *inFile) named(n *node, to *map[string]string) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object of texts", `such as {"NAME": "value"}`)
	}
	*to = map[string]string{}
	for _, kid := range n.kids {
		var text string
		if kid.key == "" || strings.ContainsAny(kid.key, "=: \t\r\n\x00") {
			return f.bad(kid, fmt.Sprintf("%q is no name", kid.key), "write a name without blanks, = and :")
		}
		if err := f.text(kid, &text); err != nil {
			return err
		}
		(*to)[kid.key] = text
	}
	return nil
}
