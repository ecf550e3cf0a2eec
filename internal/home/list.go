package home

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// Listing is what a folder holds.
type Listing struct {
	// Sessions, newest first.
	Sessions []jsonl.Info
	// Other counts the files with the ending .jsonl that are no sessions or can't be
	// read.
	Other int
}

func (l *Listing) sort() {
	slices.SortStableFunc(l.Sessions, func(a, b jsonl.Info) int {
		return cmp.Or(b.Last.Compare(a.Last), strings.Compare(a.Path, b.Path))
	})
}

// ListFolder lists the session files in a folder. Of each file only both ends are read.
func ListFolder(ctx context.Context, dir string) (l Listing, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return l, folderError(dir, err)
	}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".jsonl" {
			continue
		}
		info, err := jsonl.Peek(ctx, filepath.Join(dir, e.Name()))
		switch {
		case ctx.Err() != nil:
			return Listing{}, ctx.Err()
		case err != nil:
			l.Other++
		default:
			l.Sessions = append(l.Sessions, info)
		}
	}
	l.sort()
	return l, nil
}

// List lists the sessions of the project in cwd.
func (h Home) List(ctx context.Context, cwd string) (Listing, error) {
	dir, err := h.Project(cwd)
	if err != nil {
		return Listing{}, err
	}
	l, err := ListFolder(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Listing{}, nil
	}
	return l, err
}

// ListAll lists the sessions of all projects.
func (h Home) ListAll(ctx context.Context) (all Listing, err error) {
	projects, err := os.ReadDir(h.sessions())
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, folderError(h.sessions(), err)
	}
	for _, p := range projects {
		dir := filepath.Join(h.sessions(), p.Name())
		if !p.IsDir() {
			continue
		}
		l, err := ListFolder(ctx, dir)
		if err != nil {
			return Listing{}, err
		}
		all.Sessions = append(all.Sessions, l.Sessions...)
		all.Other += l.Other
	}
	all.sort()
	return all, nil
}

// Find returns the sessions, in all projects, whose id is the given one, or begins so
// when there is none with that id.
func (h Home) Find(ctx context.Context, id string) ([]jsonl.Info, error) {
	all, err := h.ListAll(ctx)
	if err != nil || id == "" {
		return nil, err
	}
	var exact, begin []jsonl.Info
	for _, s := range all.Sessions {
		switch {
		case s.Header.ID == id:
			exact = append(exact, s)
		case strings.HasPrefix(s.Header.ID, id):
			begin = append(begin, s)
		}
	}
	if len(exact) > 0 {
		return exact, nil
	}
	return begin, nil
}

func folderError(dir string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	hint := "check who may read the folder"
	if errors.Is(err, fs.ErrNotExist) {
		hint = "check the path"
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
		if st, serr := os.Stat(dir); serr == nil && !st.IsDir() {
			hint = "name the folder the file is in"
		}
	}
	return &session.Error{Op: "list", Subject: dir, Err: err, Hint: hint}
}
