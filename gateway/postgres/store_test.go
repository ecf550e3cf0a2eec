package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/gateway/postgres"
	"github.com/clew-dev/clew/internal/pgtest"
	sessions "github.com/clew-dev/clew/session/postgres"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// database makes a database with clew's tables.
func database(t testing.TB) (dsn string, pool *pgxpool.Pool) {
	t.Helper()
	dsn = pgtest.Database(t)
	pool, err := pgxpool.New(t.Context(), dsn)
	check(t, err)
	t.Cleanup(pool.Close)
	check(t, sessions.Migrate(t.Context(), pool))
	return dsn, pool
}

func open(t testing.TB, dsn string, cfg postgres.Config) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn, cfg)
	check(t, err)
	t.Cleanup(s.Close)
	return s
}

// upstream keeps what it gets.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	answer func(w http.ResponseWriter, body []byte)
}

func newUpstream(t testing.TB) *upstream {
	u := &upstream{answer: func(w http.ResponseWriter, _ []byte) { fmt.Fprint(w, `{}`) }}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		u.mu.Lock()
		u.bodies = append(u.bodies, body)
		u.mu.Unlock()
		u.answer(w, body)
	}))
	t.Cleanup(u.Close)
	return u
}

// last returns what came last, and forgets all.
func (u *upstream) last() []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	b := u.bodies[len(u.bodies)-1]
	u.bodies = nil
	return b
}

func (u *upstream) send(t testing.TB, rt http.RoundTripper, body []byte, header ...string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, u.URL+"/v1/messages", bytes.NewReader(body))
	check(t, err)
	for _, h := range header {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, v)
	}
	resp, err := (&http.Client{Transport: rt}).Do(req)
	check(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	check(t, errors.Join(err, resp.Body.Close()))
	return resp.StatusCode
}

// talk is a list of n turns of about 700 tokens each.
func talk(who string, n int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","max_tokens":1000,"messages":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"role":"user","content":"Request %d: change the file part%d.go"},{"role":"assistant","content":[{"type":"text","text":"%s reads"},`, i, i, who)
		fmt.Fprintf(&b, `{"type":"tool_use","id":"c%d","name":"read","input":{"path":"part%d.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]},`,
			i, i, i, strings.Repeat(fmt.Sprintf(`func part%d() error { return nil }\n`, i), 70))
		fmt.Fprintf(&b, `{"role":"assistant","content":"Changed part%d.go, and all tests pass."},`, i)
	}
	b.WriteString(`{"role":"user","content":"go on"}]}`)
	return []byte(b.String())
}

func replica(store gateway.Store, change ...func(*gateway.Config)) http.RoundTripper {
	cfg := gateway.Config{Store: store, Window: func(string, string) int64 { return 32_000 }}
	for _, c := range change {
		c(&cfg)
	}
	return gateway.Transport(nil, cfg)
}

// Whichever replica a request comes to, the same list becomes the same bytes, and a longer one begins with them until
// the next epoch, also where the next epoch was made elsewhere.
func TestReplicasSendTheSame(t *testing.T) {
	dsn, pool := database(t)
	u := newUpstream(t)
	var replicas []http.RoundTripper
	for range 4 {
		replicas = append(replicas, replica(open(t, dsn, postgres.Config{})))
	}
	sent := map[int][]byte{}
	for n := 40; n < 100; n += 3 {
		for k := range 2 { // two replicas, each time others
			u.send(t, replicas[(n/3+k)%4], talk("agent", n))
			body := u.last()
			if sent[n] != nil && !bytes.Equal(sent[n], body) {
				t.Fatalf("%d turns: another replica sent other bytes", n)
			}
			sent[n] = body
		}
		if len(sent[n]) >= len(talk("agent", n)) {
			t.Fatalf("%d turns: not shortened", n)
		}
	}
	switches := 0
	for n := 43; n < 100; n += 3 {
		if before := sent[n-3]; !bytes.HasPrefix(sent[n], before[:len(before)-len(`{"role":"user","content":"go on"}]}`)]) {
			switches++
		}
	}
	var epochs int
	check(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM clew_epoch").Scan(&epochs))
	if epochs < 2 || switches != epochs-1 {
		t.Errorf("%d epochs, and the beginning changed %d times", epochs, switches)
	}
}

// Replicas with other windows and policies do not undo each other's epochs: each list is sent as one byte string once
// both have had it, and its beginning changes only with an epoch.
func TestPoliciesDiffer(t *testing.T) {
	dsn, pool := database(t)
	u := newUpstream(t)
	settings := []func(*gateway.Config){
		func(c *gateway.Config) { c.Window = func(string, string) int64 { return 60_000 } },
		func(c *gateway.Config) {
			c.Policy = func(string, string) compact.Policy {
				p, err := compact.Preset("pi")
				check(t, err)
				p.Summarizer = nil
				return p
			}
		},
	}
	var replicas []http.RoundTripper
	for _, set := range settings {
		replicas = append(replicas, replica(open(t, dsn, postgres.Config{}), set))
	}
	tail, before, switches := len(`{"role":"user","content":"go on"}]}`), []byte(nil), 0
	epochs := func() (n int) {
		check(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM clew_epoch").Scan(&n))
		return n
	}
	for n := 20; n < 160; n += 4 {
		had := epochs()
		var last []byte
		for k := range 4 {
			u.send(t, replicas[(n/4+k)%2], talk("agent", n))
			body := u.last()
			if k > 1 && !bytes.Equal(body, last) {
				t.Fatalf("%d turns: the replicas send %d and %d bytes", n, len(last), len(body))
			}
			last = body
		}
		changed := before != nil && !bytes.HasPrefix(last, before[:len(before)-tail])
		if made := epochs() > had; changed && !made {
			t.Errorf("%d turns: the beginning changed without an epoch", n)
		}
		if changed {
			switches++
		}
		before = last
	}
	if switches < 2 {
		t.Errorf("the beginning changed %d times", switches)
	}
}

// Replicas that need an epoch of one list at the same time all send one byte string, and there is one epoch.
func TestReplicasRace(t *testing.T) {
	dsn, pool := database(t)
	u := newUpstream(t)
	var all sync.WaitGroup
	for range 6 {
		rt := replica(open(t, dsn, postgres.Config{}))
		all.Go(func() { u.send(t, rt, talk("agent", 50)) })
	}
	all.Wait()
	for _, b := range u.bodies {
		if !bytes.Equal(b, u.bodies[0]) || len(b) >= len(talk("agent", 50)) {
			t.Fatalf("%d and %d bytes were sent", len(b), len(u.bodies[0]))
		}
	}
	var epochs int
	check(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM clew_epoch").Scan(&epochs))
	if len(u.bodies) != 6 || epochs != 1 {
		t.Errorf("%d requests, %d epochs", len(u.bodies), epochs)
	}
}

// An epoch that an upstream refused as too long has another after it, which the other replicas find once they are
// refused too.
func TestRefusedElsewhere(t *testing.T) {
	dsn, pool := database(t)
	u := newUpstream(t)
	u.answer = func(w http.ResponseWriter, body []byte) {
		if len(body) > 30_000 {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 50000 tokens > 20000 maximum"}}`)
		}
	}
	wide := func(c *gateway.Config) { c.Window = func(string, string) int64 { return 60_000 } }
	one, two := replica(open(t, dsn, postgres.Config{}), wide), replica(open(t, dsn, postgres.Config{}), wide)
	u.send(t, one, talk("agent", 80))
	first := u.last()
	for _, rt := range []http.RoundTripper{two, one} {
		if status := u.send(t, rt, talk("agent", 80)); status != 200 {
			t.Errorf("status %d", status)
		}
		if body := u.last(); !bytes.Equal(body, first) {
			t.Errorf("%d and %d bytes", len(body), len(first))
		}
	}
	var attempts int
	check(t, pool.QueryRow(t.Context(), "SELECT max(attempt) FROM clew_epoch").Scan(&attempts))
	if attempts != 2 {
		t.Errorf("%d attempts", attempts)
	}
}

// gone makes the database refuse all connections until it is told to take them again.
func gone(t testing.TB, dsn string) (back func()) {
	t.Helper()
	name := dsn[strings.LastIndex(dsn, "dbname=")+len("dbname="):]
	pool, err := pgxpool.New(t.Context(), strings.Replace(dsn, "dbname="+name, "dbname=postgres", 1))
	check(t, err)
	_, err = pool.Exec(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
	check(t, err)
	_, err = pool.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
	check(t, err)
	return func() {
		_, err := pool.Exec(context.WithoutCancel(t.Context()), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
		check(t, err)
		pool.Close()
	}
}

// waitFor waits until a store is as it should be.
func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not in time", what)
		}
	}
}

type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// While the database is gone, known epochs are used, and a list that fits goes out as it came. One that does not is
// shortened all the same; what was made of it counts for all replicas once the database is back.
func TestDatabaseGone(t *testing.T) {
	dsn, pool := database(t)
	u := newUpstream(t)
	var log lines
	cfg := postgres.Config{Flush: 10 * time.Millisecond, Grace: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	one, two := open(t, dsn, cfg), open(t, dsn, postgres.Config{Flush: 10 * time.Millisecond, Grace: 1})
	a, b := replica(one), replica(two)
	u.send(t, a, talk("known", 40))
	known := u.last()

	back := gone(t, dsn)
	for _, c := range []struct {
		who  string
		n    int
		want string
	}{{"known", 40, "as before"}, {"fits", 25, "as it came"}, {"full", 60, "shortened"}} {
		if status := u.send(t, a, talk(c.who, c.n)); status != 200 {
			t.Fatalf("%s: status %d", c.who, status)
		}
		got, whole := u.last(), talk(c.who, c.n)
		is := "shortened"
		switch {
		case bytes.Equal(got, whole):
			is = "as it came"
		case bytes.Equal(got, known):
			is = "as before"
		}
		if is != c.want {
			t.Errorf("%s: %s, want %s (%d of %d bytes)", c.who, is, c.want, len(got), len(whole))
		}
	}
	if one.Health() == nil {
		t.Error("the database is gone, and nobody says so")
	}
	u.send(t, a, talk("full", 60))
	full := u.last()
	late, err := postgres.Open(t.Context(), dsn, postgres.Config{Flush: 10 * time.Millisecond})
	check(t, err) // a gateway starts without it too
	defer late.Close()

	back()
	for _, s := range []*postgres.Store{one, two, late} {
		waitFor(t, "back", func() bool { return s.Health() == nil })
	}
	u.send(t, a, talk("full", 60)) // which writes its epoch
	if got := u.last(); !bytes.Equal(got, full) {
		t.Error("what was sent while the database was gone has changed")
	}
	begin := bytes.TrimSuffix(full, []byte(`{"role":"user","content":"go on"}]}`))
	for i, rt := range []http.RoundTripper{b, replica(late)} {
		u.send(t, rt, talk("full", 61+i))
		if got := u.last(); !bytes.HasPrefix(got, begin) {
			t.Error("another replica does not go on with what was sent while the database was gone")
		}
	}
	var epochs int
	pool.Reset()
	check(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM clew_epoch").Scan(&epochs))
	if epochs != 2 {
		t.Errorf("%d epochs", epochs)
	}
	if said := log.String(); strings.Count(said, "can't be used") != 1 || strings.Count(said, "can be used") != 2 {
		t.Errorf("the log says %s", said)
	}
}

// A database that is started again is waited for, so that all replicas go on with one epoch.
func TestDatabaseRestarts(t *testing.T) {
	dsn, pool := database(t)
	u := newUpstream(t)
	cfg := postgres.Config{Flush: 10 * time.Millisecond, Grace: time.Hour}
	one, two := open(t, dsn, cfg), open(t, dsn, cfg)
	back := gone(t, dsn)
	sent := make(chan int)
	go func() { sent <- u.send(t, replica(one), talk("full", 60)) }()
	waitFor(t, "gone", func() bool { return one.Health() != nil })
	back()
	if status := <-sent; status != 200 {
		t.Fatalf("status %d", status)
	}
	first := bytes.TrimSuffix(u.last(), []byte(`{"role":"user","content":"go on"}]}`))
	waitFor(t, "back", func() bool { return two.Health() == nil })
	u.send(t, replica(two), talk("full", 61))
	if next := u.last(); len(first) > len(talk("full", 60))/2 || !bytes.HasPrefix(next, first) {
		t.Error("the replicas do not go on with one epoch")
	}
	var epochs int
	pool.Reset()
	check(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM clew_epoch").Scan(&epochs))
	if epochs != 1 {
		t.Errorf("%d epochs", epochs)
	}
}

// Where a conversation was deleted and comes again, replicas that knew it hear of its new epochs.
func TestDeletedMeanwhile(t *testing.T) {
	dsn, pool := database(t)
	u := newUpstream(t)
	numbers := make([]int64, 2)
	for i := range numbers {
		u.send(t, replica(open(t, dsn, postgres.Config{})), talk("agent", 60))
		check(t, pool.QueryRow(t.Context(), "SELECT max(n) FROM clew_epoch").Scan(&numbers[i]))
		_, err := pool.Exec(t.Context(), "DELETE FROM clew_session")
		check(t, err)
	}
	if numbers[1] <= numbers[0] {
		t.Errorf("the numbers of the epochs are %d, and then %d", numbers[0], numbers[1])
	}
}

// A replica knows what upstreams measured elsewhere; what was done is in the ledger, and the rest is counted.
func TestLedger(t *testing.T) {
	dsn, pool := database(t)
	u := newUpstream(t)
	u.answer = func(w http.ResponseWriter, _ []byte) {
		fmt.Fprint(w, `{"usage":{"input_tokens":22000,"cache_read_input_tokens":0,"output_tokens":7}}`)
	}
	one := open(t, dsn, postgres.Config{})
	var before []int64
	watch := func(s *postgres.Store) func(*gateway.Config) {
		return func(c *gateway.Config) {
			c.OnEvent = func(e gateway.Event) { s.Event(e); before = append(before, e.Before) }
		}
	}
	u.send(t, replica(one, watch(one)), talk("agent", 20))
	one.Close()
	two := open(t, dsn, postgres.Config{})
	u.send(t, replica(two, watch(two)), talk("agent", 20))
	u.send(t, replica(two, watch(two)), talk("agent", 70))
	two.Close()
	if before[1] != 22_000 {
		t.Errorf("the other replica takes the list for %d tokens", before[1])
	}
	var requests, output, events int
	check(t, pool.QueryRow(t.Context(), "SELECT sum(requests), sum(output), (SELECT count(*) FROM clew_event WHERE event->>'outcome' = 'compacted') FROM clew_count").Scan(&requests, &output, &events))
	if requests != 3 || output != 21 || events != 1 {
		t.Errorf("%d requests, %d tokens, %d events", requests, output, events)
	}
}

// A gateway does not start on tables of another version.
func TestOtherTables(t *testing.T) {
	dsn := pgtest.Database(t)
	_, err := postgres.Open(t.Context(), dsn, postgres.Config{})
	if !errors.Is(err, sessions.ErrNotMigrated) {
		t.Errorf("without tables: %v", err)
	}
	pool, err := pgxpool.New(t.Context(), dsn)
	check(t, err)
	defer pool.Close()
	check(t, sessions.Migrate(t.Context(), pool))
	_, err = pool.Exec(t.Context(), "INSERT INTO clew_schema (version_id, is_applied) VALUES (1000, true)")
	check(t, err)
	if _, err = postgres.Open(t.Context(), dsn, postgres.Config{}); !errors.Is(err, sessions.ErrNewer) {
		t.Errorf("newer tables: %v", err)
	}
}
