package jsonl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sort"
	"strconv"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
)

// image is a file of version 1 or 2 as version 3.
type image struct {
	data     []byte
	start    int64 // behind the header
	lines    []mapped
	problems []session.Problem // that are gone in the image, by their place in the file
}

// mapped says where a line of the image stands in the file.
type mapped struct{ image, file int64 }

// original returns the offset in the file for one in the image.
func (m *image) original(off int64) int64 {
	i := sort.Search(len(m.lines), func(i int) bool { return m.lines[i].image > off }) - 1
	if i < 0 {
		return off
	}
	return m.lines[i].file
}

// convert reads a file of version 1 or 2 as version 3. Version 1 is a list
// without ids: each record hangs under the one before it and gets an id made
// of the session's id and its position, so that it is the same each time.
// firstKeptEntryIndex counts the records from the header, which is 0; two
// records on one line were two in the memory of the program that counted. In
// both versions the role hookMessage is now custom. Bytes that are no record
// are kept.
func convert(r io.ReaderAt, h foundHeader, size int64) (*image, error) {
	c := &converter{
		header: h.header,
		out:    &image{data: make([]byte, 0, size+size/16+256)},
		ids:    []string{""}, // the header has index 0
	}
	c.begin(h.line)
	c.add(string(h.header.JSON()) + "\n")
	c.out.start = int64(len(c.out.data))
	err := forwardOnce(r, h.end, size, func(line []byte, off int64, ended bool) error {
		c.take(line, off, ended)
		return nil
	})
	return c.out, err
}

type converter struct {
	header   session.Header
	out      *image
	ids      []string // by the index pi gave the record
	position int      // of the record among all that can be read
	last     string   // id of the record before
}

// begin notes where the line that is appended next stands in the file.
func (c *converter) begin(off int64) {
	c.out.lines = append(c.out.lines, mapped{int64(len(c.out.data)), off})
}

func (c *converter) add(s string) { c.out.data = append(c.out.data, s...) }

func (c *converter) take(line []byte, off int64, ended bool) {
	pieces := cutLine(line, ended)
	if len(pieces) > 1 {
		c.out.problems = append(c.out.problems, problemJoined(off, len(pieces)))
	}
	for i := range pieces {
		p := &pieces[i]
		c.begin(off + int64(p.off))
		if p.kind == pieceRecord && p.typ != "session" {
			c.record(p)
		} else {
			if p.kind != pieceBad && !jsonx.IsNull(p.data) {
				c.ids = append(c.ids, "")
			}
			c.out.data = append(c.out.data, p.data...)
		}
		c.add("\n")
	}
	if !ended && len(pieces) > 0 && pieces[len(pieces)-1].kind == pieceBad {
		c.out.data = c.out.data[:len(c.out.data)-1] // stays torn
	}
}

// record appends a record as version 3 has it.
func (c *converter) record(p *piece) {
	data := p.data
	if p.typ == string(session.TypeMessage) && bytes.Contains(data, []byte(`hookMessage`)) {
		msg := jsonx.Get(data, "message")
		if role, _ := jsonx.String(jsonx.Get(msg, "role")); role == "hookMessage" {
			data = jsonx.Set(data, "message", jsonx.Set(msg, "role", []byte(`"custom"`)))
		}
	}
	if c.header.Version >= 2 {
		c.out.data = append(c.out.data, data...)
		return
	}
	id := derivedID(c.header.ID, c.position)
	c.position++
	c.ids = append(c.ids, id)
	body := bytes.TrimRight(data[:len(data)-1], " \t\r") // up to the closing brace
	c.out.data = append(c.out.data, body...)
	if len(body) > 1 {
		c.add(",")
	}
	c.add(`"id":"` + id + `","parentId":`)
	if c.last == "" {
		c.add("null")
	} else {
		c.add(`"` + c.last + `"`)
	}
	c.last = id
	if p.typ == string(session.TypeCompaction) {
		if kept := c.firstKept(data); kept != "" {
			c.add(`,"firstKeptEntryId":"` + kept + `"`)
		}
	}
	c.add("}")
}

// firstKept turns a firstKeptEntryIndex into the id of that record, which may
// be the compaction itself; "" when there is none.
func (c *converter) firstKept(data []byte) string {
	val := jsonx.Get(data, "firstKeptEntryIndex")
	n, err := strconv.Atoi(string(val))
	if err != nil || n < 1 || n >= len(c.ids) {
		return ""
	}
	return c.ids[n]
}

func derivedID(sessionID string, position int) string {
	sum := sha256.Sum256([]byte(sessionID + "\n" + strconv.Itoa(position)))
	return hex.EncodeToString(sum[:8])
}
