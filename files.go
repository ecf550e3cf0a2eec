package clew

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// Beside a session file s.jsonl there may be a folder s.jsonl.blobs: output that
// is too large for the file, by its hash. It lives as long as the file.

// FileBlobs returns the store of a session file's large output, in the folder beside it.
func FileBlobs(path string) (*blob.Dir, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Lstat(path + ".blobs"); err == nil && !info.IsDir() {
		return nil, &Error{
			Op: "open", Subject: path + ".blobs", Err: errors.New("it is a symbolic link or a file, where large output is kept in a folder"),
			Hint: "look at it and remove it, then try again; no link is followed from there",
		}
	}
	return blob.OpenDir(path + ".blobs")
}

// RemoveFile deletes a session file with all that belongs to it, and returns what it removed.
func RemoveFile(ctx context.Context, path string) (removed []string, err error) {
	blobs, err := FileBlobs(path) // before the link to it is gone
	if err != nil {
		return nil, err
	}
	if removed, err = jsonl.Remove(ctx, path); err != nil {
		return removed, err
	}
	_, err = os.Lstat(blobs.Path())
	had := err == nil
	if err := blobs.RemoveAll(ctx); err != nil {
		return removed, &Error{Op: "remove", Subject: path, Err: err, Hint: "the session is gone; remove what is left of the folder by hand"}
	}
	if had {
		removed = append(removed, blobs.Path())
	}
	for _, beside := range []string{TaskFolder(path), QueueFile(path)} {
		if _, err := os.Lstat(beside); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.RemoveAll(beside); err != nil {
			return removed, &Error{Op: "remove", Subject: beside, Err: err, Hint: "the session is gone; remove this by hand"}
		}
		removed = append(removed, beside)
	}
	return removed, nil
}

// TaskFolder names the folder beside a session file in which package agent keeps the sessions of its tasks.
func TaskFolder(path string) string { return path + ".tasks" }

// QueueFile names the file beside a session file in which package agent keeps what is not in the log yet.
func QueueFile(path string) string { return path + ".queue" }

// CopySpilled copies the large output of a session file to a copy of the file, which then stands alone. It returns
// how many there were, but for what is damaged: VerifySpilled finds it in both.
func CopySpilled(ctx context.Context, from, to string) (int, error) {
	src, err := FileBlobs(from)
	if err != nil {
		return 0, err
	}
	dst, err := FileBlobs(to)
	if err != nil {
		return 0, err
	}
	n := 0
	for info, err := range src.List(ctx) {
		var has bool
		if err == nil {
			has, err = copyBlob(ctx, src, dst, info.ID)
		}
		if err != nil {
			return n, &Error{Op: "copy", Subject: src.Path(), Err: err, Hint: "the copy of the session has excerpts of its large output alone"}
		}
		if has {
			n++
		}
	}
	return n, nil
}

// CopyContent copies all content to which a session refers from one store to another: where the session moves between a
// file and a database. It returns how much there was, and how many messages there are whose whole is missing or damaged.
func CopyContent(ctx context.Context, s session.Store, from, to blob.Store) (copied, lost int, err error) {
	has := map[string]bool{}
	for e, err := range s.All(ctx) {
		if err != nil {
			return copied, lost, err
		}
		for _, address := range e.Content() {
			if _, done := has[address]; done {
				continue
			}
			id, err := blob.ParseID(address)
			if err == nil {
				has[address], err = copyBlob(ctx, from, to, id)
			}
			if err != nil {
				return copied, lost, &Error{Op: "copy", Subject: address, Err: err, Hint: "nothing refers to what was copied; try again"}
			}
			if has[address] {
				copied++
			}
		}
		if at, ok := spilledOf(e); ok && !at.Purged && !has[at.ID] {
			lost++
		}
	}
	return copied, lost, nil
}

// copyBlob reports whether there was something to copy: what is damaged or missing is left out.
func copyBlob(ctx context.Context, src, dst blob.Store, id blob.ID) (has bool, err error) {
	r, err := src.Open(ctx, id)
	if err == nil {
		defer r.Close()
		_, err = dst.Put(ctx, r)
	}
	if errors.Is(err, blob.ErrCorrupt) || errors.Is(err, blob.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// VerifySpilled reads all output that a session file says is kept beside it, and reports what is missing or damaged.
func VerifySpilled(ctx context.Context, store session.Store, path string) ([]session.Problem, error) {
	blobs, err := FileBlobs(path)
	if err != nil {
		return nil, err
	}
	var problems []session.Problem
	for e, err := range store.All(ctx) {
		if err != nil {
			return problems, err
		}
		at, ok := spilledOf(e)
		if !ok || at.Purged {
			continue
		}
		r, err := openSpilled(ctx, blobs, at)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			_ = r.Close()
		}
		if err != nil {
			if ctx.Err() != nil {
				return problems, ctx.Err()
			}
			problems = append(problems, session.Problem{
				Code: "lost-output", Severity: session.SevError, EntryID: e.ID,
				What:    fmt.Sprintf("%d bytes of output kept beside the session can't be read: %v", at.Size, err),
				Meaning: "the session has an excerpt of it; the whole can't be recalled",
				Remedy:  "put the folder " + blobs.Path() + " back from where the session was copied",
			})
		}
	}
	return problems, nil
}

func openSpilled(ctx context.Context, blobs blob.Store, at session.Spilled) (io.ReadCloser, error) {
	id, err := blob.ParseID(at.ID)
	if err != nil {
		return nil, err
	}
	return blobs.Open(ctx, id)
}

func spilledOf(e *session.Entry) (session.Spilled, bool) {
	if e.Type != session.TypeMessage {
		return session.Spilled{}, false
	}
	m, err := e.Message()
	if err != nil {
		return session.Spilled{}, false
	}
	return session.SpilledOf(m)
}

// Purge overwrites a secret in a session file and in all that belongs to it: see jsonl.Purge. Output beside the file
// that holds it is overwritten as a whole and removed. After a failure or a crash Purge can be called again.
func Purge(ctx context.Context, path string, opt jsonl.PurgeOptions) (*jsonl.Purged, error) {
	blobs, err := FileBlobs(path)
	if err != nil {
		return nil, err
	}
	dry := opt
	dry.DryRun = true
	if _, err := jsonl.Purge(ctx, path, dry); err != nil { // what would refuse refuses here
		return nil, err
	}
	gone, err := blobsToPurge(ctx, path, blobs, opt)
	if err != nil {
		return nil, err
	}
	for _, g := range gone {
		opt.Spilled = append(opt.Spilled, g.id.String())
	}
	// Output that only its entry tells is erased while the entry still refers to it. What holds the text is found by
	// the text again, and an entry must not refer to what is erased.
	erase := func(byText bool) error {
		for _, g := range gone {
			if opt.DryRun || byText != (g.entry == "") {
				continue
			}
			if err := blobs.Erase(ctx, g.id); err != nil {
				return &Error{Op: "purge", Subject: blobs.Path(), Err: err, Hint: "try again: it was not all overwritten"}
			}
		}
		return nil
	}
	if err := erase(false); err != nil {
		return nil, err
	}
	found, err := jsonl.Purge(ctx, path, opt)
	if found == nil {
		return nil, err
	}
	for _, g := range gone {
		found.Places = append(found.Places, jsonl.PurgePlace{
			File: blobs.File(g.id), EntryID: g.entry, What: "output kept beside the session, all of it",
		})
	}
	return found, errors.Join(err, erase(true))
}

type purgedBlob struct {
	id    blob.ID
	entry string // that named it; "" for one that holds the text
}

// blobsToPurge returns what the purged entry refers to, and what holds the text, whether
// or not an entry refers to it: a crash may leave such content.
func blobsToPurge(ctx context.Context, path string, blobs *blob.Dir, opt jsonl.PurgeOptions) ([]purgedBlob, error) {
	var gone []purgedBlob
	done := map[blob.ID]bool{}
	if opt.ID != "" {
		f, err := jsonl.Open(ctx, path, jsonl.Options{ReadOnly: true})
		if err != nil {
			return nil, err
		}
		defer f.Close()
		e, err := f.Get(ctx, opt.ID)
		if err != nil {
			return nil, err
		}
		if at, ok := spilledOf(e); ok {
			if id, err := blob.ParseID(at.ID); err == nil {
				gone, done[id] = append(gone, purgedBlob{id, e.ID}), true
			}
		}
	}
	if opt.Text == "" {
		return gone, nil
	}
	for info, err := range blobs.List(ctx) {
		if err != nil {
			return nil, err
		}
		if done[info.ID] {
			continue
		}
		has, err := blobHolds(ctx, blobs, info.ID, opt.Text)
		if err != nil {
			return nil, err
		}
		if has {
			gone = append(gone, purgedBlob{id: info.ID})
		}
	}
	return gone, nil
}

// blobHolds reports whether a spilled message has a text, however it is escaped.
func blobHolds(ctx context.Context, blobs blob.Store, id blob.ID, text string) (bool, error) {
	r, err := blobs.Open(ctx, id)
	if err != nil {
		return false, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil && !errors.Is(err, blob.ErrCorrupt) {
		return false, err
	}
	if strings.Contains(string(data), text) {
		return true, nil
	}
	m, err := message.Parse(data)
	if err != nil {
		return false, nil
	}
	return strings.Contains(m.Text(), text) || strings.Contains(m.Output, text) || strings.Contains(string(m.Details), text), nil
}
