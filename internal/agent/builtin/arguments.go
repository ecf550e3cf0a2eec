package builtin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
)

// arguments are those of one call. Models write numbers and booleans as strings at
// times, and null for what they leave out; members that are not known are passed over.
type arguments struct {
	op      string
	example string // of a call, for errors
	object  []byte
	err     error // the first thing that is wrong; what is read afterwards means nothing
}

func (a *arguments) bad(name, what string) {
	if a.err != nil {
		return
	}
	hint := ""
	if a.example != "" {
		hint = "call it with " + a.example
	}
	a.err = &Error{Op: a.op, Subject: name, Err: wrong(what), Hint: hint}
}

func parseArguments(op, example string, data json.RawMessage) *arguments {
	a := &arguments{op: op, example: example}
	at := jsonx.Space(data, 0)
	end, err := jsonx.Scan(data, at)
	if err != nil || jsonx.Space(data, end) != len(data) || !jsonx.IsObject(data[at:]) {
		a.bad("", "the arguments are no JSON object")
		return a
	}
	a.object = data[at:end]
	return a
}

// A tool's arguments are a struct, whose fields have tags: arg is the name, with "!" where it can't be left out; about
// is what the model is told; of a number, least is what the model is told, and most the largest; unset is what stands
// for nothing, and for the number 0.

// eachField calls fn for the fields of a struct of arguments.
func eachField(t reflect.Type, fn func(f reflect.StructField, name string, needed bool)) {
	for _, f := range reflect.VisibleFields(t) {
		if name, needed := strings.CutSuffix(f.Tag.Get("arg"), "!"); name != "" {
			fn(f, name, needed)
		}
	}
}

// schema is what a model is told of arguments.
func schema(t reflect.Type) json.RawMessage {
	var properties, required []string
	eachField(t, func(f reflect.StructField, name string, needed bool) {
		kind := map[reflect.Kind]string{reflect.Int: "integer", reflect.Float64: "number", reflect.Bool: "boolean", reflect.Slice: "array"}[f.Type.Kind()]
		about := `"type": ` + strconv.Quote(cmp.Or(kind, "string"))
		if least := f.Tag.Get("least"); least != "" {
			about += `, "minimum": ` + least
		}
		if most := f.Tag.Get("most"); most != "" {
			about += `, "maximum": ` + most
		}
		if says := f.Tag.Get("about"); says != "" {
			about += `, "description": ` + strconv.Quote(says)
		}
		if kind == "array" {
			about += `, "minItems": 1, "items": ` + string(schema(f.Type.Elem()))
		}
		properties = append(properties, strconv.Quote(name)+": {"+about+"}")
		if needed {
			required = append(required, strconv.Quote(name))
		}
	})
	out := `{"type": "object", "properties": {` + strings.Join(properties, ", ") + "}"
	if required != nil {
		out += `, "required": [` + strings.Join(required, ", ") + "]"
	}
	return json.RawMessage(out + "}")
}

// parameters is the schema of a type of arguments.
func parameters[A any]() json.RawMessage { return schema(reflect.TypeFor[A]()) }

// read reads the texts, numbers and booleans of a struct of arguments.
func read[A any](a *arguments) (args A) {
	to := reflect.ValueOf(&args).Elem()
	eachField(to.Type(), func(f reflect.StructField, name string, needed bool) {
		v, raw := to.FieldByIndex(f.Index), jsonx.Get(a.object, name)
		if jsonx.IsNull(raw) {
			if raw = []byte(f.Tag.Get("unset")); needed && f.Type.Kind() != reflect.Slice { // lists are read by list
				a.bad(name, "the argument is missing")
			}
			if f.Type.Kind() == reflect.String {
				v.SetString(string(raw))
				return
			}
			if len(raw) == 0 {
				return
			}
		}
		s, isText := jsonx.String(raw)
		word := strings.TrimSpace(s)
		if !isText {
			word = strings.TrimSpace(string(raw))
		}
		switch f.Type.Kind() {
		case reflect.String:
			if !isText {
				a.bad(name, "the argument is no string")
			}
			v.SetString(strings.Clone(s))
		case reflect.Bool:
			if word != "true" && word != "false" {
				a.bad(name, "the argument is neither true nor false")
			}
			v.SetBool(word == "true")
		case reflect.Int, reflect.Float64:
			most, _ := strconv.ParseFloat(f.Tag.Get("most"), 64)
			n, err := strconv.ParseFloat(word, 64)
			if err != nil || math.IsNaN(n) || n < 0 || n > most {
				a.bad(name, fmt.Sprintf("the argument is no number from 0 to %.0f", most))
			}
			unset, _ := strconv.ParseFloat(f.Tag.Get("unset"), 64)
			switch n = cmp.Or(n, unset); {
			case f.Type.Kind() == reflect.Float64:
				v.SetFloat(n)
			case n != math.Trunc(n):
				a.bad(name, "the argument is no whole number")
			default:
				v.SetInt(int64(n))
			}
		default:
		}
	})
	return args
}

// list returns what a list has in it. It may be written as text.
func (a *arguments) list(name string) (items [][]byte) {
	v := jsonx.Get(a.object, name)
	if s, ok := jsonx.String(v); ok {
		v = []byte(strings.TrimSpace(s))
		if end, err := jsonx.Scan(v, 0); err != nil || end != len(v) {
			a.bad(name, "the argument is no list")
			return nil
		}
	}
	switch {
	case jsonx.IsObject(v):
		return [][]byte{v}
	case jsonx.IsArray(v):
		jsonx.Elements(v, func(item []byte) bool { items = append(items, item); return true })
	case !jsonx.IsNull(v):
		a.bad(name, "the argument is no list")
	}
	return items
}
