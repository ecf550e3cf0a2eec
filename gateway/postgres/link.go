package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/clew-dev/clew/gateway"
	sessions "github.com/clew-dev/clew/session/postgres"
)

// probeWait is how long the database has to answer before it counts as gone.
const probeWait = time.Second

// link says whether the database can be used.
type link struct {
	grace time.Duration
	mu    sync.Mutex
	down  error         // why not
	since time.Time     // it went
	back  chan struct{} // closed when it is back
}

func (l *link) err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.down
}

// wait returns when the database can be used, or why it can't, once it has had its time.
func (l *link) wait(ctx context.Context) error {
	l.mu.Lock()
	down, back, left := l.down, l.back, l.grace-time.Since(l.since)
	l.mu.Unlock()
	if down == nil || left <= 0 {
		return down
	}
	late := time.NewTimer(left)
	defer late.Stop()
	select {
	case <-back:
	case <-late.C:
	case <-ctx.Done():
	}
	return l.err()
}

// set returns whether that is news.
func (l *link) set(err error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := (l.down == nil) != (err == nil)
	l.down = err
	switch {
	case news && err != nil:
		l.since, l.back = time.Now(), make(chan struct{})
	case news && l.back != nil:
		close(l.back)
	}
	return news
}

// use calls fn when the database is there; see try.
func (s *Store) use(ctx context.Context, wait time.Duration, fn func(context.Context) error) error {
	return s.try(ctx, wait, s.link.wait, fn)
}

// try calls fn unless the database is gone. A connection that breaks alone, as they all do when the server starts
// again, gets fn a second try.
func (s *Store) try(ctx context.Context, wait time.Duration, gone func(context.Context) error, fn func(context.Context) error) error {
	for try := range 2 {
		if gone(ctx) != nil {
			return gateway.ErrStoreDown
		}
		within, cancel := context.WithTimeout(ctx, wait)
		err := fn(within)
		late := within.Err() != nil
		cancel()
		if err == nil || !late && !broken(err) || ctx.Err() != nil {
			return err
		}
		if s.probe(ctx) == nil && (late || try == 1) {
			return fmt.Errorf("the database is slow, or breaks connections: %w", err)
		}
	}
	return gateway.ErrStoreDown
}

// broken reports whether an error is about the connection or the server, and not about what was asked.
func broken(err error) bool {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pe.Code[:2] {
		case "08", "53", "57", "58", "25", "XX": // connection, resources, operator, system, transaction state, internal
			return true
		}
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	_, network := errors.AsType[net.Error](err)
	return pgconn.SafeToRetry(err) || pgconn.Timeout(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || network
}

// passing reports whether the server may take the next time what it refused: after a deadlock, or a lock held by another.
func passing(pe *pgconn.PgError) bool {
	return broken(pe) || strings.HasPrefix(pe.Code, "40") || strings.HasPrefix(pe.Code, "55")
}

// probe asks the database whether it is there and has the right tables, and tells the log when that has changed.
func (s *Store) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeWait)
	defer cancel()
	_, err := sessions.New(ctx, s.pool, "")
	if s.link.set(err) {
		if err != nil {
			s.pool.Reset() // the other connections are as broken
			s.log.Error("the database can't be used; requests go on without it", "error", err)
		} else {
			s.log.Info("the database can be used")
		}
	}
	return err
}
