package postgres

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/internal/pgtest"
	sessions "github.com/clew-dev/clew/session/postgres"
)

// What the server refuses for now is written later, and what it refuses for good is counted as lost.
func TestRefusedForNow(t *testing.T) {
	conf, err := pgxpool.ParseConfig(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), conf.Copy())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := sessions.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	s, err := start(t.Context(), conf, Config{Flush: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	exec := func(sql string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		code          string
		written, lost int64
	}{{"40P01", 1, 0}, {"55P03", 1, 0}, {"57014", 1, 0}, {"23514", 0, 1}} {
		exec("TRUNCATE clew_event, clew_count")
		exec("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '" + c.code + "'; END $$")
		exec("CREATE TRIGGER refuse BEFORE INSERT ON clew_event FOR EACH ROW EXECUTE FUNCTION refuse()")
		lost := s.Lost()
		s.Event(gateway.Event{Tenant: "t", Time: time.Now(), Outcome: gateway.Compacted})
		s.flush(t.Context())
		exec("DROP FUNCTION refuse CASCADE")
		s.flush(t.Context())
		var events, counted int64
		if err := pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM clew_event), (SELECT coalesce(sum(requests), 0) FROM clew_count)").Scan(&events, &counted); err != nil {
			t.Fatal(err)
		}
		if events != c.written || counted != c.written || s.Lost()-lost != c.lost {
			t.Errorf("after %s: %d events and %d requests are written, %d are lost", c.code, events, counted, s.Lost()-lost)
		}
	}
	if _, err := s.Session(t.Context(), gateway.Talk{Tenant: "t"}); err == nil {
		t.Error("no conversation is named, and one is opened")
	}
}
