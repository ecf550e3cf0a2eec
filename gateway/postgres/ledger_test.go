package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/internal/pgtest"
	sessions "github.com/clew-dev/clew/session/postgres"
)

func ledger(t *testing.T) (*pgxpool.Config, *pgxpool.Pool) {
	t.Helper()
	conf, err := pgxpool.ParseConfig(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), conf.Copy())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := sessions.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return conf, pool
}

// An event that can't be written as JSON is lost, and those beside it are not.
func TestEventThatIsNoJSON(t *testing.T) {
	conf, pool := ledger(t)
	s, err := start(t.Context(), conf, Config{Flush: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, cost := range []float64{math.Inf(1), 1} {
		s.Event(gateway.Event{Tenant: "t", Time: time.Now(), Outcome: gateway.Compacted, Cost: cost})
	}
	s.flush(t.Context())
	var events int64
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM clew_event").Scan(&events); err != nil || events != 1 || s.Lost() != 1 {
		t.Errorf("%d events are written, %d are lost (%v)", events, s.Lost(), err)
	}
}

// Conversations that are in use while the database is gone are noted up to a limit.
func TestUsedIsLimited(t *testing.T) {
	s := &Store{touched: map[gateway.Talk]bool{}}
	for hour := range 3 {
		s.hour = time.Time{} // another one begins
		for i := range 10 * maxWaiting {
			s.touch(gateway.Talk{Tenant: fmt.Sprint(hour), ID: fmt.Sprint(i)})
		}
	}
	if n := len(s.waiting.used); n > 10*maxWaiting {
		t.Errorf("%d wait", n)
	}
}

// What the server refuses for now is written later, and what it refuses for good is counted as lost.
func TestRefusedForNow(t *testing.T) {
	conf, pool := ledger(t)
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

// lossy is a connection that, once armed, breaks after a commit, before its answer comes.
type lossy struct {
	net.Conn
	armed *atomic.Bool
	lost  bool
}

func (c *lossy) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("commit\x00")) && c.armed.CompareAndSwap(true, false) {
		c.lost = true
	}
	return c.Conn.Write(p)
}

func (c *lossy) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lost && err == nil {
		return 0, errors.New("the answer is lost")
	}
	return n, err
}

// A batch that was written, and whose answer was lost, is written again and counts once.
func TestLedgerAnswerLost(t *testing.T) {
	conf, pool := ledger(t)
	var armed atomic.Bool
	dial := conf.ConnConfig.DialFunc
	conf.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return &lossy{Conn: c, armed: &armed}, err
	}
	s, err := start(t.Context(), conf, Config{Flush: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		s.Event(gateway.Event{Tenant: "t", Time: time.Now(), Outcome: gateway.Compacted})
		armed.Store(n != 1)
		s.flush(t.Context())
		if armed.Load() {
			t.Fatal("no commit was seen")
		}
	}
	s.Close()
	var events, requests int
	if err := pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM clew_event), (SELECT sum(requests) FROM clew_count)").Scan(&events, &requests); err != nil {
		t.Fatal(err)
	}
	if events != 3 || requests != 3 {
		t.Errorf("3 events are %d, and counted as %d requests", events, requests)
	}
}

// A gateway says once which settings other gateways that run have that are not its own.
func TestOtherSettings(t *testing.T) {
	conf, pool := ledger(t)
	var said bytes.Buffer
	s, err := start(t.Context(), conf, Config{Flush: time.Hour, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Settings(map[string]string{"preset": "clew", "keepDays": "30"})
	meet := func(want string) {
		t.Helper()
		said.Reset()
		s.met.at = time.Time{}
		s.meet(t.Context())
		if got := said.String(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	meet("")
	for id, set := range map[string]string{"same": `{"preset":"clew","keepDays":"30"}`, "one": `{"preset":"pi","keepDays":"30"}`, "two": `{"preset":"pi","keepDays":"30"}`, "new": "{}"} {
		if _, err := pool.Exec(t.Context(), "INSERT INTO clew_gateway (id, settings, seen) VALUES ($1, $2, now())", id, set); err != nil {
			t.Fatal(err)
		}
	}
	meet(`differences="preset is \"clew\" here and \"pi\" there"`)
	meet("") // it was said
	if _, err := pool.Exec(t.Context(), "UPDATE clew_gateway SET seen = now() - interval '1 hour' WHERE id <> 'same'"); err != nil {
		t.Fatal(err)
	}
	meet("")
}
