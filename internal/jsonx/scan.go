// Package jsonx reads JSON without changing a byte of it.
//
// A session log is kept as the bytes that were written: unknown fields, key order,
// duplicate keys, the spelling of numbers and lone surrogates survive because typed values
// are only views: the places of members and elements in the original bytes.
//
//	end, err := jsonx.Scan(line, 0)
//	jsonx.Members(line[:end], func(key, val []byte) bool {
//		if string(key) == "type" {
//			typ, _ = jsonx.String(val)
//		}
//		return true
//	})
//
// The grammar is RFC 8259 with one addition, the same that JavaScript readers
// make: bytes inside a string need not be valid UTF-8.
package jsonx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// MaxDepth is the deepest nesting of arrays and objects that Scan accepts.
const MaxDepth = 10_000

// ErrDepth is returned by Scan for a value nested deeper than MaxDepth.
var ErrDepth = fmt.Errorf("JSON nested deeper than %d levels", MaxDepth)

// ErrEnd is wrapped by the error of Scan when the data ends inside the value:
// what a torn write leaves behind.
var ErrEnd = errors.New("the data ends inside a JSON value")

// SyntaxError says where a value stops being JSON.
type SyntaxError struct {
	Offset int    // bytes from the start of the data given to Scan
	What   string // what was found or is missing
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.What, e.Offset) }

// Is reports a value cut short as ErrEnd.
func (e *SyntaxError) Is(target error) bool { return target == ErrEnd && e.What == whatEnd }

const whatEnd = "data ends inside the value"

// Space returns the index of the first byte at or after i that is not JSON white space.
func Space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t') {
		i++
	}
	return i
}

// Scan checks the JSON value that starts at data[i], after optional white space, and
// returns the index just past it. It takes constant stack space whatever the nesting.
func Scan(data []byte, i int) (end int, err error) { return ScanAt(data, i, 0) }

// ScanAt is Scan for a value that stands above levels deep in another one, so
// that the two together keep to MaxDepth.
func ScanAt(data []byte, i, above int) (end int, err error) {
	var fixed [8]uint64
	stack := fixed[:] // one bit a level: 1 object, 0 array
	depth := 0
	i = Space(data, i)
	for {
		// A value starts here.
		if i >= len(data) {
			return i, endAt(i)
		}
		opened := false
		switch c := data[i]; {
		case c == '"':
			if i, err = scanString(data, i); err != nil {
				return i, err
			}
		case c == '{' || c == '[':
			if depth+above >= MaxDepth {
				return i, ErrDepth
			}
			w, b := depth/64, uint(depth%64)
			if w == len(stack) {
				stack = append(stack, 0)
			}
			if c == '{' {
				stack[w] |= 1 << b
			} else {
				stack[w] &^= 1 << b
			}
			depth++
			i = Space(data, i+1)
			if i < len(data) && data[i] == c+2 { // '{'+2 == '}', '['+2 == ']'
				depth--
				i++
				break
			}
			opened = true
		case c == '-' || '0' <= c && c <= '9':
			if i, err = scanNumber(data, i); err != nil {
				return i, err
			}
		case c == 't':
			i, err = scanWord(data, i, "true")
		case c == 'f':
			i, err = scanWord(data, i, "false")
		case c == 'n':
			i, err = scanWord(data, i, "null")
		default:
			return i, syntaxAt(i, c, "looking for a value")
		}
		if err != nil {
			return i, err
		}
		// After a value: separators and closers, until the next value starts.
		for {
			if depth == 0 {
				return i, nil
			}
			object := stack[(depth-1)/64]>>(uint(depth-1)%64)&1 == 1
			if !opened {
				i = Space(data, i)
				if i >= len(data) {
					return i, endAt(i)
				}
				switch c := data[i]; {
				case c == ',':
					i = Space(data, i+1)
				case c == '}' && object, c == ']' && !object:
					depth--
					i++
					continue
				default:
					return i, syntaxAt(i, c, "after a value")
				}
			}
			if object {
				if _, i, err = scanKey(data, i); err != nil {
					return i, err
				}
			}
			break
		}
	}
}

// scanKey checks the key that starts at data[i] and the colon after it. It returns the
// index just past the key and that of the value, or of the error.
func scanKey(data []byte, i int) (end, value int, err error) {
	if i >= len(data) {
		return i, i, endAt(i)
	}
	if data[i] != '"' {
		return i, i, syntaxAt(i, data[i], "looking for a key")
	}
	if end, err = scanString(data, i); err != nil {
		return end, end, err
	}
	if i = Space(data, end); i >= len(data) {
		return end, i, endAt(i)
	}
	if data[i] != ':' {
		return end, i, syntaxAt(i, data[i], "after a key")
	}
	return end, Space(data, i+1), nil
}

func endAt(i int) error { return &SyntaxError{i, whatEnd} }

func syntaxAt(i int, c byte, where string) error {
	return &SyntaxError{i, fmt.Sprintf("unexpected %q %s", c, where)}
}

func scanWord(data []byte, i int, word string) (int, error) {
	for k := range len(word) {
		if i+k >= len(data) {
			return i + k, endAt(i + k)
		}
		if data[i+k] != word[k] {
			return i + k, syntaxAt(i+k, data[i+k], "in "+word)
		}
	}
	return i + len(word), nil
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, in the high bit of each byte, the bytes of v that end a plain run inside a
// string: a quote, a backslash, a control character. Only the lowest mark is to be trusted.
func special(v uint64) uint64 {
	quote := v ^ (ones * '"')
	slash := v ^ (ones * '\\')
	return ((v - ones*0x20) &^ v & highs) | ((quote - ones) &^ quote & highs) | ((slash - ones) &^ slash & highs)
}

// plainEnd returns the index of the first byte at or after i that ends a plain run. The
// race detector looks at the bytes between runs alone: it would look at these one by one.
//
//go:norace
func plainEnd(data []byte, i int) int {
	for i+8 <= len(data) {
		if m := special(binary.LittleEndian.Uint64(data[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
		i += 8
	}
	for i < len(data) && data[i] != '"' && data[i] != '\\' && data[i] >= 0x20 {
		i++
	}
	return i
}

// scanString returns the index just past the string whose opening quote is data[i].
func scanString(data []byte, i int) (int, error) {
	i++
	for {
		if i = plainEnd(data, i); i >= len(data) {
			return i, endAt(i)
		}
		if data[i] == '"' {
			return i + 1, nil
		}
		if data[i] != '\\' {
			return i, syntaxAt(i, data[i], "(control character) in a string")
		}
		if i+1 < len(data) && shortEscape[data[i+1]] {
			i += 2
			continue
		}
		if i+1 >= len(data) {
			return i, endAt(i + 1)
		}
		if data[i+1] != 'u' {
			return i + 1, syntaxAt(i+1, data[i+1], "after a backslash")
		}
		for k := i + 2; k < i+6; k++ {
			if k >= len(data) {
				return k, endAt(k)
			}
			if hexDigit(data[k]) < 0 {
				return k, syntaxAt(k, data[k], `in a \u escape`)
			}
		}
		i += 6
	}
}

// shortEscape says which bytes may follow a backslash, but for u.
var shortEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

func scanNumber(data []byte, i int) (end int, err error) {
	is := func(chars string) bool { return i < len(data) && strings.IndexByte(chars, data[i]) >= 0 }
	digits := func() {
		from := i
		for i < len(data) && '0' <= data[i] && data[i] <= '9' {
			i++
		}
		switch {
		case i > from:
		case i >= len(data):
			err = endAt(i)
		default:
			err = syntaxAt(i, data[i], "in a number")
		}
	}
	if data[i] == '-' {
		i++
	}
	if is("0") {
		i++
	} else {
		digits()
	}
	if err == nil && is(".") {
		i++
		digits()
	}
	if err == nil && is("eE") {
		if i++; is("+-") {
			i++
		}
		digits()
	}
	return i, err
}

func hexDigit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c - 'a' + 10)
	case 'A' <= c && c <= 'F':
		return rune(c - 'A' + 10)
	}
	return -1
}
