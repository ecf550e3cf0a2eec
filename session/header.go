package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/clew-dev/clew/internal/jsonx"
)

// Version is the version of the session format that clew writes.
const Version = 3

// Header is the first record of a session.
type Header struct {
	Version       int // 1 when the record names none
	ID            string
	Timestamp     time.Time
	Cwd           string
	ParentSession string // the session this one was forked from
	raw           []byte
}

// Raw returns the record as it was written, or nil for a header that was built.
func (h Header) Raw() []byte { return h.raw }

// ErrNotSession is wrapped by ParseHeader.
var ErrNotSession = errors.New("not a session")

// ParseHeader reads a header record.
func ParseHeader(raw []byte) (h Header, err error) {
	typ := ""
	h = Header{Version: 1}
	end, err := jsonx.ScanMembers(raw, 0, func(key, val []byte) {
		switch string(key) {
		case "type":
			typ = str(val)
		case "version":
			n, ok := jsonx.Int(val)
			if ok {
				h.Version = int(n)
			}
		case "id":
			h.ID = str(val)
		case "timestamp":
			h.Timestamp, _ = time.Parse(time.RFC3339, str(val))
		case "cwd":
			h.Cwd = str(val)
		case "parentSession":
			h.ParentSession = str(val)
		}
	})
	if err != nil {
		return h, fmt.Errorf("%w: %w", ErrNotSession, err)
	}
	h.raw = raw[jsonx.Space(raw, 0):end]
	if typ != "session" || h.ID == "" {
		return h, fmt.Errorf(`%w: the first record must have "type":"session" and an id`, ErrNotSession)
	}
	return h, nil
}

// JSON returns the header as a record of the current version.
func (h Header) JSON() []byte {
	if h.raw != nil {
		if h.Version == Version && jsonx.Get(h.raw, "version") != nil {
			return h.raw
		}
		return jsonx.Set(h.raw, "version", fmt.Appendf(nil, "%d", Version))
	}
	var o jsonx.Object
	o.Str("type", "session")
	o.Int("version", Version)
	o.Str("id", h.ID)
	o.Str("timestamp", stamp(h.Timestamp))
	o.Str("cwd", h.Cwd)
	o.OptStr("parentSession", h.ParentSession)
	return o.Bytes()
}

// stamp writes a time as the format has it: UTC with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
