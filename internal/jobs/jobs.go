// Package jobs does what gateways that share a database have to do in the background, by River (riverqueue.com) on that
// database: each job once, whichever of them does it, and again after a while where it fails.
//
//	err := jobs.Migrate(ctx, pool) // once, with clew's own tables
//	err = jobs.Run(ctx, pool, jobs.Config{KeepDays: 90})
//
// Arguments of jobs have numbers in them, never what was said and never a key. What takes milliseconds, or a caller's
// key, is no job: docs/decisions says which work that is.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/clew-dev/clew/session/postgres"
)

// Config says what is done.
type Config struct {
	// KeepDays is for how many days a conversation of a gateway is kept that nobody goes on with, and how long events
	// and measures are. 0: for ever.
	KeepDays int
	// Collect says what is collected of what nobody refers to; see postgres.Collect. Default: nothing is.
	Collect *postgres.CollectOptions
	Logger  *slog.Logger // Default: none

	poll time.Duration // for tests: how often somebody looks for jobs
}

// Migrate makes River's tables, or brings them to this version. Several programs may call it at the same time.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	cfg := pool.Config()
	cfg.MaxConns = max(cfg.MaxConns, 2) // one holds the lock
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = locked(ctx, pool, func() error {
			_, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("migrate the tables of jobs: %w", err)
	}
	return nil
}

// locked calls fn while no other program does.
func locked(ctx context.Context, pool *pgxpool.Pool, fn func() error) error {
	c, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	const key = 0x636c6577 // "clew"
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", key); err != nil {
		return err
	}
	err = fn()
	_, unlocked := c.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", key)
	return errors.Join(err, unlocked)
}

// How often there are jobs, and how long one may take.
const (
	every        = time.Hour
	collectEvery = 6 * time.Hour
	timeout      = 10 * time.Minute
)

// Run does the jobs until the context ends. It waits for a database that can't be reached, and fails where the tables
// are missing.
func Run(ctx context.Context, pool *pgxpool.Pool, cfg Config) error {
	if cfg.KeepDays < 0 {
		return fmt.Errorf("conversations can't be kept for %d days; write how many, or 0 for ever", cfg.KeepDays)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.poll == 0 {
		cfg.poll = 10 * time.Second
	}
	for {
		c, err := start(ctx, pool, &cfg)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil
		case errors.Is(err, errNotMigrated):
			return err
		case err == nil:
			<-ctx.Done()
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			return c.StopAndCancel(late) // a job that is cut off is done by somebody else
		}
		cfg.Logger.Warn("jobs wait for the database", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(cfg.poll):
		}
	}
}

var errNotMigrated = errors.New("the database lacks the tables of jobs, or has them of another version; run clew db migrate")

func start(ctx context.Context, pool *pgxpool.Pool, cfg *Config) (*river.Client[pgx.Tx], error) {
	driver := riverpgxv5.New(pool)
	quiet := slog.New(slog.DiscardHandler)
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return nil, err
	}
	switch has, err := m.Validate(ctx, nil); {
	case err != nil:
		return nil, err
	case !has.OK:
		return nil, fmt.Errorf("%w: %s", errNotMigrated, strings.Join(has.Messages, "; "))
	}
	workers := river.NewWorkers()
	var periodic []*river.PeriodicJob
	add := func(every time.Duration, args river.JobArgs) {
		periodic = append(periodic, river.NewPeriodicJob(river.PeriodicInterval(every), func() (river.JobArgs, *river.InsertOpts) { return args, nil },
			&river.PeriodicJobOpts{RunOnStart: true}))
	}
	river.AddWorker(workers, &retentionWorker{pool: pool, log: cfg.Logger})
	if cfg.KeepDays > 0 {
		add(every, retention{Days: cfg.KeepDays})
	}
	river.AddWorker(workers, &collectionWorker{pool: pool, opt: cfg.Collect, log: cfg.Logger})
	if cfg.Collect != nil {
		add(collectEvery, collection{Hours: int(cfg.Collect.Grace / time.Hour)})
	}
	c, err := river.NewClient(driver, &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{queue: {MaxWorkers: 1}}, JobTimeout: timeout, RescueStuckJobsAfter: 2 * timeout,
		PollOnly: true, FetchPollInterval: cfg.poll, FetchCooldown: min(cfg.poll, 100*time.Millisecond),
		PeriodicJobs: periodic,
		Logger:       quiet, ErrorHandler: failures{cfg.Logger},
	})
	if err == nil {
		err = c.Start(context.WithoutCancel(ctx))
	}
	return c, err
}
