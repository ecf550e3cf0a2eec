package wire

import (
	"encoding/json"

	"github.com/clew-dev/clew/internal/jsonx"
)

// encoder writes JSON values one after the other into chunks that many of them share,
// so that large texts are copied once however deep they stand. Commas come by
// themselves. The methods can be chained.
type encoder struct {
	buf   []byte
	start int // of the value in buf
}

// chunk is the least size of a chunk, in bytes.
const chunk = 64 << 10

// begin starts a value, with room for n bytes.
func (e *encoder) begin(n int) *encoder {
	if cap(e.buf)-len(e.buf) < n {
		e.buf = make([]byte, 0, max(n, chunk))
	}
	e.start = len(e.buf)
	return e
}

// end returns the value.
func (e *encoder) end() json.RawMessage { return e.buf[e.start:len(e.buf):len(e.buf)] }

// room is about what parts take.
func room(parts []Part) int {
	n := 64
	for i := range parts {
		p := &parts[i]
		n += 100 + len(p.Text) + len(p.Signature) + len(p.Arguments) + len(p.Data) + len(p.Raw) + len(p.ID) + len(p.Name) + room(p.Content)
	}
	return n
}

// value begins a value: a comma where one stands before it.
func (e *encoder) value() *encoder {
	if n := len(e.buf); n > e.start && e.buf[n-1] != '{' && e.buf[n-1] != '[' && e.buf[n-1] != ':' {
		e.buf = append(e.buf, ',')
	}
	return e
}

// open begins an object or an array, close ends as many as there are characters.
func (e *encoder) open(c byte) *encoder {
	e.value()
	e.buf = append(e.buf, c)
	return e
}

func (e *encoder) close(c string) *encoder {
	e.buf = append(e.buf, c...)
	return e
}

// key writes the name of a member, which needs no escapes.
func (e *encoder) key(k string) *encoder {
	e.value()
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, k...)
	e.buf = append(e.buf, '"', ':')
	return e
}

// object begins a member that is an object, array one that is an array.
func (e *encoder) object(k string) *encoder { return e.key(k).open('{') }
func (e *encoder) array(k string) *encoder  { return e.key(k).open('[') }

// raw writes a member that is JSON already, unless there is none.
func (e *encoder) raw(k string, val []byte) *encoder {
	if k != "" && val != nil {
		e.key(k)
		e.buf = append(e.buf, val...)
	}
	return e
}

// str writes a member that is a string, opt one that is not empty.
func (e *encoder) str(k, s string) *encoder {
	e.key(k)
	e.buf = jsonx.AppendQuote(e.buf, s)
	return e
}

func (e *encoder) opt(k, s string) *encoder {
	if s != "" {
		e.str(k, s)
	}
	return e
}

// elements writes elements of an array that are JSON already.
func (e *encoder) elements(vals ...json.RawMessage) *encoder {
	for _, val := range vals {
		e.value()
		e.buf = append(e.buf, val...)
	}
	return e
}

// texts writes a member with the texts of parts, joined by line breaks.
func (e *encoder) texts(k string, parts []Part) *encoder {
	e.key(k)
	e.buf = append(e.buf, '"')
	first := true
	for i := range parts {
		if parts[i].Kind != PartText && parts[i].Kind != PartThinking {
			continue
		}
		if !first {
			e.buf = append(e.buf, '\\', 'n')
		}
		first = false
		text := parts[i].Text
		e.buf = append(e.buf, text[1:len(text)-1]...)
	}
	e.buf = append(e.buf, '"')
	return e
}

// dataURL writes a member with an image as a data URL.
func (e *encoder) dataURL(k string, p *Part) *encoder {
	e.str(k, "data:"+p.MIMEType+";base64,")
	e.buf = append(e.buf[:len(e.buf)-1], p.Data[1:]...)
	return e
}
