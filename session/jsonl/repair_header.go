package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/session"
)

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

// remakeHeader makes a header for a file that has none which can be read. It
// returns nil when nothing in the file looks like a record of a session.
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
