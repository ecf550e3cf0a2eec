package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/postgres"
)

// folders opens stores of sessions below a folder.
func folders(t testing.TB) func(tenant, session string) (blob.Store, error) {
	dir := t.TempDir()
	return func(tenant, session string) (blob.Store, error) {
		return blob.OpenDir(filepath.Join(dir, tenant, session))
	}
}

func put(t testing.TB, blobs blob.Store, text string) string {
	t.Helper()
	id, err := blobs.Put(t.Context(), strings.NewReader(text))
	check(t, err)
	return id.String()
}

// refer makes an entry that has an excerpt of content.
func refer(t testing.TB, id, parent, address string) []*session.Entry {
	t.Helper()
	e, err := session.ParseEntry(fmt.Appendf(nil, `{"type":"message","id":%q,"parentId":%q,"message":{"role":"toolResult","toolCallId":"x","content":"part","details":{"clew":{"blob":{"id":%q,"size":5}}}}}`, id, parent, address))
	check(t, err)
	return []*session.Entry{e}
}

func contents(t testing.TB, blobs blob.Store) (all []string) {
	t.Helper()
	for info, err := range blobs.List(t.Context()) {
		check(t, err)
		r, err := blobs.Open(t.Context(), info.ID)
		check(t, err)
		text, err := io.ReadAll(r)
		check(t, errors.Join(err, r.Close()))
		all = append(all, string(text))
	}
	return all
}

// owned makes the output of sessions that of a database.
func owned(t testing.TB, pool *pgxpool.Pool, beside func(tenant, session string) (blob.Store, error)) func(tenant, session string) (blob.Store, error) {
	t.Helper()
	check(t, postgres.Own(t.Context(), pool, beside, false))
	return beside
}

// What no entry refers to goes after a while, and so does what belonged to a session that was deleted; nothing else does.
func TestCollect(t *testing.T) {
	_, pool := migrated(t)
	beside := owned(t, pool, folders(t))
	collect := func(opt postgres.CollectOptions, want int64) *postgres.Collected {
		t.Helper()
		opt.Blobs = beside
		got, err := postgres.Collect(t.Context(), pool, opt)
		check(t, err)
		if got.Deleted != want {
			t.Errorf("%+v: %d are deleted, want %d", opt, got.Deleted, want)
		}
		return got
	}
	stores := map[string]blob.Store{}
	for _, name := range []string{"one", "two"} {
		blobs, err := beside(name, header.ID)
		check(t, err)
		s := create(t, tenant(t, pool, name), header)
		add(t, s, refer(t, "a", "", put(t, blobs, "of message a")))
		e, err := session.ParseEntry(fmt.Appendf(nil, `{"type":"custom","id":"b","parentId":"a","customType":"clew.files","data":{"files":[{"path":"x","before":%q}]}}`, put(t, blobs, "of a file")))
		check(t, err)
		add(t, s, []*session.Entry{e})
		put(t, blobs, "garbage")
		check(t, s.Close())
		stores[name] = blobs
	}
	exec(t, pool, "INSERT INTO clew_measure VALUES ('one', $1, 'c', 1, 'e', '', 'epoch'), ('one', 'other', 'c', 1, 'e', '', 'epoch'), ('one', 'other', 'new', 1, 'e', '', now())", header.ID)

	collect(postgres.CollectOptions{Grace: time.Hour, DryRun: true}, 0)
	got := collect(postgres.CollectOptions{DryRun: true}, 2)
	if len(got.Content) != 2 || got.Content[0].Tenant != "one" || got.Content[0].ID != blob.IDOf([]byte("garbage")).String() || got.Measures != 2 || got.Bytes != 2*7 {
		t.Errorf("%+v", got)
	}
	if got := collect(postgres.CollectOptions{Grace: time.Hour}, 0); got.Measures != 1 {
		t.Errorf("%d measures are deleted", got.Measures)
	}
	held := open(t, tenant(t, pool, "two"), header.ID, postgres.Options{})
	if got := collect(postgres.CollectOptions{}, 1); got.Open != 1 {
		t.Errorf("%d sessions are left alone", got.Open)
	}
	check(t, held.Close())
	if all := contents(t, stores["one"]); len(all) != 2 {
		t.Errorf("of one there is %q", all)
	}

	// A session that was deleted takes its content along, however it was deleted.
	_, err := postgres.Delete(t.Context(), pool, postgres.Which{Tenant: "one"})
	check(t, err)
	collect(postgres.CollectOptions{Grace: time.Hour}, 0)
	collect(postgres.CollectOptions{Own: true}, 2+1)
	if all := contents(t, stores["one"]); len(all) != 0 {
		t.Errorf("of the session that is deleted there is %q", all)
	}
	if all := contents(t, stores["two"]); len(all) != 2 {
		t.Errorf("of two there is %q", all)
	}
	noted := func(want int) {
		t.Helper()
		var n int
		check(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM clew_gone").Scan(&n))
		if n != want {
			t.Errorf("%d deleted sessions are noted, want %d", n, want)
		}
	}
	noted(1) // for the other machines
	collect(postgres.CollectOptions{}, 0)
	noted(0)
}

// One session whose content can't be read does not keep that of the others; where the store is away nobody goes on asking.
func TestCollectAfterFailure(t *testing.T) {
	_, pool := migrated(t)
	beside, asked := owned(t, pool, folders(t)), 0
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		h := header
		h.ID = id
		s := create(t, tenant(t, pool, "t"), h)
		add(t, s, chain(t, "", "x"))
		check(t, s.Close())
		blobs, err := beside("t", id)
		check(t, err)
		put(t, blobs, "garbage")
	}
	collect := func(fails string, wantDeleted int64, wantAsked int) {
		t.Helper()
		asked = 0
		got, err := postgres.Collect(t.Context(), pool, postgres.CollectOptions{Blobs: func(tenant, id string) (blob.Store, error) {
			if id != "" {
				asked++
			}
			if id != "" && strings.Contains(fails, id) {
				return nil, blob.ErrDenied
			}
			return beside(tenant, id)
		}})
		wantError(t, err, blob.ErrDenied)
		if got.Deleted != wantDeleted || asked != wantAsked || !strings.Contains(err.Error(), "session "+fails[:1]+" of tenant") {
			t.Errorf("%d are deleted, %d sessions looked at, %v", got.Deleted, asked, err)
		}
	}
	collect("abcde", 0, 3)
	collect("b", 4, 5)
}

// What is in use by a copy of the database, or by one that was set back to what it was before, is deleted by none of them,
// until somebody says whose it is.
func TestCollectShared(t *testing.T) {
	dsn, pool := migrated(t)
	beside := folders(t)
	first := func(pool *pgxpool.Pool, want bool) {
		t.Helper()
		got, err := postgres.Collect(t.Context(), pool, postgres.CollectOptions{Blobs: beside})
		if err != nil || got.First != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
	blobs, err := beside("t", header.ID)
	check(t, err)
	s := create(t, tenant(t, pool, "t"), header)
	add(t, s, refer(t, "a", "", put(t, blobs, "known to both")))
	check(t, s.Close())
	first(pool, true)
	first(pool, false)
	name := pool.Config().ConnConfig.Database
	pool.Close()
	_, other := migrated(t)
	exec(t, other, "CREATE DATABASE "+name+"_copy TEMPLATE "+name)
	pool, dup := connect(t, dsn, nil), connect(t, dsn+"_copy", nil)

	refused := func(pool *pgxpool.Pool, by string) {
		t.Helper()
		for _, dry := range []bool{true, false} {
			got, err := postgres.Collect(t.Context(), pool, postgres.CollectOptions{Blobs: beside, DryRun: dry})
			wantError(t, err, postgres.ErrShared)
			if !strings.Contains(err.Error(), "database "+by+", ") || !strings.Contains(err.Error(), "--take-over") || got.Deleted != 0 {
				t.Errorf("%+v, %v", got, err)
			}
		}
		wantError(t, postgres.Own(t.Context(), pool, beside, false), postgres.ErrShared)
	}
	s = open(t, tenant(t, pool, "t"), header.ID, postgres.Options{})
	add(t, s, refer(t, "b", "a", put(t, blobs, "of the original")))
	check(t, s.Close())
	refused(dup, name)
	refused(pool, name+"_copy")
	refused(dup, name)
	if all := contents(t, blobs); len(all) != 2 {
		t.Errorf("there is %q", all)
	}
	put(t, blobs, "garbage")
	check(t, postgres.Own(t.Context(), pool, beside, true))
	first(pool, false)
	if all := contents(t, blobs); len(all) != 2 {
		t.Errorf("there is %q", all)
	}

	// A copy of the disk is the same database of the same server. Whichever is second notices.
	exec(t, pool, "CREATE TABLE was AS SELECT * FROM clew_owner")
	first(pool, false)
	exec(t, pool, "DELETE FROM clew_owner")
	exec(t, pool, "INSERT INTO clew_owner SELECT * FROM was")
	refused(pool, name)
}

// One that dies in between is the owner still, and no call leaves more than one mark.
func TestOwnAfterCrash(t *testing.T) {
	_, pool := migrated(t)
	beside := folders(t)
	place, err := beside("", "")
	check(t, err)
	dies := errors.New("dies")
	for _, s := range []blob.Store{noPut{place, dies}, noDelete{place, dies}, place, noDelete{place, dies}, place} {
		err := postgres.Own(t.Context(), pool, func(string, string) (blob.Store, error) { return s, nil }, false)
		if err != nil && !errors.Is(err, dies) {
			t.Fatal(err)
		}
	}
	var rows int
	check(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM clew_owner").Scan(&rows))
	if all := contents(t, place); len(all) != 1 || rows > 2 {
		t.Errorf("%q, %d rows", all, rows)
	}
	_, other := migrated(t)
	wantError(t, postgres.Own(t.Context(), other, beside, false), postgres.ErrShared)
}

type noPut struct {
	blob.Store
	err error
}

func (s noPut) Put(context.Context, io.Reader) (blob.ID, error) { return blob.ID{}, s.err }

type noDelete struct {
	blob.Store
	err error
}

func (s noDelete) Delete(context.Context, blob.ID) error { return s.err }

// A session that was looked at, and is not in use since, is not asked for again; nor is one forgotten that could not be
// looked at.
func TestCollectLooksOnce(t *testing.T) {
	_, pool := migrated(t)
	beside := owned(t, pool, folders(t))
	for i, id := range []string{"a", "b", "c"} {
		h := header
		h.ID = id
		s := create(t, tenant(t, pool, "t"), h)
		add(t, s, chain(t, "", "x"))
		check(t, s.Close())
		exec(t, pool, "UPDATE clew_session SET used = now() - make_interval(days => $2) WHERE session = $1", id, 40-10*i)
	}
	looks := func(fails, want string) {
		t.Helper()
		var seen string
		_, err := postgres.Collect(t.Context(), pool, postgres.CollectOptions{Grace: 15 * 24 * time.Hour, Blobs: func(tenant, id string) (blob.Store, error) {
			seen += id
			if id != "" && id == fails {
				return nil, blob.ErrDenied
			}
			return beside(tenant, id)
		}})
		if seen != want || (err != nil) != (fails != "") {
			t.Errorf("it looks at %q, want %q; %v", seen, want, err)
		}
	}
	looks("b", "abc")
	looks("", "bc")
	held := open(t, tenant(t, pool, "t"), "c", postgres.Options{})
	looks("", "c")
	exec(t, pool, "UPDATE clew_session SET used = now() - interval '20 days' WHERE session = 'c'")
	check(t, held.Close()) // which is use
	looks("", "c")
	exec(t, pool, "UPDATE clew_session SET used = now() - interval '17 days' WHERE session = 'c'")
	looks("", "")
	// Use, and a lease, which a program holds that dies.
	exec(t, pool, "UPDATE clew_session SET used = now() WHERE session = 'a'")
	exec(t, pool, "UPDATE clew_session SET expires = now() - interval '5 days' WHERE session = 'b'")
	looks("", "ba")
}

// late is a store in which somebody collects between what is put and the entry that refers to it.
type late struct {
	blob.Store
	collect func()
}

func (l late) Put(ctx context.Context, r io.Reader) (blob.ID, error) {
	id, err := l.Store.Put(ctx, r)
	l.collect()
	return id, err
}

// Content that a writer has just put, or found there and took for its own, stays though nothing refers to it yet; and a
// writer whose lease ran out can't refer to what was deleted in the meantime.
func TestCollectBesideWriter(t *testing.T) {
	_, pool := migrated(t)
	beside := owned(t, pool, folders(t))
	blobs, err := beside("t", header.ID)
	check(t, err)
	n := int64(0)
	collect := func() {
		got, err := postgres.Collect(t.Context(), pool, postgres.CollectOptions{Blobs: beside})
		check(t, err)
		n += got.Deleted
	}
	s := create(t, tenant(t, pool, "t"), header)
	add(t, s, chain(t, "", "a"))
	put(t, blobs, "there before") // by a program that died
	for i, text := range []string{"new", "there before"} {
		id := put(t, late{blobs, collect}, text)
		add(t, s, refer(t, fmt.Sprint("b", i), "a", id))
	}
	if all := contents(t, blobs); len(all) != 2 || n != 0 {
		t.Errorf("there is %q, and %d were deleted", all, n)
	}
	id := put(t, blobs, "put before a long sleep")
	exec(t, pool, "UPDATE clew_session SET expires = 'epoch'")
	collect()
	wantError(t, s.Append(t.Context(), refer(t, "c", "a", id), session.AppendOptions{}), postgres.ErrLeaseLost)
	if n != 1 {
		t.Errorf("%d were deleted", n)
	}
	// One that has nothing to lose keeps its lease.
	s = open(t, tenant(t, pool, "t"), header.ID, postgres.Options{})
	exec(t, pool, "UPDATE clew_session SET expires = 'epoch'")
	collect()
	add(t, s, chain(t, "b1", "d"))
}

// Writers come and go while somebody collects without any grace. All that is referred to can be read afterwards.
func TestCollectRace(t *testing.T) {
	_, pool := migrated(t)
	beside := owned(t, pool, folders(t))
	db := tenant(t, pool, "t")
	const writers, rounds = 3, 12
	var all, collectors sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	collectors.Go(func() {
		for ctx.Err() == nil {
			if _, err := postgres.Collect(t.Context(), pool, postgres.CollectOptions{Blobs: beside}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for w := range writers {
		all.Go(func() {
			h := header
			h.ID = fmt.Sprint("s", w)
			blobs, err := beside("t", h.ID)
			s, cerr := db.Create(ctx, h, postgres.Options{})
			if err = errors.Join(err, cerr); err != nil {
				t.Error(err)
				return
			}
			parent := ""
			for i := range rounds {
				text := fmt.Sprint(w, " has ", i%4) // the same again and again
				id, err := blobs.Put(ctx, strings.NewReader(text))
				if err == nil && i%3 > 0 { // the others are left by a program that died
					entry := fmt.Sprint("e", i)
					err = s.Append(ctx, refer(t, entry, parent, id.String()), session.AppendOptions{})
					parent = entry
				}
				err = errors.Join(err, s.Close())
				if err == nil {
					s, err = db.Open(ctx, h.ID, postgres.Options{})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	stop()
	collectors.Wait()
	for w := range writers {
		id := fmt.Sprint("s", w)
		blobs, err := beside("t", id)
		check(t, err)
		for e, err := range open(t, db, id, postgres.Options{ReadOnly: true}).All(t.Context()) {
			check(t, err)
			for _, address := range e.Content() {
				id, err := blob.ParseID(address)
				check(t, err)
				if _, err := blobs.Stat(t.Context(), id); err != nil {
					t.Errorf("session s%d refers to what is gone: %v", w, err)
				}
			}
		}
	}
}
