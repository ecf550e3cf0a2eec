package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/clew-dev/clew/session"
)

// How long a session counts as followed unless that is renewed, and how long a follower waits for a server that is gone
// before it tries again.
const (
	followed = time.Minute
	retry    = time.Second
)

// Follow yields how many entries others have appended, each time some are there, which are read then. It hears of them
// from the server, without asking again and again, and holds a connection of the pool for that. It ends when the
// context does, or with an error; while the server is gone it waits, and reads what it missed.
func (s *Store) Follow(ctx context.Context) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for {
			err := s.follow(ctx, func(n int) bool { return yield(n, nil) })
			if err == nil || ctx.Err() != nil {
				return
			}
			if errors.Is(err, session.ErrClosed) || errors.Is(err, ErrNoSession) {
				yield(0, failed("follow", "session "+s.id, err))
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(retry):
			}
		}
	}
}

// channel is what the trigger clew_tell notifies of a session.
func (s *Store) channel() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s%s", utf8.RuneCountInString(s.db.tenant), s.db.tenant, s.id))
	return "clew_" + hex.EncodeToString(sum[:24])
}

// follow returns nil when yield wants no more.
func (s *Store) follow(ctx context.Context, yield func(n int) bool) error {
	if err := s.locked(ctx, "follow", func() error { return nil }); err != nil {
		return err // where it is closed the pool may be too, and would be asked for ever
	}
	c, err := s.db.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := c.Hijack() // it is of no use to others, for it listens
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), retry)
		defer cancel()
		_ = conn.Close(late)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel()}.Sanitize()); err != nil {
		return err
	}
	for {
		tag, err := conn.Exec(ctx, "UPDATE clew_session SET followed = now() + $3 WHERE tenant = $1 AND session = $2", s.db.tenant, s.id, followed)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrNoSession
		}
		if err != nil {
			return err
		}
		renew, cancel := context.WithTimeout(ctx, followed/2)
		for err == nil {
			n := 0
			if n, err = s.Refresh(ctx); err == nil && n > 0 && !yield(n) {
				cancel()
				return nil
			}
			if err == nil {
				_, err = conn.WaitForNotification(renew)
			}
		}
		again := renew.Err() != nil && ctx.Err() == nil
		cancel()
		if !again {
			return err
		}
	}
}
