package jsonl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// image is a file of version 1 or 2 as version 3.
type image struct {
	data     []byte
	start    int64 // behind the header
	lines    []mapped
	problems []session.Problem // that are gone in the image, by their place in the file
}

// mapped says where a line of the image stands in the file.
type mapped struct{ image, file int64 }

func (m *image) original(off int64) int64 {
	i := sort.Search(len(m.lines), func(i int) bool { return m.lines[i].image > off })
	if i == 0 {
		return off
	}
	return m.lines[i-1].file
}

// convert reads a file of version 1 or 2 as version 3. Version 1 is a list without ids: each record hangs under the
// one before it and gets an id made of the session's id and its position, the same each time. firstKeptEntryIndex
// counts the records from the header, which is 0, in the memory of the program that counted: two on one line are
// two. In both versions the role hookMessage is now custom. Bytes that are no record are kept.
func convert(ctx context.Context, r io.ReaderAt, h foundHeader, size int64) (*image, error) {
	c := &converter{
		header: h.header,
		out:    &image{data: make([]byte, 0, size+size/16+256)},
		ids:    []string{""}, // the header has index 0
	}
	c.line(h.header.JSON(), h.line)
	c.out.start = int64(len(c.out.data))
	return c.out, scan(ctx, r, h.end, size, func(l *scanned) error { c.take(l); return nil })
}

type converter struct {
	header   session.Header
	out      *image
	ids      []string // by the index pi gave the record
	position int      // of the record among all that can be read
	last     string   // id of the record before
}

func (c *converter) line(data []byte, off int64) {
	c.out.lines = append(c.out.lines, mapped{int64(len(c.out.data)), off})
	c.out.data = append(append(c.out.data, data...), '\n')
}

func (c *converter) take(l *scanned) {
	if n := len(l.pieces); n > 1 {
		c.out.problems = append(c.out.problems, session.NewProblem("joined-records", l.off, "", "%d records, or parts of records, on one line", n))
	}
	for i := range l.pieces {
		p := &l.pieces[i]
		data := p.data
		if p.kind == pieceRecord && p.typ != "session" {
			data = c.record(p)
		} else if p.kind != pieceBad && !jsonx.IsNull(p.data) {
			c.ids = append(c.ids, "")
		}
		c.line(data, l.off+int64(p.off))
	}
	if n := len(l.pieces); !l.ended && n > 0 && l.pieces[n-1].kind == pieceBad {
		c.out.data = c.out.data[:len(c.out.data)-1] // stays torn
	}
}

func (c *converter) record(p *piece) []byte {
	data := p.data
	if msg := jsonx.Get(data, "message"); p.typ == session.TypeMessage && jsonx.StringAt(msg, "role") == "hookMessage" {
		data = jsonx.Set(data, "message", jsonx.Set(msg, "role", []byte(`"custom"`)))
	}
	if c.header.Version >= 2 {
		return data
	}
	id, parent := derivedID(c.header.ID, c.position), []byte("null")
	if c.last != "" {
		parent = jsonx.Quote(c.last)
	}
	c.position, c.last, c.ids = c.position+1, id, append(c.ids, id)
	data = jsonx.Set(jsonx.Set(data, "id", jsonx.Quote(id)), "parentId", parent)
	if kept := c.firstKept(data); p.typ == session.TypeCompaction && kept != "" {
		data = jsonx.Set(data, "firstKeptEntryId", jsonx.Quote(kept))
	}
	return data
}

// firstKept turns a firstKeptEntryIndex into the id of that record, "" for none. It may be the compaction itself.
func (c *converter) firstKept(data []byte) string {
	n, err := strconv.Atoi(string(jsonx.Get(data, "firstKeptEntryIndex")))
	if err != nil || n < 1 || n >= len(c.ids) {
		return ""
	}
	return c.ids[n]
}

func derivedID(sessionID string, position int) string {
	sum := sha256.Sum256([]byte(sessionID + "\n" + strconv.Itoa(position)))
	return hex.EncodeToString(sum[:8])
}

// migrate turns a file of version 1 or 2 into version 3. A crash at any point leaves the old file or the new one
// under the name; the old one stays as FILE.bak.
func (f *File) migrate(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	temp := f.real + ".migrating"
	data := f.legacy.data // with its unfinished end, if it has one: that is cut off next
	err := f.writeTemp(temp, f.real, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		return fmt.Errorf("can't write the file in the new format: %w", err)
	}
	if err := f.keepBackup(); err != nil {
		_ = f.fs.Remove(temp)
		return fmt.Errorf("can't keep the file in the old format: %w", err)
	}
	// What another program added meanwhile must not go with the old file.
	if size, err := f.look(); err != nil || size != f.size {
		_ = f.fs.Remove(temp)
		return err
	}
	return f.replace(temp, int64(len(data)))
}

func (f *File) writeTemp(temp, name string, write func(io.Writer) error) error {
	if err := vfs.RemoveOwn(f.fs, temp); err != nil {
		return err
	}
	info, err := f.fs.Stat(name)
	if err != nil {
		return err
	}
	return vfs.WriteNew(f.fs, temp, info.Mode().Perm(), write)
}

// replace puts the migrated file in the place of the old one.
func (f *File) replace(temp string, size int64) error {
	_ = f.f.Close() // an open file can't be replaced on Windows
	err := f.fs.Rename(temp, f.real)
	if err != nil {
		_ = f.fs.Remove(temp)
	}
	now, operr := f.fs.OpenFile(f.real, os.O_RDWR|os.O_APPEND, 0)
	if operr != nil {
		f.f, f.broken = nil, fmt.Errorf("it can't be opened again after it was turned into version %d: %w", session.Version, operr)
		return errors.Join(err, f.broken)
	}
	f.f, f.src = now, now
	if err != nil {
		return err
	}
	// The index was made on the same bytes; only the place to read them changes.
	f.x.r, f.x.back.r = f.f, f.f
	f.size = size
	f.problems = slices.DeleteFunc(f.problems, func(p session.Problem) bool { return p.Code != "torn-tail" })
	if h, err := session.ParseHeader(f.header.JSON()); err == nil {
		f.header = h
	}
	f.legacy = nil
	f.version = session.Version
	return f.fs.SyncDir(filepath.Dir(f.real))
}

// keepBackup gives the file a second name, FILE.bak or FILE.bak2 and so on.
func (f *File) keepBackup() error {
	for n := 1; n < 1000; n++ {
		name := f.real + ".bak"
		if n > 1 {
			name = fmt.Sprintf("%s.bak%d", f.real, n)
		}
		if err := vfs.CheckOwn(f.fs, name); err != nil {
			return err
		}
		if f.sameFile(name) {
			return nil // from an attempt that went no further
		}
		if err := f.fs.Link(f.real, name); err == nil {
			return f.fs.SyncDir(filepath.Dir(name))
		} else if errors.Is(err, fs.ErrExist) {
			continue
		}
		// A file system without links: a copy.
		err := vfs.WriteNew(f.fs, name, 0o600, func(w io.Writer) error {
			info, err := f.f.Stat()
			if err == nil {
				_, err = io.Copy(w, io.NewSectionReader(f.f, 0, info.Size()))
			}
			return err
		})
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return errors.New("too many backups of it")
}

func (f *File) sameFile(name string) bool {
	on, err := f.fs.Lstat(name)
	held, herr := f.f.Stat()
	return err == nil && herr == nil && vfs.SameFile(on, held)
}
