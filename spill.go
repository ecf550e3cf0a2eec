package clew

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

const defaultSpill = 1 << 20

// spill puts the whole of large tool and shell output into the blob store and returns what goes into the log.
func (s *Session) spill(ctx context.Context, m *message.Message) (*message.Message, error) {
	limit := cmp.Or(s.cfg.SpillOver, defaultSpill)
	if s.blobs == nil || limit < 0 || m.Role != message.RoleToolResult && m.Role != message.RoleBashExecution {
		return m, nil
	}
	whole := m.JSON()
	if int64(len(whole)) <= limit {
		return m, nil
	}
	id, err := s.blobs.Put(ctx, bytes.NewReader(whole))
	if blob.KeepInline(err) {
		s.warnings = append(s.warnings, fmt.Errorf("output of %d bytes stays in the log, because it could not be kept beside it: %w", len(whole), err))
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	at := session.Spilled{ID: id.String(), Size: int64(len(whole))}
	short, err := session.WithSpilled(shortOutput(m, int(min(compact.ExcerptLimit, limit/3)), s.sourceOf(ctx, m, blobHandle(id))), at)
	if err != nil || len(short.JSON()) >= len(whole) {
		return m, nil // it has little text, and much of something that must stay
	}
	return short, nil
}

func blobHandle(id blob.ID) string { return "#" + strings.TrimPrefix(id.String(), "sha256-")[:16] }

// sourceOf says what output is of.
func (s *Session) sourceOf(ctx context.Context, m *message.Message, handle string) compact.Source {
	of := compact.Source{Tool: m.ToolName, Subject: m.Command, Exit: m.ExitCode, Handle: handle}
	if _, err := s.load(ctx); err == nil && m.Role == message.RoleToolResult {
		op := ledger.Operation(m.ToolName, s.argumentsOf(m.ToolCallID, nil), ledger.Options{Cwd: s.log.Store().Header().Cwd})
		of.Subject = cmp.Or(op.Path, op.Command)
	}
	if of.Subject == "" {
		of.Tool = cmp.Or(of.Tool, "output")
	}
	return of
}

// shortOutput returns an excerpt of a tool result or a shell run. What a tool stored for
// itself is left out when it is large too.
func shortOutput(m *message.Message, keep int, of compact.Source) *message.Message {
	data := m.JSON()
	if len(jsonx.Get(data, "details")) > keep {
		data = jsonx.Set(data, "details", []byte("{}"))
	}
	if m.Role == message.RoleBashExecution {
		data = jsonx.Set(data, "output", jsonx.Quote(of.Excerpt(m.Output, keep)))
	} else {
		blocks := make([]message.Block, len(m.Content))
		for i, b := range m.Content {
			blocks[i] = b
			if b.Type == message.BlockText && len(b.Text) > keep {
				blocks[i] = message.TextBlock(of.Excerpt(b.Text, keep))
			}
		}
		data = jsonx.Set(data, "content", message.EncodeBlocks(blocks))
	}
	out, err := message.Parse(data)
	if err != nil {
		return m
	}
	return out
}

func (s *Session) whole(ctx context.Context, m *message.Message) (*message.Message, error) {
	at, ok := session.SpilledOf(m)
	if !ok {
		return m, nil
	}
	data, err := s.readSpilled(ctx, at, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	return message.Parse(data)
}

func (s *Session) readSpilled(ctx context.Context, at session.Spilled, most int64) ([]byte, error) {
	if s.blobs == nil {
		return nil, &Error{Op: "recall", Subject: at.ID, Err: blob.ErrNotFound, Hint: "the whole output was kept beside the log; open the session with its blob store"}
	}
	r, err := openSpilled(ctx, s.blobs, at)
	if err != nil {
		return nil, &Error{Op: "recall", Subject: at.ID, Err: err, Hint: "the log has an excerpt of it; the whole was in a folder beside the session file"}
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return nil, &Error{Op: "recall", Subject: at.ID, Err: err, Hint: "the log has an excerpt of it"}
	}
	return data, nil
}

// closed completes the beginning of a JSON value: what is open where it was cut is
// closed. The string that was cut lacks its last character, where that was not whole.
func closed(data []byte) []byte {
	var open []byte
	inString := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			n := 2
			if bytes.HasPrefix(data[i+1:], []byte("u")) {
				n = 6
			}
			if i+n > len(data) {
				data = data[:i]
			}
			i += n - 1
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	out := bytes.Clone(data)
	if inString {
		for k := 0; k < utf8.UTFMax && len(out) > 0; k++ {
			if r, n := utf8.DecodeLastRune(out); r != utf8.RuneError || n != 1 {
				break
			}
			out = out[:len(out)-1]
		}
		out = append(out, '"')
	}
	slices.Reverse(open)
	return append(out, open...)
}

// cacheFiles gives the text of entries as files, for tools that read paths: copies, made again when they are gone.
type cacheFiles struct {
	cache *blob.Cache
	dir   string
	tried string             // a file that was made to see whether any can be
	ids   map[string]blob.ID // the addresses of the texts, by entry
}

// folderOf is the name of a session's folder. Ids are of the session's making.
func folderOf(id string) string {
	if id != "" && len(id) <= 64 && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == "" {
		return id
	}
	sum := blob.IDOf([]byte(id))
	return hex.EncodeToString(sum[:8])
}

func newCacheFiles(dir, session string) (*cacheFiles, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := blob.OpenCache(dir); err != nil { // it may be a file
		return nil, err
	}
	dir = filepath.Join(dir, folderOf(session))
	c, err := blob.OpenCache(dir)
	if err != nil {
		return nil, err
	}
	return &cacheFiles{cache: c, dir: dir, ids: map[string]blob.ID{}}, nil
}

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

func textOf(m *message.Message) string {
	if m.Role == message.RoleBashExecution {
		return m.Output
	}
	return m.Text()
}

// Path returns a file in Config.Cache that has the text of an entry as it was written, and makes it if it is not there.
func (s *Session) Path(ctx context.Context, id string) (path string, err error) {
	const op = "make a file of"
	err = s.do(ctx, op, id, func() error {
		if s.cache == nil {
			return &Error{Op: op, Subject: id, Err: errors.New("the session has no folder for such files"), Hint: "set Config.Cache, or use Recall"}
		}
		e, err := s.log.Store().Get(ctx, id)
		if err == nil {
			path, err = s.cacheFile(ctx, e)
		}
		return err
	})
	return path, err
}

// cacheFile makes the file of an entry, if it is not there.
func (s *Session) cacheFile(ctx context.Context, e *session.Entry) (string, error) {
	m, err := s.messageOf(ctx, e)
	if err != nil {
		return "", err
	}
	return s.cache.provide(ctx, e.ID, m)
}

// named lets the notes of a pass name files, if the folder can be written to, which the first of them shows.
func (s *Session) named(ctx context.Context, policy compact.Policy) compact.Policy {
	if s.cache == nil || policy.Offload.Path != nil {
		return policy
	}
	tried, unable := false, false
	policy.Offload.Path = func(e *session.Entry) string {
		m, err := s.messageOf(ctx, e)
		if err != nil || unable {
			return ""
		}
		if !tried {
			tried = true
			if _, err := os.Lstat(s.cache.path(e.ID, m)); err != nil {
				s.cache.tried = s.cache.path(e.ID, m)
			}
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

// offloaded yields the entries in a context in whose place a note may name a file.
func offloaded(v *compact.Snapshot) iter.Seq[*session.Entry] {
	return func(yield func(*session.Entry) bool) {
		for _, it := range v.Context.Items {
			if it.Edit != nil && compact.StageOf(it.Edit) == compact.StageOffload && it.Entry.Type == session.TypeMessage && !yield(it.Entry) {
				return
			}
		}
	}
}

// dropFiles deletes the files that a pass leaves without a note that names them. Path makes them again.
func (s *Session) dropFiles(ctx context.Context, before, after *compact.Snapshot, r *Result) {
	if s.cache == nil || s.cfg.KeepFiles {
		return
	}
	pathOf := func(e *session.Entry) string {
		m, err := s.messageOf(ctx, e)
		if err != nil {
			return "" // its file, if there is one, stays
		}
		return s.cache.path(e.ID, m)
	}
	named := map[string]bool{"": true}
	for e := range offloaded(after) {
		named[pathOf(e)] = true
	}
	paths := []string{s.cache.tried}
	for e := range offloaded(before) {
		paths = append(paths, pathOf(e))
	}
	for _, path := range paths {
		if named[path] {
			continue
		}
		named[path] = true
		switch err := os.Remove(path); {
		case err == nil && path == s.cache.tried: // it was of no use to anybody
		case err == nil:
			r.Deleted = append(r.Deleted, path)
		case !errors.Is(err, fs.ErrNotExist):
			s.warnings = append(s.warnings, fmt.Errorf("a file that nothing names any more can't be deleted: %w", err))
		}
	}
}

// provideFiles makes the files that notes in the context name, where they are missing.
// One that can't be made is reported; its content can be recalled.
func (s *Session) provideFiles(ctx context.Context, v *compact.Snapshot) {
	if s.cache == nil {
		return
	}
	for e := range offloaded(v) {
		m, err := s.messageOf(ctx, e)
		unread := err != nil
		if err == nil {
			_, err = s.cache.provide(ctx, e.ID, m)
		}
		if err == nil {
			continue
		}
		s.warnings = append(s.warnings, fmt.Errorf("the text of entry %s is in no file for tools to read: %w", e.ID, err))
		if !unread {
			return // the next would fail as well
		}
	}
}
