package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/clew-dev/clew/session/postgres"
)

// collection are the arguments of the job that deletes what nobody refers to.
type collection struct {
	Hours int `json:"hours"` // of grace
}

// Kind implements river.JobArgs.
func (collection) Kind() string { return "clew_collection" }

// InsertOpts implements river.JobArgsWithInsertOpts: there is one job in some hours, whoever asks for it.
func (collection) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queue, MaxAttempts: 5, UniqueOpts: river.UniqueOpts{ByArgs: true, ByPeriod: collectEvery, ByQueue: true}}
}

type collectionWorker struct {
	river.WorkerDefaults[collection]
	pool *pgxpool.Pool
	opt  *postgres.CollectOptions // nil: others have to do it
	log  *slog.Logger
}

// Timeout implements river.Worker. A large bucket has to be listed.
func (*collectionWorker) Timeout(*river.Job[collection]) time.Duration { return 6 * timeout }

// Work implements river.Worker. What was deleted before a failure stays deleted.
func (w *collectionWorker) Work(ctx context.Context, job *river.Job[collection]) error {
	if w.opt == nil {
		return river.JobSnooze(time.Minute)
	}
	opt := *w.opt
	opt.Grace = time.Duration(job.Args.Hours) * time.Hour
	got, err := postgres.Collect(ctx, w.pool, opt)
	if got.Deleted > 0 || got.Measures > 0 {
		w.log.Info("deleted what nobody refers to", "content", got.Deleted, "bytes", got.Bytes, "measures", got.Measures, "open", got.Open)
	}
	return err
}
