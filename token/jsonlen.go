package token

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
)

// stringifyLen returns JSON.stringify(JSON.parse(raw)).length of JavaScript, in UTF-16 units,
// in one pass: of members with the same key the last one is left, and only what must be
// escaped is. A value that is not JSON has its own length.
func stringifyLen(raw []byte) int64 {
	w := jsonWalk{raw: raw}
	w.members = w.few[:0]
	units, _, err := w.value(jsonx.Space(raw, 0), 0)
	if err != nil {
		return utf16Len(asString(raw))
	}
	return units
}

type jsonWalk struct {
	raw     []byte
	members []member // of the objects that are open, the innermost last

	few [16]member // room for the members of usual arguments
}

// member is one member of an object: its key, and what it adds to the length.
type member struct {
	key   string
	units int64
}

// value returns the length of the value at raw[i], which is depth levels deep, and the
// index just past it.
func (w *jsonWalk) value(i, depth int) (units int64, end int, err error) {
	switch {
	case i < len(w.raw) && w.raw[i] == '{':
		return w.object(i, depth)
	case i < len(w.raw) && w.raw[i] == '[':
		n := int64(0)
		end, err = jsonx.ScanArray(w.raw, i, func(at int) (int, error) {
			inner, end, err := w.value(at, depth+1)
			units += inner
			n++
			return end, err
		})
		return units + 2 + max(n-1, 0), end, err
	}
	if end, err = jsonx.ScanAt(w.raw, i, depth); err != nil {
		return 0, end, err
	}
	switch val := w.raw[i:end]; val[0] {
	case '"':
		return stringLen(val), end, nil
	case 't', 'n', 'f':
		return int64(len(val)), end, nil
	default:
		return numberLen(val), end, nil
	}
}

func (w *jsonWalk) object(i, depth int) (units int64, end int, err error) {
	base, before := len(w.members), i+1
	end, err = jsonx.ScanObject(w.raw, i, func(_ []byte, at int) (int, error) {
		key := w.raw[before:at]
		key = key[bytes.IndexByte(key, '"') : bytes.LastIndexByte(key, '"')+1]
		inner, end, err := w.value(at, depth+1)
		w.members = append(w.members, member{keyOf(key), stringLen(key) + 1 + inner})
		before = end
		return end, err
	})
	own := w.members[base:]
	w.members = w.members[:base]
	slices.SortStableFunc(own, func(a, b member) int { return strings.Compare(a.key, b.key) })
	n := int64(0)
	for k, m := range own {
		if k+1 == len(own) || own[k+1].key != m.key { // else a later one replaces it
			units += m.units
			n++
		}
	}
	return units + 2 + max(n-1, 0), end, err
}

// keyOf returns what makes two spellings of a key equal.
func keyOf(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 || !jsonx.Sound(quoted) {
		return asString(quoted[1 : len(quoted)-1])
	}
	s, _ := jsonx.String(quoted)
	return s
}

// stringLen returns the length of a string as JSON.stringify writes it, quotes
// included (https://tc39.es/ecma262/#sec-quotejsonstring).
func stringLen(quoted []byte) int64 {
	body := quoted[1 : len(quoted)-1]
	units := int64(2)
	for {
		k := bytes.IndexByte(body, '\\')
		if k < 0 || k+1 >= len(body) {
			return units + utf16Len(asString(body))
		}
		units += utf16Len(asString(body[:k]))
		r, size := jsonx.Unescape(body[k:])
		switch body = body[k+size:]; {
		case r > 0xFFFF:
			units += 2
		case r < ' ' && r != '\b' && r != '\f' && r != '\n' && r != '\r' && r != '\t', utf16.IsSurrogate(r):
			units += 6 // spelled \uXXXX: control characters, and half a pair
		case r < ' ', r == '"', r == '\\':
			units += 2
		default:
			units++
		}
	}
}

// numberLen returns the length of a number as JavaScript writes it
// (https://tc39.es/ecma262/#sec-numeric-types-number-tostring).
func numberLen(raw []byte) int64 {
	var buf [32]byte
	f, _ := strconv.ParseFloat(asString(raw), 64) // an infinity when out of range
	switch size := math.Abs(f); {
	case math.IsInf(f, 0):
		return 4 // null
	case f == 0:
		return 1 // also for -0
	case 1e-6 <= size && size < 1e21:
		return int64(len(strconv.AppendFloat(buf[:0], f, 'f', -1, 64)))
	}
	e := strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
	if n := len(e); e[n-4] == 'e' && e[n-2] == '0' { // e-07
		return int64(n - 1)
	}
	return int64(len(e))
}

// utf16Len returns the length of a text in JavaScript: UTF-16 code units. Bytes
// that are not UTF-8 count as JavaScript decodes them, one U+FFFD for each
// longest beginning of a character (https://encoding.spec.whatwg.org/#utf-8-decoder).
func utf16Len(s string) (units int64) {
	if utf8.ValidString(s) {
		for i := range len(s) {
			c := s[i]
			if c&0xC0 != 0x80 {
				units++
			}
			if c >= 0xF0 {
				units++
			}
		}
		return units
	}
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			// A beginning that more bytes could make a character is not a full rune.
			for n < len(s) && !utf8.FullRuneInString(s[:n]) && !utf8.FullRuneInString(s[:n+1]) {
				n++
			}
		}
		units += int64(max(1, utf16.RuneLen(r)))
		s = s[n:]
	}
	return units
}
