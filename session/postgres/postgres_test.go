package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/internal/pgtest"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/session/postgres"
	"github.com/clew-dev/clew/session/storetest"
)

var header = session.Header{ID: "test-session", Timestamp: time.UnixMilli(1_700_000_000_123), Cwd: "/home/user/project"}

// connect opens a pool. What change does to its configuration comes first.
func connect(t testing.TB, dsn string, change func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(cfg)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// migrated makes a database with clew's tables.
func migrated(t testing.TB) (dsn string, pool *pgxpool.Pool) {
	t.Helper()
	dsn = pgtest.Database(t)
	pool = connect(t, dsn, nil)
	check(t, postgres.Migrate(t.Context(), pool))
	return dsn, pool
}

func tenant(t testing.TB, pool *pgxpool.Pool, name string) *postgres.DB {
	t.Helper()
	db, err := postgres.New(t.Context(), pool, name)
	check(t, err)
	return db
}

func create(t testing.TB, db *postgres.DB, h session.Header) *postgres.Store {
	t.Helper()
	s, err := db.Create(t.Context(), h, postgres.Options{})
	check(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func open(t testing.TB, db *postgres.DB, id string, opt postgres.Options) *postgres.Store {
	t.Helper()
	s, err := db.Open(t.Context(), id, opt)
	check(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

func exec(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	check(t, err)
}

// chain makes entries, each under the one before it.
func chain(t testing.TB, parent string, ids ...string) (batch []*session.Entry) {
	t.Helper()
	for _, id := range ids {
		e, err := session.ParseEntry(fmt.Appendf(nil, `{"type":"message","id":%q,"parentId":%q,"timestamp":"2025-01-02T03:04:05.678Z","message":{"role":"user","content":"%s"}}`, id, parent, id))
		check(t, err)
		batch, parent = append(batch, e), id
	}
	return batch
}

func add(t testing.TB, s session.Store, batch []*session.Entry) {
	t.Helper()
	check(t, s.Append(t.Context(), batch, session.AppendOptions{}))
}

func wantIDs(t testing.TB, s session.Store, want ...string) {
	t.Helper()
	var ids []string
	for e, err := range s.All(t.Context()) {
		check(t, err)
		ids = append(ids, e.ID)
	}
	if !slices.Equal(ids, want) {
		t.Fatalf("the session holds %q, want %q", ids, want)
	}
}

func TestStore(t *testing.T) {
	_, pool := migrated(t)
	db := tenant(t, pool, "t")
	n := 0
	storetest.Run(t, func(*testing.T) storetest.Subject {
		h := header
		n++
		h.ID = fmt.Sprint("s", n)
		return storetest.Subject{
			Open:   func(t *testing.T) session.Store { return create(t, db, h) },
			Reopen: func(t *testing.T) session.Store { return open(t, db, h.ID, postgres.Options{}) },
		}
	})
}

// Nothing but Migrate changes tables, and what a newer clew made is left alone.
func TestMigrate(t *testing.T) {
	pool := connect(t, pgtest.Database(t), nil)
	_, err := postgres.New(t.Context(), pool, "t")
	wantError(t, err, postgres.ErrNotMigrated)
	if !strings.Contains(err.Error(), "Migrate") {
		t.Errorf("%v does not say what to do", err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := postgres.Migrate(t.Context(), pool); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	tenant(t, pool, "t")
	exec(t, pool, "INSERT INTO clew_schema (version_id, is_applied) VALUES (1000, true)")
	wantError(t, postgres.Migrate(t.Context(), pool), postgres.ErrNewer)
	_, err = postgres.New(t.Context(), pool, "t")
	wantError(t, err, postgres.ErrNewer)
}

// Who had a session that was deleted has no part in one of the same id.
func TestLeaseOfDeleted(t *testing.T) {
	_, pool := migrated(t)
	db := tenant(t, pool, "t")
	one := create(t, db, header)
	exec(t, pool, "DELETE FROM clew_session")
	two := create(t, db, header)
	wantError(t, one.Append(t.Context(), chain(t, "", "x"), session.AppendOptions{}), postgres.ErrLeaseLost)
	check(t, one.Close())
	add(t, two, chain(t, "", "a"))
}

// Of two writers one has the session. The one that lost its lease can't append, whatever the other did since.
func TestLease(t *testing.T) {
	_, pool := migrated(t)
	db := tenant(t, pool, "t")
	one := create(t, db, header)
	add(t, one, chain(t, "", "a"))
	_, err := db.Open(t.Context(), header.ID, postgres.Options{})
	wantError(t, err, postgres.ErrLocked)
	if !strings.Contains(err.Error(), fmt.Sprint("clew, process ", os.Getpid())) {
		t.Errorf("%v does not say who has it", err)
	}
	_, err = db.Create(t.Context(), header, postgres.Options{})
	wantError(t, err, fs.ErrExist)
	reader := open(t, db, header.ID, postgres.Options{ReadOnly: true})
	wantError(t, reader.Append(t.Context(), chain(t, "a", "x"), session.AppendOptions{}), session.ErrReadOnly)

	// A lease that ran out is good until somebody takes it.
	exec(t, pool, "UPDATE clew_session SET expires = 'epoch'")
	add(t, one, chain(t, "a", "b"))
	exec(t, pool, "UPDATE clew_session SET expires = 'epoch'")
	two := open(t, db, header.ID, postgres.Options{})
	wantError(t, one.Append(t.Context(), chain(t, "b", "x"), session.AppendOptions{}), postgres.ErrLeaseLost)
	add(t, two, chain(t, "b", "c"))
	wantError(t, one.Append(t.Context(), chain(t, "b", "x"), session.AppendOptions{}), postgres.ErrLeaseLost)
	check(t, one.Close()) // and gives back nothing that is not its own
	add(t, two, chain(t, "c", "d"))
	_, err = db.Open(t.Context(), header.ID, postgres.Options{})
	wantError(t, err, postgres.ErrLocked)
	check(t, two.Close())
	open(t, db, header.ID, postgres.Options{})

	if n, err := reader.Refresh(t.Context()); n != 3 || err != nil {
		t.Errorf("Refresh = %d, %v, want 3", n, err)
	}
	if last, err := reader.Last(t.Context()); err != nil || last.ID != "d" {
		t.Errorf("the newest entry is %v, %v", last, err)
	}
	wantIDs(t, reader, "a", "b", "c", "d")
}

// A lease is renewed while its holder does nothing.
func TestLeaseIsRenewed(t *testing.T) {
	_, pool := migrated(t)
	s, err := tenant(t, pool, "t").Create(t.Context(), header, postgres.Options{Lease: 30 * time.Millisecond})
	check(t, err)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	expires := func() (at time.Time) {
		check(t, pool.QueryRow(ctx, "SELECT expires FROM clew_session").Scan(&at))
		return at
	}
	for first := expires(); !expires().After(first); {
		continue
	}
}

// A tenant has sessions of its own, also where ids are the same.
func TestTenants(t *testing.T) {
	_, pool := migrated(t)
	one, two := tenant(t, pool, "one"), tenant(t, pool, "two")
	s := create(t, one, header)
	add(t, s, chain(t, "", "a", "b"))
	_, err := two.Open(t.Context(), header.ID, postgres.Options{ReadOnly: true})
	wantError(t, err, postgres.ErrNoSession)
	_, err = two.Export(t.Context(), header.ID, filepath.Join(t.TempDir(), "s.jsonl"), nil)
	wantError(t, err, postgres.ErrNoSession)

	other := create(t, two, header)
	add(t, other, chain(t, "", "a", "c"))
	_, err = other.Get(t.Context(), "b")
	wantError(t, err, session.ErrNotFound)
	wantIDs(t, other, "a", "c")
	wantIDs(t, open(t, two, header.ID, postgres.Options{ReadOnly: true}), "a", "c")
	if n, err := s.Refresh(t.Context()); n != 0 || err != nil {
		t.Errorf("Refresh = %d, %v", n, err)
	}
	add(t, s, chain(t, "b", "c"))
	wantIDs(t, s, "a", "b", "c")
}

// The server ends the connection when some rows of a batch are in. None of them stays.
func TestConnectionKilledInAnAppend(t *testing.T) {
	_, pool := migrated(t)
	s := create(t, tenant(t, pool, "t"), header)
	add(t, s, chain(t, "", "a"))
	exec(t, pool, `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.id = 'stop' THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN NEW; END $$`)
	exec(t, pool, "CREATE TRIGGER wait BEFORE INSERT ON clew_entry FOR EACH ROW EXECUTE FUNCTION wait()")
	tx, err := pool.Begin(t.Context())
	check(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context())) //nolint:errcheck // it was committed
	_, err = tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(1)")
	check(t, err)
	failed := make(chan error, 1)
	go func() {
		failed <- s.Append(t.Context(), chain(t, "a", "b", "c", "stop", "d"), session.AppendOptions{})
	}()
	for killed := 0; killed == 0; { // until it waits
		check(t, pool.QueryRow(t.Context(), "SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").Scan(&killed))
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "terminating connection") {
		t.Fatalf("error %v", err)
	}
	check(t, tx.Commit(t.Context()))
	wantIDs(t, s, "a")
	add(t, s, chain(t, "a", "b", "c", "stop", "d"))
	wantIDs(t, s, "a", "b", "c", "stop", "d")
}

// breaking is a connection that, once armed, breaks at the next statement that appends: before the server has it, or
// when the server's answer comes.
type breaking struct {
	net.Conn
	mode   *atomic.Int32
	answer bool
}

const (
	sound int32 = iota
	breakBefore
	breakAfter
)

func (c *breaking) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("stop")) {
		switch c.mode.Swap(sound) {
		case breakBefore:
			return 0, errors.New("broken before")
		case breakAfter:
			c.answer = true
		}
	}
	return c.Conn.Write(p)
}

func (c *breaking) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.answer && err == nil && n > 0 {
		return 0, errors.New("broken after")
	}
	return n, err
}

// An append whose answer is lost is looked for: it is not reported as failed where it happened.
func TestAnswerLost(t *testing.T) {
	dsn, _ := migrated(t)
	var mode atomic.Int32
	var down atomic.Bool
	pool := connect(t, dsn, func(cfg *pgxpool.Config) {
		dial := cfg.ConnConfig.DialFunc
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if down.Load() {
				return nil, errors.New("nobody there")
			}
			c, err := dial(ctx, network, addr)
			return &breaking{Conn: c, mode: &mode}, err
		}
	})
	s := create(t, tenant(t, pool, "t"), header)
	add(t, s, chain(t, "", "a", "b"))
	mode.Store(breakBefore)
	if err := s.Append(t.Context(), chain(t, "b", "c", "stop"), session.AppendOptions{}); err == nil || !strings.Contains(err.Error(), "broken before") {
		t.Fatalf("error %v", err)
	}
	wantIDs(t, s, "a", "b")
	mode.Store(breakAfter)
	add(t, s, chain(t, "b", "c", "stop"))
	if mode.Load() != sound {
		t.Fatal("the connection did not break")
	}
	wantIDs(t, s, "a", "b", "c", "stop")
	add(t, s, chain(t, "stop", "d"))

	// Where nobody can be asked, the next append finds out.
	mode.Store(breakAfter)
	down.Store(true)
	last := chain(t, "d", "stop2")
	if err := s.Append(t.Context(), last, session.AppendOptions{}); err == nil || !strings.Contains(err.Error(), "can't be told") {
		t.Fatalf("error %v", err)
	}
	down.Store(false)
	wantError(t, s.Append(t.Context(), chain(t, "d", "e"), session.AppendOptions{IfLast: "d"}), session.ErrConflict)
	wantError(t, s.Append(t.Context(), last, session.AppendOptions{}), session.ErrDuplicateID)
	add(t, s, chain(t, "stop2", "e"))
	check(t, s.Close())
	wantIDs(t, open(t, tenant(t, pool, "t"), header.ID, postgres.Options{}), "a", "b", "c", "stop", "d", "stop2", "e")
}

// A session goes from a file into the database and out again byte for byte, and can be worked on in between.
func TestFiles(t *testing.T) {
	_, pool := migrated(t)
	db := tenant(t, pool, "t")
	dir := t.TempDir()
	var file bytes.Buffer
	file.WriteString(`{"type":"session","version":3,"cwd":"/x","id":"moved","other":[1, 2],"timestamp":"2025-01-02T03:04:05.678Z"}` + "\n")
	var ids []string
	for n := range 600 {
		ids = append(ids, fmt.Sprint("e", n))
		fmt.Fprintf(&file, `{"id":"e%d", "parentId":"e%d","type":"custom","a":1,"a":1e400,"text":"\u0000\ud83d`+"\u2028\xff"+`"}`+"\n", n, n-1)
	}
	in, out := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "out.jsonl")
	check(t, os.WriteFile(in, file.Bytes(), 0o600))
	h, n, err := db.Import(t.Context(), in, nil)
	if err != nil || h.ID != "moved" || n != 600 {
		t.Fatalf("Import = %q, %d, %v", h.ID, n, err)
	}
	if n, err := db.Export(t.Context(), "moved", out, nil); err != nil || n != 600 {
		t.Fatalf("Export = %d, %v", n, err)
	}
	got, err := os.ReadFile(out)
	check(t, err)
	if !bytes.Equal(got, file.Bytes()) {
		t.Fatal("the file came back as another")
	}
	_, err = db.Export(t.Context(), "moved", out, nil)
	wantError(t, err, fs.ErrExist)
	_, _, err = db.Import(t.Context(), in, nil)
	wantError(t, err, fs.ErrExist)

	s := open(t, db, "moved", postgres.Options{})
	path, err := session.Path(t.Context(), s, "e599")
	if err != nil || len(path) != 600 {
		t.Fatalf("the path has %d entries, %v", len(path), err)
	}
	wantError(t, s.Append(t.Context(), chain(t, "e599", "new", "e1"), session.AppendOptions{}), session.ErrDuplicateID)
	add(t, s, chain(t, "e599", "new"))
	wantIDs(t, s, append(ids, "new")...)
	again := filepath.Join(dir, "again.jsonl")
	_, err = db.Export(t.Context(), "moved", again, nil)
	check(t, err)
	f, err := jsonl.Open(t.Context(), again, jsonl.Options{ReadOnly: true})
	check(t, err)
	defer f.Close()
	if last, err := f.Last(t.Context()); err != nil || last.ID != "new" {
		t.Errorf("the newest entry in the file is %v, %v", last, err)
	}
}

// What would not come back byte for byte is refused, and nothing of it stays.
func TestImportRefuses(t *testing.T) {
	_, pool := migrated(t)
	db := tenant(t, pool, "t")
	const head = `{"type":"session","version":3,"id":"s","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/"}` + "\n"
	const a, b = `{"type":"custom","id":"a","parentId":null}`, `{"type":"custom","id":"b","parentId":"a"}`
	for name, text := range map[string]string{
		"no session":    "hello\n",
		"damage":        head + a + "\n" + `{"type":"cus` + "\n" + b + "\n",
		"torn":          head + a + "\n" + b[:20],
		"no line break": head + a,
		"carriage":      head + a + "\r\n",
		"blank":         head + "\n" + a + "\n",
		"old version":   strings.Replace(head, `"version":3,`, `"version":2,`, 1) + a + "\n",
		"same id twice": head + a + "\n" + a + "\n",
		"long id":       head + strings.Replace(a, `"a"`, `"`+strings.Repeat("a", 5000)+`"`, 1) + "\n",
		"long key":      strings.Replace(head, `"s"`, `"`+strings.Repeat("s", 5000)+`"`, 1),
	} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		check(t, os.WriteFile(path, []byte(text), 0o600))
		_, n, err := db.Import(t.Context(), path, nil)
		if err == nil || n != 0 || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %d entries, error %v", name, n, err)
		}
	}
	var left int
	check(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM clew_session").Scan(&left))
	if left != 0 {
		t.Errorf("%d sessions stayed", left)
	}
}

// A page ends after some megabytes, so that large entries are not all in memory at once.
func TestPagesAreLimited(t *testing.T) {
	dsn, pool := migrated(t)
	s := create(t, tenant(t, pool, "t"), header)
	var ids []string
	for n := range 12 {
		id := fmt.Sprint("e", n)
		e, err := session.ParseEntry(fmt.Appendf(nil, `{"type":"custom","id":%q,"parentId":null,"customType":"x","data":%q}`, id, strings.Repeat("x", 1<<20)))
		check(t, err)
		add(t, s, []*session.Entry{e})
		ids = append(ids, id)
	}
	check(t, s.Close())
	var pages countPages
	db := tenant(t, connect(t, dsn, func(cfg *pgxpool.Config) { cfg.ConnConfig.Tracer = &pages }), "t")
	r := open(t, db, header.ID, postgres.Options{ReadOnly: true})
	wantIDs(t, r, ids...)
	if n := pages.Load(); n < 4 || n > 6 {
		t.Errorf("%d queries for 12 MB", n)
	}
}

type countPages struct{ atomic.Int32 }

func (c *countPages) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "clew_entry") {
		c.Add(1)
	}
	return ctx
}

func (c *countPages) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// hanging is a connection that does not get a statement through until it may.
type hanging struct {
	net.Conn
	pass chan struct{}
}

func (h hanging) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("stop")) {
		<-h.pass
	}
	return h.Conn.Write(p)
}

// The lease is renewed while an append hangs on the network.
func TestLeaseIsRenewedBesideAnAppend(t *testing.T) {
	dsn, pool := migrated(t)
	release := make(chan struct{})
	slow := connect(t, dsn, func(cfg *pgxpool.Config) {
		dial := cfg.ConnConfig.DialFunc
		cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return hanging{c, release}, err
		}
	})
	s, err := tenant(t, slow, "t").Create(t.Context(), header, postgres.Options{Lease: 30 * time.Millisecond})
	check(t, err)
	defer s.Close()
	appended := make(chan error, 1)
	go func() { appended <- s.Append(t.Context(), chain(t, "", "stop"), session.AppendOptions{}) }()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var first, now time.Time
	for n := 0; n < 3; { // so many renewals
		if err := pool.QueryRow(ctx, "SELECT expires FROM clew_session").Scan(&now); err != nil {
			t.Error(err)
			break
		}
		if now.After(first) {
			first = now
			n++
		}
	}
	close(release)
	check(t, <-appended)
}

// A row that is there by other means is told as that.
func TestRowByOtherMeans(t *testing.T) {
	_, pool := migrated(t)
	s := create(t, tenant(t, pool, "t"), header)
	add(t, s, chain(t, "", "a"))
	exec(t, pool, "INSERT INTO clew_entry VALUES ('t', 'test-session', 2, 'x', '', '{}')")
	if err := s.Append(t.Context(), chain(t, "a", "b"), session.AppendOptions{}); err == nil || !strings.Contains(err.Error(), "by other means") {
		t.Errorf("error %v", err)
	}
}

// What Update appends is there whole or not at all, and one at a time has the session.
func TestUpdate(t *testing.T) {
	_, pool := migrated(t)
	db := tenant(t, pool, "t")
	failed := errors.New("failed")
	check(t, db.Update(t.Context(), header, func(s *postgres.Store, _ pgx.Tx) error {
		add(t, s, chain(t, "", "a"))
		add(t, s, chain(t, "a", "b"))
		return nil
	}))
	wantError(t, db.Update(t.Context(), header, func(s *postgres.Store, _ pgx.Tx) error {
		add(t, s, chain(t, "b", "c"))
		return failed
	}), failed)
	wantError(t, db.Update(t.Context(), header, func(s *postgres.Store, _ pgx.Tx) error {
		return s.Append(t.Context(), chain(t, "b", "a"), session.AppendOptions{})
	}), session.ErrDuplicateID)
	var all sync.WaitGroup
	for n := range 5 {
		all.Go(func() {
			err := db.Update(t.Context(), header, func(s *postgres.Store, _ pgx.Tx) error {
				last, err := s.Last(t.Context())
				if err != nil {
					return err
				}
				return s.Append(t.Context(), chain(t, last.ID, fmt.Sprint("n", n)), session.AppendOptions{IfLast: last.ID})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := open(t, db, header.ID, postgres.Options{})
	if path, err := session.Path(t.Context(), s, ""); err != nil || len(path) != 0 {
		t.Errorf("%d, %v", len(path), err)
	}
	if last, err := s.Last(t.Context()); err != nil || last.ParentID == "" {
		t.Errorf("%v, %v", last, err)
	}
	wantError(t, db.Update(t.Context(), header, func(*postgres.Store, pgx.Tx) error { return nil }), postgres.ErrLocked)
	add(t, s, chain(t, "b", "z")) // the lease is as it was
}
