package rpc

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/agent"
	"github.com/clew-dev/clew/internal/agent/files"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
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
		return r, refuse(CodeBadLine, fmt.Sprintf(format, args...), lineHint)
	}
	if !utf8.Valid(line) {
		return bad("the line is not UTF-8")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil || members == nil {
		return bad("the line is no JSON object")
	}
	take := func(name string) json.RawMessage {
		defer delete(members, name)
		return members[name]
	}
	id, method, params := take("id"), take("method"), take("params")
	if isID(id) {
		r.ID = id
	}
	if string(params) != "null" {
		r.Params = params
	}
	switch err := json.Unmarshal([]byte(cmp.Or(string(method), `""`)), &r.Method); {
	case id == nil:
		return bad("the request has no id, so it could not be answered")
	case r.ID == nil:
		return bad("the id is neither a text nor a whole number")
	case err != nil:
		return bad("the method is no text")
	case r.Method == "":
		return bad("the request has no method")
	case r.Params != nil && r.Params[0] != '{':
		return bad("params is no JSON object")
	case len(members) > 0:
		return bad("a request has no member %q", slices.Min(slices.Collect(maps.Keys(members))))
	}
	return r, nil
}

func isID(raw json.RawMessage) bool {
	var text string
	var number int64
	return len(raw) <= 1000 && string(raw) != "null" && (json.Unmarshal(raw, &text) == nil || json.Unmarshal(raw, &number) == nil)
}

// decode reads params into a struct, and refuses what it has no field for.
func decode(t reflect.Type, params json.RawMessage) (reflect.Value, error) {
	to := reflect.New(t)
	p := to.Elem()
	if params == nil {
		return p, needed(p)
	}
	d := json.NewDecoder(bytes.NewReader(params))
	d.DisallowUnknownFields()
	err := d.Decode(to.Interface())
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return p, badParams("something follows the params", "")
		}
		return p, needed(p)
	case errors.As(err, &wrong):
		return p, badParams(fmt.Sprintf("%s is a %s, and should be %s", wrong.Field, wrong.Value, kindOf(wrong.Type)), "")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name, names := strings.Trim(name, `"`), fields(t)
		hint := "it takes none"
		if len(names) > 0 {
			hint = "there are " + strings.Join(names, ", ")
		}
		return p, badParams(fmt.Sprintf("there is no parameter %q", name), meant(name, names, hint))
	}
	return p, badParams("the params can't be read: "+strings.TrimPrefix(err.Error(), "json: "), "")
}

// meant is a hint for a name that there is not.
func meant[S ~string](name S, names []S, otherwise string) string {
	var all []string
	for _, n := range names {
		all = append(all, string(n))
	}
	if near := text.Nearest(string(name), all); near != "" {
		return "did you mean " + near + "?"
	}
	return otherwise
}

// needed reports a member that has the tag `rpc:"needed"` and is empty.
func needed(params reflect.Value) error {
	for _, f := range reflect.VisibleFields(params.Type()) {
		if f.Tag.Get("rpc") == "needed" && params.FieldByIndex(f.Index).IsZero() {
			return badParams(fmt.Sprintf("the parameter %s is missing or empty", f.Tag.Get("json")), "clew help rpc describes the methods")
		}
	}
	return nil
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
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous {
			names = append(names, name)
		}
	}
	return names
}

// The codes of an Error.
const (
	CodeBadLine       = "bad_line"       // the line is no request; nothing was done
	CodeUnknownMethod = "unknown_method" // nothing was done
	CodeBadParams     = "bad_params"     // nothing was done
	CodeBusy          = "busy"           // the agent is at work: wait, or cancel
	CodeTooMany       = "too_many"       // too many requests are under way
	CodeClosed        = "closed"         // the session is not in use any more
	CodeNotFound      = "not_found"      // no entry, question, file or queued message has the name
	CodeLater         = "later"          // turns came after the pass: undo with keepLater, or navigate
	CodeLocked        = "locked"         // another program has the session open
	CodeChanged       = "changed"        // somebody else has changed the files since: restore with force
	CodeCancelled     = "cancelled"      // it was cancelled, and changed nothing
	CodeFailed        = "failed"         // anything else; the message says what
)

// Error is what an answer has in place of a result.
type Error = agent.RemoteError

func refuse(code, message, hint string) *Error {
	return &Error{Code: code, Message: message, Hint: hint}
}

func badParams(message, hint string) *Error { return refuse(CodeBadParams, message, hint) }

// errorOf makes an Error of what a method returned.
func errorOf(err error) *Error {
	if own := (*Error)(nil); errors.As(err, &own) {
		return own
	}
	e := &Error{Code: CodeFailed, Message: err.Error()}
	if rich := (*agent.Error)(nil); errors.As(err, &rich) && rich.Hint != "" {
		if cut, ok := strings.CutSuffix(e.Message, "; "+rich.Hint); ok {
			e.Message, e.Hint = cut, rich.Hint
		}
	}
	for _, c := range codes {
		if errors.Is(err, c.of) {
			e.Code = c.code
			return e
		}
	}
	switch {
	case errors.As(err, new(*session.LaterError)):
		e.Code, e.Hint = CodeLater, cmp.Or(e.Hint, "undo with keepLater, or navigate to before the pass")
	case agent.IsCancelled(err):
		e.Code = CodeCancelled
	}
	return e
}

// codes are those of errors, of which the first counts.
var codes = []struct {
	of   error
	code string
}{
	{files.ErrChanged, CodeChanged},
	{agent.ErrBusy, CodeBusy},
	{agent.ErrClosed, CodeClosed},
	{jsonl.ErrLocked, CodeLocked},
	{session.ErrNotFound, CodeNotFound},
	{agent.ErrNotAsked, CodeNotFound},
	{agent.ErrNotQueued, CodeNotFound},
	{fs.ErrNotExist, CodeNotFound},
}
