// Package postgres keeps sessions in a PostgreSQL database, so that any machine can go on with them.
//
//	pool, err := pgxpool.New(ctx, "host=... dbname=...")
//	err = postgres.Migrate(ctx, pool) // once, when clew is installed or updated
//	db, err := postgres.New(ctx, pool, "tenant")
//	s, err := db.Open(ctx, "id of the session", postgres.Options{})
//	log, err := session.NewLog(ctx, s, session.Options{})
//
// One program writes to a session at a time. It holds a lease, which it renews; when it dies another can take the
// session over as soon as the lease has run out. Each lease has a token of its own, and the statement that appends
// checks it: a writer that lost its lease, and a statement still under way from before, can't append any more.
//
// A tenant's name is in every key and every query. Whoever has a DB sees the sessions of its tenant only.
package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/clew-dev/clew/session"
)

//go:embed migrations
var migrations embed.FS

const (
	schema      = 7 // version of the tables: the number of the last migration
	schemaTable = "clew_schema"
)

// Errors of this package, beside those of package session.
var (
	ErrNotMigrated = errors.New("the database lacks clew's tables, or has them of an older version")
	ErrNewer       = errors.New("the database has the tables of a newer clew")
	ErrNoSession   = errors.New("no such session")
	ErrLocked      = errors.New("the session is open in another program")
	ErrLeaseLost   = errors.New("another program took the session over")
)

// Migrate makes clew's tables, or brings them to this version. Several programs may call it at the same time. It
// refuses tables of a newer version with ErrNewer.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	if err := migrate(ctx, pool); err != nil {
		return failed("migrate", "the database", err)
	}
	return nil
}

func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	if has, err := schemaOf(ctx, pool); err != nil || has >= schema {
		if has > schema {
			err = newer(has)
		}
		return err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	one, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60))
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithTableName(schemaTable), goose.WithSessionLocker(one), goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = p.Up(ctx)
	}
	return err
}

// schemaOf returns the version of the tables, 0 where there are none.
func schemaOf(ctx context.Context, pool *pgxpool.Pool) (version int64, err error) {
	err = pool.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+schemaTable+" WHERE is_applied").Scan(&version)
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == "42P01" { // undefined_table
		return 0, nil
	}
	return version, err
}

func newer(has int64) error {
	return fmt.Errorf("%w: version %d, and this clew knows version %d", ErrNewer, has, schema)
}

// DB is what a database keeps for one tenant.
type DB struct {
	pool   *pgxpool.Pool
	tenant string
}

// New looks at the version of the tables and fails with ErrNotMigrated or ErrNewer unless it is this clew's. The pool
// stays the caller's, who closes it after the stores.
func New(ctx context.Context, pool *pgxpool.Pool, tenant string) (*DB, error) {
	has, err := schemaOf(ctx, pool)
	switch {
	case err != nil:
	case len(tenant) > maxKey:
		err = longTenant(tenant)
	case has < schema:
		err = fmt.Errorf("%w: version %d, and this clew needs version %d", ErrNotMigrated, has, schema)
	case has > schema:
		err = newer(has)
	}
	if err != nil {
		return nil, failed("open", "the database", err)
	}
	return &DB{pool: pool, tenant: tenant}, nil
}

// Unchecked is New without a look at the tables, for who has looked at them and serves many tenants.
func Unchecked(pool *pgxpool.Pool, tenant string) (*DB, error) {
	if len(tenant) > maxKey {
		return nil, failed("open", "the database", longTenant(tenant))
	}
	return &DB{pool: pool, tenant: tenant}, nil
}

func longTenant(name string) error {
	return fmt.Errorf("the name of the tenant has %d bytes; %d are allowed", len(name), maxKey)
}

// An index has room for some 2700 bytes a row.
const (
	maxKey = 500  // bytes of a tenant's name, and of a session's id
	maxID  = 1000 // bytes of an entry's id
)

// Options says how a session is opened. The zero value opens it for writing.
type Options struct {
	ReadOnly bool          // takes no lease; Append fails with session.ErrReadOnly
	Program  string        // names the holder of the lease to others. Default: "clew"
	Lease    time.Duration // how long the session stays taken when this program dies. Default: 30 seconds
}

// failed says what failed on what. An error that says so already stays.
func failed(op, subject string, err error) error {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return &session.Error{Op: op, Subject: subject, Err: err, Hint: hintConnect}
	}
	if _, ok := errors.AsType[*session.Error](err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	rich := &session.Error{Op: op, Subject: subject, Err: err}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			rich.Hint = h.do
			break
		}
	}
	return rich
}

const hintConnect = "see that the server runs, and that host, port, database and user are right"

var hints = []struct {
	err error
	do  string
}{
	{ErrNotMigrated, "call postgres.Migrate on it"},
	{ErrNewer, "use a newer clew"},
	{ErrNoSession, "check its id and the tenant"},
	{ErrLocked, "close it there, or open it for reading only"},
	{ErrShared, "if that is this database before it was restored, upgraded or renamed, take the place over: clew db gc --take-over; else give each database a bucket, prefix or folder of its own first"},
	{ErrLeaseLost, "open it again; what was appended before is in it"},
	{errNotWhole, "import a repaired copy"},
	{session.ErrDuplicateID, "import a repaired copy"},
	{fs.ErrExist, "the tenant has a session of that id; nothing was written"},
}
