package postgres

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// PurgeOptions says what is to go: a text wherever it stands, or the content of an entry.
type PurgeOptions struct {
	Text           string // in the sessions of all tenants, the ledger, River's jobs, and Blobs
	Tenant         string // of Session
	Session, Entry string
	// Blobs opens the large output of a session, which is looked at too. Default: none is
	Blobs  func(tenant, session string) (blob.Store, error)
	DryRun bool // look what there is, and change nothing
}

// Purged says what was overwritten or removed, or, after a dry run, what would be.
type Purged struct {
	Places []PurgePlace `json:"places"`
	Left   []PurgePlace `json:"left,omitempty"` // where some of it still is, or may be
}

// PurgePlace is a place in a database.
type PurgePlace struct {
	Tenant  string `json:"tenant,omitempty"`
	Session string `json:"session,omitempty"`
	Row     int    `json:"row,omitempty"` // seq in clew_entry, from 1
	EntryID string `json:"entryId,omitempty"`
	What    string `json:"what"` // in a few words
}

// Purge overwrites a secret in a database as jsonl.Purge does in a file, and removes what holds it of the ledger, of
// River's jobs, and of Blobs. The tables that were changed are written anew, so that their files do not have the old rows
// any more; meanwhile nobody can use them. What it can't reach is in Left: the write-ahead log, backups, and sessions
// that are open for writing.
func Purge(ctx context.Context, pool *pgxpool.Pool, opt PurgeOptions) (*Purged, error) {
	p := &purger{pool: pool, opt: opt, out: Purged{Places: []PurgePlace{}}, changed: map[string]bool{}, spilled: map[key][]blob.ID{}}
	if err := p.run(ctx); err != nil {
		return &p.out, failed("purge", "the database", err)
	}
	return &p.out, nil
}

type purger struct {
	pool    *pgxpool.Pool
	opt     PurgeOptions
	forms   [][]byte // spellings of the text
	spilled map[key][]blob.ID
	out     Purged
	changed map[string]bool // tables
}

// key names a session.
type key struct{ Tenant, Session string }

func (p *purger) run(ctx context.Context) error {
	if _, err := New(ctx, p.pool, p.opt.Tenant); err != nil {
		return err
	}
	defer p.rewrite(ctx) // of what was changed before a failure, too
	if p.opt.Session != "" {
		return p.session(ctx, key{p.opt.Tenant, p.opt.Session})
	}
	forms, err := jsonl.Spellings(p.opt.Text)
	if err != nil {
		return err
	}
	for _, f := range forms {
		p.forms = append(p.forms, []byte(f))
	}
	for _, step := range []func(context.Context) error{p.findBlobs, p.sessions, p.rows} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *purger) found(place PurgePlace) { p.out.Places = append(p.out.Places, place) }

func (p *purger) foundContent(k key) {
	for _, b := range p.spilled[k] {
		p.found(PurgePlace{Tenant: k.Tenant, Session: k.Session, What: "content " + b.String() + ", which is removed"})
	}
}

// findBlobs finds content that holds the text, also such as no entry refers to, and of sessions that were deleted.
// Gateways keep none.
func (p *purger) findBlobs(ctx context.Context) error {
	if p.opt.Blobs == nil {
		return nil
	}
	all, err := keys(ctx, p.pool, "SELECT tenant, session FROM ("+keeping+") s UNION SELECT tenant, session FROM clew_gone ORDER BY 1, 2")
	for _, k := range all {
		if err = p.findIn(ctx, k); err != nil {
			break
		}
	}
	return err
}

// keeping are the sessions that may have content outside the database. Those of gateways have epochs, and none.
const keeping = `SELECT * FROM clew_session s
	WHERE NOT EXISTS (SELECT FROM clew_epoch e WHERE e.tenant = s.tenant AND e.session = s.session)`

func keys(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) ([]key, error) {
	rows, err := pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[key])
}

func (p *purger) findIn(ctx context.Context, k key) error {
	blobs, err := p.opt.Blobs(k.Tenant, k.Session)
	if err != nil {
		return err
	}
	for info, err := range blobs.List(ctx) {
		holds := false
		if err == nil {
			holds, err = p.holds(ctx, blobs, info.ID)
		}
		switch {
		case errors.Is(err, blob.ErrNotFound):
		case errors.Is(err, blob.ErrCorrupt):
			p.out.Left = append(p.out.Left, PurgePlace{Tenant: k.Tenant, Session: k.Session, What: fmt.Sprintf("content %s can't be read: %v", info.ID, err)})
		case err != nil:
			return err
		}
		if holds {
			p.spilled[k] = append(p.spilled[k], info.ID)
		}
	}
	return nil
}

func (p *purger) holds(ctx context.Context, blobs blob.Store, id blob.ID) (bool, error) {
	r, err := blobs.Open(ctx, id)
	if err != nil {
		return false, err
	}
	defer r.Close()
	longest := 0
	for _, f := range p.forms {
		longest = max(longest, len(f))
	}
	window := make([]byte, 0, 1<<20+longest)
	for {
		n, err := r.Read(window[len(window):cap(window)])
		window = window[:len(window)+n]
		if slices.ContainsFunc(p.forms, func(f []byte) bool { return bytes.Contains(window, f) }) {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if len(window) == cap(window) {
			window = append(window[:0], window[len(window)-longest:]...)
		}
	}
}

// erase erases content of a session that is in spilled.
func (p *purger) erase(ctx context.Context, k key) error {
	if p.opt.DryRun || len(p.spilled[k]) == 0 {
		return nil
	}
	blobs, err := p.opt.Blobs(k.Tenant, k.Session)
	if err != nil {
		return err
	}
	for _, id := range p.spilled[k] {
		if err := erase(ctx, blobs, id); err != nil {
			return err
		}
	}
	return nil
}

// sessions purges those that hold the text, or have content that does. Content goes last: it is found again after a
// failure, and no entry must refer to what is gone.
func (p *purger) sessions(ctx context.Context) error {
	found, err := keys(ctx, p.pool, `SELECT tenant, session FROM clew_entry WHERE EXISTS (SELECT FROM unnest($1::bytea[]) f WHERE position(f IN raw) > 0)
		UNION SELECT tenant, session FROM clew_session WHERE EXISTS (SELECT FROM unnest($1::bytea[]) f WHERE position(f IN header) > 0)
		ORDER BY 1, 2`, p.forms)
	if err != nil {
		return err
	}
	for k := range p.spilled {
		if !slices.Contains(found, k) {
			found = append(found, k)
		}
	}
	for _, k := range found {
		err := p.session(ctx, k)
		if errors.Is(err, ErrNoSession) { // it was deleted, and its content may be there still
			p.foundContent(k)
			err = nil
		}
		if err == nil {
			err = p.erase(ctx, k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refersTo notes the content to which the entry that is purged refers.
func (p *purger) refersTo(ctx context.Context, s *Store, k key) error {
	e, err := s.find(ctx, p.opt.Entry)
	if err != nil || e == nil || e.Type != session.TypeMessage {
		return err
	}
	m, err := e.Message()
	if err != nil {
		return nil //nolint:nilerr // the purge takes its content away, whatever it is
	}
	at, ok := session.SpilledOf(m)
	if !ok || at.Purged {
		return nil
	}
	id, err := blob.ParseID(at.ID)
	if err != nil {
		return nil //nolint:nilerr // so it refers to nothing
	}
	if p.opt.Blobs == nil {
		p.out.Left = append(p.out.Left, PurgePlace{Tenant: k.Tenant, Session: k.Session, EntryID: e.ID, What: "content " + at.ID + " beside the session, which was not looked for"})
		return nil
	}
	p.spilled[k] = append(p.spilled[k], id)
	return p.erase(ctx, k) // now, while something says where it is
}

// session purges one session: in a file, which says what is to change.
func (p *purger) session(ctx context.Context, k key) error {
	tenant, id := k.Tenant, k.Session
	dir, err := os.MkdirTemp("", "clew-purge")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "session.jsonl")
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		db := &DB{pool: p.pool, tenant: tenant}
		s := db.store(id, Options{ReadOnly: true})
		s.q, s.within = tx, true
		var open bool
		err := tx.QueryRow(ctx, "SELECT expires > now() FROM clew_session WHERE tenant = $1 AND session = $2 FOR UPDATE", tenant, id).Scan(&open)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return &session.Error{Op: "purge", Subject: "session " + id, Err: ErrNoSession, Hint: "check its id and the tenant"}
		case err != nil:
			return err
		case open:
			p.out.Left = append(p.out.Left, PurgePlace{Tenant: tenant, Session: id, What: "the session is open in another program; close it there, and purge again"})
			delete(p.spilled, k)
			return nil
		}
		if err := s.tail(ctx); err != nil {
			return err
		}
		if _, err := jsonl.WriteNew(ctx, path, s.Header(), s.All(ctx), jsonl.Options{}); err != nil {
			return err
		}
		opt := jsonl.PurgeOptions{ID: p.opt.Entry, Text: p.opt.Text, DryRun: p.opt.DryRun}
		if p.opt.Entry != "" {
			if err := p.refersTo(ctx, s, k); err != nil {
				return err
			}
		}
		p.foundContent(k)
		for _, b := range p.spilled[k] {
			opt.Spilled = append(opt.Spilled, b.String())
		}
		purged, err := jsonl.Purge(ctx, path, opt)
		if err != nil {
			return err
		}
		lines := map[int]bool{}
		for _, at := range purged.Places {
			lines[at.Line] = true
			p.found(PurgePlace{Tenant: tenant, Session: id, Row: at.Line - 1, EntryID: at.EntryID, What: at.What})
		}
		for _, at := range purged.Left {
			p.out.Left = append(p.out.Left, PurgePlace{Tenant: tenant, Session: id, Row: at.Line - 1, EntryID: at.EntryID, What: at.Why})
		}
		if p.opt.DryRun || len(lines) == 0 {
			return nil
		}
		return p.replace(ctx, tx, tenant, id, path, lines)
	})
}

// replace takes lines of a file into the rows that they came from.
func (p *purger) replace(ctx context.Context, tx pgx.Tx, tenant, id, path string, lines map[int]bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line = bytes.TrimSuffix(line, []byte{'\n'})
		switch {
		case !lines[n]:
			continue
		case n == 1:
			_, err = tx.Exec(ctx, "UPDATE clew_session SET header = $3 WHERE tenant = $1 AND session = $2", tenant, id, line)
			p.changed["clew_session"] = true
		default:
			var table string
			err = tx.QueryRow(ctx, "UPDATE clew_entry SET raw = $4 WHERE tenant = $1 AND session = $2 AND seq = $3 RETURNING tableoid::regclass::text",
				tenant, id, n-1, line).Scan(&table)
			p.changed[table] = true
		}
		if err != nil {
			return err
		}
	}
}

// rows removes rows of other tables that hold the text. Nothing is lost by that but what they say: no session needs them.
func (p *purger) rows(ctx context.Context) error {
	for _, t := range []struct{ table, what, text string }{
		{"clew_event", "an event of the ledger, which is removed", "event::text"},
		{"river_job", "a job of River's, which is removed", "concat(args, metadata, array_to_string(errors, ' '))"},
	} {
		var is bool
		if err := p.pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", t.table).Scan(&is); err != nil {
			return err
		}
		if !is {
			continue
		}
		where := fmt.Sprintf("FROM %s WHERE EXISTS (SELECT FROM unnest($1::bytea[]) f WHERE position(f IN convert_to(%s, 'UTF8')) > 0)", t.table, t.text)
		n := 0
		if err := p.pool.QueryRow(ctx, "SELECT count(*) "+where, p.forms).Scan(&n); err != nil {
			return err
		}
		for range n {
			p.found(PurgePlace{What: t.what})
		}
		if n == 0 || p.opt.DryRun {
			continue
		}
		if _, err := p.pool.Exec(ctx, "DELETE "+where, p.forms); err != nil {
			return err
		}
		p.changed[t.table] = true
	}
	return nil
}

// rewrite writes tables anew, whose files have rows that were replaced.
func (p *purger) rewrite(ctx context.Context) {
	for table := range p.changed {
		if _, err := p.pool.Exec(ctx, "VACUUM (FULL) "+table); err != nil {
			p.out.Left = append(p.out.Left, PurgePlace{What: fmt.Sprintf("the files of table %s still have the old rows: %v; run VACUUM (FULL) %s", table, err, table)})
		}
	}
	if len(p.out.Places) > 0 {
		p.out.Left = append(p.out.Left, PurgePlace{What: "the server's write-ahead log, its log where that has the values of statements, backups and standbys have it until they are overwritten, and gateways that run until they are started again"})
	}
}

// Which says what Delete deletes.
type Which struct {
	Tenant  string
	All     bool      // of all tenants
	Session string    // "" for all
	Before  time.Time // what was used last before then; zero: whenever

	// Beside deletes what a session has outside the database, before the session goes. Where it fails the session stays.
	// Default: nothing is deleted. Conversations of gateways have nothing.
	Beside func(ctx context.Context, tenant, session string) error
}

// Deleted says how much was deleted.
type Deleted struct {
	Sessions int64 `json:"sessions"`
	Events   int64 `json:"events"`
	Measures int64 `json:"measures"`
	Days     int64 `json:"days"` // of counters, one an outcome
	Open     int64 `json:"open"` // sessions that stay, because they are open for writing
}

// deleteAtOnce is how many sessions are deleted in one transaction.
const deleteAtOnce = 200

// Delete deletes sessions with all that belongs to them. It is for retention, too.
func Delete(ctx context.Context, pool *pgxpool.Pool, w Which) (d Deleted, err error) {
	if _, err := New(ctx, pool, w.Tenant); err != nil {
		return d, err
	}
	before := w.Before
	if before.IsZero() {
		before = time.Now().Add(24 * time.Hour)
	}
	args := []any{w.All, w.Tenant, w.Session, before}
	const which = `WHERE ($1 OR tenant = $2) AND ($3 = '' OR session = $3) AND `
	count := func(n *int64, sql string, args ...any) {
		if err == nil {
			tag, e := pool.Exec(ctx, sql, args...)
			*n += tag.RowsAffected()
			err = e
		}
	}
	for more := int64(1); more > 0 && err == nil; {
		more, err = w.some(ctx, pool, fmt.Sprintf(`SELECT tenant, session, NOT EXISTS (SELECT FROM clew_epoch e WHERE e.tenant = s.tenant AND e.session = s.session)
			FROM clew_session s %s used < $4 AND expires < now() LIMIT %d FOR UPDATE SKIP LOCKED`, which, deleteAtOnce), args...)
		d.Sessions += more
	}
	count(&d.Measures, "DELETE FROM clew_measure "+which+"at < $4", args...)
	count(&d.Events, "DELETE FROM clew_event WHERE ($1 OR tenant = $2) AND ($3 = '' OR session = left($3, 16)) AND at < $4", args...)
	if w.Session == "" {
		count(&d.Days, "DELETE FROM clew_count WHERE ($1 OR tenant = $2) AND day < ($3::timestamptz AT TIME ZONE 'UTC')::date", w.All, w.Tenant, before)
	}
	if err == nil {
		err = pool.QueryRow(ctx, "SELECT count(*) FROM clew_session "+which+"used < $4", args...).Scan(&d.Open)
	}
	if err != nil {
		return d, failed("delete", "sessions", err)
	}
	return d, nil
}

// some deletes the sessions that sql names and locks.
func (w *Which) some(ctx context.Context, pool *pgxpool.Pool, sql string, args ...any) (n int64, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		var tenants, ids []string
		var beside []key
		var k key
		var maybe bool
		if _, err = pgx.ForEachRow(rows, []any{&k.Tenant, &k.Session, &maybe}, func() error {
			tenants, ids = append(tenants, k.Tenant), append(ids, k.Session)
			if maybe && w.Beside != nil {
				beside = append(beside, k)
			}
			return nil
		}); err != nil {
			return err
		}
		for _, k := range beside {
			if err := w.Beside(ctx, k.Tenant, k.Session); err != nil {
				return err
			}
		}
		tag, err := tx.Exec(ctx, `DELETE FROM clew_session s USING unnest($1::text[], $2::text[]) AS u (tenant, session)
			WHERE s.tenant = u.tenant AND s.session = u.session`, tenants, ids)
		n = tag.RowsAffected()
		return err
	})
	if err != nil {
		n = 0
	}
	return n, err
}
