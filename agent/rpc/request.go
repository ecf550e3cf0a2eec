package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// request is a line from the client.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// answer is a line to the client: one of its members beside ID.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Result any             `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

const lineHint = `write {"id": 1, "method": "state"} and a line feed`

// parseRequest reads a line. With an error the request has the id, if there is one.
func parseRequest(line []byte) (request, *Error) {
	var r request
	bad := func(format string, args ...any) (request, *Error) {
		return r, &Error{CodeBadLine, fmt.Sprintf(format, args...), lineHint}
	}
	if !utf8.Valid(line) {
		return bad("the line is not UTF-8")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		return bad("the line is no JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := members[name]
		switch name {
		case "id":
			if !isID(raw) {
				return bad("the id is neither a text nor a whole number")
			}
			r.ID = raw
		case "method":
			if json.Unmarshal(raw, &r.Method) != nil {
				return bad("the method is no text")
			}
		case "params":
			if !bytes.Equal(raw, []byte("null")) {
				r.Params = raw
			}
		default:
			return bad("a request has no member %q", name)
		}
	}
	switch {
	case r.ID == nil:
		return bad("the request has no id, so it could not be answered")
	case r.Method == "":
		return bad("the request has no method")
	case r.Params != nil && r.Params[0] != '{':
		return bad("params is no JSON object")
	}
	return r, nil
}

func isID(raw json.RawMessage) bool {
	var text string
	var number int64
	return len(raw) <= 1000 && string(raw) != "null" && (json.Unmarshal(raw, &text) == nil || json.Unmarshal(raw, &number) == nil)
}

// decode reads params into a struct, and refuses what it has no field for.
func decode[P any](params json.RawMessage) (P, error) {
	var p P
	if params == nil {
		return p, nil
	}
	d := json.NewDecoder(bytes.NewReader(params))
	d.DisallowUnknownFields()
	err := d.Decode(&p)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return p, badParams("something follows the params", "")
		}
		return p, nil
	case errors.As(err, &wrong):
		return p, badParams(fmt.Sprintf("%s is a %s, and should be %s", wrong.Field, wrong.Value, kindOf(wrong.Type)), "")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name = strings.Trim(name, `"`)
		names := fields(reflect.TypeFor[P]())
		hint := "it takes none"
		if len(names) > 0 {
			hint = "there are " + strings.Join(names, ", ")
		}
		if near := text.Nearest(name, names); near != "" {
			hint = "did you mean " + near + "?"
		}
		return p, badParams(fmt.Sprintf("there is no parameter %q", name), hint)
	}
	return p, badParams("the params can't be read: "+strings.TrimPrefix(err.Error(), "json: "), "")
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "a text"
	}
}

// fields are the names of a struct's members in JSON.
func fields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			names = append(names, fields(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
