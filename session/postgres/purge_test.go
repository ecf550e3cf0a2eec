package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/postgres"
)

const secret = `hunter2-"Tr0ub4dor&3"/x`

// canary fills a database with a secret in every place that can have one.
func canary(t *testing.T, pool *pgxpool.Pool) (beside func(tenant, session string) (blob.Store, error)) {
	t.Helper()
	stores := map[string]blob.Store{}
	beside = func(tenant, session string) (blob.Store, error) {
		if stores[tenant] == nil {
			dir, err := blob.OpenDir(filepath.Join(t.TempDir(), "blobs"))
			check(t, err)
			stores[tenant] = dir
		}
		return stores[tenant], nil
	}
	one, _ := beside("one", header.ID)
	id, err := one.Put(t.Context(), strings.NewReader(strings.Repeat("line\n", 300_000)+secret))
	check(t, err)
	two, _ := beside("two", header.ID)
	for _, text := range []string{"other", "of no entry: " + secret} {
		_, err = two.Put(t.Context(), strings.NewReader(text))
		check(t, err)
	}
	for _, name := range []string{"one", "two"} {
		s := create(t, tenant(t, pool, name), header)
		add(t, s, chain(t, "", "a"))
		for i, text := range []string{fmt.Sprintf("%q", "the password is "+secret), `{"nested":` + fmt.Sprintf("%q", fmt.Sprintf(`{"p":%q}`, secret)) + `}`, `{"blob":"` + id.String() + `"}`} {
			e, err := session.ParseEntry(fmt.Appendf(nil, `{"type":"custom","id":"x%d","parentId":"a","customType":"x","data":%s}`, i, text))
			check(t, err)
			add(t, s, []*session.Entry{e})
		}
		check(t, s.Close())
	}
	exec(t, pool, "INSERT INTO clew_event (tenant, at, session, event) VALUES ('one', now(), '', json_build_object('model', $1::text)), ('two', now(), '', '{}')", secret)
	exec(t, pool, "CREATE TABLE river_job (id bigint PRIMARY KEY, args jsonb, metadata jsonb, errors jsonb[])") // as River makes it
	exec(t, pool, "INSERT INTO river_job VALUES (1, jsonb_build_object('text', $1::text)), (2, '{}')", secret)
	return beside
}

// A secret goes from the sessions of all tenants, from the ledger, from jobs and from content beside them, and from the
// files of the database. All else stays as it was.
func TestPurge(t *testing.T) {
	dsn, pool := migrated(t)
	blobs := canary(t, pool)
	places := func() (found []string) {
		for name, sql := range map[string]string{
			"entries": "SELECT string_agg(convert_from(raw, 'UTF8'), ' ') FROM clew_entry", "events": "SELECT string_agg(event::text, ' ') FROM clew_event",
			"jobs": "SELECT string_agg(args::text, ' ') FROM river_job",
		} {
			var all string
			check(t, pool.QueryRow(t.Context(), sql).Scan(&all))
			if strings.Contains(all, "hunter2") {
				found = append(found, name)
			}
		}
		n := 0
		for _, name := range []string{"one", "two"} {
			store, _ := blobs(name, header.ID)
			for _, err := range store.List(t.Context()) {
				check(t, err)
				n++
			}
		}
		return append(found, fmt.Sprint(n, " blobs"))
	}
	for _, dry := range []bool{true, false} {
		p, err := postgres.Purge(t.Context(), pool, postgres.PurgeOptions{Text: secret, Blobs: blobs, DryRun: dry})
		check(t, err)
		// in each session: the text, the JSON in a string; then event, job, and content of each
		if len(p.Places) != 2*2+4 {
			t.Errorf("dry %v: %d places: %+v", dry, len(p.Places), p.Places)
		}
		if found := places(); dry && len(found) != 4 || !dry && strings.Join(found, " ") != "1 blobs" {
			t.Errorf("dry %v: it stands in %q", dry, found)
		}
	}
	wantIDs(t, open(t, tenant(t, pool, "two"), header.ID, postgres.Options{}), "a", "x0", "x1", "x2")
	var events, jobs int
	check(t, pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM clew_event), (SELECT count(*) FROM river_job)").Scan(&events, &jobs))
	if events != 1 || jobs != 1 {
		t.Errorf("%d events and %d jobs stayed", events, jobs)
	}
	p, err := postgres.Purge(t.Context(), pool, postgres.PurgeOptions{Text: secret, Blobs: blobs})
	if err != nil || len(p.Places) != 0 {
		t.Errorf("once more: %+v, %v", p, err)
	}
	exec(t, pool, "CHECKPOINT")
	_, dir, _ := strings.Cut(dsn, "host=")
	dir, _, _ = strings.Cut(dir, " ")
	err = filepath.WalkDir(filepath.Join(dir, "data", "base"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("hunter2")) {
			t.Errorf("%s still has it", path)
		}
		return err
	})
	if err != nil {
		t.Log("the files of the database can't be read here: ", err)
	}
}

// Content of a session that was deleted, and which waits to be collected, is looked at as well.
func TestPurgeOfDeleted(t *testing.T) {
	_, pool := migrated(t)
	beside := folders(t)
	s := create(t, tenant(t, pool, "t"), header)
	add(t, s, chain(t, "", "a"))
	check(t, s.Close())
	blobs, err := beside("t", header.ID)
	check(t, err)
	put(t, blobs, "the password is "+secret)
	put(t, blobs, "other")
	_, err = postgres.Delete(t.Context(), pool, postgres.Which{Tenant: "t"})
	check(t, err)
	for _, dry := range []bool{true, false} {
		p, err := postgres.Purge(t.Context(), pool, postgres.PurgeOptions{Text: secret, Blobs: beside, DryRun: dry})
		if err != nil || len(p.Places) != 1 || p.Places[0].Session != header.ID {
			t.Errorf("dry %v: %+v, %v", dry, p, err)
		}
	}
	if all := contents(t, blobs); len(all) != 1 || all[0] != "other" {
		t.Errorf("there is %q", all)
	}
}

// Of an entry that is named the content goes, with its copies; a session that somebody writes to is left alone.
func TestPurgeEntry(t *testing.T) {
	_, pool := migrated(t)
	db := tenant(t, pool, "t")
	s := create(t, db, header)
	add(t, s, chain(t, "", "a", "b"))
	dir, err := blob.OpenDir(filepath.Join(t.TempDir(), "blobs"))
	check(t, err)
	id, err := dir.Put(t.Context(), strings.NewReader("whole"))
	check(t, err)
	e, err := session.ParseEntry(fmt.Appendf(nil, `{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","toolCallId":"x","content":"part","details":{"clew":{"blob":{"id":%q,"size":5}}}}}`, id))
	check(t, err)
	add(t, s, []*session.Entry{e})
	p, err := postgres.Purge(t.Context(), pool, postgres.PurgeOptions{Tenant: "t", Session: header.ID, Entry: "b"})
	if err != nil || len(p.Places) != 0 || len(p.Left) != 1 || !strings.Contains(p.Left[0].What, "open in another program") {
		t.Errorf("%+v, %v", p, err)
	}
	check(t, s.Close())
	_, err = postgres.Purge(t.Context(), pool, postgres.PurgeOptions{Tenant: "other", Session: header.ID, Entry: "b"})
	wantError(t, err, postgres.ErrNoSession)
	p, err = postgres.Purge(t.Context(), pool, postgres.PurgeOptions{Tenant: "t", Session: header.ID, Entry: "b"})
	if err != nil || len(p.Places) != 1 || p.Places[0].Row != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	e, err = open(t, db, header.ID, postgres.Options{ReadOnly: true}).Get(t.Context(), "b")
	if err != nil || strings.Contains(string(e.Raw()), `"content":"b"`) {
		t.Errorf("%s, %v", e.Raw(), err)
	}
	// Its large output goes too, unless nobody says where that is.
	opt := postgres.PurgeOptions{Tenant: "t", Session: header.ID, Entry: "c", DryRun: true}
	p, err = postgres.Purge(t.Context(), pool, opt)
	if err != nil || !strings.Contains(fmt.Sprint(p.Left), id.String()) {
		t.Errorf("%+v, %v", p, err)
	}
	opt.Blobs = func(string, string) (blob.Store, error) { return dir, nil }
	for _, opt.DryRun = range []bool{true, false} {
		if _, err := dir.Stat(t.Context(), id); err != nil {
			t.Error(err)
		}
		p, err = postgres.Purge(t.Context(), pool, opt)
		if err != nil || len(p.Places) != 2 {
			t.Errorf("%+v, %v", p, err)
		}
	}
	_, err = dir.Stat(t.Context(), id)
	wantError(t, err, blob.ErrNotFound)
}

// What a failure left behind does not keep the files of tables that were changed before it.
func TestPurgeRewritesAfterFailure(t *testing.T) {
	_, pool := migrated(t)
	blobs := canary(t, pool)
	fails := func(tenant, session string) (blob.Store, error) {
		s, err := blobs(tenant, session)
		return fixed{s}, err
	}
	file := func() (sum int) {
		check(t, pool.QueryRow(t.Context(), "SELECT sum(relfilenode::bigint) FROM pg_class WHERE relname ~ '^clew_entry_[0-9]+$'").Scan(&sum))
		return sum
	}
	before := file()
	if _, err := postgres.Purge(t.Context(), pool, postgres.PurgeOptions{Text: secret, Blobs: fails}); err == nil || file() == before {
		t.Errorf("the purge says %v; tables written anew: %v", err, file() != before)
	}
}

// fixed is a store that can't be changed.
type fixed struct{ blob.Store }

func (fixed) Delete(context.Context, blob.ID) error { return blob.ErrDenied }

// What is deleted is gone with all that belongs to it, and nothing else is.
func TestDelete(t *testing.T) {
	_, pool := migrated(t)
	fill := func() {
		exec(t, pool, "TRUNCATE clew_session, clew_entry, clew_epoch, clew_measure, clew_event, clew_count")
		for _, name := range []string{"one", "two"} {
			for _, id := range []string{"old", "new"} {
				h := header
				h.ID = id
				s := create(t, tenant(t, pool, name), h)
				add(t, s, chain(t, "", "a"))
				check(t, s.Close())
				exec(t, pool, "INSERT INTO clew_epoch VALUES ($1, $2, 'h', 1, 1, 'a')", name, id)
				exec(t, pool, "INSERT INTO clew_measure VALUES ($1, $2, 'c', 1, 'e', '', CASE $2 WHEN 'old' THEN now() - interval '40 days' ELSE now() END)", name, id)
				exec(t, pool, "INSERT INTO clew_event (tenant, at, session, event) VALUES ($1, CASE $2 WHEN 'old' THEN now() - interval '40 days' ELSE now() END, $2, '{}')", name, id)
			}
			exec(t, pool, "INSERT INTO clew_count VALUES ($1, current_date - 40, 'passed', 1, 1, 1, 1, 1, 1, 1, 1)", name)
		}
		exec(t, pool, "UPDATE clew_session SET used = now() - interval '40 days' WHERE session = 'old'")
	}
	rows := func(table string) (n int) {
		check(t, pool.QueryRow(context.WithoutCancel(t.Context()), "SELECT count(*) FROM "+table).Scan(&n))
		return n
	}
	month := time.Now().Add(-30 * 24 * time.Hour)
	for _, c := range []struct {
		name   string
		which  postgres.Which
		each   int // rows that stay of sessions, entries, epochs, measures and events
		counts int
	}{
		{"one session", postgres.Which{Tenant: "one", Session: "old"}, 3, 2},
		{"a session that is not old", postgres.Which{Tenant: "one", Session: "new", Before: month}, 4, 2},
		{"old ones of a tenant", postgres.Which{Tenant: "one", Before: month}, 3, 1},
		{"old ones of all", postgres.Which{All: true, Before: month}, 2, 0},
		{"a tenant", postgres.Which{Tenant: "two"}, 2, 1},
	} {
		fill()
		_, err := postgres.Delete(t.Context(), pool, c.which)
		check(t, err)
		for _, table := range []string{"clew_session", "clew_entry", "clew_epoch", "clew_measure", "clew_event"} {
			if n := rows(table); n != c.each {
				t.Errorf("%s: %d rows of %s stay, want %d", c.name, n, table, c.each)
			}
		}
		if n := rows("clew_count"); n != c.counts {
			t.Errorf("%s: %d counters stay, want %d", c.name, n, c.counts)
		}
	}
	// What is beside a session goes first, but gateways keep nothing there.
	fill()
	exec(t, pool, "DELETE FROM clew_epoch WHERE session = 'new'")
	var beside []string
	which := postgres.Which{Tenant: "one", Beside: func(_ context.Context, tenant, id string) error {
		beside = append(beside, tenant+" "+id)
		return blob.ErrDenied
	}}
	if _, err := postgres.Delete(t.Context(), pool, which); !errors.Is(err, blob.ErrDenied) || rows("clew_session") != 4 || strings.Join(beside, "") != "one new" {
		t.Errorf("%v, %d sessions stay, beside %q", err, rows("clew_session"), beside)
	}
	fill()
	open(t, tenant(t, pool, "one"), "old", postgres.Options{})
	if d, err := postgres.Delete(t.Context(), pool, postgres.Which{All: true}); err != nil || d.Open != 1 || rows("clew_session") != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}
