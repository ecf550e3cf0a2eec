package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/clew-dev/clew/session/postgres"
)

// queue is of its own, so that other programs may use River on the same database.
const queue = "clew"

// retention are the arguments of the job that deletes what nobody went on with.
type retention struct {
	Days int `json:"days"`
}

// Kind implements river.JobArgs.
func (retention) Kind() string { return "clew_retention" }

// InsertOpts implements river.JobArgsWithInsertOpts: there is one job an hour, whoever asks for it.
func (retention) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queue, MaxAttempts: 5, UniqueOpts: river.UniqueOpts{ByArgs: true, ByPeriod: every, ByQueue: true}}
}

type retentionWorker struct {
	river.WorkerDefaults[retention]
	pool *pgxpool.Pool
	log  *slog.Logger
}

// stale are the statements that delete what is older than $1 days, a part of it each time. Sessions that are in no
// gateway's hands stay: they are kept by who made them. Whoever writes to a session has its row locked.
var stale = []struct{ what, sql string }{
	{"conversations", `DELETE FROM clew_session WHERE (tenant, session) IN (
		SELECT tenant, session FROM clew_session s WHERE used < now() - make_interval(days => $1) AND expires < now()
		AND EXISTS (SELECT FROM clew_epoch e WHERE e.tenant = s.tenant AND e.session = s.session) LIMIT 200 FOR UPDATE SKIP LOCKED)`},
	{"events", `DELETE FROM clew_event WHERE ctid = ANY (ARRAY(SELECT ctid FROM clew_event WHERE at < now() - make_interval(days => $1) LIMIT 5000))`},
	{"measures", `DELETE FROM clew_measure WHERE ctid = ANY (ARRAY(SELECT ctid FROM clew_measure WHERE at < now() - make_interval(days => $1) LIMIT 5000))`},
}

// Work implements river.Worker. Each statement is a transaction of its own, so what was deleted before a failure stays
// deleted, and nobody waits for long.
func (w *retentionWorker) Work(ctx context.Context, job *river.Job[retention]) error {
	for _, s := range stale {
		total := int64(0)
		for {
			tag, err := w.pool.Exec(ctx, s.sql, job.Args.Days)
			if err != nil {
				return err
			}
			if total += tag.RowsAffected(); tag.RowsAffected() == 0 {
				break
			}
		}
		if total > 0 {
			w.log.Info("deleted what nobody went on with", "what", s.what, "number", total, "days", job.Args.Days)
		}
	}
	return nil
}

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
	if got.First {
		w.log.Info("the large output is marked as this database's; from the next time on it is collected")
	}
	if got.Deleted > 0 || got.Measures > 0 {
		w.log.Info("deleted what nobody refers to", "content", got.Deleted, "bytes", got.Bytes, "measures", got.Measures, "open", got.Open)
	}
	return err
}

// failures tells of jobs that failed, which are tried again.
type failures struct{ log *slog.Logger }

// HandleError implements river.ErrorHandler.
func (f failures) HandleError(_ context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	f.log.Warn("a job failed; it is tried again", "job", job.Kind, "attempt", job.Attempt, "of", job.MaxAttempts, "error", err)
	return nil
}

// HandlePanic implements river.ErrorHandler. The value of a panic may quote something.
func (f failures) HandlePanic(_ context.Context, job *rivertype.JobRow, v any, _ string) *river.ErrorHandlerResult {
	f.log.Error("a job panicked", "job", job.Kind, "attempt", job.Attempt, "type", fmt.Sprintf("%T", v))
	return nil
}
