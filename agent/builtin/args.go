package builtin

import (
	"encoding/json"
	"fmt"
	"math"
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
}

func (a arguments) bad(name, what string) error {
	hint := ""
	if a.example != "" {
		hint = "call it with " + a.example
	}
	return &Error{Op: a.op, Subject: name, Err: wrong(what), Hint: hint}
}

func parseArguments(op, example string, data json.RawMessage) (arguments, error) {
	a := arguments{op: op, example: example}
	at := jsonx.Space(data, 0)
	end, err := jsonx.Scan(data, at)
	if err != nil || jsonx.Space(data, end) != len(data) || !jsonx.IsObject(data[at:]) {
		return a, a.bad("", "the arguments are no JSON object")
	}
	a.object = data[at:end]
	return a, nil
}

// text returns a string; set is false when it is left out.
func (a arguments) text(name string) (s string, set bool, err error) {
	v := jsonx.Get(a.object, name)
	if jsonx.IsNull(v) {
		return "", false, nil
	}
	s, ok := jsonx.String(v)
	if !ok {
		return "", false, a.bad(name, "the argument is no string")
	}
	return strings.Clone(s), true, nil
}

// need returns a string that can't be left out. It may be empty.
func (a arguments) need(name string) (string, error) {
	s, set, err := a.text(name)
	if err == nil && !set {
		err = a.bad(name, "the argument is missing")
	}
	return s, err
}

// number returns a number, or unset when it is left out.
func (a arguments) number(name string, unset, low, high float64) (float64, error) {
	v := jsonx.Get(a.object, name)
	if jsonx.IsNull(v) {
		return unset, nil
	}
	n, ok := jsonx.Float(v)
	if s, isText := jsonx.String(v); isText {
		parsed, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		n, ok = parsed, err == nil
	}
	if !ok || math.IsNaN(n) || n < low || n > high {
		return 0, a.bad(name, fmt.Sprintf("the argument is no number from %.0f to %.0f", low, high))
	}
	return n, nil
}

// count is number for whole numbers from 1 on. 0 stands for left out.
func (a arguments) count(name string, unset, high int) (int, error) {
	n, err := a.number(name, float64(unset), 0, float64(high))
	if err == nil && n != math.Trunc(n) {
		err = a.bad(name, "the argument is no whole number")
	}
	if n == 0 {
		return unset, err
	}
	return int(n), err
}

// flag returns a boolean, false when it is left out.
func (a arguments) flag(name string) (bool, error) {
	v := jsonx.Get(a.object, name)
	s, _ := jsonx.String(v)
	switch word := strings.TrimSpace(string(v)); {
	case jsonx.IsNull(v), word == "false", s == "false":
		return false, nil
	case word == "true", s == "true":
		return true, nil
	}
	return false, a.bad(name, "the argument is neither true nor false")
}
