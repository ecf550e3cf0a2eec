package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/clew-dev/clew/session"
)

// How long Update waits for another one on the same session, and how long the server waits for a program that says
// nothing in the middle of one.
const (
	lockWait = 3 * time.Second
	idleWait = 10 * time.Second
)

// Update calls fn with a session, which it makes where there is none, in a transaction: what fn appends is there when
// Update returns nil, and nothing of it otherwise. fn may use the transaction for more. Meanwhile nobody else has the
// session for writing, in any program; unlike a lease this ends with the connection. ErrLocked: somebody has a lease.
func (db *DB) Update(ctx context.Context, h session.Header, fn func(s *Store, tx pgx.Tx) error) error {
	if len(h.ID) > maxKey {
		return failed("write", "session "+h.ID[:40]+"...", fmt.Errorf("its id has %d bytes; %d are allowed", len(h.ID), maxKey))
	}
	err := pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		s := db.store(h.ID, Options{})
		s.q, s.within, s.opt.Lease = tx, true, 0
		b := &pgx.Batch{}
		b.Queue("SELECT set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true)",
			lockWait.String(), idleWait.String())
		b.Queue("INSERT INTO clew_session (tenant, session, header) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", db.tenant, h.ID, h.JSON())
		b.Queue("UPDATE clew_session SET token = token + 1 WHERE tenant = $1 AND session = $2 AND expires < now() RETURNING token", db.tenant, h.ID).
			QueryRow(func(row pgx.Row) error {
				err := s.lease(row)
				if errors.Is(err, pgx.ErrNoRows) { // tail says why
					return nil
				}
				return err
			})
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		if err := s.tail(ctx); err != nil {
			return err
		}
		defer s.Close()
		return fn(s, tx)
	})
	if err != nil {
		return failed("write", "session "+h.ID, err)
	}
	return nil
}
