package wire

import (
	"bytes"

	"github.com/clew-dev/clew/internal/jsonx"
)

// tree is a JSON value with the places of what is in it, read in one pass.
type tree struct {
	raw   []byte
	nodes []node // each before what is in it
	sound []span // in raw, those to come: values that need no reading
}

type node struct {
	key  []byte // of a member
	span        // in tree.raw
	next int    // index of the node behind this one and all that is in it
}

// span is a place in the bytes of a message, which has less than 2 GB. The zero value
// is no place.
type span struct{ from, to int32 }

func (s span) of(raw []byte) []byte { return raw[s.from:s.to] }

// treeDepth is how deep a tree looks into a value: arguments and schemas may be deeper.
const treeDepth = 8

// read replaces the tree by that of the value in raw. It returns the index just past it.
func (t *tree) read(raw []byte, sound []span) (end int, err error) {
	t.raw, t.nodes, t.sound = raw, t.nodes[:0], sound
	return t.value(nil, jsonx.Space(raw, 0), 0)
}

func (t *tree) value(key []byte, at, depth int) (end int, err error) {
	n := len(t.nodes)
	t.nodes = append(t.nodes, node{key: key})
	switch {
	case len(t.sound) > 0 && int(t.sound[0].from) == at:
		end, t.sound = int(t.sound[0].to), t.sound[1:]
	case depth < treeDepth && at < len(t.raw) && t.raw[at] == '{':
		end, err = jsonx.ScanObject(t.raw, at, func(key []byte, at int) (int, error) { return t.value(key, at, depth+1) })
	case depth < treeDepth && at < len(t.raw) && t.raw[at] == '[':
		end, err = jsonx.ScanArray(t.raw, at, func(at int) (int, error) { return t.value(nil, at, depth+1) })
	default:
		end, err = jsonx.ScanAt(t.raw, at, depth)
	}
	t.nodes[n].span, t.nodes[n].next = span{int32(at), int32(end)}, len(t.nodes) //nolint:gosec // see span
	return end, err
}

func (t *tree) root() val { return val{t, 0} }

// val is a value in a tree. The zero val stands for one that is absent.
type val struct {
	t *tree
	n int
}

func (x val) span() span {
	if x.t == nil {
		return span{}
	}
	return x.t.nodes[x.n].span
}

func (x val) raw() []byte {
	if x.t == nil {
		return nil
	}
	return x.span().of(x.t.raw)
}

func (x val) each(fn func(val)) {
	if x.t == nil {
		return
	}
	for i := x.n + 1; i < x.t.nodes[x.n].next; i = x.t.nodes[i].next {
		fn(val{x.t, i})
	}
}

func (x val) count() (n int) {
	x.each(func(val) { n++ })
	return n
}

// get returns the last member of an object that has the name.
func (x val) get(name string) (member val) {
	x.each(func(v val) {
		if string(x.t.nodes[v.n].key) == name {
			member = v
		}
	})
	return member
}

func (x val) str() (string, bool) { return jsonx.String(x.raw()) }
func (x val) isObject() bool      { return jsonx.IsObject(x.raw()) }
func (x val) isArray() bool       { return jsonx.IsArray(x.raw()) }

// blank reports whether a string is nothing but white space. Few are read for it
// beyond their first characters.
func (x val) blank() bool {
	raw := x.raw()
	if !jsonx.IsString(raw) {
		return true
	}
	rest := bytes.TrimSpace(raw[1 : len(raw)-1])
	if len(rest) > 0 && rest[0] != '\\' {
		return false
	}
	text, _ := x.str()
	return blank(text)
}
