package jsonl

import (
	"bytes"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/session"
)

// A line of a session file should hold one record. Files of the field also
// hold lines with two records, with the torn rest of one before another, with
// half of one. cutLine takes all of them apart.

type pieceKind int

const (
	pieceRecord pieceKind = iota // a JSON object
	pieceStray                   // a JSON value that is no object
	pieceBad                     // bytes that are no JSON value
)

// piece is a part of a line.
type piece struct {
	kind pieceKind
	data []byte
	off  int   // in the line
	err  error // pieceBad: what stops it from being JSON
	// record only
	typ    session.Type
	id     string
	parent string
}

// cutLine splits a line into its pieces, in order. A sound line gives one
// record, a blank one nothing. When the line breaks off, everything from there
// to the next place where a record can be read to its end is one bad piece.
func cutLine(line []byte) []piece {
	var first [1]piece
	pieces := first[:0]
	i := jsonx.Space(line, 0)
	for i < len(line) {
		end, err := jsonx.Scan(line, i)
		if err != nil {
			next := nextRecord(line, i+1)
			bad := bytes.TrimRight(line[i:next], " \t\r")
			pieces = append(pieces, piece{kind: pieceBad, data: bad, off: i, err: err})
			i = next
			continue
		}
		pieces = append(pieces, readPiece(line[i:end:end], i))
		i = jsonx.Space(line, end)
	}
	return pieces
}

func readPiece(val []byte, off int) piece {
	p := piece{kind: pieceStray, data: val, off: off}
	if !jsonx.IsObject(val) {
		return p
	}
	p.kind = pieceRecord
	jsonx.Members(val, func(key, v []byte) bool {
		switch string(key) {
		case "type":
			s, _ := jsonx.String(v)
			p.typ = session.Type(s)
		case "id":
			p.id, _ = jsonx.String(v)
		case "parentId":
			p.parent, _ = jsonx.String(v)
		}
		return true
	})
	return p
}

// recordStart is how every record that pi or clew wrote begins.
var recordStart = []byte(`{"type":"`)

// nextRecord finds the next place at or after from where a record begins that
// can be read to its end.
func nextRecord(line []byte, from int) int {
	for tries := 0; from < len(line) && tries < 64; tries++ {
		k := bytes.Index(line[from:], recordStart)
		if k < 0 {
			break
		}
		from += k
		if _, err := jsonx.Scan(line, from); err == nil {
			return from
		}
		from++
	}
	return len(line)
}

var bom = []byte("\xef\xbb\xbf")
