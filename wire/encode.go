package wire

import (
	"encoding/json"

	"github.com/clew-dev/clew/internal/jsonx"
)

// encoder writes JSON values one after the other into chunks that many of them share,
// so that large texts are copied once however deep they stand. Commas come by
// themselves.
type encoder struct {
	buf   []byte
	start int // of the value in buf
}

// chunk is the least size of a chunk, in bytes.
const chunk = 64 << 10

// begin starts a value, with room for n bytes.
func (e *encoder) begin(n int) {
	if cap(e.buf)-len(e.buf) < n {
		e.buf = make([]byte, 0, max(n, chunk))
	}
	e.start = len(e.buf)
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
func (e *encoder) value() {
	if n := len(e.buf); n > e.start && e.buf[n-1] != '{' && e.buf[n-1] != '[' && e.buf[n-1] != ':' {
		e.buf = append(e.buf, ',')
	}
}

func (e *encoder) open(c byte) {
	e.value()
	e.buf = append(e.buf, c)
}

func (e *encoder) close(c byte) { e.buf = append(e.buf, c) }

// key writes the name of a member, which needs no escapes.
func (e *encoder) key(k string) {
	e.value()
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, k...)
	e.buf = append(e.buf, '"', ':')
}

// object begins a member that is an object, array one that is an array.
func (e *encoder) object(k string) { e.key(k); e.open('{') }
func (e *encoder) array(k string)  { e.key(k); e.open('[') }

// raw writes a member that is JSON already.
func (e *encoder) raw(k string, val []byte) {
	e.key(k)
	e.buf = append(e.buf, val...)
}

// str writes a member that is a string.
func (e *encoder) str(k, s string) {
	e.key(k)
	e.buf = jsonx.AppendQuote(e.buf, s)
}

// opt writes a member that is a string, unless it is empty.
func (e *encoder) opt(k, s string) {
	if s != "" {
		e.str(k, s)
	}
}

// element writes an element of an array that is JSON already.
func (e *encoder) element(val []byte) {
	e.value()
	e.buf = append(e.buf, val...)
}

// member writes a member that is JSON already, unless there is none or it has no name.
func (e *encoder) member(k string, val []byte) {
	if k != "" && val != nil {
		e.raw(k, val)
	}
}

// list writes an array of elements that are JSON already.
func (e *encoder) list(elements []json.RawMessage) {
	e.open('[')
	for _, val := range elements {
		e.element(val)
	}
	e.close(']')
}

// texts writes a member with the texts of parts, joined by line breaks.
func (e *encoder) texts(k string, parts []Part) {
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
}

// dataURL writes a member with an image as a data URL.
func (e *encoder) dataURL(k string, p *Part) {
	e.str(k, "data:"+p.MIMEType+";base64,")
	e.buf = append(e.buf[:len(e.buf)-1], p.Data[1:]...)
}
