// Package blob keeps large content beside the log: tool and shell output that is too large
// for the session file, which has its hash instead. It lives as long as the session.
//
//	store, err := blob.OpenDir(dir)
//	id, err := store.Put(ctx, output)
//	if blob.KeepInline(err) {
//		// Disk full, no permission: keep the content where it is and report err.
//	}
//	content, err := store.Open(ctx, id)
//
// The address of content is its SHA-256, so the same content is stored once.
//
// A Dir keeps content xyz… in the file xy/sha256-xyz… of its folder, which it writes to the folder tmp, syncs and
// renames, so that content is there whole or not at all. Folders are 0700, files 0600. All names are resolved in an
// os.Root, and no symbolic link is followed, not even one in the place of the folder. Nothing is locked: any number
// of goroutines and processes may use the same folder.
//
// A Cache gives content a path with a readable name, for tools that read files. It is never
// the only copy: its files may be deleted at any time and are made again when needed.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ID is the address of content, its SHA-256: as text "sha256-" and 64 lower-case hex digits. The zero ID is none.
type ID [sha256.Size]byte

const idPrefix = "sha256-"

// IDOf returns the address of data.
func IDOf(data []byte) ID { return sha256.Sum256(data) }

// ParseID reads an ID as String writes it, and nothing else: some file systems take two spellings for one file.
func ParseID(s string) (ID, error) {
	digits, ok := strings.CutPrefix(s, idPrefix)
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != digits {
		if len(s) > 100 {
			s = s[:100] + "…"
		}
		return ID{}, fmt.Errorf("%q is no address of content; one is %q and 64 lower-case hexadecimal digits", s, idPrefix)
	}
	return ID(raw), nil
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

// Store keeps content by its address. Implementations pass the suite in package
// blobtest. All methods may be called from several goroutines.
type Store interface {
	// Put stores what r gives up to its end, and returns its address. When it returns nil the content will be there
	// whole after a crash; when it returns an error nothing of it is there, or all. KeepInline says what an error
	// means for the caller. Cancelling ctx takes effect between two reads of r.
	Put(ctx context.Context, r io.Reader) (ID, error)

	// Open returns content for reading, or ErrNotFound. Reads fail when ctx is done. A read
	// to the end returns ErrCorrupt instead of io.EOF when it is not what was stored.
	Open(ctx context.Context, id ID) (io.ReadCloser, error)

	// Stat says what is known of content without reading it, or ErrNotFound.
	Stat(ctx context.Context, id ID) (Info, error)

	// Delete removes content that nothing refers to any more. Deleting what is not there is no error.
	Delete(ctx context.Context, id ID) error

	// List yields all content in the order of the addresses. An error that concerns one content comes with its
	// address, and the rest follows. Content that comes or goes meanwhile may or may not be listed.
	List(ctx context.Context) iter.Seq2[Info, error]
}

// Info is what is known of content without reading it.
type Info struct {
	ID     ID
	Size   int64     // in bytes
	Stored time.Time // when the content was last stored; storing it again renews it
}

// What can be wrong. Errors of this package are of type *Error and wrap one of these where it applies.
var (
	ErrNotFound = errors.New("no such content")               // there is none with this address
	ErrCorrupt  = errors.New("the content is damaged")        // what is there is not what was stored
	ErrFull     = errors.New("no room")                       // on the disk
	ErrDenied   = errors.New("not allowed")                   // permissions, or a file system that can only be read
	ErrSource   = errors.New("the content could not be read") // what was to be stored
)

// Error says what was tried, on what, what went wrong and what to do about it.
type Error struct {
	Op      string // "put", "open", "read", "stat", "delete", "list", "remove", "cache"
	Subject string // an address or a path
	Err     error
	Hint    string // what to do, a sentence without a full stop; may be empty
}

func (e *Error) Error() string {
	s := e.Op + " content"
	if e.Subject != "" {
		s += " " + e.Subject
	}
	s += ": " + e.Err.Error()
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// KeepInline reports whether err, of Store.Put or Cache.Path, says that sound content could
// not be taken: no room, no permission, a failing disk. The caller then keeps the content in
// the session and reports err. It is false for nil and for a cancelled context.
func KeepInline(err error) bool {
	return err != nil && !isAny(err, context.Canceled, context.DeadlineExceeded, ErrSource, ErrNotFound, ErrCorrupt)
}

func isAny(err error, those ...error) bool {
	return slices.ContainsFunc(those, func(one error) bool { return errors.Is(err, one) })
}

func fail(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	var hint string
	var not *notAError
	switch {
	case isAny(err, ErrSource, context.Canceled, context.DeadlineExceeded):
	case errors.Is(err, ErrNotFound):
		hint = "it was deleted, or belongs to another session"
	case errors.Is(err, ErrCorrupt):
		hint = "the file was changed, or the disk fails; store the content again if there is another copy"
	case errors.As(err, &not):
		hint = "move it away and try again"
	case isAny(err, full...):
		err = fmt.Errorf("%w: %w", ErrFull, err)
		hint = "free some space on the disk"
	case isAny(err, fs.ErrPermission, syscall.EROFS):
		err = fmt.Errorf("%w: %w", ErrDenied, err)
		hint = "check the owner and the permissions of the folder"
	}
	return &Error{Op: op, Subject: subject, Err: err, Hint: hint}
}

// full is what the system says of a full disk, a spent quota or a file at the limit of the process.
var full = func() []error {
	if runtime.GOOS == "windows" { // ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL, ERROR_DISK_QUOTA_EXCEEDED
		return []error{syscall.Errno(39), syscall.Errno(112), syscall.Errno(1295)}
	}
	return []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
}()
