package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/postgres"
)

// Who follows a session hears of each append by another program, also after the server broke its connection, and asks for
// nothing in between. Nobody is notified where nobody listens, nor of another tenant's session.
func TestFollow(t *testing.T) {
	dsn, pool := migrated(t)
	writer := create(t, tenant(t, pool, "ä"), header)
	add(t, writer, chain(t, "", "a"))
	other := create(t, tenant(t, pool, "other"), header)
	add(t, other, chain(t, "", "a"))

	const channel = `SELECT 'clew_' || left(encode(sha256(convert_to('1 ä' || session, 'UTF8')), 'hex'), 48) FROM clew_session LIMIT 1`
	listener, err := pool.Acquire(t.Context())
	check(t, err)
	defer listener.Release()
	var name string
	check(t, listener.QueryRow(t.Context(), channel).Scan(&name))
	heard := func() (n int) { // until now
		t.Helper()
		_, err := listener.Exec(t.Context(), "NOTIFY now")
		for check(t, err); ; n++ {
			told, err := listener.Conn().WaitForNotification(t.Context())
			check(t, err)
			if told.Channel == "now" {
				return n
			}
		}
	}
	_, err = listener.Exec(t.Context(), "LISTEN now; LISTEN "+name)
	check(t, err)
	add(t, writer, chain(t, "a", "b"))
	if n := heard(); n != 0 {
		t.Errorf("%d notifications, though nobody follows", n)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	reader := open(t, tenant(t, connect(t, dsn, func(c *pgxpool.Config) { c.MaxConns = 2 }), "ä"), header.ID, postgres.Options{ReadOnly: true})
	got, began := make(chan int), make(chan struct{})
	go func() {
		defer close(got)
		for n, err := range reader.Follow(ctx) {
			if err != nil {
				t.Error(err)
				return
			}
			got <- n
		}
	}()
	go func() { // until it is noted
		defer close(began)
		for is := false; !is && ctx.Err() == nil; {
			if err := pool.QueryRow(ctx, "SELECT followed > now() FROM clew_session WHERE tenant = 'ä'").Scan(&is); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	<-began
	add(t, other, chain(t, "a", "x"))
	add(t, writer, chain(t, "b", "c", "d"))
	if n := <-got; n != 2 {
		t.Errorf("%d entries are new", n)
	}
	add(t, writer, chain(t, "d", "e"))
	if n := <-got; n != 1 {
		t.Errorf("%d entries are new", n)
	}
	killed := 0
	check(t, pool.QueryRow(ctx, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%followed = now()%' AND pid <> pg_backend_pid()").Scan(&killed))
	if killed != 1 {
		t.Fatalf("%d connections are ended", killed)
	}
	add(t, writer, chain(t, "e", "f"))
	if n := <-got; n != 1 {
		t.Errorf("%d entries are new after the connection broke", n)
	}
	stop()
	for range got {
		t.Error("it goes on")
	}
	wantIDs(t, reader, "a", "b", "c", "d", "e", "f")
	if n := heard(); n != 3 {
		t.Errorf("%d notifications", n)
	}

	exec(t, pool, "DELETE FROM clew_session")
	for _, err := range reader.Follow(t.Context()) {
		wantError(t, err, postgres.ErrNoSession)
	}
	check(t, reader.Close())
	for _, err := range reader.Follow(t.Context()) {
		if err == nil {
			t.Error("a closed session is followed")
		}
	}
}

// A session that is closed, and its pool with it, is followed no longer.
func TestFollowClosed(t *testing.T) {
	dsn, _ := migrated(t)
	pool := connect(t, dsn, nil)
	s := create(t, tenant(t, pool, "a"), header)
	check(t, s.Close())
	pool.Close()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	var got error
	for _, err := range s.Follow(ctx) {
		got = err
	}
	if !errors.Is(got, session.ErrClosed) || ctx.Err() != nil {
		t.Errorf("got %v", got)
	}
}
