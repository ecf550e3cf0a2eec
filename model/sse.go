package model

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ServerEvent is one event of a stream of server-sent events.
type ServerEvent struct {
	Name string // the event field; empty for none
	Data []byte // the data lines joined by newlines; a copy of its own
}

// MaxEvent is the default for the greatest size of one event, in bytes. The last
// event of the Responses API holds the whole answer once more.
const MaxEvent = 64 << 20

var errEventSize = errors.New("an event of the stream is larger than the limit")

// ReadEvents calls fn with each event of a stream until the stream ends or fn
// returns an error, which is returned. It reads as the standard says
// (https://html.spec.whatwg.org/multipage/server-sent-events.html): lines end in
// CR, LF or both, lines that start with a colon are comments, an event ends at
// an empty line. Unlike there, an event whose lines are whole counts without the
// empty line too, because several servers leave out the last one; half a line
// never counts. limit is the greatest size of an event in bytes; 0 is MaxEvent.
func ReadEvents(r io.Reader, limit int, fn func(ServerEvent) error) error {
	if limit <= 0 {
		limit = MaxEvent
	}
	p := &eventParser{limit: limit, fn: fn}
	br := bufio.NewReaderSize(r, 32<<10)
	for {
		if _, err := br.Peek(1); err != nil {
			if err == io.EOF {
				return p.dispatch()
			}
			return err
		}
		chunk, _ := br.Peek(br.Buffered())
		if err := p.feed(chunk); err != nil {
			return err
		}
		if _, err := br.Discard(len(chunk)); err != nil {
			return err
		}
	}
}

// eventParser holds the event and the line that are being read.
type eventParser struct {
	limit   int
	fn      func(ServerEvent) error
	started bool // past the byte order mark
	skipLF  bool // the line ended in CR; an LF that follows belongs to it
	line    []byte
	name    []byte
	data    []byte
	some    bool // there was a data line
}

func (p *eventParser) feed(b []byte) error {
	for len(b) > 0 {
		if p.skipLF {
			p.skipLF = false
			if b[0] == '\n' {
				b = b[1:]
				continue
			}
		}
		i := bytes.IndexAny(b, "\r\n")
		if i < 0 {
			i = len(b)
		}
		if len(p.line)+len(p.data)+i > p.limit {
			return fmt.Errorf("%w of %d bytes", errEventSize, p.limit)
		}
		p.line = append(p.line, b[:i]...)
		if i == len(b) {
			return nil
		}
		p.skipLF = b[i] == '\r'
		b = b[i+1:]
		if err := p.endLine(); err != nil {
			return err
		}
	}
	return nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

func (p *eventParser) endLine() error {
	line := p.line
	p.line = p.line[:0]
	if !p.started {
		p.started = true
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	if len(line) == 0 {
		return p.dispatch()
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		p.name = append(p.name[:0], value...)
	case "data":
		if p.some {
			p.data = append(p.data, '\n')
		}
		p.data = append(p.data, value...)
		p.some = true
	}
	return nil
}

// dispatch passes on the event, if there is one.
func (p *eventParser) dispatch() error {
	some := p.some
	e := ServerEvent{Name: string(p.name)}
	p.name, p.some = p.name[:0], false
	var err error
	if some {
		// What is read from it may be views of it, which live on.
		e.Data = bytes.Clone(p.data)
		err = p.fn(e)
	}
	p.data = p.data[:0]
	return err
}
