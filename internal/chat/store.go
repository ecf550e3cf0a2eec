package chat

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/database"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/session/postgres"
)

const (
	program     = "clew chat"
	discardWait = 10 * time.Second
)

// store opens the session in a file or at an address, or makes one for "": where the chat began, in a database or in
// the data folder. It is nil for one in memory.
func (h *Host) store(ctx context.Context, path string) (session.Store, error) {
	c := &h.cfg
	switch {
	case database.Is(path):
		at, err := database.Parse(path)
		if err != nil {
			return nil, err
		}
		return database.Open(ctx, at.Login(h.db), postgres.Options{Program: program})
	case path != "":
		return jsonl.Open(ctx, path, jsonl.Options{Program: program})
	case c.Memory:
		return nil, nil
	case h.db != nil:
		return database.Create(ctx, *h.db, home.NewHeader(c.Dir, c.Clock, c.NewID), postgres.Options{Program: program})
	}
	return c.Home.Create(ctx, c.Dir, c.Clock, c.NewID, jsonl.Options{Program: program})
}

// beside is what belongs to a session in a database and is not in it: large output, where the setting says; and the
// beginning of the names of files on this machine, for what is accepted and not in the session yet.
func (h *Host) beside(d *database.Store) (blob.Store, string, error) {
	own := h.cfg.Home.Database()
	blobs, err := database.Blobs(cmp.Or(h.settings().Blobs, own), d.Tenant(), d.Header().ID)
	if err != nil {
		return nil, "", err
	}
	dir, err := database.Folder(own, d.Tenant(), d.Header().ID)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return blobs, filepath.Join(dir, "session"), err
}

// discardEmpty removes a session from the database in which nothing was said.
func (h *Host) discardEmpty(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, discardWait)
	defer cancel()
	at, err := database.Parse(path)
	if err != nil {
		return err
	}
	own := h.cfg.Home.Database()
	dir, err := database.Folder(own, at.Tenant, at.ID)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(clew.QueueFile(filepath.Join(dir, "session"))); err == nil {
		return nil
	}
	d, err := database.Open(ctx, at.Login(h.db), postgres.Options{Program: program})
	if errors.Is(err, postgres.ErrLocked) || errors.Is(err, postgres.ErrNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if anySaid(ctx, d) {
		return nil
	}
	if err := d.Discard(ctx); err != nil {
		return err
	}
	return database.RemoveBeside(ctx, own, own, at.Tenant, at.ID)
}
