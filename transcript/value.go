package transcript

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
)

// value is JSON that was checked by jsonx.Scan, or nil for nothing. Its methods
// give zero values for what is absent or of another kind.
type value []byte

func (v value) get(path ...string) value {
	for _, key := range path {
		if !jsonx.IsObject(v) {
			return nil
		}
		v = jsonx.Get(v, key)
	}
	return v
}

// str returns a copy: what is kept of a line must not keep the line.
func (v value) str(path ...string) string {
	s, _ := jsonx.String(v.get(path...))
	return strings.Clone(s)
}

func (v value) int(path ...string) int64 { return jsonx.Count(v.get(path...)) }

func (v value) bool(path ...string) bool { return jsonx.Bool(v.get(path...)) }

func (v value) has(path ...string) bool { return !jsonx.IsNull(v.get(path...)) }

// failing reports whether an exit code is there and not 0.
func (v value) failing(path ...string) bool {
	code := v.get(path...)
	return code.has() && string(code) != "0"
}

func (v value) isObject() bool { return jsonx.IsObject(v) }
func (v value) isArray() bool  { return jsonx.IsArray(v) }
func (v value) isString() bool { return jsonx.IsString(v) }

// list returns the elements of an array.
func (v value) list(path ...string) (out []value) {
	if v = v.get(path...); v.isArray() {
		jsonx.Elements(v, func(val []byte) bool {
			out = append(out, val)
			return true
		})
	}
	return out
}

// fields returns the members of an object, looked through once.
func (v value) fields() fields {
	f := fields{}
	if v.isObject() {
		jsonx.Members(v, func(key, val []byte) bool {
			f[string(key)] = val
			return true
		})
	}
	return f
}

type fields map[string]value

func (f fields) str(key string) string { return f[key].str() }
func (f fields) has(key string) bool   { return !jsonx.IsNull(f[key]) }

// time reads an ISO time, or a number of seconds or milliseconds since 1970.
func (v value) time(path ...string) time.Time {
	v = v.get(path...)
	if v.isString() {
		return parseTime(v.str())
	}
	f, ok := jsonx.Float(v)
	switch {
	case !ok || f <= 0 || f > 1e14:
		return time.Time{}
	case f < 1e11: // seconds until the year 5138
		return time.UnixMilli(int64(f * 1000)).UTC()
	default:
		return time.UnixMilli(int64(f)).UTC()
	}
}

var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
}

// parseTime reads a time; without a zone it is taken for UTC.
func parseTime(s string) time.Time {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1970 && t.Year() < 10000 {
			return t.UTC().Truncate(time.Millisecond)
		}
	}
	return time.Time{}
}

// scanned returns the JSON value that s is, or nil when it is none.
func scanned(s string) value {
	data := []byte(s)
	at := jsonx.Space(data, 0)
	end, err := jsonx.Scan(data, at)
	if err != nil || jsonx.Space(data, end) != len(data) {
		return nil
	}
	return data[at:end]
}

// printable returns s without control characters, at most n runes long.
func printable(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text.Head(strings.ToValidUTF8(s, "\uFFFD"), 4*n))
	return text.Clip(s, n)
}

func itoa(n int) string { return strconv.Itoa(n) }

// quoted returns s as a JSON string.
func quoted(s string) value { return jsonx.Quote(s) }

// object returns an object of pairs of a name and a value, in their order. A value is
// a string, an int64, a bool, JSON, or nil for null; a pair with a nil value of JSON
// is left out.
func object(pairs ...any) value {
	var o jsonx.Object
	for i := 0; i < len(pairs); i += 2 {
		key := pairs[i].(string)
		switch v := pairs[i+1].(type) {
		case nil:
			o.Raw(key, []byte("null"))
		case string:
			o.Str(key, v)
		case int64:
			o.Int(key, v)
		case bool:
			o.Bool(key, v)
		case value:
			if v != nil {
				o.Raw(key, v)
			}
		}
	}
	return o.Bytes()
}

// optional returns s as a JSON string, or nothing where it is empty.
func optional(s string) value {
	if s == "" {
		return nil
	}
	return quoted(s)
}

// array returns the array of values.
func array(list ...value) value {
	out := value{'['}
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
