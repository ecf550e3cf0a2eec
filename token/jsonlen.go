package token

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"

	"github.com/clew-dev/clew/internal/jsonx"
)

// stringifyLen returns how long, in UTF-16 units, a JSON value is after
// JavaScript read it and wrote it again: JSON.stringify(JSON.parse(raw)).length.
// White space is gone, numbers are spelled as JavaScript does, of members with
// the same key the last one is left, and only what must be escaped is escaped.
// A value that is not JSON has its own length.
//
// It takes one pass, so that deep nesting costs no more than long text.
func stringifyLen(raw []byte) int64 {
	if len(raw) == 0 {
		return 0
	}
	if _, err := jsonx.Scan(raw, 0); err != nil {
		return utf16Len(asString(raw))
	}
	w := jsonWalk{raw: raw}
	w.members = w.few[:0]
	return w.value()
}

// jsonWalk walks over a value that is known to be JSON.
type jsonWalk struct {
	raw     []byte
	i       int
	members []member // of the objects that are open, the innermost last

	few [fewMembers]member // room for the members of usual arguments
}

// member is one member of an object: its key, and what it adds to the length.
type member struct {
	key   string
	units int64
}

func (w *jsonWalk) value() int64 {
	w.i = jsonx.Space(w.raw, w.i)
	switch w.raw[w.i] {
	case '{':
		return w.object()
	case '[':
		return w.array()
	case '"':
		return stringLen(w.string())
	case 't', 'n':
		w.i += 4
		return 4
	case 'f':
		w.i += 5
		return 5
	}
	from := w.i
	for w.i < len(w.raw) && bytes.IndexByte([]byte("+-.eE0123456789"), w.raw[w.i]) >= 0 {
		w.i++
	}
	return numberLen(w.raw[from:w.i])
}

// string returns the string that begins here, with its quotes.
func (w *jsonWalk) string() []byte {
	from := w.i
	w.i = stringEnd(w.raw, w.i)
	return w.raw[from:w.i]
}

// stringEnd returns the index after the string that begins at raw[i].
func stringEnd(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(raw)
}

func (w *jsonWalk) array() int64 {
	units := int64(2)
	w.i = jsonx.Space(w.raw, w.i+1)
	for n := 0; w.raw[w.i] != ']'; n++ {
		if n > 0 {
			units++
			w.i++ // the comma
		}
		units += w.value()
		w.i = jsonx.Space(w.raw, w.i)
	}
	w.i++
	return units
}

func (w *jsonWalk) object() int64 {
	base := len(w.members)
	w.i = jsonx.Space(w.raw, w.i+1)
	for n := 0; w.raw[w.i] != '}'; n++ {
		if n > 0 {
			w.i = jsonx.Space(w.raw, w.i+1)
		}
		key := w.string()
		w.i = jsonx.Space(w.raw, w.i) + 1 // the colon
		units := stringLen(key) + 1 + w.value()
		w.members = append(w.members, member{keyOf(key), units})
		w.i = jsonx.Space(w.raw, w.i)
	}
	w.i++
	units := lastOfEach(w.members[base:])
	w.members = w.members[:base]
	return units + 2
}

// fewMembers is how many keys are compared one by one.
const fewMembers = 16

// lastOfEach adds up the members that no later one replaces, and the commas.
func lastOfEach(members []member) (units int64) {
	n := int64(0)
	if len(members) > fewMembers {
		last := make(map[string]int64, len(members))
		for _, m := range members {
			last[m.key] = m.units
		}
		for _, u := range last {
			units += u
		}
		n = int64(len(last))
	} else {
	next:
		for i, m := range members {
			for _, later := range members[i+1:] {
				if later.key == m.key {
					continue next
				}
			}
			units += m.units
			n++
		}
	}
	return units + max(n-1, 0)
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
		c := body[k+1]
		body = body[k+2:]
		switch c {
		case '/':
			units++
		case 'u':
			r := hex4(body)
			body = body[min(4, len(body)):]
			if utf16.IsSurrogate(r) {
				if len(body) >= 6 && body[0] == '\\' && body[1] == 'u' && utf16.DecodeRune(r, hex4(body[2:])) != '\uFFFD' {
					units += 2
					body = body[6:]
				} else {
					units += 6 // half a pair stays escaped
				}
				continue
			}
			units += escapedLen(r)
		default:
			units += 2
		}
	}
}

// escapedLen returns how many units a character takes inside a JSON string.
func escapedLen(r rune) int64 {
	switch {
	case r == '"', r == '\\', r == '\b', r == '\f', r == '\n', r == '\r', r == '\t':
		return 2
	case r < 0x20:
		return 6
	}
	return 1
}

// numberLen returns the length of a number as JavaScript writes it
// (https://tc39.es/ecma262/#sec-numeric-types-number-tostring).
func numberLen(raw []byte) int64 {
	if plainInteger(raw) {
		return int64(len(raw))
	}
	f, _ := strconv.ParseFloat(asString(raw), 64) // an infinity when out of range
	switch {
	case math.IsInf(f, 0):
		return 4 // null
	case f == 0:
		return 1 // also for -0
	}
	// -d.ddde±xx
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
	sign := int64(0)
	if e[0] == '-' {
		sign = 1
		e = e[1:]
	}
	at := bytes.IndexByte(e, 'e')
	digits := int64(at)
	if at > 1 {
		digits-- // the point
	}
	exp, _ := strconv.ParseInt(string(e[at+1:]), 10, 64)
	point := exp + 1 // how many digits stand before the point
	switch {
	case digits <= point && point <= 21:
		return sign + point
	case 0 < point && point <= 21:
		return sign + digits + 1
	case -6 < point && point <= 0:
		return sign + 2 - point + digits
	}
	exponent := int64(len(strconv.FormatInt(max(exp, -exp), 10))) + 2 // e and the sign
	if digits == 1 {
		return sign + 1 + exponent
	}
	return sign + digits + 1 + exponent
}

// plainInteger reports an integer that JavaScript spells as it stands.
func plainInteger(raw []byte) bool {
	if len(raw) == 0 || len(raw) > 15 || raw[0] == '-' && (len(raw) == 1 || raw[1] == '0') {
		return false
	}
	for i, c := range raw {
		if !digit(c) && (i > 0 || c != '-') {
			return false
		}
	}
	return true
}
