package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/clew-dev/clew/session"
)

const (
	pageRows = 256      // entries read at a time, at most
	pageSize = 4 << 20  // bytes of them, after which no other entry is read
	maxKept  = 32 << 20 // bytes of entries kept at hand; others are read again
	patience = 10 * time.Second
)

// Store is one session in a database. It implements session.Store.
//
// Each append is durable on return, also with NoSync.
type Store struct {
	db     *DB
	id     string
	opt    Options
	header session.Header
	q      querier
	within bool // q is a transaction of Update, which ends the use of the session

	mu     sync.Mutex
	token  atomic.Int64              // of the lease; 0 for reading only. It changes under mu
	seq    int64                     // of the newest entry that was read or written
	newest *session.Entry            // the same
	kept   map[string]*session.Entry // by id
	size   int                       // of those, in bytes
	closed bool
	idle   func() // ends the renewing of the lease and waits for its end
}

// querier is a pool or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Create makes a new session and opens it for writing. It fails with fs.ErrExist when the tenant has one of that id.
func (db *DB) Create(ctx context.Context, h session.Header, opt Options) (*Store, error) {
	opt.ReadOnly = false
	s := db.store(h.ID, opt)
	if err := s.create(ctx, h); err != nil {
		return nil, failed("create", "session "+h.ID, err)
	}
	return s, nil
}

func (s *Store) create(ctx context.Context, h session.Header) (err error) {
	if s.header, err = session.ParseHeader(h.JSON()); err != nil {
		return err
	}
	if len(s.id) > maxKey {
		return fmt.Errorf("its id has %d bytes; %d are allowed", len(s.id), maxKey)
	}
	err = s.lease(s.q.QueryRow(ctx, `INSERT INTO clew_session (tenant, session, header, holder, expires)
		VALUES ($1, $2, $3, $4, now() + $5) ON CONFLICT DO NOTHING RETURNING token`,
		s.db.tenant, s.id, h.JSON(), s.holder(), s.opt.Lease))
	if errors.Is(err, pgx.ErrNoRows) {
		err = fs.ErrExist
	}
	if err == nil {
		s.keepLease()
	}
	return err
}

// Open opens a session. The errors: ErrNoSession, ErrLocked, those of the database.
func (db *DB) Open(ctx context.Context, id string, opt Options) (*Store, error) {
	s := db.store(id, opt)
	if err := s.open(ctx); err != nil {
		return nil, failed("open", "session "+id, err)
	}
	return s, nil
}

func (db *DB) store(id string, opt Options) *Store {
	opt.Program = cmp.Or(opt.Program, "clew")
	opt.Lease = cmp.Or(max(opt.Lease, 0), 30*time.Second)
	return &Store{db: db, q: db.pool, id: id, opt: opt, kept: map[string]*session.Entry{}, idle: func() {}}
}

// lease takes the token of a lease.
func (s *Store) lease(row pgx.Row) error {
	var token int64
	err := row.Scan(&token)
	if err == nil {
		s.token.Store(token)
	}
	return err
}

func (s *Store) holder() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s, process %d on %s", s.opt.Program, os.Getpid(), host)
}

// open takes the lease, and reads the header and the newest entries with one query.
func (s *Store) open(ctx context.Context) error {
	if !s.opt.ReadOnly {
		// This waits for an append that is under way with the token before.
		err := s.lease(s.q.QueryRow(ctx, `UPDATE clew_session SET token = token + 1, holder = $3, expires = now() + $4, used = now()
			WHERE tenant = $1 AND session = $2 AND expires < now() RETURNING token`,
			s.db.tenant, s.id, s.holder(), s.opt.Lease))
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
	}
	err := s.tail(ctx)
	if err == nil && !s.opt.ReadOnly {
		s.keepLease()
	}
	if err != nil && s.token.Load() > 0 {
		err = errors.Join(err, s.release())
	}
	return err
}

func (s *Store) tail(ctx context.Context) error {
	rows, err := s.q.Query(ctx, `SELECT s.header, s.holder, s.expires, coalesce(e.seq, 0), e.raw
		FROM clew_session s LEFT JOIN LATERAL (`+page("", "seq DESC")+`) e ON true
		WHERE s.tenant = $1 AND s.session = $2 ORDER BY e.seq`, s.db.tenant, s.id)
	if err != nil {
		return err
	}
	var header, raw []byte
	var holder string
	var expires time.Time
	_, err = pgx.ForEachRow(rows, []any{&header, &holder, &expires, &s.seq, &raw}, func() error {
		if raw == nil {
			return nil
		}
		s.newest, err = s.parse(s.seq, raw)
		if err == nil {
			s.keep(s.newest)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case header == nil:
		return ErrNoSession
	case s.token.Load() == 0 && !s.opt.ReadOnly:
		return fmt.Errorf("%w: %s, until %s unless that program renews it", ErrLocked, holder, expires.UTC().Format(time.RFC3339))
	}
	s.header, err = session.ParseHeader(header)
	return err
}

func (s *Store) parse(seq int64, raw []byte) (*session.Entry, error) {
	e, err := session.ParseEntry(raw)
	if err != nil {
		return nil, fmt.Errorf("row %d of clew_entry is no entry: %w", seq, err)
	}
	return e, nil
}

func (s *Store) keep(e *session.Entry) {
	if s.size += len(e.Raw()); s.size > maxKept {
		clear(s.kept)
		s.size = len(e.Raw())
	}
	s.kept[e.ID] = e
}

// keepLease renews the lease until idle is called. When that fails, the next append finds out.
func (s *Store) keepLease() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.idle = func() { stop(); <-done }
	go func() {
		defer close(done)
		tick := time.NewTicker(max(s.opt.Lease/3, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			short, cancel := context.WithTimeout(ctx, s.opt.Lease)
			_, _ = s.q.Exec(short, `UPDATE clew_session SET expires = now() + $4 WHERE tenant = $1 AND session = $2 AND token = $3`,
				s.db.tenant, s.id, s.token.Load(), s.opt.Lease)
			cancel()
		}
	}()
}

func (s *Store) release() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := s.q.Exec(ctx, `UPDATE clew_session SET holder = '', expires = 'epoch', used = now() WHERE tenant = $1 AND session = $2 AND token = $3`,
		s.db.tenant, s.id, s.token.Load())
	return err
}

// locked calls fn under the mutex if the session can be used, and says what failed.
func (s *Store) locked(ctx context.Context, op string, fn func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &session.Error{Op: "use", Subject: "session " + s.id, Err: session.ErrClosed, Hint: "open it again"}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return failed(op, "session "+s.id, err)
	}
	return nil
}

// page is a query for a page of entries in an order. There is always one in it, however large.
func page(where, order string) string {
	return fmt.Sprintf(`SELECT seq, raw FROM (
		SELECT seq, raw, sum(length(raw)) OVER (ORDER BY %[2]s ROWS UNBOUNDED PRECEDING) - length(raw) AS before
		FROM (SELECT seq, raw FROM clew_entry WHERE tenant = $1 AND session = $2 %[1]s ORDER BY %[2]s LIMIT %[3]d) rows) page
		WHERE before < %[4]d ORDER BY %[2]s`, where, order, pageRows, pageSize)
}

// entries reads a page. It returns the last one's seq.
func (s *Store) entries(ctx context.Context, where, order string, args ...any) (list []*session.Entry, seq int64, err error) {
	rows, err := s.q.Query(ctx, page(where, order), append([]any{s.db.tenant, s.id}, args...)...)
	if err != nil {
		return nil, 0, err
	}
	var raw []byte
	_, err = pgx.ForEachRow(rows, []any{&seq, &raw}, func() error {
		e, err := s.parse(seq, raw)
		list = append(list, e)
		return err
	})
	return list, seq, err
}

// Header implements session.Store.
func (s *Store) Header() session.Header { return s.header }

// Last implements session.Store.
func (s *Store) Last(ctx context.Context) (e *session.Entry, err error) {
	err = s.locked(ctx, "read", func() error { e = s.newest; return nil })
	return e, err
}

// Get implements session.Store.
func (s *Store) Get(ctx context.Context, id string) (e *session.Entry, err error) {
	err = s.locked(ctx, "read", func() error {
		if e, err = s.find(ctx, id); e == nil && err == nil {
			err = &session.Error{Op: "get entry", Subject: id, Err: session.ErrNotFound, Hint: "give the id of one of the entries of session " + s.id}
		}
		return err
	})
	return e, err
}

// Parent implements session.Store.
func (s *Store) Parent(ctx context.Context, e *session.Entry) (parent *session.Entry, err error) {
	err = s.locked(ctx, "read", func() error { parent, err = s.find(ctx, e.ParentID); return err })
	return parent, err
}

// find returns the entry with id or nil. It reads a page that ends with that entry, because whoever walks a path asks
// for what is before it next.
func (s *Store) find(ctx context.Context, id string) (*session.Entry, error) {
	if e := s.kept[id]; e != nil || id == "" {
		return e, nil
	}
	page, _, err := s.entries(ctx, `AND seq <= (SELECT seq FROM clew_entry WHERE tenant = $1 AND session = $2 AND id = $3)`, "seq DESC", []byte(id))
	if err != nil || len(page) == 0 {
		return nil, err
	}
	for _, e := range page {
		if s.kept[e.ID] == nil {
			s.keep(e)
		}
	}
	return page[0], nil
}

// All implements session.Store.
func (s *Store) All(ctx context.Context) iter.Seq2[*session.Entry, error] {
	return func(yield func(*session.Entry, error) bool) {
		for from, to := int64(0), int64(-1); from != to; {
			var page []*session.Entry
			err := s.locked(ctx, "read", func() (err error) {
				if to < 0 {
					to = s.seq
				}
				page, from, err = s.entries(ctx, "AND seq > $3 AND seq <= $4", "seq", from, to)
				return err
			})
			for _, e := range page {
				if err = cmp.Or(err, ctx.Err()); err != nil {
					break
				}
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// Append implements session.Store. It is one statement, which checks the token and the newest entry, so the batch is
// there whole or not at all. Where the connection breaks before the answer, the database is asked what happened.
func (s *Store) Append(ctx context.Context, batch []*session.Entry, opt session.AppendOptions) error {
	return s.locked(ctx, "append", func() error {
		if s.token.Load() == 0 {
			return session.ErrReadOnly
		}
		seen := make(map[string]bool, len(batch))
		for _, e := range batch {
			if err := session.CheckAppend(e); err != nil {
				return err
			}
			if len(e.ID) > maxID {
				return &session.Error{Op: "append entry", Subject: e.ID[:40] + "...", Err: fmt.Errorf("%w: its id has %d bytes; %d are allowed", session.ErrBadEntry, len(e.ID), maxID)}
			}
			if seen[e.ID] {
				return taken(e.ID)
			}
			seen[e.ID] = true
		}
		for {
			if opt.IfLast != "" && (s.newest == nil || s.newest.ID != opt.IfLast) {
				return &session.Error{Op: "append", Subject: "session " + s.id, Err: session.ErrConflict, Hint: "look at what was added, and try again"}
			}
			if len(batch) == 0 {
				return nil
			}
			if done, err := s.insert(ctx, batch); done || err != nil {
				return err
			}
			if err := s.lookAgain(ctx); err != nil {
				return err
			}
		}
	})
}

func taken(id string) error {
	return &session.Error{Op: "append entry", Subject: id, Err: session.ErrDuplicateID, Hint: "give it an id of its own"}
}

// insert is false when the token or the newest entry is another.
func (s *Store) insert(ctx context.Context, batch []*session.Entry) (bool, error) {
	ids, parents, raws := make([][]byte, len(batch)), make([][]byte, len(batch)), make([][]byte, len(batch))
	for i, e := range batch {
		ids[i], parents[i], raws[i] = []byte(e.ID), []byte(e.ParentID), e.Raw()
	}
	tag, err := s.q.Exec(ctx, `WITH head AS (
			UPDATE clew_session SET last_seq = last_seq + cardinality($6::bytea[]), used = now(),
				expires = CASE WHEN $5::interval > '0' THEN now() + $5 ELSE expires END
			WHERE tenant = $1 AND session = $2 AND token = $3 AND last_seq = $4 RETURNING last_seq)
		INSERT INTO clew_entry (tenant, session, seq, id, parent, raw)
		SELECT $1, $2, $4 + e.n, e.id, e.parent, e.raw
		FROM head, unnest($6::bytea[], $7::bytea[], $8::bytea[]) WITH ORDINALITY AS e (id, parent, raw, n)`,
		s.db.tenant, s.id, s.token.Load(), s.seq, s.opt.Lease, ids, parents, raws)
	done := tag.RowsAffected() > 0
	if err != nil {
		pe, said := errors.AsType[*pgconn.PgError](err)
		switch {
		case s.within && said && pe.Code == "23505":
			return false, fmt.Errorf("%w: %s", session.ErrDuplicateID, pe.Detail)
		case s.within: // the transaction is over
			return false, err
		case said && pe.Code == "23505": // unique_violation
			return false, s.whichTaken(ctx, ids)
		case said && pe.SeverityUnlocalized == "ERROR": // the statement was undone
			return false, err
		}
		if done, err = s.settle(ctx, ids[0], err); err != nil {
			return false, err
		}
	}
	if done {
		s.seq += int64(len(batch))
		s.newest = batch[len(batch)-1]
		for _, e := range batch {
			s.keep(e)
		}
	}
	return done, nil
}

func (s *Store) whichTaken(ctx context.Context, ids [][]byte) error {
	var id []byte
	err := s.q.QueryRow(ctx, "SELECT id FROM clew_entry WHERE tenant = $1 AND session = $2 AND id = ANY($3) LIMIT 1", s.db.tenant, s.id, ids).Scan(&id)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("its next row of clew_entry, %d, is there already: the tables were changed by other means", s.seq+1)
	case err != nil:
		return err
	}
	return taken(string(id))
}

// settle finds out whether an append happened whose answer was lost. The token is changed first: that waits for the
// statement where it is under way, and stops it where it is yet to begin.
func (s *Store) settle(ctx context.Context, first []byte, lost error) (bool, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := s.lease(s.q.QueryRow(ctx, `UPDATE clew_session SET token = token + 1 WHERE tenant = $1 AND session = $2 AND token = $3 RETURNING token`,
		s.db.tenant, s.id, s.token.Load()))
	happened := false
	if err == nil || errors.Is(err, pgx.ErrNoRows) { // without a row the token had changed already
		err = s.q.QueryRow(ctx, "SELECT EXISTS (SELECT FROM clew_entry WHERE tenant = $1 AND session = $2 AND seq = $3 AND id = $4)",
			s.db.tenant, s.id, s.seq+1, first).Scan(&happened)
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("%w; whether it was written can't be told: %w", lost, err)
	case !happened:
		return false, lost
	}
	return true, nil
}

// lookAgain says why nothing could be appended: the lease is lost, or there are entries to read first.
func (s *Store) lookAgain(ctx context.Context) error {
	var token, last int64
	err := s.q.QueryRow(ctx, "SELECT token, last_seq FROM clew_session WHERE tenant = $1 AND session = $2", s.db.tenant, s.id).Scan(&token, &last)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrNoSession
	case err != nil:
		return err
	case token != s.token.Load():
		return ErrLeaseLost
	}
	n, err := s.refresh(ctx)
	if err == nil && n == 0 && s.seq != last {
		err = fmt.Errorf("its newest entry is row %d of clew_entry, and clew_session says %d: the tables were changed by other means", s.seq, last)
	}
	return err
}

// Sync implements session.Store. There is nothing left to do.
func (s *Store) Sync(ctx context.Context) error {
	return s.locked(ctx, "sync", func() error { return nil })
}

// Refresh implements session.Store.
func (s *Store) Refresh(ctx context.Context) (n int, err error) {
	err = s.locked(ctx, "read", func() error { n, err = s.refresh(ctx); return err })
	return n, err
}

func (s *Store) refresh(ctx context.Context) (n int, err error) {
	for {
		page, seq, err := s.entries(ctx, "AND seq > $3", "seq", s.seq)
		if err != nil || len(page) == 0 {
			return n, err
		}
		for _, e := range page {
			s.keep(e)
		}
		n += len(page)
		s.seq, s.newest = seq, page[len(page)-1]
	}
}

// Problems implements session.Store. A database holds sound entries only.
func (s *Store) Problems() []session.Problem { return nil }

// Discard deletes the session with all its entries, and closes it. It fails with ErrLeaseLost, and deletes nothing, where
// another program has taken the session over.
func (s *Store) Discard(ctx context.Context) error {
	err := s.locked(ctx, "delete", func() error {
		if s.opt.ReadOnly {
			return session.ErrReadOnly
		}
		tag, err := s.q.Exec(ctx, `DELETE FROM clew_session WHERE tenant = $1 AND session = $2 AND token = $3`, s.db.tenant, s.id, s.token.Load())
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrLeaseLost
		}
		return err
	})
	return errors.Join(err, s.Close())
}

// Close implements session.Store. Closing twice is allowed. When it fails the lease ends by itself.
func (s *Store) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was || s.opt.ReadOnly || s.within {
		return nil
	}
	s.idle()
	if err := s.release(); err != nil {
		return failed("close", "session "+s.id, err)
	}
	return nil
}

var _ session.Store = (*Store)(nil)
