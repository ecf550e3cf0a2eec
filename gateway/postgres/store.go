// Package postgres keeps the conversations of gateways in a PostgreSQL database, so that any of them goes on with any
// conversation. It is their gateway.Store, and has the ledger and the keys of the tenants.
//
//	db, err := postgres.Open(ctx, "host=... dbname=...", postgres.Config{})
//	h, err := gateway.NewHandler(gateway.HandlerConfig{Config: gateway.Config{Store: db, OnEvent: db.Event}})
//
// Where the database can't be reached requests wait for it for some seconds, as long as a restart takes. After that Look and
// Write fail at once with gateway.ErrStoreDown until it is back, which the Store finds out by itself.
package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/session"
	sessions "github.com/clew-dev/clew/session/postgres"
	"github.com/clew-dev/clew/wire"
)

// How long a request waits for the database.
const (
	lookWait  = time.Second
	writeWait = 20 * time.Second
)

// Config says how a Store works. The zero value is ready for use.
type Config struct {
	Logger *slog.Logger  // hears when the database is gone and when it is back. Default: nobody does
	Flush  time.Duration // how often events and measures are written. Default: a quarter of a second
	// Grace is how long requests wait for a database that has just gone, as it does when it is started again. What a
	// gateway decides alone may be another epoch than that of the others. Default: 10 seconds.
	Grace time.Duration
}

// Store is a gateway.Store.
type Store struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	link link
	keys keys

	id  string // of this process
	met meeting

	mu       sync.Mutex
	settings map[string]string
	waiting  batch
	unsent   batch // one that was tried
	batches  int64
	lost     int64                 // of what waited, because there was too much of it
	touched  map[gateway.Talk]bool // since hour
	hour     time.Time

	stop context.CancelFunc
	done chan struct{}
}

// Open connects to a database. It fails where the tables are of another version, and not where the database can't be
// reached: gateways go on without it, also those that start.
func Open(ctx context.Context, database string, cfg Config) (*Store, error) {
	conf, err := pgxpool.ParseConfig(database)
	if err != nil {
		return nil, fmt.Errorf("the database is no connection string: %w", err) // pgx leaves the password out
	}
	return start(ctx, conf, cfg)
}

func start(ctx context.Context, conf *pgxpool.Config, cfg Config) (*Store, error) {
	if conf.ConnConfig.ConnectTimeout == 0 {
		conf.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Flush <= 0 {
		cfg.Flush = time.Second / 4
	}
	if cfg.Grace <= 0 {
		cfg.Grace = 10 * time.Second
	}
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return nil, err
	}
	s := &Store{pool: pool, log: cfg.Logger, keys: keys{known: map[[32]byte]known{}}, touched: map[gateway.Talk]bool{}, done: make(chan struct{}), id: rand.Text(), settings: map[string]string{}}
	s.waiting.clear()
	s.link.grace, s.link.down = cfg.Grace, errors.New("nobody has asked it yet")
	if err := s.probe(ctx); err != nil && (errors.Is(err, sessions.ErrNewer) || errors.Is(err, sessions.ErrNotMigrated)) {
		pool.Close()
		return nil, err
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	go s.run(ctx, cfg.Flush)
	return s, nil
}

// Close writes what waits, as far as that can be done within some seconds.
func (s *Store) Close() {
	s.stop()
	<-s.done
	s.pool.Close()
}

// Health returns why the database can't be used, nil where it can.
func (s *Store) Health() error { return s.link.err() }

// Lost returns how many events and measures could not be kept.
func (s *Store) Lost() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Look implements gateway.Store.
func (s *Store) Look(ctx context.Context, t gateway.Talk, since int64, ends []wire.Digest) (seen *gateway.Seen, err error) {
	s.touch(t)
	err = s.use(ctx, lookWait, func(ctx context.Context) error {
		seen, err = s.look(ctx, t, since, ends)
		return err
	})
	return seen, err
}

const (
	// A join may read all entries of the session: the planner takes sessions to be short.
	selectEpochs = `SELECT e.n, (SELECT x.raw FROM clew_entry x WHERE x.tenant = $1 AND x.session = $2 AND x.id = e.entry)
		FROM clew_epoch e WHERE e.tenant = $1 AND e.session = $2 AND e.n > $3 ORDER BY e.n`
	selectMeasures = `SELECT chain, tokens, env, epoch, at FROM clew_measure WHERE tenant = $1 AND session = $2 AND chain = ANY($3)`
)

func (s *Store) look(ctx context.Context, t gateway.Talk, since int64, ends []wire.Digest) (*gateway.Seen, error) {
	seen := &gateway.Seen{State: since}
	chains := make([][]byte, len(ends))
	for i := range ends {
		chains[i] = ends[i][:]
	}
	b := &pgx.Batch{}
	b.Queue(selectEpochs, t.Tenant, t.ID, since).Query(func(rows pgx.Rows) error {
		var raw []byte
		_, err := pgx.ForEachRow(rows, []any{&seen.State, &raw}, func() error {
			entry, err := session.ParseEntry(raw)
			if err != nil {
				return err
			}
			e, err := gateway.EpochOf(entry)
			if err == nil && e != nil {
				seen.Epochs = append(seen.Epochs, e)
			}
			return err
		})
		return err
	})
	b.Queue(selectMeasures, t.Tenant, t.ID, chains).Query(func(rows pgx.Rows) error {
		var chain, env, epoch []byte
		var m gateway.Measure
		_, err := pgx.ForEachRow(rows, []any{&chain, &m.Tokens, &env, &epoch, &m.Time}, func() error {
			m.End, m.Env, m.Epoch = digest(chain), digest(env), digest(epoch)
			seen.Measures = append(seen.Measures, m)
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	return seen, nil
}

func digest(b []byte) (d wire.Digest) {
	copy(d[:], b)
	return d
}

// Write implements gateway.Store.
func (s *Store) Write(ctx context.Context, t gateway.Talk, h session.Header, fn func(session.Store) error) error {
	return s.use(ctx, writeWait, func(ctx context.Context) error {
		db, err := sessions.Unchecked(s.pool, t.Tenant)
		if err != nil {
			return err
		}
		return db.Update(ctx, h, func(store *sessions.Store, tx pgx.Tx) error {
			return fn(&writer{Store: store, tx: tx, talk: t})
		})
	})
}

// writer notes which entries hold epochs.
type writer struct {
	*sessions.Store
	tx   pgx.Tx
	talk gateway.Talk
}

// The numbers begin with the time, so that those of a session that was deleted do not come again: replicas ask for what
// has a higher one.
const insertEpoch = `INSERT INTO clew_epoch (tenant, session, head, attempt, n, entry)
	SELECT $1, $2, $3, 1 + count(*) FILTER (WHERE head = $3), 1 + coalesce(max(n), (extract(epoch FROM clock_timestamp()) * 1000)::bigint), $4 FROM clew_epoch WHERE tenant = $1 AND session = $2`

func (w *writer) Append(ctx context.Context, batch []*session.Entry, opt session.AppendOptions) error {
	if err := w.Store.Append(ctx, batch, opt); err != nil {
		return err
	}
	for _, entry := range batch {
		e, err := gateway.EpochOf(entry)
		if err == nil && e != nil {
			_, err = w.tx.Exec(ctx, insertEpoch, w.talk.Tenant, w.talk.ID, e.Head[:], []byte(entry.ID))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Session opens what is kept of a conversation for reading: that of the tenant whose id begins so. It fails with
// fs.ErrNotExist where there is none, or more than one.
func (s *Store) Session(ctx context.Context, t gateway.Talk) (store session.Store, err error) {
	err = s.use(ctx, writeWait, func(ctx context.Context) error {
		if t.ID == "" {
			return fmt.Errorf("no conversation is named: %w", fs.ErrNotExist)
		}
		rows, err := s.pool.Query(ctx, "SELECT session FROM clew_session WHERE tenant = $1 AND session >= $2 AND session < $2 || 'g' AND starts_with(session, $2) LIMIT 2", t.Tenant, t.ID)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("nothing has left the context of conversation %s, or it was deleted: %w", t.ID, fs.ErrNotExist)
		}
		if err != nil {
			return err
		}
		db, err := sessions.Unchecked(s.pool, t.Tenant)
		if err == nil {
			store, err = db.Open(ctx, found[0], sessions.Options{ReadOnly: true})
		}
		return err
	})
	return store, err
}

var _ gateway.Store = (*Store)(nil)
