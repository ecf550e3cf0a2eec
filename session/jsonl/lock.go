package jsonl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/gofrs/flock"

	"github.com/clew-dev/clew/internal/vfs"
	"github.com/clew-dev/clew/session"
)

// lock is an advisory lock on FILE.lock. The file names its holder; it is removed when the lock is given back.
type lock struct {
	path string
	fl   *flock.Flock // nil in tests that need no lock
}

type holder struct {
	Program string    `json:"program"`
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
}

func (h holder) String() string {
	return fmt.Sprintf("%s, process %d on %s, since %s", h.Program, h.PID, h.Host, h.Since.Format(time.RFC3339))
}

// acquire takes the lock or says who has it. A file system without locks is no reason to refuse; it is reported.
func (f *File) acquire() error {
	path := f.real + ".lock"
	for range 8 {
		for _, name := range []string{path, holderPath(path)} {
			if err := vfs.CheckOwn(f.fs, name); err != nil {
				return err
			}
		}
		fl := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|vfs.NoFollow))
		got, err := fl.TryLock()
		if err != nil {
			if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
				return err
			}
			f.unlocked = []session.Problem{session.NewProblem("no-lock", 0, "", "this file system gives no lock: %v", err)}
			return nil
		}
		if !got {
			_ = fl.Close()
			break
		}
		// The holder before us may have removed the file before we locked it: then nobody else sees our lock.
		on, err := f.fs.Lstat(path)
		held, herr := fl.Stat()
		if err == nil && herr == nil && os.SameFile(on, held) {
			f.lock = &lock{path, fl}
			f.lock.sign(f.opt.Program)
			return nil
		}
		_ = fl.Close()
	}
	err := ErrLocked
	var h holder
	if data, rerr := vfs.ReadOwn(vfs.OS{}, holderPath(path)); rerr == nil && json.Unmarshal(data, &h) == nil && h.PID != 0 {
		err = fmt.Errorf("%w (%s)", ErrLocked, h)
	}
	return &session.Error{Op: "open", Subject: f.path, Err: err, Hint: "close it there, or work on a copy"}
}

// sign writes the holder into the lock file, for people; the lock does not depend on it.
func (l *lock) sign(program string) {
	f, err := vfs.OpenOwn(vfs.OS{}, holderPath(l.path), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	host, _ := os.Hostname()
	data, _ := json.Marshal(holder{program, os.Getpid(), host, time.Now().UTC().Truncate(time.Second)})
	if f.Truncate(0) == nil {
		_, _ = f.Write(append(data, '\n'))
	}
}

// holderPath is where the holder is named: in the lock file, or beside it where a locked file can't be read.
func holderPath(lockPath string) string {
	if runtime.GOOS == "windows" {
		return lockPath + "-holder"
	}
	return lockPath
}

func (l *lock) release() {
	if l == nil || l.fl == nil {
		return
	}
	// While the lock is held, and never again afterwards, so that nobody else's lock file is removed.
	_ = os.Remove(l.path)
	if named := holderPath(l.path); named != l.path {
		_ = os.Remove(named)
	}
	_ = l.fl.Unlock()
	if runtime.GOOS == "windows" {
		_ = os.Remove(l.path) // there an open file can't be removed, ours or another's
	}
}
