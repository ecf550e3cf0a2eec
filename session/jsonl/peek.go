package jsonl

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Info is what Peek finds out about a session file.
type Info struct {
	Path     string
	Header   session.Header
	Size     int64     // in bytes
	Modified time.Time // of the file
	Last     time.Time // of the newest record; Modified when that is longer than what is looked at
	Name     string    // of the session; this and First as far as they stand in what is looked at
	First    string    // the text of the first user message
}

// peekBytes is how much Peek reads at each end of a file.
const peekBytes = 64 << 10

// middleBytes is how far before the end it looks for a name.
const middleBytes = 4 << 20

// Peek looks at the header, the first and the last 64 KiB of a session file, and for its name at the last 4 MiB: what a
// list of sessions shows, at the same cost for files of any size. The errors are those of Open.
func Peek(ctx context.Context, path string) (info Info, err error) {
	defer func() {
		if err != nil {
			err = failed("open", path, err)
		}
	}()
	if err := ctx.Err(); err != nil {
		return info, err
	}
	// Not opened before it is known to be a file: a pipe would make us wait.
	st, err := os.Stat(path)
	if err == nil {
		err = readable(st)
	}
	if err != nil {
		return info, err
	}
	f, err := os.Open(path)
	if err != nil {
		return info, err
	}
	defer f.Close()
	h, err := findHeader(ctx, f, st.Size())
	if err != nil {
		return info, err
	}
	info = Info{Path: path, Header: h.header, Size: st.Size(), Modified: st.ModTime()}
	headEnd := min(info.Size, h.end+peekBytes)
	if _, err := info.scan(f, h.end, headEnd, false); err != nil {
		return info, err
	}
	if tail := max(headEnd, info.Size-peekBytes); tail < info.Size {
		named, err := info.scan(f, tail, info.Size, true)
		if err == nil && !named {
			err = info.findName(f, max(headEnd, info.Size-middleBytes))
		}
		if err != nil {
			return info, err
		}
	}
	if info.Last.IsZero() {
		info.Last = info.Modified
	}
	return info, nil
}

// findName takes the last name behind an offset, and parses no record but those that may have one.
func (info *Info) findName(r io.ReaderAt, from int64) error {
	for back := newBackward(r, from, info.Size); ; {
		line, _, more, err := back.prev()
		if err != nil || !more {
			return err
		}
		if !bytes.Contains(line, []byte(`"session_info"`)) {
			continue
		}
		if e, err := session.ParseEntry(line); err == nil {
			if name, ok := e.SessionName(); ok {
				info.Name = strings.Clone(name)
				return nil
			}
		}
	}
}

// scan takes what is wanted from a part of the file, and reports whether a name was there. inside says that it begins
// inside a line, which is passed over.
func (info *Info) scan(r io.ReaderAt, from, to int64, inside bool) (named bool, err error) {
	newest := time.Time{}
	err = forward(r, from, to, func(line []byte, off int64, ended bool) error {
		if off == from && inside || !ended && to < info.Size {
			newest = time.Time{}
			return nil
		}
		// Of several records on one line the first will do for a list.
		e, err := session.ParseEntry(line)
		if err != nil {
			return nil
		}
		if t := e.Time(); !t.IsZero() {
			newest = t
		}
		if name, ok := e.SessionName(); ok {
			info.Name, named = strings.Clone(name), true
		}
		if info.First == "" && e.Type == session.TypeMessage {
			if m, err := e.Message(); err == nil && m.Role == message.RoleUser {
				info.First = strings.Clone(m.Text())
			}
		}
		return nil
	})
	if to == info.Size {
		info.Last = newest
	}
	return named, err
}

// Remove deletes a session file, what belongs to it (what was cut off its end, backups, what a stopped writer left),
// and the symbolic link where path is one. It returns what it removed. A file that is no session, and one that
// another program has open for writing, stay as they are.
func Remove(ctx context.Context, path string) (removed []string, err error) {
	defer func() {
		if err == nil {
			return
		}
		err = failed("remove", path, err)
		if rich, ok := errors.AsType[*session.Error](err); ok && rich.Op == "open" {
			rich.Op = "remove"
		}
	}()
	if _, err := Peek(ctx, path); err != nil {
		return nil, err
	}
	f := newFile(path, Options{Program: "clew rm"})
	if err := f.acquire(); err != nil {
		return nil, err
	}
	defer f.Close()
	belongings, err := companions(f.real)
	if err != nil {
		return nil, err
	}
	// The session goes last: what fails before it can be tried again.
	names := append(belongings, f.real)
	if link, err := os.Lstat(path); err == nil && link.Mode()&os.ModeSymlink != 0 {
		names = append(names, path)
	}
	for _, name := range names {
		switch err := os.Remove(name); {
		case err == nil:
			removed = append(removed, name)
		case !errors.Is(err, fs.ErrNotExist):
			return removed, err
		}
	}
	return removed, f.fs.SyncDir(filepath.Dir(f.real))
}

// companions lists the files beside a session that belong to it, but for the lock, which goes when it is given
// back. It fails when one of the names is taken by a link or a folder: what a link leads to is not the session's.
func companions(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		end, ok := strings.CutPrefix(e.Name(), filepath.Base(path))
		if !ok || !belongs().MatchString(end) {
			continue
		}
		name := filepath.Join(filepath.Dir(path), e.Name())
		if err := vfs.CheckOwn(vfs.OS{}, name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// belongs matches what the names of a session's files have behind that of the session.
var belongs = text.Pattern(`^\.(?:cut|new|migrating|bak[0-9]*)$`)
