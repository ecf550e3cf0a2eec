package blob

import (
	"context"
	"io"
	"iter"
	"time"
)

// Store keeps content by its address. Implementations pass the suite in package
// blobtest. All methods may be called from several goroutines.
type Store interface {
	// Put stores what r gives up to its end, and returns its address. When it
	// returns nil the content is there whole and will be after a crash; when it
	// returns an error nothing of it is there, unless it was before or all of
	// it is. Content that is there already is not stored twice, and takes no
	// room of a quota. KeepInline says what an error means for the caller.
	// Cancelling ctx takes effect between two reads of r.
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

// RemoveAll removes everything in a store, as when its session is removed. A
// store that has a method RemoveAll(context.Context) error, as Dir does,
// removes more than content that way: its folders and what a crash left.
//
// When it fails it has removed what it could, and may be called again.
func RemoveAll(ctx context.Context, s Store) error {
	if r, ok := s.(interface{ RemoveAll(context.Context) error }); ok {
		return r.RemoveAll(ctx)
	}
	var first error
	for info, err := range s.List(ctx) {
		if err == nil {
			err = s.Delete(ctx, info.ID)
		}
		if first == nil {
			first = err
		}
	}
	return first
}
