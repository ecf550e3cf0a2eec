package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/session"
)

// CollectOptions says what Collect looks at.
type CollectOptions struct {
	// Blobs opens the large output of a session, and the marks of databases; see Own. Default: rows alone are collected.
	Blobs func(tenant, session string) (blob.Store, error)
	// Own says that other machines have stores of their own. What is noted of deleted sessions then stays for them.
	Own    bool
	Grace  time.Duration // for how long content is kept after it was stored, though nobody refers to it
	DryRun bool          // look what there is, and delete nothing
}

// DefaultGrace is the Grace to take unless there is a reason for another.
const DefaultGrace = 7 * 24 * time.Hour

// Collected says what was deleted, or, after a dry run, what would be.
type Collected struct {
	Content  []Garbage `json:"content,omitempty"` // after a dry run
	Deleted  int64     `json:"deleted"`           // pieces of content
	Bytes    int64     `json:"bytes"`             // of those
	Measures int64     `json:"measures"`          // of conversations that are not kept
	Open     int64     `json:"open"`              // sessions that were left alone, because they are open for writing
	First    bool      `json:"first,omitempty"`   // no content was looked at; the database's mark was made
}

// Garbage is content that nobody refers to.
type Garbage struct {
	Tenant  string    `json:"tenant"`
	Session string    `json:"session"`
	ID      string    `json:"id"`
	Size    int64     `json:"size"`
	Stored  time.Time `json:"stored"`
}

// Collect deletes large output to which no entry of its session refers, and that of sessions which were deleted; and
// rows that belong to nothing. Nobody can refer to what is being deleted: a session that a program has open for writing
// is left alone, others are locked meanwhile, and a program whose lease ran out loses it. Where another database may have
// the output it fails with ErrShared.
//
// It goes by when sessions were last used, and begins where the last one at that place ended: what was old then was looked
// at, and nobody has put any more there. The first one only leaves the database's mark, so that another database finds it
// before anything is deleted.
func Collect(ctx context.Context, pool *pgxpool.Pool, opt CollectOptions) (*Collected, error) {
	c := &collector{pool: pool, opt: opt, before: time.Now().Add(-opt.Grace)}
	if err := c.run(ctx); err != nil {
		return &c.out, failed("collect", "what nobody refers to", err)
	}
	return &c.out, nil
}

type collector struct {
	pool   *pgxpool.Pool
	opt    CollectOptions
	before time.Time
	out    Collected
}

func (c *collector) run(ctx context.Context) error {
	if _, err := New(ctx, c.pool, ""); err != nil {
		return err
	}
	if err := c.rows(ctx); err != nil || c.opt.Blobs == nil {
		return err
	}
	mark, err := own(ctx, c.pool, c.opt.Blobs, false, c.opt.DryRun)
	if err != nil {
		return err
	}
	if c.out.First = !mark.before && !c.opt.DryRun; c.out.First {
		return nil
	}
	there, used, err := c.usedSince(ctx, mark.looked)
	if err != nil {
		return err
	}
	gone, err := keys(ctx, c.pool, `SELECT tenant, session FROM clew_gone g WHERE at < $1
		AND NOT EXISTS (SELECT FROM clew_session s WHERE s.tenant = g.tenant AND s.session = g.session) ORDER BY 1, 2`, c.before)
	if err != nil {
		return err
	}
	looked, n := c.before.Add(-clocks), 0
	err = each(ctx, there, func(k key) error {
		open := c.out.Open
		_, err := c.session(ctx, k, false)
		if (err != nil || c.out.Open > open) && used[n].Before(looked) {
			looked = used[n] // those before it need no other look
		}
		n++
		return err
	})
	if n < len(there) && used[n].Before(looked) {
		looked = used[n]
	}
	if !c.opt.DryRun {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_, failed := c.pool.Exec(within, "UPDATE clew_owner SET looked = $2 WHERE mark = $1 AND looked < $2", mark.name, looked)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, each(ctx, gone, func(k key) error {
		left, err := c.session(ctx, k, true)
		if err == nil && !left && !c.opt.Own && !c.opt.DryRun {
			_, err = c.pool.Exec(ctx, "DELETE FROM clew_gone WHERE tenant = $1 AND session = $2 AND at < $3", k.Tenant, k.Session, c.before)
		}
		return err
	}))
}

// clocks is by how much the clock of a store may differ from that of the database.
const clocks = 24 * time.Hour

// usedSince are the sessions that may have got content since a time, in the order of their last use.
func (c *collector) usedSince(ctx context.Context, since time.Time) (all []key, used []time.Time, err error) {
	rows, _ := c.pool.Query(ctx, `SELECT tenant, session, greatest(used, expires) FROM (`+keeping+`) s
		WHERE greatest(used, expires) >= $1 ORDER BY 3, 1, 2`, since)
	var k key
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&k.Tenant, &k.Session, &at}, func() error {
		all, used = append(all, k), append(used, at)
		return nil
	})
	return all, used, err
}

// maxFailed is after how many sessions that fail one after the other the store is taken to be away.
const maxFailed = 3

// each calls fn for all, also after one that fails, and returns the first failure.
func each(ctx context.Context, all []key, fn func(key) error) (first error) {
	failed := 0
	for _, k := range all {
		err := fn(k)
		if err == nil {
			failed = 0
			continue
		}
		if first == nil {
			first = fmt.Errorf("session %s of tenant %q: %w", k.Session, k.Tenant, err)
		}
		if failed++; failed == maxFailed || ctx.Err() != nil {
			break
		}
	}
	return first
}

// rows deletes measures of conversations from which nothing has left the context, and with which nobody goes on.
func (c *collector) rows(ctx context.Context) error {
	const of = `FROM clew_measure m WHERE at < $1 AND NOT EXISTS (SELECT FROM clew_session s WHERE s.tenant = m.tenant AND s.session = m.session)`
	if c.opt.DryRun {
		return c.pool.QueryRow(ctx, "SELECT count(*) "+of, c.before).Scan(&c.out.Measures)
	}
	for {
		tag, err := c.pool.Exec(ctx, "DELETE FROM clew_measure WHERE ctid = ANY (ARRAY(SELECT ctid "+of+" LIMIT 5000))", c.before)
		if c.out.Measures += tag.RowsAffected(); err != nil || tag.RowsAffected() == 0 {
			return err
		}
	}
}

// session collects what a session has outside the database. left: something of it is still there.
func (c *collector) session(ctx context.Context, k key, gone bool) (left bool, err error) {
	blobs, err := c.opt.Blobs(k.Tenant, k.Session)
	if err != nil {
		return false, err
	}
	var old []blob.Info
	for info, err := range blobs.List(ctx) {
		switch {
		case errors.Is(err, blob.ErrCorrupt) && ctx.Err() == nil: // it is no file of ours
			left = true
		case err != nil:
			return true, err
		case info.Stored.Before(c.before):
			old = append(old, info)
		default:
			left = true
		}
	}
	if len(old) > 0 && !gone {
		old, err = c.unused(ctx, k, old)
	}
	for len(old) > 0 && err == nil {
		old, err = c.some(ctx, k, gone, blobs, old)
	}
	if pe, ok := errors.AsType[*pgconn.PgError](err); errors.Is(err, ErrLocked) || ok && pe.Code == "55P03" { // lock_not_available
		c.out.Open++
		return true, nil
	}
	return left, err
}

// erase removes content with all that the store has of it.
func erase(ctx context.Context, from blob.Store, id blob.ID) error {
	if e, ok := from.(interface {
		Erase(ctx context.Context, id blob.ID) error
	}); ok {
		return e.Erase(ctx, id)
	}
	return from.Delete(ctx, id)
}

// unused returns the content to which a session does not refer, as it is now.
func (c *collector) unused(ctx context.Context, k key, old []blob.Info) ([]blob.Info, error) {
	s, err := (&DB{pool: c.pool, tenant: k.Tenant}).Open(ctx, k.Session, Options{ReadOnly: true})
	if errors.Is(err, ErrNoSession) {
		return nil, nil // it was deleted, which is noted
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return without(ctx, s, old)
}

// without returns the content to which no entry refers.
func without(ctx context.Context, s *Store, old []blob.Info) ([]blob.Info, error) {
	referred := map[string]bool{}
	for e, err := range s.All(ctx) {
		if err != nil {
			return nil, err
		}
		for _, id := range e.Content() {
			referred[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(old), func(i blob.Info) bool { return referred[i.ID.String()] }), nil
}

// errDone undoes a transaction.
var errDone = errors.New("done")

// some deletes of the old content what the session does not refer to, as far as it gets before the server would take
// this program for dead, and returns what it did not get to. A session that is gone can't be made meanwhile.
func (c *collector) some(ctx context.Context, k key, gone bool, blobs blob.Store, old []blob.Info) (rest []blob.Info, err error) {
	db := &DB{pool: c.pool, tenant: k.Tenant}
	err = db.Update(ctx, session.Header{ID: k.Session}, func(s *Store, _ pgx.Tx) error {
		if (s.newest == nil) != gone {
			return errDone // it was made or deleted meanwhile, or was only begun
		}
		old, err := without(ctx, s, old)
		if err != nil {
			return err
		}
		remove := func(ctx context.Context, from blob.Store, id blob.ID) error { return from.Delete(ctx, id) }
		if gone {
			remove = erase
		}
		until := time.Now().Add(idleWait / 2)
		for i, info := range old {
			if time.Now().After(until) {
				rest = old[i:]
				break
			}
			if c.opt.DryRun {
				c.out.Content = append(c.out.Content, Garbage{k.Tenant, k.Session, info.ID.String(), info.Size, info.Stored})
			} else {
				within, cancel := context.WithDeadline(ctx, until)
				err := remove(within, blobs, info.ID)
				cancel()
				if err != nil {
					return err
				}
			}
			c.out.Deleted++
			c.out.Bytes += info.Size
		}
		if gone || c.opt.DryRun || len(old) == 0 {
			return errDone
		}
		return nil // so that the token is another
	})
	if errors.Is(err, errDone) {
		err = nil
	}
	return rest, err
}
