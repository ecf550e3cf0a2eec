package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/blob/s3"
	"github.com/clew-dev/clew/internal/s3test"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/postgres"
)

// writers keep sessions in the database beside the gateways, and large output in a bucket, as clew chat does. Somebody
// collects what nobody refers to all the while, without any grace.
type writers struct {
	run    *run
	bucket *s3test.Bucket
	pool   *pgxpool.Pool
	log    [][]output // by writer: what was acknowledged

	refused, collected atomic.Int64
}

type output struct{ entry, text string }

const (
	outputs       = 40      // of a writer
	spillOver     = 8 << 10 // bytes
	reopen        = 8       // after so many outputs a session is opened anew, as by another machine
	lease         = 5 * time.Second
	writersTenant = "writers"
)

func newWriters(ctx context.Context, r *run, database string) (*writers, error) {
	bucket, err := s3test.Open()
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		bucket.Close()
		return nil, err
	}
	return &writers{run: r, bucket: bucket, pool: pool, log: make([][]output, r.cfg.Writers)}, nil
}

func (w *writers) close() {
	w.pool.Close()
	w.bucket.Close()
}

// refuse has the bucket answer nothing, and break connections, until it is told otherwise.
func (w *writers) refuse(is bool) {
	if !is {
		w.bucket.Fail(nil)
		return
	}
	w.bucket.Fail(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		if w.refused.Add(1)%2 == 0 {
			panic(http.ErrAbortHandler)
		}
		rw.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
}

func (w *writers) blobs(_, id string) (blob.Store, error) {
	return s3.New(s3.Options{Bucket: w.bucket.Name, Prefix: id, Endpoint: w.bucket.URL, Region: "us-east-1", AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey})
}

func sessionOf(i int) string { return fmt.Sprint("writer", i) }

// work lets all of them write, each the n-th part of its output after the n-th part of the run.
func (w *writers) work(ctx context.Context, total int) error {
	ended, stop := context.WithCancel(ctx)
	defer stop()
	var all, collector sync.WaitGroup
	errs := make([]error, len(w.log))
	collector.Go(func() { w.collect(ended) })
	for i := range w.log {
		all.Go(func() { errs[i] = w.write(ctx, i, total) })
	}
	all.Wait()
	stop()
	collector.Wait()
	got, err := postgres.Collect(ctx, w.pool, postgres.CollectOptions{Blobs: w.blobs})
	w.collected.Add(got.Deleted)
	return errors.Join(append(errs, err)...)
}

// rest is a short pause.
func rest(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// collect collects until it is told to stop. Failures while the bucket or the database is away are tried again, as those
// of a job are.
func (w *writers) collect(ctx context.Context) {
	for ; ctx.Err() == nil; rest(ctx) {
		got, _ := postgres.Collect(ctx, w.pool, postgres.CollectOptions{Blobs: w.blobs})
		w.collected.Add(got.Deleted)
	}
}

func (w *writers) write(ctx context.Context, i, total int) (err error) {
	rng := rand.New(rand.NewPCG(w.run.cfg.Seed, uint64(i)|1<<42))
	blobs, err := w.blobs("", sessionOf(i))
	if err != nil {
		return err
	}
	var s *clew.Session
	for n := range outputs {
		if n%reopen == 0 {
			if s != nil {
				_ = s.Close() // where that fails the lease runs out
				rest(ctx)
			}
			if s, err = w.open(ctx, i, blobs); err != nil {
				return err
			}
		}
		for int(w.run.steps.Load()) < total*n/outputs && w.run.since() < w.run.cfg.Limit && ctx.Err() == nil {
			rest(ctx)
		}
		text := fmt.Sprintf("output %d of writer %d\n%s", n, i, prose(rng, 256<<rng.IntN(10)))
		if n%5 == 4 { // what a program leaves that dies before it writes the entry
			_, _ = blobs.Put(ctx, strings.NewReader("garbage of "+text))
		}
		err := retry(ctx, func() error {
			ids, err := s.Append(ctx, message.ToolResult(fmt.Sprint("call", n), "run", text, false, time.Now()))
			if err == nil {
				w.log[i] = append(w.log[i], output{ids[0], text})
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return s.Close()
}

// retry calls fn until it does not fail, for some time.
func retry(ctx context.Context, fn func() error) error {
	for begin := time.Now(); ; rest(ctx) {
		if err := fn(); err == nil || time.Since(begin) > patience || ctx.Err() != nil {
			return err
		}
	}
}

// open opens a session, or makes it.
func (w *writers) open(ctx context.Context, i int, blobs blob.Store) (s *clew.Session, err error) {
	err = retry(ctx, func() error {
		opt := postgres.Options{Lease: lease}
		db, err := postgres.New(ctx, w.pool, writersTenant)
		if err != nil {
			return err
		}
		store, err := db.Open(ctx, sessionOf(i), opt)
		if errors.Is(err, postgres.ErrNoSession) {
			store, err = db.Create(ctx, session.Header{ID: sessionOf(i), Timestamp: time.Now(), Cwd: "/"}, opt)
		}
		if err == nil {
			s, err = clew.OpenStore(ctx, store, clew.Config{Blobs: blobs, SpillOver: spillOver})
		}
		return err
	})
	return s, err
}

// judge reads all that was acknowledged, as a machine would that has never seen it.
func (w *writers) judge(ctx context.Context, res *result) error {
	for i, log := range w.log {
		blobs, err := w.blobs("", sessionOf(i))
		if err != nil {
			return err
		}
		db, err := postgres.New(ctx, w.pool, writersTenant)
		if err != nil {
			return err
		}
		s, err := db.Open(ctx, sessionOf(i), postgres.Options{ReadOnly: true})
		if err != nil {
			return err
		}
		for _, o := range log {
			res.Outputs++
			whole, spilled, err := read(ctx, s, blobs, o.entry)
			switch {
			case errors.Is(err, session.ErrNotFound):
				w.run.count.add(lost, "writer %d, entry %s", i, o.entry)
			case err != nil || whole != o.text:
				w.run.count.add(unread, "writer %d, entry %s: %v", i, o.entry, err)
			case spilled:
				res.InBucket++
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
	res.Refused, res.Collected = w.refused.Load(), w.collected.Load()
	return nil
}

// read reads output by what the log says of it alone.
func read(ctx context.Context, s session.Store, blobs blob.Store, id string) (text string, spilled bool, err error) {
	e, err := s.Get(ctx, id)
	if err != nil {
		return "", false, err
	}
	m, err := e.Message()
	if err != nil {
		return "", false, err
	}
	at, spilled := session.SpilledOf(m)
	if !spilled {
		return m.Text(), false, nil
	}
	address, err := blob.ParseID(at.ID)
	if err != nil {
		return "", true, err
	}
	r, err := blobs.Open(ctx, address)
	if err != nil {
		return "", true, err
	}
	data, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return "", true, err
	}
	if m, err = message.Parse(data); err != nil {
		return "", true, err
	}
	return m.Text(), true, nil
}
