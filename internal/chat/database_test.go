package chat_test

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/clew-dev/clew/internal/agent/permission"
	"github.com/clew-dev/clew/internal/chat"
	"github.com/clew-dev/clew/internal/pgtest"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session/postgres"
)

// A session in a database in which nothing was said leaves no row, others do.
func TestEmptyInDatabase(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := postgres.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	cfg := pool.Config().ConnConfig
	at := "postgres:///" + cfg.Database + "?" + url.Values{"host": {cfg.Host}, "user": {cfg.User}, "tenant": {"t"}}.Encode()
	p := newPlace(t, modeltest.Text("One."))
	rows := func() (n int) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM clew_session").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	s := p.open(func(c *chat.Config) { c.File = at })
	if err := s.Agent().SetMode(t.Context(), permission.ModePlan); err != nil {
		t.Fatal(err)
	}
	if rows() != 1 {
		t.Errorf("%d sessions, want the one in use", rows())
	}
	if err := s.Close(); err != nil || rows() != 0 {
		t.Errorf("%d sessions stay, %v", rows(), err)
	}
	s = p.open(func(c *chat.Config) { c.File = at })
	say(t, s, "first")
	address := s.Agent().State().File
	if err := s.Close(); err != nil || rows() != 1 {
		t.Errorf("%d sessions stay, %v", rows(), err)
	}
	// It is gone on with, and stays although nothing is said.
	s = p.open(func(c *chat.Config) { c.File = address })
	if err := s.Close(); err != nil || rows() != 1 {
		t.Errorf("%d sessions stay, %v", rows(), err)
	}
}
