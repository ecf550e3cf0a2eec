package clew

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// cacheFiles gives the text of entries as files, for tools that read paths. The
// files are copies: they may be deleted at any time and are made again.
type cacheFiles struct {
	cache *blob.Cache
	dir   string
	// ids are the addresses of the texts, by entry.
	ids map[string]blob.ID
}

func newCacheFiles(dir string) (*cacheFiles, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c, err := blob.OpenCache(dir, blob.CacheOptions{})
	if err != nil {
		return nil, err
	}
	return &cacheFiles{cache: c, dir: dir, ids: map[string]blob.ID{}}, nil
}

// id returns the address of the text of an entry.
func (c *cacheFiles) id(entryID string, m *message.Message) blob.ID {
	id, ok := c.ids[entryID]
	if !ok {
		id = blob.IDOf([]byte(textOf(m)))
		c.ids[entryID] = id
	}
	return id
}

// path returns where the text of an entry is, or is to be.
func (c *cacheFiles) path(entryID string, m *message.Message) string {
	return filepath.Join(c.dir, blob.FileName(c.id(entryID, m), m.ToolName))
}

// provide makes the file of an entry, if it is not there.
func (c *cacheFiles) provide(ctx context.Context, entryID string, m *message.Message) (string, error) {
	return c.cache.Path(ctx, c.id(entryID, m), m.ToolName, func(context.Context, blob.ID) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(textOf(m))), nil
	})
}

// textOf is what a tool is to find in the file of a message.
func textOf(m *message.Message) string {
	if m.Role == message.RoleBashExecution {
		return m.Output
	}
	return m.Text()
}

// Path returns a file that has the text of an entry as it was written, and makes
// it if it is not there: for tools that read paths. It is a copy in the folder
// Config.Cache, which may be deleted at any time.
func (s *Session) Path(ctx context.Context, id string) (string, error) {
	const op = "make a file of"
	if err := s.begin(ctx, op); err != nil {
		return "", err
	}
	defer s.end()
	if s.cache == nil {
		return "", &Error{Op: op, Subject: id, Err: errors.New("the session has no folder for such files"), Hint: "set Config.Cache, or use Recall"}
	}
	m, err := s.recall(ctx, id)
	if err != nil {
		return "", failed(op, id, err)
	}
	path, err := s.cache.provide(ctx, id, m)
	return path, failed(op, id, err)
}

// named lets the notes of a pass name files, if the folder can be written to.
// What can't be is found out with the first of them.
func (s *Session) named(ctx context.Context, policy compact.Policy) compact.Policy {
	if s.cache == nil || policy.Offload.Path != nil {
		return policy
	}
	tried, unable := false, false
	policy.Offload.Path = func(e *session.Entry) string {
		m, err := e.Message()
		if err == nil {
			m, err = s.whole(ctx, m)
		}
		if err != nil || unable {
			return ""
		}
		if !tried {
			tried = true
			if _, err := s.cache.provide(ctx, e.ID, m); err != nil {
				unable = true
				s.warnings = append(s.warnings, fmt.Errorf("what is offloaded can be recalled, but is in no file: %w", err))
				return ""
			}
		}
		return s.cache.path(e.ID, m)
	}
	return policy
}

// provideFiles makes the files that notes in the context name, where they are
// missing. One that can't be made is reported; its content can be recalled.
func (s *Session) provideFiles(ctx context.Context, v *compact.Snapshot) {
	if s.cache == nil {
		return
	}
	for _, it := range v.Context.Items {
		if it.Edit == nil || compact.StageOf(it.Edit) != compact.StageOffload || it.Entry.Type != session.TypeMessage {
			continue
		}
		m, err := it.Entry.Message()
		if err == nil {
			m, err = s.whole(ctx, m)
		}
		if err == nil {
			_, err = s.cache.provide(ctx, it.Entry.ID, m)
		}
		if err != nil {
			s.warnings = append(s.warnings, fmt.Errorf("the text of entry %s is in no file for tools to read: %w", it.Entry.ID, err))
			return // the next would fail as well
		}
	}
}
