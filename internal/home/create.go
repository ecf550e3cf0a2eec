package home

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// CreateOptions changes how a session is created. The zero value is ready for use.
type CreateOptions struct {
	// ID of the session. Default: 32 random hex digits.
	ID string
	// Clock gives the time of creation. Default: time.Now.
	Clock func() time.Time
	// ParentSession is the file that the session was forked from.
	ParentSession string
	// Open says how the file is opened.
	Open jsonl.Options
}

// Create makes a new session of the project in cwd and opens it for writing.
func (h Home) Create(ctx context.Context, cwd string, opt CreateOptions) (*jsonl.File, error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.ID == "" {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails: crypto/rand.Read
		opt.ID = hex.EncodeToString(b[:])
	}
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return nil, fmt.Errorf("the folder of the project: %w", err)
	}
	dir, err := h.Project(abs)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &session.Error{
			Op: "create a session in", Subject: dir, Err: err,
			Hint: "check who may write there, or set " + EnvDir + " to another folder",
		}
	}
	at := opt.Clock()
	header := session.Header{
		Version: session.Version, ID: opt.ID, Timestamp: at, Cwd: abs, ParentSession: opt.ParentSession,
	}
	return jsonl.Create(ctx, filepath.Join(dir, FileName(at, opt.ID)), header, opt.Open)
}

// FileName returns the name of a session's file: it sorts by time, and every
// file system takes it.
func FileName(at time.Time, id string) string {
	return at.UTC().Format("2006-01-02T15-04-05.000Z") + "_" + readable(id, "session") + ".jsonl"
}
