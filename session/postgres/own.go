package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/blob"
)

// ErrShared says that large output may be another database's.
var ErrShared = errors.New("another database has its large output there, too")

// Own fails with ErrShared unless the large output at a place is this database's alone. Whoever deletes some asks before.
// With take it is from now on, whatever was there.
//
// The store blobs("", "") has the marks of databases. Each call renews the mark of this one. A copy of the database, or one
// that was set back, finds a mark that it has not made, and so does the original once the copy has asked. The mark of who is
// refused stays there, so the other one is refused as well.
func Own(ctx context.Context, pool *pgxpool.Pool, blobs func(tenant, session string) (blob.Store, error), take bool) error {
	_, err := own(ctx, pool, blobs, take, false)
	if err != nil {
		return failed("use", "the large output of the database", err)
	}
	return nil
}

// mark is one of this database's.
type mark struct {
	name   string
	looked time.Time
	before bool // there was one before it, at that place
}

func own(ctx context.Context, pool *pgxpool.Pool, blobs func(tenant, session string) (blob.Store, error), take, look bool) (now mark, err error) {
	place, err := blobs("", "")
	if err != nil {
		return now, err
	}
	c, err := pool.Acquire(ctx)
	if err != nil {
		return now, err
	}
	defer c.Release()
	const lock = 0x6f776e // "own"
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", lock); err != nil {
		return now, err
	}
	defer func() { _, _ = c.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", lock) }()

	var who string
	if err := c.QueryRow(ctx, `SELECT format('Large output of the database %I, %s of the PostgreSQL %s', datname, oid, system_identifier)
		FROM pg_database, pg_control_system() WHERE datname = current_database()`).Scan(&who); err != nil {
		return now, err
	}
	text := func(name string) string { return who + ". " + name + "\n" }
	now.name = rand.Text()
	if !look { // noted first, so that it is known again after a crash
		_, err := c.Exec(ctx, "INSERT INTO clew_owner (mark) VALUES ($1)", now.name)
		if err == nil {
			_, err = place.Put(ctx, strings.NewReader(text(now.name)))
		}
		if err != nil {
			return now, err
		}
	}
	ours := map[blob.ID]mark{}
	rows, _ := c.Query(ctx, "SELECT mark, looked FROM clew_owner")
	var m mark
	if _, err := pgx.ForEachRow(rows, []any{&m.name, &m.looked}, func() error {
		ours[blob.IDOf([]byte(text(m.name)))] = m
		return nil
	}); err != nil {
		return now, err
	}
	var old []string
	var gone, others []blob.ID
	for info, err := range place.List(ctx) {
		m, is := ours[info.ID]
		switch {
		case err != nil:
			return now, err
		case !is:
			others = append(others, info.ID)
		case m.name != now.name:
			old, gone, now.before = append(old, m.name), append(gone, info.ID), true
			if m.looked.After(now.looked) {
				now.looked = m.looked
			}
		}
	}
	if len(others) > 0 && !take {
		err = fmt.Errorf("%w: %q", ErrShared, said(ctx, place, others[0]))
	} else {
		gone = append(gone, others...)
	}
	if look {
		return now, err
	}
	for _, id := range gone {
		if err := place.Delete(ctx, id); err != nil {
			return now, err
		}
	}
	if _, failed := c.Exec(ctx, "WITH gone AS (DELETE FROM clew_owner WHERE mark = ANY($1)) UPDATE clew_owner SET looked = $3 WHERE mark = $2", old, now.name, now.looked); failed != nil {
		return now, failed
	}
	return now, err
}

// said is what a mark says, or its address.
func said(ctx context.Context, place blob.Store, id blob.ID) string {
	r, err := place.Open(ctx, id)
	if err != nil {
		return id.String()
	}
	defer r.Close()
	text, _ := io.ReadAll(io.LimitReader(r, 300))
	who, _, _ := strings.Cut(string(text), ". ")
	return who
}
