package jsonl

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/session"
)

// Repaired says what Repair wrote.
type Repaired struct {
	Header  session.Header `json:"-"`              // of the copy
	Entries int            `json:"entries"`        // in the copy
	Fixes   []Fix          `json:"fixes"`          // what was done, in the order of the original
	More    int            `json:"more,omitempty"` // fixes beyond the first 10,000, which are not listed
}

// Fix is one thing that Repair did.
type Fix struct {
	Code    string `json:"code"`              // what was wrong; docs/FORMAT.md lists the codes
	Line    int    `json:"line"`              // in the original, from 1
	Offset  int64  `json:"offset"`            // in the original, in bytes
	Left    int64  `json:"left,omitempty"`    // bytes that are not in the copy
	EntryID string `json:"entryId,omitempty"` // the entry concerned, as it is called in the copy
	Done    string `json:"done"`              // what was done
}

// Repair writes a sound copy of a session file to out, durably, and never changes the file itself. What can be read
// is in the copy, as version 3, and the context at its leaf is what clew shows of the original. A header that is
// damaged or missing is made anew.
//
// It fails with fs.ErrExist when out exists, with session.ErrNotSession when nothing in the file looks like the
// records of a session, and with session.ErrReadOnly when the format is newer than this package.
func Repair(ctx context.Context, path, out string) (*Repaired, error) {
	f := newFile(path, Options{ReadOnly: true})
	defer f.Close()
	return f.repair(ctx, out, f.openPath(ctx))
}

// RepairFrom is Repair for a stream; name is for errors.
func RepairFrom(ctx context.Context, name string, r io.Reader, out string) (*Repaired, error) {
	f := newStream(name)
	return f.repair(ctx, out, f.readAll(ctx, r))
}

// repair writes the sound copy of a file; err is what opening it said.
func (f *File) repair(ctx context.Context, out string, err error) (*Repaired, error) {
	rp := &repairer{f: f, given: map[string]bool{}, place: map[*rec]int{}}
	if notSession := err; errors.Is(err, session.ErrNotSession) && f.src != nil {
		switch rp.made, err = remakeHeader(ctx, f.src, f.size); {
		case err == nil && rp.made == nil:
			err = notSession
		case err == nil:
			err = f.readBehind(ctx, f.src, foundHeader{header: rp.made.header, end: rp.made.skip}, f.size)
		}
	}
	switch {
	case err != nil:
		return nil, failed("open", f.path, err)
	case f.version > session.Version:
		return nil, f.futureError("repair")
	}
	rp.x = f.x
	if err := rp.look(ctx); err != nil {
		return nil, f.wrap("read", err)
	}
	looked := *rp
	err = writeOut(f.fs, out, func(w *bufio.Writer) error {
		*rp = looked // it may be written twice
		return rp.write(ctx, w)
	})
	if err != nil {
		return nil, err
	}
	crlf, n, err := numberLines(ctx, f.src, f.size, rp.fixes, func(fix *Fix) (int64, *int) { return fix.Offset, &fix.Line })
	if err != nil {
		return nil, f.wrap("read", err)
	}
	if n > 0 {
		rp.fixes = append(rp.fixes, Fix{"crlf", crlf.Line, crlf.Offset, int64(n), "", fmt.Sprintf("ended lines with LF instead of CR and LF: %d", n)})
		slices.SortStableFunc(rp.fixes, func(a, b Fix) int { return cmp.Compare(a.Offset, b.Offset) })
	}
	h, err := session.ParseHeader(f.header.JSON())
	return &Repaired{Header: h, Entries: rp.written, Fixes: append([]Fix{}, rp.fixes...), More: rp.more}, err
}

type repairer struct {
	f    *File
	x    *index
	made *madeHeader // nil when the file has a header of its own

	recs  []fixed
	place map[*rec]int    // in recs
	given map[string]bool // ids that newID made

	leafID  string // of the record that names the leaf, where one is needed
	fixes   []Fix
	more    int // fixes that are not listed
	written int
}

type fixed struct {
	r      *rec   // nil for one that had no id
	off    int64  // in the index
	raw    []byte // only of one that had no id
	id     string // in the copy
	parent int    // in recs, -1 for a root
	keep   bool   // the parent as it is spelled is right
	kept   string // first kept entry of a compaction in the copy, "" to leave it
	drop   bool
}

// fix notes what was done; off is an offset in the index.
func (rp *repairer) fix(code string, off, left int64, id, format string, args ...any) {
	rp.fixAt(code, rp.f.original(off), left, id, format, args...)
}

func (rp *repairer) fixAt(code string, off, left int64, id, format string, args ...any) {
	if len(rp.fixes) == maxProblems {
		rp.more++
		return
	}
	rp.fixes = append(rp.fixes, Fix{Code: code, Offset: off, Left: left, EntryID: id, Done: fmt.Sprintf(format, args...)})
}

func (rp *repairer) look(ctx context.Context) error {
	if err := rp.x.all(ctx); err != nil {
		return err
	}
	if err := rp.fileFixes(); err != nil {
		return err
	}
	if err := rp.collect(ctx); err != nil {
		return err
	}
	if err := rp.identify(); err != nil {
		return err
	}
	rp.attach()
	rp.cutCycles()
	rp.leafID = rp.newID(rp.f.end)
	return rp.keptEntries()
}

// fileFixes tells what becomes of what stands before the first record and behind the last.
func (rp *repairer) fileFixes() error {
	if rp.made != nil {
		rp.fixAt("header", 0, 0, "", "wrote a new header: %s", rp.made.what)
		if rp.made.dropped > 0 {
			rp.fixAt("header", rp.made.at, rp.made.dropped, "", "left out what was the header: %s", excerpt(rp.made.old))
		}
	}
	size := rp.f.size
	for _, p := range rp.f.problems {
		what := ""
		switch p.Code {
		case "bom":
			rp.fixAt(p.Code, p.Offset, int64(len(bom)), "", "left out the byte order mark")
		case "before-header":
			rp.fixAt(p.Code, p.Offset, 0, "", "left out %s", p.What)
		case "joined-records": // of an old version: the index has them on lines of their own
			rp.fixAt(p.Code, p.Offset, 0, "", "put the records that stood on one line on lines of their own")
		case "torn-tail":
			what = "the unfinished last line"
		case "part-pass":
			what = "a pass that was not written to its end"
		}
		if what == "" {
			continue
		}
		head := make([]byte, min(excerptBytes+1, size-p.Offset))
		if err := readFull(rp.f.src, head, p.Offset); err != nil {
			return err
		}
		rp.fixAt(p.Code, p.Offset, size-p.Offset, "", "left out %s: %s", what, excerpt(head))
		if p.Code == "part-pass" {
			size = p.Offset
		}
	}
	if v := rp.f.version; v < session.Version {
		rp.fixAt("old-version", 0, 0, "", "wrote it as version %d; it was version %d", session.Version, v)
	}
	if rp.f.open {
		rp.fix("no-final-newline", max(rp.f.end-1, 0), 0, "", "ended the last line")
	}
	return nil
}

// excerptBytes is how much is shown of what is left out.
const excerptBytes = 40

func excerpt(data []byte) string {
	s := string(data[:min(len(data), excerptBytes)])
	if strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
		s = strconv.Quote(s)
	}
	if len(data) > excerptBytes {
		s += "..."
	}
	return s
}

// madeHeader is a header that was made for a file, in the place of what its header was.
type madeHeader struct {
	header  session.Header
	skip    int64  // where in the file the records begin
	what    string // where the header comes from
	at      int64  // where what was the header is
	dropped int64  // bytes of it
	old     []byte // its beginning
}

// How many pieces of a file are looked at for a record, and how many for a header that stands behind records.
const (
	maxLook   = 10_000
	maxLookOn = 100
)

// remakeHeader makes a header for a file that has none to be read, nil when nothing in it looks like a record.
func remakeHeader(ctx context.Context, r io.ReaderAt, size int64) (*madeHeader, error) {
	m := &madeHeader{}
	found := &m.header
	var first []byte // the first record
	withIDs, looked := false, 0
	err := scan(ctx, r, 0, size, func(l *scanned) error {
		if l.bom {
			m.skip = int64(len(bom))
		}
		for i := range l.pieces {
			p := &l.pieces[i]
			if looked++; looked > maxLook || first != nil && (looked > maxLookOn || found.ID != "") {
				return errStop
			}
			if h, err := session.ParseHeader(bytes.Clone(p.data)); err == nil && p.kind == pieceRecord {
				if found.ID == "" {
					*found = h
					m.what = "the one that stands later in the file"
				}
				continue
			}
			if isEntry(p) {
				if first == nil {
					first = bytes.Clone(p.data)
				}
				withIDs = withIDs || p.id != ""
				continue
			}
			if first == nil && found.ID == "" && likeHeader(p) {
				*found = salvageHeader(p.data)
				m.at, m.dropped = l.off+int64(p.off), int64(len(p.data))
				m.old = bytes.Clone(p.data[:min(len(p.data), excerptBytes+1)])
				m.skip = m.at + m.dropped
				m.what = "with what could be read of the damaged one"
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return nil, err
	}
	if first == nil {
		return nil, nil
	}
	// What the old header does not say.
	m.what = cmp.Or(m.what, "there was none")
	if found.ID == "" {
		sum := sha256.Sum256(first)
		found.ID = hex.EncodeToString(sum[:16])
	}
	if found.Version < 1 || found.Version > session.Version {
		found.Version = 1
		if withIDs {
			found.Version = session.Version
		}
	}
	if e, err := session.ParseEntry(first); err == nil && found.Timestamp.IsZero() {
		found.Timestamp = e.Time()
	}
	if found.Timestamp.IsZero() {
		found.Timestamp = time.Unix(0, 0)
	}
	return m, nil
}

func isEntry(p *piece) bool {
	switch {
	case p.kind != pieceRecord || !p.typ.Known():
		return false
	case p.typ == session.TypeMessage:
		return jsonx.StringAt(jsonx.Get(p.data, "message"), "role") != ""
	}
	return p.id != "" || p.stamp != ""
}

func likeHeader(p *piece) bool {
	if p.kind == pieceBad {
		head := p.data[:min(len(p.data), 4096)]
		return bytes.Contains(head, []byte(`"session"`)) || bytes.Contains(head, []byte(`"cwd"`))
	}
	return p.kind == pieceRecord && (jsonx.Get(p.data, "cwd") != nil || jsonx.Get(p.data, "version") != nil && p.id != "")
}

// The members of a header, as they are spelled.
var (
	headerID      = text.Pattern(`"id" ?: ?"([A-Za-z0-9._-]{1,128})"`)
	headerTime    = text.Pattern(`"timestamp" ?: ?"([0-9T:.Z+-]{1,40})"`)
	headerCwd     = text.Pattern(`"cwd" ?: ?("(?:[^"\\]|\\.)*")`)
	headerVersion = text.Pattern(`"version" ?: ?([0-9]{1,3})\b`)
)

func salvageHeader(data []byte) (h session.Header) {
	first := func(re *regexp.Regexp) string {
		if m := re.FindSubmatch(data[:min(len(data), 64<<10)]); m != nil {
			return string(m[1])
		}
		return ""
	}
	h.ID = first(headerID())
	h.Timestamp, _ = time.Parse(time.RFC3339, first(headerTime()))
	h.Cwd, _ = jsonx.String([]byte(first(headerCwd())))
	h.Version, _ = strconv.Atoi(first(headerVersion()))
	return h
}
