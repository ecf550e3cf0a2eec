// Package sessiongen makes random sessions in pi's session format, for tests.
//
// A session is decided by its seed and options alone: ids, timestamps and texts
// come from the seed, so the same call gives the same bytes on every machine.
// The package imports nothing else of this module, so a test that uses it does
// not lean on the code it tests.
//
//	s := sessiongen.Generate(42, sessiongen.Options{})
//	os.WriteFile("s.jsonl", s.Bytes(), 0o600)
//	broken, harm := sessiongen.Damage(7, s.Bytes())
//	t.Log(harm) // "torn tail at line 61: the last 112 bytes are missing"
//
// By default a session is wild: results are missing, ids dangle, a few records
// have fields of the wrong kind. [Options.WellFormed] and [Options.PiSafe] narrow that.
package sessiongen

import (
	"bytes"
	"fmt"
)

// Entry is what the generator knows about one record after the header.
type Entry struct {
	ID     string // "" in a version 1 file and in a record made without an id
	Parent string // the parentId as written; "" when null or absent
	Type   string // "message", "compaction", ...
	Role   string // of the message, for Type "message"

	// Line is the record's line, counted from 1; the header is line 1.
	Line int
	// Start and End delimit the record's line in Bytes, without its newline.
	Start, End int
}

// Session is one generated session.
type Session struct {
	ID      string  // of the header
	Entries []Entry // in file order
	Stats   Stats

	data []byte
}

// Bytes returns the session file. The caller may change it.
func (s Session) Bytes() []byte { return bytes.Clone(s.data) }

// Leaf returns the id of the last entry, which is where pi stands after opening the file.
func (s Session) Leaf() string {
	if len(s.Entries) == 0 {
		return ""
	}
	return s.Entries[len(s.Entries)-1].ID
}

// Generate makes the session that seed and opts describe. It panics when opts
// ask for a format version other than 1, 2 or 3, because that is a mistake in a test.
func Generate(seed uint64, opts Options) Session {
	o := opts.resolve()
	if o.Version < 1 || o.Version > 3 {
		panic(fmt.Sprintf("sessiongen: Options.Version is %d; there are versions 1, 2 and 3", o.Version))
	}
	g := newGen(seed, o)
	g.run()
	return g.finish()
}
