package transcript

import (
	"errors"

	"github.com/clew-dev/clew/internal/jsonx"
)

var errTorn = errors.New("the JSON breaks off")

// repairTorn makes one JSON value of one that breaks off: what is whole stays,
// the element that is torn goes, and the brackets are closed. It returns nil when
// nothing is left.
func repairTorn(data []byte) value {
	type level struct {
		open  byte
		keep  int // end of the last whole member or element, or of the bracket
		whole int // number of whole objects and arrays in it
	}
	const deepest = 1000
	var stack []level // the objects and arrays that are torn, each in the one before it
	var scan func(i int) (end int, err error)
	scan = func(i int) (end int, err error) {
		if end, err = jsonx.Scan(data, i); err == nil || i >= len(data) || data[i] != '{' && data[i] != '[' {
			return end, err
		}
		d := len(stack)
		if stack = append(stack, level{open: data[i], keep: i + 1}); d > deepest {
			return i, errTorn
		}
		element := func(at int) (int, error) {
			end, err := scan(at)
			switch l := &stack[d]; {
			case err != nil:
				return end, err
			case data[at] == '{' || data[at] == '[':
				l.keep, l.whole = end, l.whole+1
			case l.open == '{' && end >= len(data):
				return end, errTorn // a number may go on
			default:
				l.keep = end
			}
			return end, nil
		}
		if data[i] == '[' {
			end, err = jsonx.ScanArray(data, i, element)
		} else {
			end, err = jsonx.ScanObject(data, i, func(_ []byte, at int) (int, error) { return element(at) })
		}
		if err == nil {
			stack = stack[:d] // whole, and only too deep for one scan
		}
		return end, err
	}
	if _, err := scan(0); err == nil || len(stack) == 0 || len(stack) > deepest {
		return nil
	}
	// Half a message would be taken for a whole one: the list that is torn ends
	// before it, where it has whole ones.
	last := len(stack) - 1
	for d, l := range stack {
		if l.open == '[' && l.whole > 0 {
			last = d
			break
		}
	}
	out := append([]byte(nil), data[:stack[last].keep]...)
	for d := last; d >= 0; d-- {
		if stack[d].open == '{' {
			out = append(out, '}')
		} else {
			out = append(out, ']')
		}
	}
	if end, err := jsonx.Scan(out, 0); err != nil || end != len(out) {
		return nil
	}
	return out
}
