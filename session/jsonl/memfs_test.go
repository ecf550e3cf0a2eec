package jsonl_test

import (
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/clew-dev/clew/internal/vfs"
)

// memFS is a file system in memory, for fuzzing: without the system and its disk a
// run takes microseconds.
type memFS map[string]*memFile

// memFile is the content of a file. Two names may have the same one.
type memFile struct{ data []byte }

func (m memFS) OpenFile(name string, flag int, _ fs.FileMode) (vfs.File, error) {
	f, ok := m[name]
	switch {
	case ok && flag&os.O_EXCL != 0:
		return nil, fs.ErrExist
	case !ok && flag&os.O_CREATE == 0:
		return nil, fs.ErrNotExist
	case !ok:
		f = &memFile{}
		m[name] = f
	}
	return &memHandle{file: f, name: name}, nil
}

func (m memFS) Stat(name string) (fs.FileInfo, error) {
	if f, ok := m[name]; ok {
		return memInfo{name, f}, nil
	}
	return nil, fs.ErrNotExist
}

func (m memFS) Lstat(name string) (fs.FileInfo, error) { return m.Stat(name) }

func (m memFS) Rename(from, to string) error {
	f, ok := m[from]
	if !ok {
		return fs.ErrNotExist
	}
	m[to] = f
	delete(m, from)
	return nil
}

func (m memFS) Remove(name string) error {
	if _, ok := m[name]; !ok {
		return fs.ErrNotExist
	}
	delete(m, name)
	return nil
}

func (m memFS) Link(from, to string) error {
	if _, ok := m[to]; ok {
		return fs.ErrExist
	}
	m[to] = m[from]
	return nil
}

func (memFS) SyncDir(string) error { return nil }

// memHandle is an open file. Writing appends, as clew writes.
type memHandle struct {
	file *memFile
	name string
	at   int
}

func (h *memHandle) Read(p []byte) (int, error) {
	n, err := h.ReadAt(p, int64(h.at))
	h.at += n
	return n, err
}

func (h *memHandle) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(h.file.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.file.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *memHandle) Write(p []byte) (int, error) {
	h.file.data = append(h.file.data, p...)
	return len(p), nil
}

func (h *memHandle) Close() error               { return nil }
func (h *memHandle) Sync() error                { return nil }
func (h *memHandle) Stat() (fs.FileInfo, error) { return memInfo{h.name, h.file}, nil }
func (h *memHandle) Truncate(size int64) error {
	h.file.data = h.file.data[:size]
	return nil
}

type memInfo struct {
	name string
	file *memFile
}

func (i memInfo) Name() string     { return i.name }
func (i memInfo) Size() int64      { return int64(len(i.file.data)) }
func (memInfo) Mode() fs.FileMode  { return 0o600 }
func (memInfo) ModTime() time.Time { return time.Time{} }
func (memInfo) IsDir() bool        { return false }
func (i memInfo) Sys() any         { return i.file }
