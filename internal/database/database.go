// Package database opens sessions in PostgreSQL by an address that users give:
//
//	postgres://db.example/clew?tenant=team-a#0199c7d2
//
// is the session with that id, or the only one whose id begins so. What the address leaves out comes from the
// environment, as for psql.
package database

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/blob/s3"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/postgres"
	"github.com/clew-dev/clew/transcript"
)

// Address names the sessions of a tenant, or one of them.
type Address struct {
	Tenant, ID string
	url        url.URL // without them
}

// Is reports whether a name is an address.
func Is(name string) bool {
	return strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://")
}

// Parse reads an address.
func Parse(name string) (Address, error) {
	u, err := url.Parse(name)
	if err != nil {
		return Address{}, &session.Error{Op: "open", Subject: "the database", Err: errors.New("its address is no URL"), Hint: "write postgres://HOST/DATABASE?tenant=NAME#ID"}
	}
	q := u.Query()
	a := Address{Tenant: q.Get("tenant"), ID: u.Fragment, url: *u}
	q.Del("tenant")
	a.url.RawQuery, a.url.Fragment, a.url.RawFragment = q.Encode(), "", ""
	return a, nil
}

// String returns the address without passwords.
func (a Address) String() string {
	u := a.url
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	q.Del("password")
	q.Del("sslpassword")
	if a.Tenant != "" {
		q.Set("tenant", a.Tenant)
	}
	u.RawQuery, u.Fragment = q.Encode(), a.ID
	return u.String()
}

// With returns the address of the session with an id.
func (a Address) With(id string) Address {
	a.ID = id
	return a
}

// Login returns the address with the password of another one, if that leads to the same sessions: what String shows
// has none.
func (a Address) Login(of *Address) Address {
	if of != nil && of.With(a.ID).String() == a.String() {
		return of.With(a.ID)
	}
	return a
}

// maxConns is how many connections a command needs: one for its work, one for the lease.
const maxConns = 2

func (a Address) connect(ctx context.Context) (*postgres.DB, *pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(a.url.String())
	if err != nil {
		return nil, nil, &session.Error{Op: "open", Subject: a.String(), Err: err} // pgx leaves the password out
	}
	cfg.MaxConns = maxConns
	cfg.ConnConfig.RuntimeParams["application_name"] = cmp.Or(cfg.ConnConfig.RuntimeParams["application_name"], "clew")
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	db, err := postgres.New(ctx, pool, a.Tenant)
	if err != nil {
		pool.Close()
		if errors.Is(err, postgres.ErrNotMigrated) {
			err = &session.Error{Op: "open", Subject: a.String(), Err: postgres.ErrNotMigrated, Hint: "run clew db migrate on it"}
		}
		return nil, nil, err
	}
	return db, pool, nil
}

// Store is a session in a database. Close closes the connections, too.
type Store struct {
	*postgres.Store
	pool *pgxpool.Pool
	at   Address
}

// Path returns the address.
func (s *Store) Path() string { return s.at.String() }

// Tenant returns the tenant.
func (s *Store) Tenant() string { return s.at.Tenant }

// Version returns that of the session's format.
func (s *Store) Version() int { return session.Version }

// Close implements session.Store.
func (s *Store) Close() error {
	err := s.Store.Close()
	s.pool.Close()
	return err
}

// Open opens a session.
func Open(ctx context.Context, a Address, opt postgres.Options) (*Store, error) {
	if a.ID == "" {
		return nil, &session.Error{Op: "open", Subject: a.String(), Err: errors.New("the address names no session"), Hint: "add # and its id; clew ls with the address lists them"}
	}
	return a.open(ctx, func(db *postgres.DB) (*postgres.Store, error) {
		s, err := db.Open(ctx, a.ID, opt)
		if !errors.Is(err, postgres.ErrNoSession) {
			return s, err
		}
		found, lerr := db.List(ctx, a.ID)
		switch {
		case lerr != nil:
			return nil, lerr
		case len(found) == 1:
			return db.Open(ctx, found[0].Header.ID, opt)
		case len(found) > 1:
			err = &session.Error{Op: "open", Subject: a.String(), Err: fmt.Errorf("%d sessions have ids with this beginning", len(found)), Hint: "give more of the id"}
		}
		return nil, err
	})
}

// Create makes a session and opens it for writing.
func Create(ctx context.Context, a Address, h session.Header, opt postgres.Options) (*Store, error) {
	return a.open(ctx, func(db *postgres.DB) (*postgres.Store, error) { return db.Create(ctx, h, opt) })
}

func (a Address) open(ctx context.Context, open func(*postgres.DB) (*postgres.Store, error)) (*Store, error) {
	db, pool, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	s, err := open(db)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &Store{s, pool, a.With(s.Header().ID)}, nil
}

// List lists the sessions, newest first.
func List(ctx context.Context, a Address) ([]sessions.Found, error) {
	db, pool, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	list, err := db.List(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	var out []sessions.Found
	for _, i := range list {
		// What a file with only these entries would say.
		text := append(bytes.Join(append([][]byte{i.Header.JSON()}, i.Ends...), []byte("\n")), '\n')
		g, err := transcript.Peek(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			g = transcript.Glance{}
		}
		g.ID, g.Last = i.Header.ID, cmp.Or(g.Last, i.Header.Timestamp)
		out = append(out, sessions.Found{Glance: g, Program: sessions.Clew, Path: a.With(g.ID).String(), Modified: g.Last})
	}
	slices.SortFunc(out, func(a, b sessions.Found) int {
		return cmp.Or(b.Last.Compare(a.Last), strings.Compare(a.Path, b.Path))
	})
	return out, nil
}

// Blobs returns the store of a session's large output: below a folder, or an address of s3.Open.
func Blobs(where, tenant, id string) (blob.Store, error) {
	if strings.HasPrefix(where, "s3://") {
		s, err := s3.Open(where)
		if err != nil {
			return nil, err
		}
		return s.Below(name(tenant) + "/" + name(id)), nil
	}
	dir, err := Folder(where, tenant, id)
	if err != nil {
		return nil, err
	}
	return blob.OpenDir(filepath.Join(dir, "blobs"))
}

// RemoveBeside removes what a session has outside the database: large output, and what it has in its folder below own
// on this machine.
func RemoveBeside(ctx context.Context, where, own, tenant, id string) error {
	blobs, err := Blobs(where, tenant, id)
	if err != nil {
		return err
	}
	if all, ok := blobs.(interface {
		RemoveAll(ctx context.Context) error
	}); ok {
		err = all.RemoveAll(ctx)
	}
	if d, ok := blobs.(*blob.Dir); ok && err == nil {
		_ = os.Remove(filepath.Dir(d.Path())) // unless there is more in it
	}
	dir, derr := Folder(own, tenant, id)
	if err = errors.Join(err, derr); err == nil {
		err = os.RemoveAll(dir)
	}
	return err
}

// Folder is that of a session, below one for all.
func Folder(dir, tenant, id string) (string, error) {
	return filepath.Abs(filepath.Join(dir, name(tenant), name(id)))
}

const hashed = "sha-"

// name is one that every file system takes, and no other tenant or session has.
func name(s string) string {
	if s != "" && len(s) <= 64 && !strings.HasPrefix(s, hashed) && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz-_") == "" {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return hashed + hex.EncodeToString(sum[:16])
}
