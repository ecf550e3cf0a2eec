package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// A reader checks what it reads: in the place of io.EOF it returns ErrCorrupt
// when the content is not that of its address.
type reader struct {
	ctx  context.Context
	id   ID
	src  io.ReadCloser
	hash hash.Hash
	err  error // of every further Read
}

func newReader(ctx context.Context, id ID, src io.ReadCloser) *reader {
	return &reader{ctx: ctx, id: id, src: src, hash: sha256.New()}
}

func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if err := r.ctx.Err(); err != nil {
		return 0, fail("read", r.id.String(), err) // not kept: it says nothing about the content
	}
	n, err := r.src.Read(p)
	r.hash.Write(p[:n])
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		r.err = fail("read", r.id.String(), err)
	case ID(r.hash.Sum(nil)) != r.id:
		r.err = fail("read", r.id.String(), fmt.Errorf("%w: it has the hash of %s", ErrCorrupt, ID(r.hash.Sum(nil))))
	default:
		r.err = io.EOF
	}
	return n, r.err
}

func (r *reader) Close() error { return r.src.Close() }
