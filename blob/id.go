package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// ID is the address of content: its SHA-256. As text it is "sha256-" and 64
// lower-case hexadecimal digits, which is safe as a file name on every system.
// The zero ID addresses nothing.
type ID [sha256.Size]byte

const (
	idPrefix  = "sha256-"
	hexDigits = "0123456789abcdef"
)

// IDOf returns the address of data.
func IDOf(data []byte) ID { return sha256.Sum256(data) }

// ParseID reads an ID as String writes it, and nothing else: on a file system
// that ignores case, two spellings would be one file.
func ParseID(s string) (ID, error) {
	var id ID
	digits, ok := strings.CutPrefix(s, idPrefix)
	if !ok || len(digits) != hex.EncodedLen(len(id)) {
		return ID{}, badID(s)
	}
	for i := range len(digits) {
		digit := strings.IndexByte(hexDigits, digits[i])
		if digit < 0 {
			return ID{}, badID(s)
		}
		id[i/2] = id[i/2]<<4 | byte(digit)
	}
	return id, nil
}

func badID(s string) error {
	const most = 100
	if len(s) > most {
		s = s[:most] + "…"
	}
	return fmt.Errorf("%q is no address of content; one is %q and 64 lower-case hexadecimal digits", s, idPrefix)
}

// String returns id as text.
func (id ID) String() string { return idPrefix + hex.EncodeToString(id[:]) }

// IsZero reports whether id is the zero ID.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}
