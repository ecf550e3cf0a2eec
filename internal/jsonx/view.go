package jsonx

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// The functions of this file take values that Scan has accepted. On anything
// else they return early or nothing; they never panic.

// IsObject reports whether val is an object.
func IsObject(val []byte) bool { return len(val) > 0 && val[0] == '{' }

// IsArray reports whether val is an array.
func IsArray(val []byte) bool { return len(val) > 0 && val[0] == '[' }

// IsString reports whether val is a string.
func IsString(val []byte) bool { return len(val) > 0 && val[0] == '"' }

// IsNull reports whether val is null or absent.
func IsNull(val []byte) bool { return len(val) == 0 || val[0] == 'n' }

// NotNull returns a value, or nil for null.
func NotNull(val []byte) []byte {
	if IsNull(val) {
		return nil
	}
	return val
}

// Members calls fn with each member of an object in order, duplicates
// included, until fn returns false. The key is decoded; both slices alias obj.
func Members(obj []byte, fn func(key, val []byte) bool) {
	if i := Space(obj, 0); IsObject(obj[i:]) {
		_, _ = ScanObject(obj, i, func(key []byte, at int) (int, error) { return visit(obj, at, 0, key, fn) })
	}
}

// Elements calls fn with each element of an array in order until fn returns false.
func Elements(arr []byte, fn func(val []byte) bool) {
	if i := Space(arr, 0); IsArray(arr[i:]) {
		all := func(_, val []byte) bool { return fn(val) }
		_, _ = ScanArray(arr, i, func(at int) (int, error) { return visit(arr, at, 0, nil, all) })
	}
}

var errStop = errors.New("no more is wanted")

// visit calls fn with the value at data[at]; errStop says that fn returned false.
func visit(data []byte, at, above int, key []byte, fn func(key, val []byte) bool) (end int, err error) {
	end, err = ScanAt(data, at, above)
	if err == nil && !fn(key, data[at:end:end]) {
		err = errStop
	}
	return end, err
}

// ScanMembers is Scan and Members in one pass: it checks the value that starts
// at data[i], after optional white space, and returns the index just past it;
// when the value is an object, fn gets each member on the way. On an error fn
// may have been given the members before it.
func ScanMembers(data []byte, i int, fn func(key, val []byte)) (end int, err error) {
	i = Space(data, i)
	if i >= len(data) || data[i] != '{' {
		return Scan(data, i)
	}
	all := func(key, val []byte) bool { fn(key, val); return true }
	return ScanObject(data, i, func(key []byte, at int) (int, error) { return visit(data, at, 1, key, all) })
}

// ScanObject checks the object that starts at data[i] and returns the index just past it.
// For each member it calls fn with the decoded key and the index where the value starts; fn
// returns the index just past the value, by ScanAt, ScanObject or ScanArray.
func ScanObject(data []byte, i int, fn func(key []byte, at int) (end int, err error)) (end int, err error) {
	i = Space(data, i+1)
	if i < len(data) && data[i] == '}' {
		return i + 1, nil
	}
	for {
		keyEnd, at, err := scanKey(data, i)
		if err != nil {
			return at, err
		}
		key := data[i+1 : keyEnd-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = appendUnquoted(nil, key)
		}
		if end, err = fn(key, at); err != nil {
			return end, err
		}
		var more bool
		if i, more, err = separator(data, end, '}'); !more {
			return i, err
		}
	}
}

// ScanArray is ScanObject for the array that starts at data[i].
func ScanArray(data []byte, i int, fn func(at int) (end int, err error)) (end int, err error) {
	i = Space(data, i+1)
	if i < len(data) && data[i] == ']' {
		return i + 1, nil
	}
	for {
		if end, err = fn(i); err != nil {
			return end, err
		}
		var more bool
		if i, more, err = separator(data, end, ']'); !more {
			return i, err
		}
	}
}

// separator reads what follows a value inside an object or an array: a comma,
// and more is true, or closer.
func separator(data []byte, i int, closer byte) (next int, more bool, err error) {
	i = Space(data, i)
	switch {
	case i >= len(data):
		return i, false, endAt(i)
	case data[i] == ',':
		return Space(data, i+1), true, nil
	case data[i] == closer:
		return i + 1, false, nil
	}
	return i, false, syntaxAt(i, data[i], "after a value")
}

// Get returns the value of the last member named key, as JavaScript readers
// see it, or nil.
func Get(obj []byte, key string) (val []byte) {
	Members(obj, func(k, v []byte) bool {
		if string(k) == key {
			val = v
		}
		return true
	})
	return val
}

// Set returns a copy of obj in which the last member named key has the value
// val; without such a member it is added at the end. No other byte changes.
func Set(obj []byte, key string, val []byte) []byte {
	if old := Get(obj, key); old != nil {
		at := offset(obj, old)
		out := make([]byte, 0, len(obj)-len(old)+len(val))
		out = append(out, obj[:at]...)
		out = append(out, val...)
		return append(out, obj[at+len(old):]...)
	}
	end := bytes.LastIndexByte(obj, '}')
	if end < 0 {
		return bytes.Clone(obj)
	}
	out := make([]byte, 0, len(obj)+len(key)+len(val)+4)
	out = append(out, bytes.TrimRight(obj[:end], " \t\r\n")...)
	if len(out) > 0 && out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	out = AppendQuote(out, key)
	out = append(out, ':')
	out = append(out, val...)
	return append(out, obj[end:]...)
}

// offset returns where sub, a slice of data, starts in data.
func offset(data, sub []byte) int {
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(sub))) - uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}

// EditStrings calls fn for every string value in raw with the names above it, from the outermost in; in an array the
// name is "[]". Names are given too, as values of themselves, with isName. Where fn returns true, its string takes
// the value's place. All other bytes stay.
func EditStrings(raw []byte, fn func(path []string, s string, isName bool) (string, bool)) []byte {
	var out []byte
	var path []string
	from := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '{':
			path = append(path, "")
		case '[':
			path = append(path, "[]")
		case '}', ']':
			path = path[:max(len(path)-1, 0)]
		case '"':
			end, err := Scan(raw, i)
			if err != nil {
				return raw
			}
			s, _ := String(raw[i:end:end])
			next := Space(raw, end)
			isName := next < len(raw) && raw[next] == ':'
			if isName && len(path) > 0 {
				path[len(path)-1] = s
			}
			if now, ok := fn(path, s, isName); ok {
				out = AppendQuote(append(out, raw[from:i]...), now)
				from = end
			}
			i = end
			continue
		}
		i++
	}
	if from == 0 {
		return raw
	}
	return append(out, raw[from:]...)
}

// String decodes a JSON string. A lone surrogate becomes U+FFFD; bytes that
// are not UTF-8 stay as they are. The result aliases val when val has no
// escape, so val must not be changed afterwards. Anything but a string gives
// "", false.
func String(val []byte) (s string, ok bool) {
	if len(val) < 2 || val[0] != '"' || val[len(val)-1] != '"' {
		return "", false
	}
	body := val[1 : len(val)-1]
	if bytes.IndexByte(body, '\\') < 0 {
		return unsafe.String(unsafe.SliceData(body), len(body)), true
	}
	out := appendUnquoted(make([]byte, 0, len(body)), body)
	return unsafe.String(unsafe.SliceData(out), len(out)), true
}

func appendUnquoted(out, body []byte) []byte {
	for {
		k := bytes.IndexByte(body, '\\')
		if k < 0 || k+1 >= len(body) {
			return append(out, body...)
		}
		r, size := Unescape(body[k:])
		if r < 0 {
			return append(out, body[:k]...)
		}
		out = utf8.AppendRune(append(out, body[:k]...), r)
		body = body[k+size:]
	}
}

// Unescape returns the character that the escape at the start of body spells, and how
// many bytes that takes. Half of a surrogate pair is returned as it is; what is no
// escape gives -1.
func Unescape(body []byte) (r rune, size int) {
	if len(body) < 2 {
		return -1, len(body)
	}
	if c := body[1]; c != 'u' {
		if at := strings.IndexByte(shortEscapes, c); at >= 0 {
			return rune('\b' + at), 2
		}
		return rune(c), 2
	}
	r = hex4(body[2:])
	if utf16.IsSurrogate(r) && len(body) >= 12 && body[6] == '\\' && body[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(body[8:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, min(6, len(body))
}

func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		d := hexDigit(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | d
	}
	return r
}

// Sound reports whether val is UTF-8 and spells no half of a surrogate pair, which
// JavaScript writes when it cuts a string in the middle of a character. Servers
// refuse what is not.
func Sound(val []byte) bool {
	if !utf8.Valid(val) {
		return false
	}
	for {
		k := bytes.IndexByte(val, '\\')
		switch {
		case k < 0 || k+1 == len(val):
			return true
		case val[k+1] != 'u':
			val = val[k+2:]
		default:
			r, size := Unescape(val[k:])
			if utf16.IsSurrogate(r) {
				return false
			}
			val = val[k+size:]
		}
	}
}

// Clean returns a JSON value with the strings made fit for any server: lone
// surrogates and bytes that are not UTF-8 become U+FFFD. A value that needs no
// change is returned as it is.
func Clean(val []byte) []byte {
	if Sound(val) {
		return val
	}
	return EditStrings(val, func(_ []string, s string, _ bool) (string, bool) { return s, strings.ContainsRune(s, utf8.RuneError) })
}

// Bool returns the value of a JSON boolean; anything else is false.
func Bool(val []byte) bool { return len(val) > 0 && val[0] == 't' }

// Float returns the value of a JSON number.
func Float(val []byte) (f float64, ok bool) {
	if len(val) == 0 || (val[0] != '-' && (val[0] < '0' || val[0] > '9')) {
		return 0, false
	}
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(val), len(val)), 64)
	return f, err == nil
}

// Int returns the value of a JSON number, cut to a whole number and to ±2^53,
// beyond which JSON numbers are not exact in most programs.
func Int(val []byte) (n int64, ok bool) {
	f, ok := Float(val)
	const limit = 1 << 53
	return int64(min(max(f, -limit), limit)), ok
}
