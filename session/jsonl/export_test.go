package jsonl

import (
	"context"
	"io"
	"time"
)

// Impatient makes a File take an unfinished line for one whose writer is dead at
// once, for tests in which there is no other writer.
func Impatient(f *File) { f.patience = 0 }

// Patient makes f wait for an unfinished line for as long as it takes.
func Patient(f *File) { f.patience = time.Hour }

// OpenUnlocked is Open without a lock, for files that no other program can see.
func OpenUnlocked(ctx context.Context, path string, opt Options) (*File, error) {
	f := newFile(path, opt)
	f.lock = &lock{}
	if err := f.openPath(ctx); err != nil {
		_ = f.Close()
		return nil, failed("open", path, err)
	}
	return f, nil
}

// ReadFrom makes a File read its records from somewhere else.
func ReadFrom(f *File, r io.ReaderAt) { f.x.r, f.x.back.r = r, r }
