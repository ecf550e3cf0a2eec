package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/minio/minio-go/v7"

	"github.com/clew-dev/clew/blob"
)

// fail says what failed on what, and what to do.
func (s *Store) fail(op string, id blob.ID, err error) error {
	subject := ""
	if !id.IsZero() || op == "open" || op == "stat" {
		subject = id.String()
	}
	if err != nil {
		in := "bucket " + s.opt.Bucket
		if s.opt.Prefix != "" {
			in += "/" + s.opt.Prefix
		}
		err = fmt.Errorf("%w (%s at %s)", err, in, hide(s.opt.Endpoint))
	}
	return fail(op, subject, err)
}

func fail(op, subject string, err error) error {
	if err == nil {
		return nil
	}
	rich := &blob.Error{Op: op, Subject: subject, Err: err}
	var r minio.ErrorResponse
	errors.As(err, &r)
	var file *fs.PathError
	switch {
	case errors.Is(err, blob.ErrSource), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, fs.ErrClosed):
	case r.Code == minio.NoSuchKey:
		rich.Err, rich.Hint = fmt.Errorf("%w: %w", blob.ErrNotFound, err), "it was deleted, or belongs to another session"
	case r.Code == minio.NoSuchBucket:
		rich.Hint = "make the bucket, or name another"
	case r.StatusCode == http.StatusForbidden, r.StatusCode == http.StatusUnauthorized:
		rich.Err, rich.Hint = fmt.Errorf("%w: %w", blob.ErrDenied, err), "check the keys, and what they may do with the bucket"
	case r.StatusCode == http.StatusInsufficientStorage, r.Code == "QuotaExceeded":
		rich.Err, rich.Hint = fmt.Errorf("%w: %w", blob.ErrFull, err), "make room in the bucket"
	case r.Code == "BadDigest", r.Code == "XAmzContentSHA256Mismatch":
		rich.Hint = "it was changed on its way to the server; try again"
	case errors.As(err, &file):
		rich.Hint = "check the folder for temporary files, or name another with TMPDIR"
	case r.StatusCode >= http.StatusInternalServerError, r.StatusCode == 0:
		rich.Hint = "check that the server runs and can be reached, then try again"
	}
	return rich
}
