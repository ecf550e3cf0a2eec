package chat

import (
	"bytes"
	"errors"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// The user's settings are JSON with comments and trailing commas, written by hand: a
// change touches the value that it is about, and nothing else.

// span is where a value stands.
type span struct{ from, to int }

// object is where the members of an object stand.
type object struct {
	open, close int // of the braces
	values      map[string]span
	last        int  // the end of the last value, 0 for none
	comma       bool // one follows the last value
}

var errNoObject = errors.New("it is no JSON object")

// readObject finds the members of the object at i, in a text without comments.
func readObject(p []byte, i int) (object, error) {
	o := object{values: map[string]span{}}
	if i = jsonx.Space(p, i); i >= len(p) || p[i] != '{' {
		return o, errNoObject
	}
	o.open = i
	for i = jsonx.Space(p, i+1); i < len(p) && p[i] != '}'; {
		end, err := jsonx.Scan(p, i)
		if err != nil {
			return o, err
		}
		key, ok := jsonx.String(p[i:end])
		if i = jsonx.Space(p, end); !ok || i >= len(p) || p[i] != ':' {
			return o, errNoObject
		}
		i = jsonx.Space(p, i+1)
		if end, err = valueEnd(p, i); err != nil {
			return o, err
		}
		o.values[key], o.last, o.comma = span{i, end}, end, false
		if i = jsonx.Space(p, end); i < len(p) && p[i] == ',' {
			o.comma = true
			i = jsonx.Space(p, i+1)
		}
	}
	if i >= len(p) {
		return o, errNoObject
	}
	o.close = i
	return o, nil
}

// valueEnd is the end of the value at i, in which commas may be too many.
func valueEnd(p []byte, i int) (int, error) {
	if i < len(p) && (p[i] == '{' || p[i] == '[') {
		depth := 0
		for i < len(p) {
			switch p[i] {
			case '"':
				end, err := jsonx.Scan(p, i)
				if err != nil {
					return 0, err
				}
				i = end
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1, nil
				}
			}
			i++
		}
		return 0, errNoObject
	}
	return jsonx.Scan(p, i)
}

// find returns where the value of a name stands, whose dots stand for objects in objects:
// under its whole name, or in them.
func find(p []byte, name string) (span, bool) {
	o, err := readObject(p, 0)
	if err != nil {
		return span{}, false
	}
	if at, ok := o.values[name]; ok {
		return at, true
	}
	before, after, ok := strings.Cut(name, ".")
	at, there := o.values[before]
	if !ok || !there {
		return span{}, false
	}
	if in, ok := find(p[at.from:at.to], after); ok {
		return span{at.from + in.from, at.from + in.to}, true
	}
	return span{}, false
}

// member returns the value of a name as JSON, nil for none.
func member(data []byte, name string) []byte {
	p := withoutComments(data)
	at, ok := find(p, name)
	if !ok {
		return nil
	}
	value := p[at.from:at.to]
	// A comma before the end of a list is none of JSON.
	if i := bytes.LastIndexByte(value, ','); i >= 0 && len(bytes.Trim(value[i+1:len(value)-1], " \t\r\n")) == 0 {
		value = append(bytes.Clone(value[:i]), value[i+1:]...)
	}
	return value
}

// setMember gives a name another value.
func setMember(data []byte, name string, value []byte) ([]byte, error) {
	p := withoutComments(data)
	if len(bytes.TrimSpace(p)) == 0 {
		data, p = append(data, "{}\n"...), append(p, "{}\n"...)
	}
	if at, ok := find(p, name); ok {
		return splice(data, at, value), nil
	}
	return addMember(data, p, 0, name, value, 1)
}

// addMember puts a new member into the object at i.
func addMember(data, p []byte, i int, name string, value []byte, depth int) ([]byte, error) {
	o, err := readObject(p, i)
	if err != nil {
		return nil, err
	}
	before, after, dotted := strings.Cut(name, ".")
	if at, ok := o.values[before]; ok && dotted {
		return addMember(data, p, at.from, after, value, depth+1)
	}
	indent := strings.Repeat("  ", depth)
	if dotted {
		value = []byte("{" + string(jsonx.Quote(after)) + ": " + string(value) + "}")
	}
	text := "\n" + indent + string(jsonx.Quote(before)) + ": " + string(value)
	if o.last == 0 {
		if len(bytes.TrimSpace(data[o.open+1:o.close])) == 0 {
			return splice(data, span{o.open + 1, o.close}, []byte(text+"\n"+indent[2:])), nil
		}
		return splice(data, span{o.open + 1, o.open + 1}, []byte(text)), nil
	}
	// A comment behind the last member stays where it is.
	at := o.last
	if n := bytes.IndexByte(p[at:o.close], '\n'); n >= 0 && len(bytes.Trim(p[at:at+n], " \t\r,")) == 0 {
		at += n
	} else if o.comma {
		at += bytes.IndexByte(p[at:], ',') + 1
	}
	out := splice(data, span{at, at}, []byte(text))
	if !o.comma {
		out = splice(out, span{o.last, o.last}, []byte(","))
	}
	return out, nil
}

func splice(data []byte, at span, with []byte) []byte {
	out := make([]byte, 0, len(data)+len(with))
	out = append(out, data[:at.from]...)
	out = append(out, with...)
	return append(out, data[at.to:]...)
}

// withoutComments makes comments blank, so that all else keeps its place.
func withoutComments(data []byte) []byte {
	out := bytes.Clone(data)
	if bytes.HasPrefix(out, []byte("\ufeff")) {
		copy(out, "   ")
	}
	for i := 0; i < len(out); i++ {
		switch {
		case out[i] == '"':
			end, err := jsonx.Scan(out, i)
			if err != nil {
				return out
			}
			i = end - 1
		case bytes.HasPrefix(out[i:], []byte("//")):
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case bytes.HasPrefix(out[i:], []byte("/*")):
			n := bytes.Index(out[i+2:], []byte("*/"))
			if n < 0 {
				return out
			}
			for end := i + n + 4; i < end; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			i--
		}
	}
	return out
}
