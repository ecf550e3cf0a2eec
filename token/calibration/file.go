package calibration

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clew-dev/clew/internal/vfs"
)

// maxFile bounds what is read of a file.
const maxFile = 1 << 20

// Load reads the set from a file. Where there is no file the set is empty. A file
// that is damaged, or of another version, is an error that says so, with what
// could be read of it: to go on without calibration is always possible, and the
// next Save puts a good file in its place.
func Load(path string) (*Set, error) {
	s := &Set{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("calibration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil {
		return s, fmt.Errorf("calibration: file %s is damaged and what is wrong in it is left out; it is only a help for estimates and may be deleted: %w", path, err)
	}
	return s, nil
}

// Save merges the set with the file and writes it: of what both have learnt about,
// what was learnt later stays. The file is replaced as a whole, so that others see
// the old one or the new one; of two that save at once, the last one wins. The
// folder is made if it is missing.
func Save(path string, s *Set) error { return save(vfs.OS{}, path, s) }

func save(fsys vfs.FS, path string, s *Set) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("calibration: cannot save what was learnt: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	there, _ := Load(path) // what is damaged is replaced
	there.Merge(s)
	data, err := there.MarshalJSON()
	if err != nil {
		return err
	}
	// Of two writers each has a file of its own until it is whole.
	temp := path + "." + rand.Text()[:10] + ".new"
	err = vfs.WriteNew(fsys, temp, 0o600, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	if err := fsys.Rename(temp, path); err != nil {
		_ = fsys.Remove(temp)
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}
