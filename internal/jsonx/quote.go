package jsonx

import (
	"strconv"
	"unicode/utf8"
	"unsafe"
)

const hexDigits = "0123456789abcdef"

// shortEscapes are what stands behind a backslash for \b to \r, of which \v has none.
const shortEscapes = "btn\x00fr"

// AppendQuote appends s as a JSON string, spelled as JSON.stringify does: only the quote, the
// backslash and control characters are escaped. Bytes that are not UTF-8 become U+FFFD.
func AppendQuote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	data := unsafe.Slice(unsafe.StringData(s), len(s))
	from := 0
	for i := 0; i < len(data); {
		i = plainEnd(data, i)
		if i >= len(data) {
			break
		}
		dst = appendValid(dst, data[from:i])
		switch c := data[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case '\b' <= c && c <= '\r' && c != '\v':
			dst = append(dst, '\\', shortEscapes[c-'\b'])
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	dst = appendValid(dst, data[from:])
	return append(dst, '"')
}

func appendValid(dst, part []byte) []byte {
	if utf8.Valid(part) {
		return append(dst, part...)
	}
	for len(part) > 0 {
		r, n := utf8.DecodeRune(part)
		dst = utf8.AppendRune(dst, r)
		part = part[n:]
	}
	return dst
}

// Quote returns s as a JSON string; see AppendQuote.
func Quote(s string) []byte { return AppendQuote(make([]byte, 0, len(s)+2), s) }

// Object builds a JSON object member by member, in the order of the calls.
// The zero value is an object without members.
type Object struct{ buf []byte }

func (o *Object) key(k string) {
	if len(o.buf) == 0 {
		o.buf = append(o.buf, '{')
	} else {
		o.buf = append(o.buf, ',')
	}
	o.buf = AppendQuote(o.buf, k)
	o.buf = append(o.buf, ':')
}

// Raw adds a member whose value is already JSON; nil adds nothing.
func (o *Object) Raw(key string, val []byte) {
	if val != nil {
		o.key(key)
		o.buf = append(o.buf, val...)
	}
}

// Str adds a string.
func (o *Object) Str(key, s string) {
	o.key(key)
	o.buf = AppendQuote(o.buf, s)
}

// OptStr adds a string unless it is empty.
func (o *Object) OptStr(key, s string) {
	if s != "" {
		o.Str(key, s)
	}
}

// Int adds a whole number.
func (o *Object) Int(key string, n int64) {
	o.key(key)
	o.buf = strconv.AppendInt(o.buf, n, 10)
}

// Bool adds a boolean.
func (o *Object) Bool(key string, b bool) {
	o.key(key)
	o.buf = strconv.AppendBool(o.buf, b)
}

// Bytes returns the object.
func (o *Object) Bytes() []byte {
	if len(o.buf) == 0 {
		return []byte("{}")
	}
	return append(o.buf[:len(o.buf):len(o.buf)], '}')
}

// One returns the JSON value that data is, without the white space around it, or
// nil when data is anything else than one value.
func One(data []byte) []byte {
	i := Space(data, 0)
	if end, err := Scan(data, i); err == nil && Space(data, end) == len(data) {
		return data[i:end]
	}
	return nil
}

// StringAt returns the string that is a member of an object, "" for anything else.
func StringAt(obj []byte, key string) string {
	s, _ := String(Get(obj, key))
	return s
}

// Count returns a number, 0 for anything else or below 0.
func Count(v []byte) int64 {
	n, _ := Int(v)
	return max(n, 0)
}

// CountAt returns the number that is a member of an object, as Count does.
func CountAt(obj []byte, key string) int64 { return Count(Get(obj, key)) }

// Array writes values as a JSON array.
func Array(values [][]byte) []byte {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
