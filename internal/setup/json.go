package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tailscale/hujson"
)

// document is a JSON file with comments in the making. What is not touched keeps its bytes.
type document struct {
	root hujson.Value
	unit string // of indentation
}

func parse(data []byte) (*document, error) {
	d := &document{unit: "  "}
	if len(bytes.TrimSpace(data)) == 0 {
		d.root = hujson.Value{Value: &hujson.Object{}, AfterExtra: hujson.Extra("\n")}
		return d, nil
	}
	var err error
	if d.root, err = hujson.Parse(data); err != nil {
		return nil, err
	}
	obj, ok := d.root.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("it is not an object")
	}
	if len(obj.Members) > 0 {
		before := string(obj.Members[0].Name.BeforeExtra)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 && strings.TrimSpace(before[i:]) == "" && len(before) > i+1 {
			d.unit = before[i+1:]
		}
	}
	return d, nil
}

// bytes returns the file, nil where nothing is left in it.
func (d *document) bytes(data []byte) []byte {
	if obj := d.root.Value.(*hujson.Object); len(obj.Members) == 0 && len(bytes.TrimSpace(obj.AfterExtra)) == 0 && len(bytes.TrimSpace(data)) > 2 {
		return nil
	}
	return d.root.Pack()
}

func (d *document) indent(depth int) string { return "\n" + strings.Repeat(d.unit, depth) }

// value makes a value that is indented as if it stood at a depth.
func (d *document) value(v any, depth int) (hujson.Value, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent(strings.Repeat(d.unit, depth), d.unit)
	if err := enc.Encode(v); err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse(bytes.TrimSpace(out.Bytes()))
}

// child returns the value of a key, an object or an array like made; it is made where there
// is none, at a depth.
func (d *document) child(obj *hujson.Object, key string, depth int, made hujson.ValueTrimmed) (hujson.ValueTrimmed, error) {
	if v := member(obj, key); v != nil {
		if v.Value.Kind() != made.Kind() {
			return nil, fmt.Errorf("%q in it is of another kind than it should be", key)
		}
		return v.Value, nil
	}
	d.put(obj, key, hujson.Value{BeforeExtra: hujson.Extra(" "), Value: made}, depth)
	return made, nil
}

func member(obj *hujson.Object, key string) *hujson.Value {
	for i := range obj.Members {
		if l, ok := obj.Members[i].Name.Value.(hujson.Literal); ok && l.String() == key {
			return &obj.Members[i].Value
		}
	}
	return nil
}

// put adds a member at the end. Comments before the end stay before it.
func (d *document) put(obj *hujson.Object, key string, v hujson.Value, depth int) {
	before := strings.TrimRight(string(obj.AfterExtra), " \t\r\n") + d.indent(depth)
	obj.Members = append(obj.Members, hujson.ObjectMember{Name: hujson.Value{BeforeExtra: hujson.Extra(before), Value: hujson.String(key)}, Value: v})
	obj.AfterExtra = hujson.Extra(d.indent(depth - 1))
}

// remove takes a member out.
func remove(obj *hujson.Object, key string) {
	for i := range obj.Members {
		if l, ok := obj.Members[i].Name.Value.(hujson.Literal); !ok || l.String() != key {
			continue
		}
		if i == len(obj.Members)-1 {
			obj.AfterExtra = hujson.Extra(strings.TrimRight(string(obj.Members[i].Name.BeforeExtra), " \t\r\n") + string(obj.AfterExtra))
		}
		obj.Members = append(obj.Members[:i:i], obj.Members[i+1:]...)
		if len(obj.Members) == 0 && len(bytes.TrimSpace(obj.AfterExtra)) == 0 {
			obj.AfterExtra = nil
		}
		return
	}
}

// server registers the MCP server below a key of the settings.
func server(key, program string, entry func(command string, args []string) any) func([]byte, *Options) ([]byte, error) {
	args := []string{"mcp"}
	if program != "" {
		args = append(args, "--program", program)
	}
	return func(data []byte, o *Options) ([]byte, error) {
		d, err := parse(data)
		if err != nil {
			return nil, err
		}
		root := d.root.Value.(*hujson.Object)
		if o.Undo {
			if v := member(root, key); v != nil {
				if servers, ok := v.Value.(*hujson.Object); ok && member(servers, "clew") != nil {
					remove(servers, "clew")
					if len(servers.Members) == 0 {
						remove(root, key)
					}
					return d.bytes(data), nil
				}
			}
			return data, nil
		}
		got, err := d.child(root, key, 1, &hujson.Object{})
		if err != nil {
			return nil, err
		}
		servers := got.(*hujson.Object)
		v, err := d.value(entry(o.Command, args), 2)
		if err != nil {
			return nil, err
		}
		if old := member(servers, "clew"); old != nil {
			if same(*old, v) {
				return data, nil
			}
			old.Value = v.Value
			return d.root.Pack(), nil
		}
		v.BeforeExtra = hujson.Extra(" ")
		d.put(servers, "clew", v, 2)
		return d.root.Pack(), nil
	}
}

func same(a, b hujson.Value) bool {
	a, b = a.Clone(), b.Clone()
	a.Minimize()
	b.Minimize()
	return bytes.Equal(a.Pack(), b.Pack())
}

// stdio is a server as Claude Code and Gemini CLI name one, local as opencode does.
func stdio(command string, args []string) any {
	return struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{command, args}
}

func local(command string, args []string) any {
	return struct {
		Type    string   `json:"type"`
		Command []string `json:"command"`
		Enabled bool     `json:"enabled"`
	}{"local", append([]string{command}, args...), true}
}

// group is an entry below an event of the hooks.
type group struct {
	Matcher string    `json:"matcher,omitempty"`
	Hooks   []command `json:"hooks"`
}

type command struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout"` // seconds
}

// hookSeconds is how long a program waits; the hook itself gives up before.
const hookSeconds = 15

var ourHook = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bclew(\.exe)?"? hook [a-z-]+$`) })

// hooks registers clew hook for the events that it answers.
func hooks(program string) func([]byte, *Options) ([]byte, error) {
	return func(data []byte, o *Options) ([]byte, error) {
		d, err := parse(data)
		if err != nil {
			return nil, err
		}
		root := d.root.Value.(*hujson.Object)
		line := o.shell() + " hook " + program
		if !o.Undo && registered(root, line) {
			return data, nil
		}
		changed, err := unhook(root, line)
		switch {
		case err != nil:
			return nil, err
		case o.Undo && !changed:
			return data, nil
		case o.Undo:
			return d.bytes(data), nil
		}
		got, err := d.child(root, "hooks", 1, &hujson.Object{})
		if err != nil {
			return nil, err
		}
		for _, event := range hookEvents {
			list, err := d.child(got.(*hujson.Object), event.name, 2, &hujson.Array{})
			if err != nil {
				return nil, err
			}
			v, err := d.value(group{event.matcher, []command{{"command", line, hookSeconds}}}, 3)
			if err != nil {
				return nil, err
			}
			arr := list.(*hujson.Array)
			v.BeforeExtra = hujson.Extra(strings.TrimRight(string(arr.AfterExtra), " \t\r\n") + d.indent(3))
			arr.Elements = append(arr.Elements, v)
			arr.AfterExtra = hujson.Extra(d.indent(2))
		}
		return d.root.Pack(), nil
	}
}

var hookEvents = []struct{ name, matcher string }{{"SessionStart", "compact|resume"}, {"UserPromptSubmit", ""}}

// registered reports whether each event has the hook.
func registered(root *hujson.Object, line string) bool {
	quoted := []byte(hujson.String(line))
	v := member(root, "hooks")
	if v == nil {
		return false
	}
	obj, ok := v.Value.(*hujson.Object)
	for _, event := range hookEvents {
		if !ok {
			return false
		}
		if of := member(obj, event.name); of == nil || !bytes.Contains(of.Pack(), quoted) {
			return false
		}
	}
	return true
}

// unhook takes the hooks of clew out, and what is empty without them.
func unhook(root *hujson.Object, line string) (changed bool, err error) {
	v := member(root, "hooks")
	if v == nil {
		return false, nil
	}
	events, ok := v.Value.(*hujson.Object)
	if !ok {
		return false, errors.New(`"hooks" in it is no object`)
	}
	for _, event := range hookEvents {
		of := member(events, event.name)
		if of == nil {
			continue
		}
		arr, ok := of.Value.(*hujson.Array)
		if !ok {
			return false, fmt.Errorf("%q in it is no list", event.name)
		}
		for i := len(arr.Elements) - 1; i >= 0; i-- {
			std := arr.Elements[i].Clone()
			std.Standardize()
			var g group
			if json.Unmarshal(std.Pack(), &g) != nil || len(g.Hooks) != 1 || g.Hooks[0].Command != line && !ourHook().MatchString(g.Hooks[0].Command) {
				continue
			}
			if i == len(arr.Elements)-1 {
				arr.AfterExtra = hujson.Extra(strings.TrimRight(string(arr.Elements[i].BeforeExtra), " \t\r\n") + string(arr.AfterExtra))
			}
			arr.Elements = append(arr.Elements[:i:i], arr.Elements[i+1:]...)
			changed = true
		}
		if len(arr.Elements) == 0 && changed {
			remove(events, event.name)
		}
	}
	if changed && len(events.Members) == 0 {
		remove(root, "hooks")
	}
	return changed, nil
}
