// Package files keeps what tools change in files, so that it can be shown and taken back.
//
//	h := files.New(files.Config{Dir: project, Blobs: blobs, Entries: store.All, Append: appendOne})
//	err := h.Record(ctx, call, tool.Change{Path: path, Before: old, After: data}) // then write
//	changed, err := h.Changes(ctx, turn)
//	restored, err := h.Restore(ctx, turn, false)
//
// A change is in the log before it is made, with the content before and after it in the
// session's blob store. So whatever ends the program, the old content is there. Files are
// the same for all branches of a conversation: what counts is the order of the log.
package files

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/agent/tool"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Custom is the type of the entries with changes: a custom entry before a call changes
// files, a custom message where the user has taken changes back.
const Custom = session.CustomFiles

// Config says where a History is. All but Dir is required.
type Config struct {
	// Dir is the project, absolute and without symbolic links. Paths in it are kept
	// relative to it, so that the project can be moved.
	Dir string
	// Blobs keeps the content.
	Blobs blob.Store
	// Entries are those of the session, of every branch, in the order of the log.
	Entries func(ctx context.Context) iter.Seq2[*session.Entry, error]
	// Append puts an entry into the log and returns its id when it is on the disk.
	Append func(ctx context.Context, d session.Draft) (string, error)
}

// History is what was changed in a session. It may be used by several goroutines; nothing
// else must change files while Restore runs.
type History struct{ cfg Config }

// New returns the history of a session.
func New(c Config) *History { return &History{c} }

// Change is a change of one file, as it is in the log.
type Change struct {
	// Path is relative to the project, with slashes; outside of it absolute.
	Path string `json:"path"`
	// Before and After are the addresses of the content; "" where there is no file.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Mode has the permissions.
	Mode fs.FileMode `json:"mode,omitempty"`
	// Lost says that the content before it was too large to be kept.
	Lost bool `json:"lost,omitempty"`
}

// entry is the data of an entry with changes.
type entry struct {
	Call  string   `json:"call,omitempty"`
	Files []Change `json:"files"`
}

// Record keeps changes that a call is about to make. After an error they must not be made.
func (h *History) Record(ctx context.Context, call string, changes ...tool.Change) error {
	e := entry{Call: call}
	for _, c := range changes {
		before, err := h.put(ctx, c.Before)
		after, afterErr := h.put(ctx, c.After)
		if err = cmp.Or(err, afterErr); err != nil {
			return keepError(c.Path, err)
		}
		e.Files = append(e.Files, Change{Path: h.short(c.Path), Before: before, After: after, Mode: c.Mode.Perm(), Lost: c.Lost})
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := h.cfg.Append(ctx, session.NewCustom(Custom, data)); err != nil {
		return keepError(changes[0].Path, err)
	}
	return nil
}

func keepError(path string, err error) error {
	return fmt.Errorf("%s is not changed, because what is in it could not be kept for undo: %w", path, err)
}

func (h *History) put(ctx context.Context, data []byte) (string, error) {
	if data == nil {
		return "", nil
	}
	id, err := h.cfg.Blobs.Put(ctx, bytes.NewReader(data))
	return id.String(), err
}

func (h *History) get(ctx context.Context, address string) (data []byte, err error) {
	if address == "" {
		return nil, nil
	}
	id, err := blob.ParseID(address)
	if err != nil {
		return nil, err
	}
	r, err := h.cfg.Blobs.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// short is how a path is kept.
func (h *History) short(path string) string {
	if rel, err := filepath.Rel(h.cfg.Dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// at is an entry with changes and where it is.
type at struct {
	entry
	turn string // the message of the user that it belongs to
	nr   int    // in the log
}

// Turn is a message of the user after which files were changed.
type Turn struct {
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	// Text is the message.
	Text string `json:"text"`
	// Files are the paths, as those of Change, in the order of their first change.
	Files []string `json:"files"`
}

// read returns the changes and the turns of the log. place is where an entry is, -1
// where there is none.
func (h *History) read(ctx context.Context, id string) (changes []at, turns map[string]*Turn, place int, err error) {
	turns, place = map[string]*Turn{}, -1
	turnOf := map[string]string{}
	nr := 0
	for e, err := range h.cfg.Entries(ctx) {
		if err != nil {
			return nil, nil, -1, err
		}
		if nr++; e.ID == id {
			place = nr
		}
		turnOf[e.ID] = turnOf[e.ParentID]
		var data []byte
		switch e.Type {
		case session.TypeMessage:
			if m, err := e.Message(); err == nil && m.Role == message.RoleUser {
				turnOf[e.ID] = e.ID
				turns[e.ID] = &Turn{ID: e.ID, Time: e.Time(), Text: m.Text()}
			}
		case session.TypeCustom:
			if c, ok := e.Custom(); ok && c.CustomType == Custom {
				data = c.Data
			}
		case session.TypeCustomMessage:
			if m, ok := e.CustomMessage(); ok && m.CustomType == Custom {
				data = m.Details
			}
		default:
		}
		one := at{turn: turnOf[e.ID], nr: nr}
		if data == nil || json.Unmarshal(data, &one.entry) != nil {
			continue
		}
		changes = append(changes, one)
		if t := turns[one.turn]; t != nil {
			for _, c := range one.Files {
				if !slices.Contains(t.Files, c.Path) {
					t.Files = append(t.Files, c.Path)
				}
			}
		}
	}
	return changes, turns, place, nil
}

// Turns returns the turns of every branch in which files were changed, oldest first.
func (h *History) Turns(ctx context.Context) ([]Turn, error) {
	changes, turns, _, err := h.read(ctx, "")
	var out []Turn
	for _, c := range changes {
		if t := turns[c.turn]; t != nil {
			out = append(out, *t)
			delete(turns, c.turn)
		}
	}
	return out, err
}

// Changed is what became of one file.
type Changed struct {
	Change
	// Diff is unified; "" where the file is no text or too large.
	Diff string `json:"diff,omitempty"`
}

// Changes returns what a turn has changed, each file once; "" stands for the session.
// Where a file is again as it was it is left out.
func (h *History) Changes(ctx context.Context, turn string) ([]Changed, error) {
	changes, _, place, err := h.read(ctx, turn)
	if err != nil {
		return nil, err
	}
	if turn != "" && place < 0 {
		return nil, &Error{Op: "show changes", Subject: turn, Err: session.ErrNotFound, Hint: "take the id of a turn"}
	}
	var out []Changed
	for _, c := range net(changes, func(a at) bool { return turn == "" || a.turn == turn }) {
		one := Changed{Change: c.first}
		one.After, one.Mode = c.last.After, c.last.Mode
		if one.Before == one.After && !one.Lost {
			continue
		}
		before, err := h.get(ctx, one.Before)
		after, afterErr := h.get(ctx, one.After)
		if err = cmp.Or(err, afterErr); err != nil {
			return nil, &Error{Op: "show changes", Subject: one.Path, Err: err, Hint: "its content was kept beside the session's file"}
		}
		if !one.Lost {
			one.Diff = Diff(one.Path, before, after, one.Before == "")
		}
		out = append(out, one)
	}
	return out, nil
}

// span is the first and the last change of a file.
type span struct{ first, last Change }

func net(changes []at, meant func(at) bool) []*span {
	var out []*span
	byPath := map[string]*span{}
	for _, a := range changes {
		if !meant(a) {
			continue
		}
		for _, c := range a.Files {
			s := byPath[c.Path]
			if s == nil {
				s = &span{first: c}
				byPath[c.Path] = s
				out = append(out, s)
			}
			s.last = c
		}
	}
	return out
}

// Error says what was tried, on what, what went wrong and what to do.
type Error = session.Error

// ErrChanged says that somebody else has changed the files since.
var ErrChanged = errors.New("changed since by somebody else")

// Restored is what Restore has done.
type Restored struct {
	// ID is the entry that says so, "" where nothing was to be done. To restore to it takes
	// back what was done.
	ID string `json:"id,omitempty"`
	// Files are the paths that were changed.
	Files []string `json:"files"`
}

// Restore makes the files what they were before an entry, such as the message that began a
// turn: it takes back what was recorded from there on, on whatever branch. When somebody
// else has changed one of them since, the error is ErrChanged and nothing is done, unless
// force; what is overwritten is kept, as with every change. What is no regular file now,
// or was too large to be kept, is never restored.
func (h *History) Restore(ctx context.Context, to string, force bool) (Restored, error) {
	const op = "restore files"
	changes, _, place, err := h.read(ctx, to)
	if err != nil {
		return Restored{}, err
	}
	if place < 0 {
		return Restored{}, &Error{Op: op, Subject: to, Err: session.ErrNotFound, Hint: "take the id of a turn"}
	}
	var done entry
	var contents [][]byte // after it
	var foreign []string
	for _, s := range net(changes, func(a at) bool { return a.nr >= place }) {
		now, mode, err := h.look(s.first.Path)
		if err != nil {
			return Restored{}, &Error{Op: op, Subject: s.first.Path, Err: err, Hint: "nothing was restored; move it away and try again"}
		}
		id := ""
		if now != nil {
			id = blob.IDOf(now).String()
		}
		switch want := s.first.Before; {
		case s.first.Lost && id == s.first.After:
			return Restored{}, &Error{Op: op, Subject: s.first.Path, Err: errors.New("it was too large to be kept"), Hint: "nothing was restored; get the old file back in another way"}
		case s.first.Lost, id == want:
			continue
		case !force && id != s.last.After && id != s.last.Before:
			foreign = append(foreign, s.first.Path)
			continue
		}
		data, err := h.get(ctx, s.first.Before)
		if err == nil {
			_, err = h.put(ctx, now)
		}
		if err != nil {
			return Restored{}, &Error{Op: op, Subject: s.first.Path, Err: err, Hint: "nothing was restored; its content is kept beside the session's file"}
		}
		if now == nil {
			mode = s.first.Mode
		}
		done.Files = append(done.Files, Change{Path: s.first.Path, Before: id, After: s.first.Before, Mode: mode})
		contents = append(contents, data)
	}
	if len(foreign) > 0 {
		return Restored{}, &Error{Op: op, Subject: strings.Join(foreign, ", "), Err: ErrChanged, Hint: "nothing was restored; look at it, then force it, which keeps what is there now"}
	}
	out := Restored{Files: []string{}}
	if len(contents) == 0 {
		return out, nil
	}
	for _, c := range done.Files {
		out.Files = append(out.Files, c.Path)
	}
	details, err := json.Marshal(done)
	if err != nil {
		return Restored{}, err
	}
	note := "The user has taken back changes of these files: " + strings.Join(out.Files, ", ") + ". Read them again before you change them."
	if out.ID, err = h.cfg.Append(ctx, session.NewCustomMessage(Custom, []message.Block{message.TextBlock(note)}, true, details)); err != nil {
		return Restored{}, err
	}
	for i, c := range done.Files {
		if err := h.write(c.Path, contents[i], c.Mode); err != nil {
			return out, &Error{Op: op, Subject: c.Path, Err: err, Hint: "some files may be restored; try again, or restore to " + out.ID + " to take it back"}
		}
	}
	return out, nil
}
