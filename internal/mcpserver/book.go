package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/internal/sessions"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/transcript"
)

// shelf finds sessions and reads them.
type shelf struct {
	cfg Config

	mu   sync.Mutex
	open map[string]*book // by path
}

// book is a session as it was read.
type book struct {
	path     string
	size     int64
	modified time.Time

	*transcript.Transcript
	session *clew.Session
	entries []*session.Entry // from the root to the leaf
}

// maxOpen is how many sessions are kept in memory.
const maxOpen = 4

var errNone = errors.New("there is no session of this project yet")

// list returns the sessions of the project, newest first, or the one that was named.
func (s *shelf) list(ctx context.Context) ([]sessions.Found, error) {
	if s.cfg.File != "" {
		info, err := os.Stat(s.cfg.File)
		if err != nil {
			return nil, err
		}
		return []sessions.Found{{Path: s.cfg.File, Size: info.Size(), Modified: info.ModTime()}}, nil
	}
	all, _, err := sessions.Elsewhere(ctx, s.cfg.Getenv, s.cfg.UserHome, s.cfg.Programs...)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(f sessions.Found) bool { return !f.In(s.cfg.Dir) })
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no session file says that it was in %s", errNone, s.cfg.Dir)
	}
	// The one that is being written is that of the program which asks.
	slices.SortStableFunc(all, func(a, b sessions.Found) int { return b.Modified.Compare(a.Modified) })
	return all, nil
}

// conversation is how a gateway names the sessions in its folder.
var conversation = text.Pattern(`^[0-9a-f]{32}$`)

// current returns the session that was written to last; with id the one of this id, or
// whose id begins so.
func (s *shelf) current(ctx context.Context, h http.Header, id string) (*book, error) {
	if s.cfg.Folder != "" || s.cfg.Open != nil {
		if !conversation().MatchString(id) {
			return nil, errors.New("name the conversation: its summary says what to give as \"session\"")
		}
		if s.cfg.Open != nil {
			return s.elsewhere(ctx, h, id)
		}
		path := filepath.Join(s.cfg.Folder, id+".jsonl")
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("nothing is kept of the conversation %s", id)
		}
		return s.read(ctx, sessions.Found{Path: path, Size: info.Size(), Modified: info.ModTime()})
	}
	all, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		if strings.HasPrefix(f.ID, id) {
			return s.read(ctx, f)
		}
	}
	return nil, fmt.Errorf("no session of this project has an id that begins with %s", id)
}

// elsewhere returns a session that is in no file. It is read each time.
func (s *shelf) elsewhere(ctx context.Context, h http.Header, id string) (*book, error) {
	store, err := s.cfg.Open(ctx, h, id)
	if err != nil {
		return nil, fmt.Errorf("nothing can be read of the conversation %s: %w", id, err)
	}
	b := &book{path: id, Transcript: &transcript.Transcript{Format: transcript.Pi, Header: store.Header()}}
	return b, b.fill(ctx, store)
}

func (b *book) fill(ctx context.Context, store session.Store) (err error) {
	if b.session, err = clew.OpenStore(ctx, store, clew.Config{Cwd: b.Header.Cwd}); err != nil {
		return err
	}
	b.entries, err = session.Path(ctx, store, b.session.Leaf())
	return err
}

// read returns a session as the file is now.
func (s *shelf) read(ctx context.Context, f sessions.Found) (*book, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.open[f.Path]; b != nil && b.size == f.Size && b.modified.Equal(f.Modified) {
		return b, nil
	}
	file, err := sessions.Open(ctx, f.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := transcript.Read(file, transcript.ReadOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Path, err)
	}
	b := &book{path: f.Path, size: f.Size, modified: f.Modified, Transcript: t}
	if err := b.fill(ctx, t.Store()); err != nil {
		return nil, err
	}
	if len(s.open) >= maxOpen {
		clear(s.open)
	}
	s.open[f.Path] = b
	return b, nil
}
