// Package jsonl keeps a session in a file of JSON lines: pi's session format, version 3, which docs/FORMAT.md
// describes. Versions 1 and 2 are read as they are and turned into version 3 by the first append.
//
//	f, err := jsonl.Open(ctx, "session.jsonl", jsonl.Options{})
//	defer f.Close()
//	log, err := session.NewLog(ctx, f, session.Options{})
//
// Opening reads from the end of the file only as far back as is asked for, so its cost does not grow with the
// length of the history. Nothing in a file is ever changed: entries are appended, and what a stopped writer left
// unfinished at the end is moved aside, to a file with the ending .cut, before the first append. One program writes
// at a time; see Options.
package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// Options says how a file is opened. The zero value opens it for writing.
type Options struct {
	ReadOnly bool   // opens without a lock; Append fails with session.ErrReadOnly
	Program  string // names the holder of the lock to others. Default: "clew"
	FS       vfs.FS // for tests. Default: the file system of the operating system
}

// Errors of this package, beside those of package session.
var (
	ErrEmpty    = errors.New("the file is empty")
	ErrLocked   = errors.New("the session is open in another program")
	ErrReplaced = errors.New("the file was deleted or replaced by another one")
)

// File is a session in a file. It implements session.Store.
type File struct {
	path string
	opt  Options
	fs   vfs.FS

	mu       sync.Mutex
	real     string      // path with symbolic links followed
	f        vfs.File    // nil when the session is not in a file of its own
	src      io.ReaderAt // what it was read from
	lock     *lock
	header   session.Header
	version  int // of the file as it is now
	x        *index
	legacy   *image // version 1 or 2: the file as version 3
	end      int64  // offset behind the last sound record and its line break
	size     int64  // of the file; what lies behind end is to be cut
	open     bool   // the line that end stands on has no line break
	problems []session.Problem
	unlocked []session.Problem // why there is no lock
	dirty    bool              // written, not synced
	closed   bool
	broken   error // why nothing can be written any more

	patience time.Duration // with an unfinished line that stands still
}

// Open opens a session file. The errors: session.ErrNotSession, ErrEmpty, ErrLocked, those of the file system.
func Open(ctx context.Context, path string, opt Options) (*File, error) {
	f := newFile(path, opt)
	if err := f.openPath(ctx); err != nil {
		_ = f.Close()
		return nil, failed("open", path, err)
	}
	return f, nil
}

func newFile(path string, opt Options) *File {
	if opt.FS == nil {
		opt.FS = vfs.OS{}
	}
	if opt.Program == "" {
		opt.Program = "clew"
	}
	// Symbolic links are followed, so that a session has one lock and stays one file, whatever names it has.
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	return &File{path: path, real: real, opt: opt, fs: opt.FS, patience: stillTorn}
}

func (f *File) openPath(ctx context.Context) error {
	info, err := f.fs.Stat(f.real)
	if err == nil {
		err = readable(info)
	}
	switch {
	case errors.Is(err, errNotRegular) && f.opt.ReadOnly: // a pipe
		file, err := f.fs.OpenFile(f.path, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		return f.readAll(ctx, file)
	case err != nil:
		return err
	}
	flag := os.O_RDWR | os.O_APPEND
	if f.opt.ReadOnly {
		flag = os.O_RDONLY
	} else if f.lock == nil {
		if err := f.acquire(); err != nil {
			return err
		}
	}
	if f.f, err = f.fs.OpenFile(f.real, flag, 0); err != nil {
		return err
	}
	if info, err = f.f.Stat(); err == nil {
		err = readable(info)
	}
	if err != nil {
		return err
	}
	return f.read(ctx, f.f, info.Size())
}

func readable(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errIsDir
	case !info.Mode().IsRegular():
		return errNotRegular
	case info.Size() == 0:
		return ErrEmpty
	}
	return nil
}

// Read reads a session from a stream, for reading only. name is for errors.
func Read(ctx context.Context, name string, r io.Reader) (*File, error) {
	f := newStream(name)
	if err := f.readAll(ctx, r); err != nil {
		return nil, failed("open", name, err)
	}
	return f, nil
}

func newStream(name string) *File {
	return &File{path: name, real: name, opt: Options{ReadOnly: true}, fs: vfs.OS{}}
}

func (f *File) readAll(ctx context.Context, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return ErrEmpty
	}
	return f.read(ctx, bytes.NewReader(data), int64(len(data)))
}

func (f *File) read(ctx context.Context, r io.ReaderAt, size int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.src, f.size = r, size
	h, err := findHeader(ctx, r, size)
	if err != nil {
		return err
	}
	return f.readBehind(ctx, r, h, size)
}

func (f *File) readBehind(ctx context.Context, r io.ReaderAt, h foundHeader, size int64) (err error) {
	f.header, f.version = h.header, h.header.Version
	f.problems = h.problems
	f.legacy = nil
	start := h.end
	if f.version < session.Version {
		if f.legacy, err = convert(ctx, r, h, size); err != nil {
			return err
		}
		f.problems = append(f.problems, f.legacy.problems...)
		r, start, size = bytes.NewReader(f.legacy.data), f.legacy.start, int64(len(f.legacy.data))
	}
	if f.version > session.Version {
		f.problems = append(f.problems, session.NewProblem("future-version", 0, "", "the file is of format version %d; this clew knows up to %d", f.version, session.Version))
	}
	if f.end, f.open, err = readTail(r, start, size); err != nil {
		return err
	}
	if torn := size - f.end; torn > 0 {
		f.problems = append(f.problems, session.NewProblem("torn-tail", f.original(f.end), "", "the last line breaks off after %d bytes", torn))
	}
	f.x = newIndex(r, start, f.end)
	return f.dropPartPass(ctx)
}

func (f *File) original(off int64) int64 {
	if f.legacy != nil {
		return f.legacy.original(off)
	}
	return off
}

// readTail looks at what follows the last line break. It returns where the last sound
// piece ends, and whether the line that this stands on has no line break.
func readTail(r io.ReaderAt, start, size int64) (end int64, open bool, err error) {
	open, err = midLine(r, size)
	if err != nil || !open || size <= start {
		return size, open, err
	}
	line, off, _, err := newBackward(r, start, size).prev()
	if err != nil {
		return size, open, err
	}
	pieces := cutLine(line, false)
	if n := len(pieces); n > 0 && pieces[n-1].kind == pieceBad {
		size = off + int64(pieces[n-1].off)
		open, err = midLine(r, size)
	}
	return size, open, err
}

func midLine(r io.ReaderAt, off int64) (bool, error) {
	var before [1]byte
	if off == 0 {
		return false, nil
	}
	err := readFull(r, before[:], off-1)
	return before[0] != '\n', err
}

// dropPartPass leaves out a pass at the end that was not written to its end, or an undo with what it appends again.
func (f *File) dropPartPass(ctx context.Context) error {
	for n := 0; ; n++ {
		r, err := f.x.nth(n)
		if r == nil || err != nil {
			return err
		}
		e, err := f.x.load(r, false)
		if err != nil {
			return err
		}
		lines, begins := e.Group()
		switch {
		case begins && lines > n:
			what := "a pass"
			if _, ok := e.Pass(); !ok {
				what = "an undo"
			}
			f.problems = append(f.problems, session.NewProblem("part-pass", f.original(r.off), e.ID, "the file ends inside %s: %d of %d entries", what, n, lines))
			f.end = r.off
			f.x = newIndex(f.x.r, f.x.start, r.off)
			f.open, err = midLine(f.x.r, r.off)
			return cmp.Or(err, ctx.Err())
		case begins || !session.GroupEntry(e):
			return nil
		}
	}
}

// Path returns the file's path as it was given.
func (f *File) Path() string { return f.path }

// Header implements session.Store.
func (f *File) Header() session.Header {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.header
}

// Version returns the format version of the file as it is on disk.
func (f *File) Version() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

// locked calls fn under the mutex if the session can be used, and says what failed.
func (f *File) locked(ctx context.Context, op string, fn func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return &session.Error{Op: "use", Subject: f.path, Err: session.ErrClosed, Hint: "open it again"}
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return f.wrap(op, fn())
}

func (f *File) entry(ctx context.Context, find func() (*rec, error)) (e *session.Entry, err error) {
	err = f.locked(ctx, "read", func() error {
		r, err := find()
		if r != nil && err == nil {
			e, err = f.x.load(r, true)
		}
		return err
	})
	return e, err
}

// Last implements session.Store.
func (f *File) Last(ctx context.Context) (*session.Entry, error) {
	return f.entry(ctx, func() (*rec, error) { return f.x.nth(0) })
}

// Get implements session.Store.
func (f *File) Get(ctx context.Context, id string) (*session.Entry, error) {
	e, err := f.entry(ctx, func() (*rec, error) {
		if id == "" {
			return nil, nil
		}
		return f.x.find(ctx, id)
	})
	if e == nil && err == nil {
		err = f.notFound("get entry", id)
	}
	return e, err
}

func (f *File) notFound(op, id string) error {
	return &session.Error{Op: op, Subject: id, File: f.path, Err: session.ErrNotFound, Hint: "give the id of one of its entries"}
}

// Parent implements session.Store.
func (f *File) Parent(ctx context.Context, e *session.Entry) (*session.Entry, error) {
	return f.entry(ctx, func() (*rec, error) { return f.parent(ctx, e) })
}

func (f *File) parent(ctx context.Context, e *session.Entry) (*rec, error) {
	r, err := f.x.find(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	if r != nil {
		if to, ok := f.x.attached[r.ID]; r.ParentID == e.ParentID || ok && to == e.ParentID {
			return f.x.parentOf(ctx, r)
		}
	}
	// Another record has its id, so it is known by what it says itself.
	if e.ParentID == "" {
		return nil, nil
	}
	return f.x.find(ctx, e.ParentID)
}

// All implements session.Store. It reads the file twice, and parses it once.
func (f *File) All(ctx context.Context) iter.Seq2[*session.Entry, error] {
	return func(yield func(*session.Entry, error) bool) {
		var recs []*rec
		err := f.locked(ctx, "read", func() error {
			err := f.x.all(ctx)
			recs = f.x.records()
			return err
		})
		for i := 0; i < len(recs) && err == nil; i++ {
			var e *session.Entry
			err = f.locked(ctx, "read", func() (err error) {
				if f.x.byID[recs[i].ID] == recs[i] {
					// The parent may be lost; then the entry says where it hangs.
					_, err = f.x.parentOf(ctx, recs[i])
				}
				if err == nil {
					e, err = f.x.load(recs[i], false)
				}
				return err
			})
			if err == nil && !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Mentioning yields, the newest first, the entries whose records hold one of some texts, as it is spelled in the file.
// It looks at each byte up to where the caller stops, parses only the records that hold a text, and keeps nobody else
// waiting. Damaged lines are left out, and an entry whose parent is lost says what its record says.
func (f *File) Mentioning(ctx context.Context, texts ...string) iter.Seq2[*session.Entry, error] {
	return func(yield func(*session.Entry, error) bool) {
		var back *backward
		err := f.locked(ctx, "read", func() error { back = newBackward(f.x.r, f.x.start, f.end); return nil })
		for n := 0; err == nil; n++ {
			var line []byte
			more := false
			if line, _, more, err = back.prev(); n%256 == 255 {
				err = cmp.Or(err, ctx.Err())
			}
			switch {
			case err != nil:
			case !more:
				return
			case slices.ContainsFunc(texts, func(t string) bool { return bytes.Contains(line, []byte(t)) }):
				for _, p := range slices.Backward(cutLine(line, true)) {
					if e := soundRecord(p.data); e != nil && !yield(e.Clone(), nil) {
						return
					}
				}
			}
		}
		yield(nil, f.wrap("read", err))
	}
}

// Problems implements session.Store.
func (f *File) Problems() []session.Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.Concat(f.x.problems, f.unlocked, f.problems)
	for i := range f.x.problems {
		all[i].Offset = f.original(all[i].Offset)
	}
	slices.SortStableFunc(all, session.ByOffset)
	if f.x.more > 0 {
		all = append(all, session.NewProblem("more", f.size, "", "%d more problems that are not listed", f.x.more))
	}
	return all
}

// Close implements session.Store. Closing twice is allowed.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	var err error
	if f.f != nil {
		if f.dirty {
			err = f.f.Sync()
		}
		err = errors.Join(err, f.f.Close())
		f.f = nil
	}
	f.lock.release()
	f.lock = nil
	return f.wrap("close", err)
}

func (f *File) wrap(op string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return failed(op, f.path, err)
}

var (
	errIsDir      = errors.New("it is a folder")
	errNotRegular = errors.New("not a regular file")
)

// failed says what failed on which file. An error that says so already stays.
func failed(op, path string, err error) error {
	if _, ok := errors.AsType[*session.Error](err); ok {
		return err
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok && err.Error() == pe.Error() {
		err = pe.Err // the path stands before it already
	}
	rich := &session.Error{Op: op, Subject: path, Err: err}
	if i := slices.IndexFunc(hints, func(h hint) bool { return errors.Is(err, h.err) }); i >= 0 {
		rich.Hint = hints[i].do
	}
	if _, ok := errors.AsType[*vfs.NotFileError](err); ok {
		rich.Hint = "look at it and remove it, then try again; clew follows no link from there"
	}
	if (op == "create" || op == "write") && errors.Is(err, fs.ErrExist) {
		rich.Hint = "choose another name; nothing was written"
	}
	return rich
}

type hint struct {
	err error
	do  string
}

// hints say what to do about errors; the first that fits is given.
var hints = []hint{
	{fs.ErrNotExist, "check the path"},
	{fs.ErrPermission, "check who may read and write the file and its folder"},
	{ErrEmpty, "name a file that holds a session"},
	{errIsDir, "name a session file in it"},
	{errNotRegular, "it can only be read; copy it to a file to write"},
	{vfs.ErrNoSpace, "free some space and try again; the file is as it was"},
	{ErrReplaced, "open it again; what was appended before is in the old file"},
	{errHeader, "make a repaired copy"},
	{errHeaderless, "make a repaired copy"},
	{session.ErrNotSession, "name a session of clew or pi; nothing was changed"},
}
