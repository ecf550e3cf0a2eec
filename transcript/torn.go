package transcript

import "github.com/clew-dev/clew/internal/jsonx"

// repairTorn makes one JSON value of one that breaks off: what is whole stays,
// the element that is torn goes, and the brackets are closed. It returns nil when
// nothing is left.
func repairTorn(data []byte) value {
	type level struct {
		open  byte
		keep  int // end of the last whole member or element, or of the bracket
		whole int // number of whole objects and arrays in it
	}
	var stack []level
	i := 0
	for i < len(data) {
		i = jsonx.Space(data, i)
		if i >= len(data) {
			break
		}
		switch c := data[i]; c {
		case '{', '[':
			// A whole value needs no look inside.
			if end, err := jsonx.Scan(data, i); err == nil {
				i = end
				if len(stack) == 0 {
					return data[:end:end]
				}
				stack[len(stack)-1].keep = end
				stack[len(stack)-1].whole++
				continue
			}
			if len(stack) > 1000 {
				return nil
			}
			i++
			stack = append(stack, level{open: c, keep: i})
		case ',':
			i++
		case '"':
			end, err := jsonx.Scan(data, i)
			if err != nil {
				i = len(data)
				break
			}
			i = jsonx.Space(data, end)
			if len(stack) == 0 {
				return nil
			}
			if top := &stack[len(stack)-1]; top.open == '{' {
				if i >= len(data) || data[i] != ':' {
					i = len(data)
					break
				}
				i = jsonx.Space(data, i+1)
				if i < len(data) && data[i] != '{' && data[i] != '[' {
					if end, err = jsonx.Scan(data, i); err != nil || end >= len(data) {
						i = len(data)
						break
					}
					i, top.keep = end, end
				}
			} else {
				top.keep = end
			}
		default:
			end, err := jsonx.Scan(data, i)
			if err != nil || len(stack) == 0 {
				i = len(data)
				break
			}
			i = end
			stack[len(stack)-1].keep = end
		}
	}
	if len(stack) == 0 {
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
