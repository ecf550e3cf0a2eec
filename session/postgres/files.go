package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

var errNotWhole = errors.New("the file would not come back byte for byte: it has damaged or blank lines or line ends of another kind, is of an old format version, or was changed meanwhile")

// Import puts a session file into the database, whole or not at all, and returns its header and the number of its
// entries. It refuses a file that Export could not give back byte for byte, and fails with fs.ErrExist when the
// tenant has a session of that id. The file is only read.
//
// beside, unless it is nil, copies what the session has outside; nobody can use the session before that.
func (db *DB) Import(ctx context.Context, path string, beside func(context.Context, session.Store) error) (session.Header, int, error) {
	h, n, err := db.load(ctx, path, beside)
	if err != nil {
		return h, 0, failed("import", path, err)
	}
	return h, n, nil
}

func (db *DB) load(ctx context.Context, path string, beside func(context.Context, session.Store) error) (h session.Header, n int, err error) {
	f, err := jsonl.Open(ctx, path, jsonl.Options{ReadOnly: true})
	if err != nil {
		return h, 0, err
	}
	defer f.Close()
	h = f.Header()
	if len(h.ID) > maxKey {
		return h, 0, fmt.Errorf("the id of the session has %d bytes; %d are allowed", len(h.ID), maxKey)
	}
	read := &rows{key: []any{db.tenant, h.ID}, sum: sha256.New()}
	read.next, read.stop = iter.Pull2(f.All(ctx))
	defer read.stop()
	read.line(h.JSON())
	if beside != nil { // so that Collect finds what is left of an import that was broken off
		if _, err := db.pool.Exec(ctx, "INSERT INTO clew_gone (tenant, session) VALUES ($1, $2) ON CONFLICT (tenant, session) DO UPDATE SET at = now()", db.tenant, h.ID); err != nil {
			return h, 0, err
		}
	}
	err = pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "INSERT INTO clew_session (tenant, session, header) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", db.tenant, h.ID, h.JSON())
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return fmt.Errorf("session %s: %w", h.ID, fs.ErrExist)
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"clew_entry"}, []string{"tenant", "session", "seq", "id", "parent", "raw"}, read)
		if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == "23505" {
			return session.ErrDuplicateID
		}
		if err != nil {
			return err
		}
		if whole, err := sumOf(path); err != nil || !bytes.Equal(whole, read.sum.Sum(nil)) {
			return errors.Join(err, errNotWhole)
		}
		if beside != nil {
			if err := beside(ctx, f); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, "UPDATE clew_session SET last_seq = $3 WHERE tenant = $1 AND session = $2", db.tenant, h.ID, read.n)
		return err
	})
	return h, read.n, err
}

// rows gives entries to COPY, and sums up the file that Export would write.
type rows struct {
	key  []any
	next func() (*session.Entry, error, bool)
	stop func()
	e    *session.Entry
	err  error
	n    int
	sum  hash.Hash
}

func (r *rows) line(raw []byte) {
	r.sum.Write(raw)
	r.sum.Write([]byte{'\n'})
}

func (r *rows) Next() bool {
	ok := false
	if r.e, r.err, ok = r.next(); !ok || r.err != nil {
		return false
	}
	if len(r.e.ID) > maxID {
		r.err = fmt.Errorf("an entry's id has %d bytes; %d are allowed", len(r.e.ID), maxID)
		return false
	}
	r.n++
	r.line(r.e.Raw())
	return true
}

func (r *rows) Values() ([]any, error) {
	return append(r.key[:2:2], int64(r.n), []byte(r.e.ID), []byte(r.e.ParentID), []byte(r.e.Raw())), nil
}

func (r *rows) Err() error { return r.err }

func sumOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum.Sum(nil), err
}

// Export writes a session to a new file, durably, and returns the number of its entries. The file is there whole or
// not at all; a session that Import took comes out as it was, byte for byte. It fails with fs.ErrExist when there is
// a file of that name. beside, unless it is nil, copies what the session has outside, before there is a file.
func (db *DB) Export(ctx context.Context, id, path string, beside func(context.Context, session.Store) error) (int, error) {
	s, err := db.Open(ctx, id, Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if _, err := os.Lstat(path); err == nil {
		return 0, &session.Error{Op: "write", Subject: path, Err: fs.ErrExist, Hint: "choose another name"}
	}
	if beside != nil {
		if err := beside(ctx, s); err != nil {
			return 0, failed("export", path, err)
		}
	}
	return jsonl.WriteNew(ctx, path, s.Header(), s.All(ctx), jsonl.Options{})
}
