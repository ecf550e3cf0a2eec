package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/minio/minio-go/v7"

	"github.com/clew-dev/clew/blob"
)

// Open implements blob.Store.
func (s *Store) Open(ctx context.Context, id blob.ID) (io.ReadCloser, error) {
	b := &body{s: s, ctx: ctx, id: id}
	if err := b.open(); err != nil {
		return nil, s.fail("open", id, err)
	}
	return blob.NewReader(ctx, id, b), nil
}

// OpenRange returns size bytes of content from offset on, as far as there are some. A part of content has no address
// to check it with.
func (s *Store) OpenRange(ctx context.Context, id blob.ID, offset, size int64) (io.ReadCloser, error) {
	if offset < 0 || size <= 0 {
		return nil, s.fail("open", id, fmt.Errorf("%d bytes from byte %d on: there is no such part", size, offset))
	}
	b := &body{s: s, ctx: ctx, id: id, at: offset, end: offset + size}
	if err := b.open(); err != nil {
		return nil, s.fail("open", id, err)
	}
	return b, nil
}

// A body reads an object, and asks for the rest of it when a connection breaks.
type body struct {
	s       *Store
	ctx     context.Context
	id      blob.ID
	src     io.ReadCloser
	at, end int64 // end is 0 until the size is known
	again   int
	closed  bool
}

func (b *body) open() error {
	var opt minio.GetObjectOptions
	if b.at > 0 || b.end > 0 {
		if err := opt.SetRange(b.at, max(b.end-1, 0)); err != nil {
			return err
		}
	}
	src, o, header, err := b.s.core.GetObject(b.ctx, b.s.opt.Bucket, b.s.name(b.id), opt)
	if minio.ToErrorResponse(err).Code == minio.InvalidRange {
		src, o, err = http.NoBody, minio.ObjectInfo{}, nil // it begins behind the end
	}
	if err != nil {
		return err
	}
	if b.at > 0 && o.Size > 0 && header.Get("Content-Range") == "" {
		return errors.Join(errors.New("the server gives no parts of objects"), src.Close())
	}
	b.src = src
	if b.again == 0 {
		b.end = b.at + o.Size
	}
	return nil
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	for {
		n, err := b.src.Read(p)
		b.at += int64(n)
		if err == io.EOF && b.at < b.end {
			err = io.ErrUnexpectedEOF
		}
		if err == nil || err == io.EOF {
			return n, err
		}
		if b.closed || b.ctx.Err() != nil || b.again >= b.s.opt.Tries {
			return n, fmt.Errorf("after %d bytes of %d: %w", b.at, b.end, err)
		}
		_ = b.src.Close() // it is broken
		b.again++
		if again := b.open(); again != nil {
			b.src = http.NoBody
			return n, fmt.Errorf("after %d bytes of %d: %w; then %w", b.at, b.end, err, again)
		}
		if n > 0 {
			return n, nil
		}
	}
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.closed = true
	return b.src.Close()
}

// maxHeld is how much content is held in memory before it is sent.
const maxHeld = 4 << 20

// A spool holds content that is about to be sent, in memory or in a temporary file.
type spool struct {
	size int64
	buf  bytes.Buffer
	file *os.File
}

// Write implements io.Writer.
func (s *spool) Write(p []byte) (n int, err error) {
	if s.file == nil && s.buf.Len()+len(p) > maxHeld {
		if s.file, err = os.CreateTemp("", "clew-*"); err != nil {
			return 0, err
		}
		if _, err = s.file.Write(s.buf.Bytes()); err != nil {
			return 0, err
		}
		s.buf = bytes.Buffer{}
	}
	if s.file != nil {
		n, err = s.file.Write(p)
	} else {
		n, err = s.buf.Write(p)
	}
	s.size += int64(n)
	return n, err
}

// reader reads all of it, from the beginning. It can't be closed: the client would close the file.
func (s *spool) reader() (io.ReadSeeker, error) {
	if s.file == nil {
		return bytes.NewReader(s.buf.Bytes()), nil
	}
	_, err := s.file.Seek(0, io.SeekStart)
	return struct{ io.ReadSeeker }{s.file}, err
}

func (s *spool) remove() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}
