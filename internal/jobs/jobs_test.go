package jobs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/pgtest"
	"github.com/clew-dev/clew/internal/waittest"
	"github.com/clew-dev/clew/session/postgres"
)

func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := postgres.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func text(t *testing.T, pool *pgxpool.Pool, sql string) (s string) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), sql).Scan(&s); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}

// gateways runs the jobs of so many gateways, until the test ends.
func gateways(t *testing.T, pool *pgxpool.Pool, n int, cfg Config) {
	t.Helper()
	cfg.poll = 20 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if err := Run(ctx, pool, cfg); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() { stop(); all.Wait() })
}

const state = "SELECT coalesce(string_agg(state::text, ','), '') FROM river_job WHERE kind = 'clew_retention'"

func fill(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	exec(t, pool, `INSERT INTO clew_session (tenant, session, header, used, expires) VALUES
		('a', 'old', '{}', now() - interval '91 days', 'epoch'), ('b', 'old', '{}', now() - interval '91 days', 'epoch'),
		('a', 'young', '{}', now() - interval '89 days', 'epoch'), ('a', 'chat', '{}', now() - interval '91 days', 'epoch'),
		('a', 'open', '{}', now() - interval '91 days', now() + interval '1 minute')`)
	exec(t, pool, `INSERT INTO clew_entry (tenant, session, seq, id, parent, raw) SELECT tenant, session, 1, 'e', '', '{}' FROM clew_session`)
	exec(t, pool, `INSERT INTO clew_epoch (tenant, session, head, attempt, n, entry) SELECT tenant, session, 'h', 1, 1, 'e' FROM clew_session WHERE session <> 'chat'`)
	exec(t, pool, `INSERT INTO clew_event (tenant, at, session, event) VALUES ('a', now() - interval '91 days', 'old', '{}'), ('a', now(), 'young', '{}')`)
	exec(t, pool, `INSERT INTO clew_measure (tenant, session, chain, tokens, env, epoch, at) VALUES
		('a', 'old', 'c', 1, '', '', now() - interval '91 days'), ('a', 'young', 'c', 1, '', '', now())`)
}

// What nobody went on with is deleted, once for all gateways; what people keep themselves, and what somebody has open, is not.
func TestRetention(t *testing.T) {
	pool := newPool(t)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := Migrate(t.Context(), pool); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	fill(t, pool)
	gateways(t, pool, 2, Config{KeepDays: 90})
	waittest.Until(t, "the job", func() bool { return text(t, pool, state) == "completed" })
	for table, want := range map[string]string{"clew_session": "a/chat a/open a/young", "clew_entry": "a/chat a/open a/young", "clew_event": "a/young", "clew_measure": "a/young"} {
		if got := text(t, pool, "SELECT string_agg(tenant || '/' || session, ' ' ORDER BY tenant, session) FROM "+table); got != want {
			t.Errorf("%s has %s, want %s", table, got, want)
		}
	}
	if got := text(t, pool, "SELECT args::text FROM river_job"); got != `{"days": 90}` {
		t.Errorf("the arguments are %s", got)
	}
}

// A pool of one connection is enough to migrate.
func TestMigrateWithOneConnection(t *testing.T) {
	cfg, err := pgxpool.ParseConfig(pgtest.Database(t) + " pool_max_conns=1")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range 2 {
		if err := errors.Join(postgres.Migrate(ctx, pool), Migrate(ctx, pool)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := postgres.Collect(ctx, pool, postgres.CollectOptions{}); err != nil {
		t.Error(err)
	}
}

// A job that fails waits, and is done then.
func TestFailedJob(t *testing.T) {
	pool := newPool(t)
	if err := Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	fill(t, pool)
	exec(t, pool, "ALTER TABLE clew_event RENAME TO gone")
	gateways(t, pool, 1, Config{KeepDays: 90})
	waittest.Until(t, "the job", func() bool { return text(t, pool, state) == "retryable" })
	if got := text(t, pool, "SELECT (scheduled_at > attempted_at)::text || (errors[1]->>'error') FROM river_job"); !strings.HasPrefix(got, "true") || !strings.Contains(got, "clew_event") {
		t.Errorf("after the failure: %s", got)
	}
	exec(t, pool, "ALTER TABLE gone RENAME TO clew_event")
	exec(t, pool, "UPDATE river_job SET state = 'available', scheduled_at = now() WHERE state = 'retryable'") // the wait is over
	waittest.Until(t, "the job", func() bool { return text(t, pool, state) == "completed" })
}

// Whoever asks for a job again within the hour gets none; another policy is another job.
func TestUnique(t *testing.T) {
	pool := newPool(t)
	if err := Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	c, err := river.NewClient(riverpgxv5.New(pool), &river.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		for days := range 2 {
			job, err := c.Insert(t.Context(), retention{Days: 90 + days}, nil)
			if err != nil || job.UniqueSkippedAsDuplicate == want {
				t.Errorf("%d days: %v, made: %v", 90+days, err, !job.UniqueSkippedAsDuplicate)
			}
		}
	}
}

// What nobody refers to is deleted once for all gateways that know where it is.
func TestCollection(t *testing.T) {
	pool := newPool(t)
	if err := Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	exec(t, pool, "INSERT INTO clew_session (tenant, session, header, last_seq) VALUES ('t', 's', '{\"type\":\"session\",\"version\":3,\"id\":\"s\"}', 1)")
	exec(t, pool, `INSERT INTO clew_entry (tenant, session, seq, id, parent, raw) VALUES ('t', 's', 1, 'e', '', '{"type":"custom","id":"e","parentId":null}')`)
	folder := t.TempDir()
	beside := func(tenant, id string) (blob.Store, error) { return blob.OpenDir(filepath.Join(folder, tenant, id)) }
	dir, err := blob.OpenDir(filepath.Join(folder, "t", "s"))
	if err = errors.Join(err, postgres.Own(t.Context(), pool, beside, false)); err != nil {
		t.Fatal(err)
	}
	id, err := dir.Put(t.Context(), strings.NewReader("garbage"))
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-49 * time.Hour)
	if err := os.Chtimes(dir.File(id), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Put(t.Context(), strings.NewReader("new")); err != nil {
		t.Fatal(err)
	}
	gateways(t, pool, 2, Config{Collect: &postgres.CollectOptions{Grace: 48 * time.Hour, Blobs: beside}})
	waittest.Until(t, "the job", func() bool { return text(t, pool, strings.Replace(state, "retention", "collection", 1)) == "completed" })
	n := 0
	for info, err := range dir.List(t.Context()) {
		if n++; err != nil || info.ID == id {
			t.Errorf("there is %s, %v", info.ID, err)
		}
	}
	if n != 1 {
		t.Errorf("%d stay", n)
	}
	if got := text(t, pool, "SELECT string_agg(args::text, ' ') FROM river_job"); got != `{"hours": 48}` {
		t.Errorf("the arguments are %s", got)
	}
}

func TestMissingTables(t *testing.T) {
	pool := newPool(t)
	if err := Run(t.Context(), pool, Config{KeepDays: 1}); !errors.Is(err, errNotMigrated) {
		t.Errorf("got %v", err)
	}
	if err := Run(t.Context(), pool, Config{KeepDays: -1}); err == nil || !strings.Contains(err.Error(), "0 for ever") {
		t.Errorf("got %v", err)
	}
}
