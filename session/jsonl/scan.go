package jsonl

import (
	"bytes"
	"errors"
	"strings"

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

// piece is a part of a line. Its texts alias the line.
type piece struct {
	kind pieceKind
	data []byte
	off  int   // in the line
	err  error // pieceBad: what stops it from being JSON
	// record only
	typ    string
	id     string
	parent string
	stamp  string // the time it was written
}

// cutLine splits a line into its pieces, in order. A sound line gives one
// record, a blank one nothing. When the line breaks off, everything from there
// to the next record on the line is one bad piece. ended says that a line break
// follows the line.
func cutLine(line []byte, ended bool) []piece {
	var first [1]piece
	pieces := first[:0]
	i := jsonx.Space(line, 0)
	for i < len(line) {
		p, end := readPiece(line, i)
		if p.kind == pieceBad {
			end = nextRecord(line, i+1, ended, p.err)
			p.data = bytes.TrimRight(line[i:end], " \t\r")
		}
		pieces = append(pieces, p)
		i = jsonx.Space(line, end)
	}
	return pieces
}

// readPiece reads the JSON value at line[i], and end is just behind it; when
// there is none, the piece is bad and its data is not known yet.
func readPiece(line []byte, i int) (p piece, end int) {
	p = piece{kind: pieceStray, off: i}
	end, p.err = jsonx.ScanMembers(line, i, func(key, val []byte) {
		switch string(key) {
		case "type":
			p.typ, _ = jsonx.String(val)
		case "id":
			p.id, _ = jsonx.String(val)
		case "parentId":
			p.parent, _ = jsonx.String(val)
		case "timestamp":
			p.stamp, _ = jsonx.String(val)
		}
	})
	switch {
	case p.err != nil:
		return piece{kind: pieceBad, off: i, err: p.err}, end
	case line[i] == '{':
		p.kind = pieceRecord
	}
	p.data = line[i:end:end]
	return p, end
}

// recordStart is how every record that pi or clew wrote begins.
var recordStart = []byte(`{"type":"`)

// nextRecord finds the record that follows bytes which are no JSON: the next
// place at or after from where one can be read to its end. stop says where and
// why the bytes before are none.
//
// Blocks of a message's content begin like records. So a record must have a time
// besides its type, and be followed by the end of the line or another value as
// records are. Where the bytes before it are still JSON up to it, it may be a
// part of them: then it counts only as the end of a line with a line break,
// because what a program appends to an unfinished line has one, and an
// unfinished record never came to its own.
func nextRecord(line []byte, from int, ended bool, stop error) int {
	last := len(bytes.TrimRight(line, " \t\r"))
	reach := len(line) // up to here the bytes were JSON
	if se, ok := errors.AsType[*jsonx.SyntaxError](stop); ok {
		reach = se.Offset
	}
	for tries := 0; from < len(line) && tries < 256; tries++ {
		k := bytes.Index(line[from:], recordStart)
		if k < 0 {
			break
		}
		from += k
		if p, end := readPiece(line, from); p.kind == pieceRecord && p.typ != "" && p.stamp != "" {
			inside := from+len(`{"`) < reach
			next := jsonx.Space(line, end)
			if next >= last && (ended || !inside) || next < last && line[next] == '{' && !inside {
				return from
			}
		}
		from++
	}
	return len(line)
}

// lostRecord is what a stretch of bytes that are no record still says of the
// record they were.
type lostRecord struct {
	off    int64 // where the bytes begin
	id     string
	parent string
	placed bool // the parent, or that there is none, can still be read
}

// salvage reads what can be read of a damaged record.
func salvage(data []byte, off int64) lostRecord {
	l := lostRecord{off: off}
	take := func(key, val []byte) {
		switch string(key) {
		case "id":
			l.id, _ = jsonx.String(val)
		case "parentId":
			l.parent, _ = jsonx.String(val)
			l.placed = true
		}
	}
	_, _ = jsonx.ScanMembers(data, 0, take)
	if l.id == "" {
		// Some records of pi carry these members at their end.
		if k := bytes.LastIndex(data, []byte(`,"id":"`)); k >= 0 {
			end := append([]byte{'{'}, data[k+1:]...)
			_, _ = jsonx.ScanMembers(end, 0, take)
		}
	}
	// The texts alias the line.
	l.id, l.parent = strings.Clone(l.id), strings.Clone(l.parent)
	return l
}

// typeName returns a type that does not alias the line it was read from.
func typeName(s string) session.Type {
	for _, t := range knownTypes {
		if s == string(t) {
			return t
		}
	}
	return session.Type(strings.Clone(s))
}

var knownTypes = [...]session.Type{
	session.TypeMessage, session.TypeCustom, session.TypeContextEdit, session.TypeCompaction,
	session.TypeBranchSummary, session.TypeCustomMessage, session.TypeLabel, session.TypeModelChange,
	session.TypeThinkingLevel, session.TypeSessionInfo, session.TypeUsage,
}

var bom = []byte("\xef\xbb\xbf")
