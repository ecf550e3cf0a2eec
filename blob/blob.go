// Package blob keeps large content beside the log: tool and shell output that is too large
// for the session file, which has its hash instead. It lives as long as the session.
//
//	store, err := blob.OpenDir(dir, blob.DirOptions{})
//	id, err := store.Put(ctx, output)
//	if blob.KeepInline(err) {
//		// Disk full, no permission: keep the content where it is and report err.
//	}
//	content, err := store.Open(ctx, id)
//
// The address of content is its SHA-256. So the same content is stored once, and reading
// content to its end fails with ErrCorrupt when it is not what was stored.
//
// A Dir keeps content xyz… in the file xy/sha256-xyz… of its folder. It writes content to
// the folder tmp, syncs it and renames it into place, so that content is there whole or not
// at all. Folders are 0700, files 0600. All names are resolved in an os.Root, and no symbolic
// link is followed, not even one in the place of the folder. Nothing is locked: any number of
// goroutines and processes may use the same folder.
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

// ID is the address of content: its SHA-256. As text it is "sha256-" and 64
// lower-case hexadecimal digits, which is safe as a file name on every system.
// The zero ID addresses nothing.
type ID [sha256.Size]byte

const idPrefix = "sha256-"

// IDOf returns the address of data.
func IDOf(data []byte) ID { return sha256.Sum256(data) }

// ParseID reads an ID as String writes it, and nothing else: on a file system
// that ignores case, two spellings would be one file.
func ParseID(s string) (ID, error) {
	digits, ok := strings.CutPrefix(s, idPrefix)
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != digits {
		return ID{}, badID(s)
	}
	return ID(raw), nil
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

// Store keeps content by its address. Implementations pass the suite in package
// blobtest. All methods may be called from several goroutines.
type Store interface {
	// Put stores what r gives up to its end, and returns its address. When it
	// returns nil the content is there whole and will be after a crash; when it
	// returns an error nothing of it is there, unless it was before or all of
	// it is. Content that is there already is not stored twice. KeepInline says
	// what an error means for the caller. Cancelling ctx takes effect between two
	// reads of r.
	Put(ctx context.Context, r io.Reader) (ID, error)

	// Open returns content for reading, or ErrNotFound. Reads fail when ctx is
	// done. Where a read to the end returns io.EOF, all that was read is what
	// was stored; otherwise it returns ErrCorrupt.
	Open(ctx context.Context, id ID) (io.ReadCloser, error)

	// Stat says what is known of content without reading it, or ErrNotFound.
	Stat(ctx context.Context, id ID) (Info, error)

	// Delete removes content. Deleting what is not there is no error. The
	// caller knows that nothing refers to it any more.
	Delete(ctx context.Context, id ID) error

	// List yields all content in the order of the addresses. An error that
	// concerns one content comes with its address, and the rest follows.
	// Content that comes or goes meanwhile may or may not be listed.
	List(ctx context.Context) iter.Seq2[Info, error]
}

// Info is what is known of content without reading it.
type Info struct {
	ID   ID
	Size int64 // in bytes
	// Stored is when the content was last stored; storing it again renews it.
	Stored time.Time
}

// What can be wrong. Errors of this package are of type *Error and wrap one of
// these where it applies.
var (
	// ErrNotFound: there is no content with this address.
	ErrNotFound = errors.New("no such content")
	// ErrCorrupt: what is there is not what was stored.
	ErrCorrupt = errors.New("the content is damaged")
	// ErrFull: no room on the disk.
	ErrFull = errors.New("no room")
	// ErrDenied: the system does not allow it: permissions, or a file system
	// that can only be read.
	ErrDenied = errors.New("not allowed")
	// ErrSource: what was to be stored could not be read.
	ErrSource = errors.New("the content could not be read")
)

// Error is the rich error of this package: what was tried, on what, what went
// wrong and what to do about it.
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

// KeepInline reports whether err, of Store.Put or Cache.Path, says that a store or a cache
// could not take sound content: no room, no permission, a failing disk. The caller then keeps
// the content in the session and reports err. It is false for nil, for a cancelled context,
// and for content that was missing, damaged or unreadable.
func KeepInline(err error) bool {
	if err == nil {
		return false
	}
	for _, not := range []error{context.Canceled, context.DeadlineExceeded, ErrSource, ErrNotFound, ErrCorrupt} {
		if errors.Is(err, not) {
			return false
		}
	}
	return true
}

// fail makes an *Error and classifies what the system said.
func fail(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	var hint string
	var not *notAError
	switch {
	case errors.Is(err, ErrSource), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.Is(err, ErrNotFound):
		hint = "it was deleted, or belongs to another session"
	case errors.Is(err, ErrCorrupt):
		hint = "the file was changed, or the disk fails; store the content again if there is another copy"
	case errors.As(err, &not):
		hint = "move it away and try again"
	case isFull(err):
		err = fmt.Errorf("%w: %w", ErrFull, err)
		hint = "free some space on the disk"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		err = fmt.Errorf("%w: %w", ErrDenied, err)
		hint = "check the owner and the permissions of the folder"
	}
	return &Error{Op: op, Subject: subject, Err: err, Hint: hint}
}

// isFull reports whether the system says that the disk is full, a disk quota is spent or
// the file is as large as the process may write.
func isFull(err error) bool {
	full := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
	if runtime.GOOS == "windows" { // ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL, ERROR_DISK_QUOTA_EXCEEDED
		full = []error{syscall.Errno(39), syscall.Errno(112), syscall.Errno(1295)}
	}
	return slices.ContainsFunc(full, func(f error) bool { return errors.Is(err, f) })
}
