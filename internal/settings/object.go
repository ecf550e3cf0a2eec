package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/text"
)

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

// object reads an object into a struct, nil for none: each member as own says, or into the
// field whose tag json names it.
func (f *inFile) object(n *node, to any, own map[string]func(*node) error) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object", "")
	}
	read := map[string]func(*node) error{}
	if to != nil {
		for field, v := range reflect.ValueOf(to).Elem().Fields() {
			if name := field.Tag.Get("json"); name != "" && name != "-" {
				read[name] = func(kid *node) error { return f.field(kid, v.Addr().Interface()) }
			}
		}
	}
	maps.Copy(read, own)
	for _, kid := range n.kids {
		if read[kid.key] == nil {
			return f.unknownOf(kid, slices.Sorted(maps.Keys(read)))
		}
		if err := read[kid.key](kid); err != nil {
			return err
		}
	}
	return nil
}

// unknownOf says that a key is none of those that may stand here.
func (f *inFile) unknownOf(n *node, names []string) error {
	hint := "there are " + strings.Join(names, ", ")
	if near := text.Nearest(n.key, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return f.bad(n, "there is no such setting", hint)
}

// field reads what the type of a field can hold.
func (f *inFile) field(n *node, to any) error {
	switch to := to.(type) {
	case *string:
		return f.text(n, to)
	case *[]string:
		return f.list(n, to)
	case *map[string]string:
		return f.texts(n, to)
	case *time.Duration:
		return f.value(n, func(text string) error { return setTimeout(to, text) })
	case *compact.Amount:
		return f.value(n, func(text string) error { return setAmount(to, text) })
	case *float64:
		return f.value(n, func(text string) error { return setPrice(to, text) })
	case *int64:
		return f.decode(n, to, "a whole number")
	default:
		return f.decode(n, to, "true or false")
	}
}

// value reads a number, a text or a truth value.
func (f *inFile) value(n *node, set func(text string) error) error {
	text, err := scalarText(n)
	if err == nil {
		err = set(text)
	}
	if err != nil {
		return f.bad(n, err.Error(), "")
	}
	return nil
}

// text reads a text that says something.
func (f *inFile) text(n *node, to *string) error {
	if err := f.decode(n, to, "a text"); err != nil {
		return err
	}
	if strings.TrimSpace(*to) == "" {
		return f.bad(n, "it is empty", "write something, or leave it out")
	}
	return f.clean(n, *to)
}

// list reads a list of texts.
func (f *inFile) list(n *node, to *[]string) error {
	var items []*string
	if err := f.decode(n, &items, "a list of texts"); err != nil {
		return err
	}
	*to = []string{}
	for i, item := range items {
		if item == nil || n.key != "args" && strings.TrimSpace(*item) == "" {
			return f.bad(n, fmt.Sprintf("number %d is empty", i+1), "write something, or leave it out")
		}
		if err := f.clean(n, *item); err != nil {
			return err
		}
		*to = append(*to, *item)
	}
	return nil
}

// texts reads an object of texts.
func (f *inFile) texts(n *node, to *map[string]string) error {
	if n.raw != nil {
		return f.bad(n, "it must be an object of texts", `such as {"NAME": "value"}`)
	}
	*to = map[string]string{}
	for _, kid := range n.kids {
		var text string
		if err := f.decode(kid, &text, "a text"); err != nil {
			return err
		}
		if kid.key == "" || strings.ContainsAny(kid.key, "=: \t\r\n\x00") {
			return f.bad(kid, fmt.Sprintf("%q is no name", kid.key), "write a name without blanks, = and :")
		}
		if err := f.clean(kid, text); err != nil {
			return err
		}
		(*to)[kid.key] = text
	}
	return nil
}

// clean refuses what no program and no header can be given. Arguments and command lines may
// have line breaks.
func (f *inFile) clean(n *node, text string) error {
	lines := n.key == "args" || n.key == "command"
	if strings.Contains(text, "\x00") || !lines && strings.ContainsAny(text, "\r\n") {
		return f.bad(n, "it has a line break or a zero byte in it", "take it out")
	}
	return nil
}

// decode reads a value that is no object.
func (f *inFile) decode(n *node, to any, what string) error {
	if n.raw == nil || string(n.raw) == "null" || json.Unmarshal(n.raw, to) != nil {
		return f.bad(n, "it must be "+what, "")
	}
	return nil
}

// setTimeout reads a time such as 10s, or a number of seconds.
func setTimeout(to *time.Duration, v string) error {
	d, err := time.ParseDuration(v)
	if seconds, numErr := strconv.ParseFloat(v, 64); numErr == nil && seconds < 1e6 {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if *to = d; err != nil || d <= 0 {
		return fmt.Errorf(`it must be a time above 0, such as "10s", and is %s`, v)
	}
	return nil
}

// setPrice reads US dollars for a million tokens.
func setPrice(to *float64, v string) (err error) {
	if *to, err = strconv.ParseFloat(v, 64); err != nil || !(*to >= 0 && *to < 1e6) {
		return fmt.Errorf("%q is no price; write US dollars for a million tokens", v)
	}
	return nil
}

func put[V any](to *map[string]V, key string, v V) {
	if *to == nil {
		*to = map[string]V{}
	}
	(*to)[key] = v
}
