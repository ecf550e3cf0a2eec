package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

const (
	chunk = 64 << 10 // bytes written at a time
	// A reader that gives nothing this often in a row never will.
	maxEmptyReads = 100
)

var errEnd = errors.New("the end of the content")

// An intake is what is known of content after reading it.
type intake struct {
	id   ID
	size int64
	// written says that all of it went to the writer.
	written bool
	// whole says that it was read to its end.
	whole bool
}

// take reads r to its end, hashes it and writes it to w. What does not fit is not
// written any further, but read on, for it may be there already; what is larger
// than most can't be, and is not read any further.
func take(ctx context.Context, w io.Writer, r io.Reader, fits func(size int64) (bool, error), most int64) (intake, error) {
	if r == nil {
		return intake{}, fmt.Errorf("%w: there is no reader", ErrSource)
	}
	h := sha256.New()
	in := intake{written: true}
	buf := make([]byte, chunk)
	for !in.whole && in.size <= most {
		n, err := fill(ctx, buf, r)
		in.whole = errors.Is(err, errEnd)
		if err != nil && !in.whole {
			return in, err
		}
		h.Write(buf[:n])
		in.size += int64(n)
		if in.written {
			if in.written, err = fits(in.size); err != nil {
				return in, err
			}
		}
		if in.written && n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return in, err
			}
		}
	}
	if in.whole {
		h.Sum(in.id[:0])
	}
	return in, nil
}

// fill reads until buf is full, however little r gives at a time. At the end of r
// it returns errEnd.
func fill(ctx context.Context, buf []byte, r io.Reader) (n int, err error) {
	for empty := 0; n < len(buf); {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		k, err := r.Read(buf[n:])
		if k < 0 || k > len(buf)-n {
			return n, fmt.Errorf("%w: the reader says that it read %d bytes into %d", ErrSource, k, len(buf)-n)
		}
		n += k
		if empty++; k > 0 {
			empty = 0
		}
		switch {
		case err == io.EOF: // and no error that wraps it, as io.Reader has it
			return n, errEnd
		case err != nil:
			return n, fmt.Errorf("%w: %w", ErrSource, err)
		case empty >= maxEmptyReads:
			return n, fmt.Errorf("%w: %w", ErrSource, io.ErrNoProgress)
		}
	}
	return n, nil
}
