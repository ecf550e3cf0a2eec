package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/wire"
)

// maxWaiting is how many events and measures wait for the database; the rest is lost.
const maxWaiting = 20_000

// batch is what waits to be written.
type batch struct {
	number   int64 // of those of this gateway, from 1; 0 while it is filled
	measures map[measureKey]gateway.Measure
	events   []keptEvent
	counts   map[countKey]counts
	used     []gateway.Talk
}

// keptEvent is a row of clew_event.
type keptEvent struct {
	tenant, session string
	at              time.Time
	data            []byte
}

type measureKey struct {
	gateway.Talk
	end wire.Digest
}

type countKey struct {
	tenant, outcome string
	day             string
}

type counts struct {
	requests, before, after, input, cacheRead, cacheWrite, output int64
	cost                                                          float64
}

func (b *batch) clear() {
	*b = batch{measures: map[measureKey]gateway.Measure{}, counts: map[countKey]counts{}}
}

func (b *batch) empty() bool { return len(b.measures)+len(b.events)+len(b.counts)+len(b.used) == 0 }

// Measured implements gateway.Store.
func (s *Store) Measured(t gateway.Talk, m gateway.Measure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting.measures) >= maxWaiting {
		s.lost++
		return
	}
	s.waiting.measures[measureKey{t, m.End}] = m
}

// Event counts a request, and keeps it where something was done. It is for gateway.Config.OnEvent.
func (s *Store) Event(e gateway.Event) {
	keep := e.Outcome != gateway.Passed && e.Outcome != gateway.Shortened
	kept := keptEvent{tenant: e.Tenant, session: e.Conversation, at: e.Time}
	var err error
	if keep {
		kept.data, err = json.Marshal(e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := countKey{e.Tenant, string(e.Outcome), e.Time.UTC().Format(time.DateOnly)}
	c := s.waiting.counts[key]
	c.requests++
	c.before += e.Before
	c.after += e.After
	c.cost += e.Cost
	if u := e.Usage; u != nil {
		c.input += u.Input
		c.cacheRead += u.CacheRead
		c.cacheWrite += u.CacheWrite
		c.output += u.Output
	}
	s.waiting.counts[key] = c
	switch {
	case !keep:
	case err != nil || len(s.waiting.events) >= maxWaiting:
		s.lost++
	default:
		s.waiting.events = append(s.waiting.events, kept)
	}
}

// touch notes that a conversation is in use, once an hour.
func (s *Store) touch(t gateway.Talk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.hour) > time.Hour {
		clear(s.touched)
		s.hour = now
	}
	if !s.touched[t] && len(s.touched) < 10*maxWaiting && len(s.waiting.used) < 10*maxWaiting {
		s.touched[t] = true
		s.waiting.used = append(s.waiting.used, t)
	}
}

// run writes what waits, and looks for a database that is gone.
func (s *Store) run(ctx context.Context, every time.Duration) {
	defer close(s.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
			defer cancel()
			s.flush(last)
			s.flush(last) // the first may have been one that failed before
			return
		}
		if s.link.err() == nil || s.probe(ctx) == nil {
			s.flush(ctx)
			s.meet(ctx)
		}
	}
}

// flush writes what waits. What can't be written is tried again as it is: it may have been written, and the answer lost.
func (s *Store) flush(ctx context.Context) {
	s.mu.Lock()
	if s.unsent.empty() {
		s.batches++
		s.unsent = s.waiting
		s.unsent.number = s.batches
		s.waiting.clear()
	}
	b := s.unsent // nobody changes it but flush
	s.mu.Unlock()
	if b.empty() {
		return
	}
	err := s.try(ctx, writeWait, func(context.Context) error { return s.link.err() }, func(ctx context.Context) error { return b.write(ctx, s) })
	pe, ok := errors.AsType[*pgconn.PgError](err)
	refused := ok && !passing(pe)
	if err != nil && !refused {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsent = batch{}
	if refused {
		s.lost += int64(len(b.measures) + len(b.events))
		s.log.Error("the database refuses events and measures", "error", pe)
	}
}

// errWritten says that a batch was written before.
var errWritten = errors.New("written before")

// write writes the batch in one transaction, which does not wait for the disk. Rows are in order, so that two gateways
// do not wait for each other.
func (b *batch) write(ctx context.Context, s *Store) error {
	q := &pgx.Batch{}
	q.Queue("SET LOCAL synchronous_commit = off")
	q.Queue(`INSERT INTO clew_gateway AS g (id, batch, settings) VALUES ($1, $2, '{}')
		ON CONFLICT (id) DO UPDATE SET batch = $2 WHERE g.batch < $2`, s.id, b.number).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() == 0 {
			return errWritten
		}
		return nil
	})
	for _, key := range slices.SortedFunc(maps.Keys(b.measures), func(a, b measureKey) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.ID, b.ID), slices.Compare(a.end[:], b.end[:]))
	}) {
		m := b.measures[key]
		epoch := m.Epoch[:]
		if m.Epoch == (wire.Digest{}) {
			epoch = []byte{}
		}
		q.Queue(`INSERT INTO clew_measure (tenant, session, chain, tokens, env, epoch, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (tenant, session, chain) DO UPDATE SET tokens = excluded.tokens, env = excluded.env, epoch = excluded.epoch, at = excluded.at`,
			key.Tenant, key.ID, key.end[:], m.Tokens, m.Env[:], epoch, m.Time)
	}
	for _, e := range b.events {
		q.Queue("INSERT INTO clew_event (tenant, at, session, event) VALUES ($1, $2, $3, $4)", e.tenant, e.at, e.session, e.data)
	}
	for _, key := range slices.SortedFunc(maps.Keys(b.counts), func(a, b countKey) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.day, b.day), cmp.Compare(a.outcome, b.outcome))
	}) {
		c := b.counts[key]
		q.Queue(`INSERT INTO clew_count AS c (tenant, day, outcome, requests, before, after, input, cache_read, cache_write, output, cost)
			VALUES ($1, $2::text::date, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (tenant, day, outcome) DO UPDATE SET
			requests = c.requests + $4, before = c.before + $5, after = c.after + $6, input = c.input + $7,
			cache_read = c.cache_read + $8, cache_write = c.cache_write + $9, output = c.output + $10, cost = c.cost + $11`,
			key.tenant, key.day, key.outcome, c.requests, c.before, c.after, c.input, c.cacheRead, c.cacheWrite, c.output, c.cost)
	}
	if len(b.used) > 0 {
		tenants, ids := make([]string, len(b.used)), make([]string, len(b.used))
		for i, t := range b.used {
			tenants[i], ids[i] = t.Tenant, t.ID
		}
		q.Queue(`UPDATE clew_session SET used = now() WHERE (tenant, session) IN (
			SELECT tenant, session FROM clew_session JOIN unnest($1::text[], $2::text[]) AS u (tenant, session) USING (tenant, session)
			WHERE used < now() - interval '1 hour' FOR UPDATE OF clew_session SKIP LOCKED)`, tenants, ids)
	}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, q).Close() })
	if errors.Is(err, errWritten) {
		return nil
	}
	return err
}
