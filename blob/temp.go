package blob

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/clew-dev/clew/internal/vfs"
)

const (
	tempDir    = "tmp"
	tempPrefix = "part-"
	// defaultGrace is for how long a temporary file may not have grown before it
	// is taken for one that a crash left.
	defaultGrace = time.Hour
)

// A temp is a file in the folder tmp that is being written, to be renamed when it
// is whole.
type temp struct {
	files files
	path  string // tmp/part-...
	file  vfs.File
	moved bool
}

// newTemp makes a temporary file. Ones that are older than grace are removed.
func newTemp(f files, clock time.Time, grace time.Duration) (*temp, error) {
	if err := makeFolder(f, tempDir); err != nil {
		return nil, err
	}
	sweep(f, clock.Add(-grace))
	path := tempDir + "/" + tempPrefix + rand.Text()
	file, err := f.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
	if err != nil {
		return nil, err
	}
	return &temp{files: f, path: path, file: file}, nil
}

// Write implements io.Writer.
func (t *temp) Write(p []byte) (int, error) { return t.file.Write(p) }

// finish makes durable what was written.
func (t *temp) finish() error {
	err := t.file.Sync()
	if cerr := t.close(); err == nil {
		err = cerr
	}
	return err
}

func (t *temp) close() error {
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}

// move gives the file its name, in the place of what has it now.
func (t *temp) move(to string) error {
	err := t.files.Rename(t.path, to)
	t.moved = err == nil
	return err
}

// discard removes the file, unless it was moved. What can't be removed is left to
// a sweep.
func (t *temp) discard() {
	_ = t.close()
	if !t.moved {
		_ = t.files.Remove(t.path)
	}
}

// sweep removes temporary files that nobody has written to since before. A writer
// that is slower than that gets an error.
func sweep(f files, before time.Time) {
	for path, info := range temps(f) {
		if info.ModTime().Before(before) {
			_ = f.Remove(path) // tried again next time
		}
	}
}

// temps yields the temporary files.
func temps(f files) iter.Seq2[string, fs.FileInfo] {
	return func(yield func(string, fs.FileInfo) bool) {
		list, err := f.ReadDir(tempDir)
		if err != nil {
			return // there is none yet, or it says so when a file is made in it
		}
		for _, e := range list {
			info, err := e.Info()
			if err == nil && isTemp(e.Name()) && info.Mode().IsRegular() && !yield(tempDir+"/"+e.Name(), info) {
				return
			}
		}
	}
}

func isTemp(name string) bool { return strings.HasPrefix(name, tempPrefix) }

// missing reports whether err says that a file is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
