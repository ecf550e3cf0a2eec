package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/clew-dev/clew/blob"
	"github.com/clew-dev/clew/internal/home"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
)

// ForkOptions changes one Fork. The zero value copies the path to the leaf.
type ForkOptions struct {
	// At is the entry that the new session ends with; but with the one before it
	// where it is a message of the user, whose text is given back. Default: the
	// leaf, whatever it is.
	At string
	// Settle adds a result for every call that waits for one, which says that the
	// call was interrupted: what it gives goes to the session that made it.
	Settle bool
	// Hooks are asked before anything is written, those with BeforeFork.
	Hooks []Hooks
	// Clock gives the time of the new session and of what is added to it. Default:
	// time.Now.
	Clock func() time.Time
	// NewID gives the id of the new session and those of added entries. Default:
	// random ones.
	NewID func() string
}

// Forked says what Fork wrote.
type Forked struct {
	// Path is the new file, ID the id of the session in it.
	Path, ID string
	// At is the last entry that both have, "" for none, Leaf where the new one
	// stands: at it, or at what was added.
	At, Leaf string
	// Text is that of ForkOptions.At where it is a message that was typed.
	Text string
	// Before is the pass in the middle of which ForkOptions.At stands. A part of a
	// pass did not happen, so the new session ends before it.
	Before string
	// Entries counts what was copied, Added what was not in the path: labels and
	// the name that were given on other branches, and results of Settle.
	Entries, Added int
	// Settled counts those results, Output the large output that was copied from
	// beside the file to beside the new one.
	Settled, Output int
	// Why says why nothing was written; "" otherwise. Path is empty then.
	Why string
	// Warnings are what went wrong beside the point: *HookError.
	Warnings []error
}

// Fork makes a new session of a path in the file from: a file that holds it alone,
// and goes on by itself. It is a copy: entries keep their bytes, ids and parents,
// so that the new session has the context of the old one at that place. The
// header is new, and names the file that it comes from. from is only read, so
// another program may have it open, and may be of an older version; the new file
// is of version 3.
//
// to is the new file, or a folder for a name made of time and id as package
// session/home does, "" for the folder of from. It is written whole or not at
// all, with the large output that the path refers to.
//
// The errors: those of jsonl.Open, ErrNotFound, fs.ErrExist where to is there,
// session.ErrReadOnly for a format version that is newer than this package.
func Fork(ctx context.Context, from, to string, opt ForkOptions) (*Forked, error) {
	const op = "fork"
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	src, err := jsonl.Open(ctx, from, jsonl.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }() // it was only read
	if v := src.Version(); v > session.Version {
		return nil, &Error{
			Op: op, Subject: from, Hint: "use a newer clew",
			Err: fmt.Errorf("%w: it is of format version %d, and this clew writes version %d", session.ErrReadOnly, v, session.Version),
		}
	}
	h, err := forkHeader(src, opt)
	if err != nil {
		return nil, failed(op, from, err)
	}
	if to, err = forkTarget(from, to, h); err != nil {
		return nil, err
	}
	plan, err := planFork(ctx, src, h, opt)
	if err != nil {
		return nil, failed(op, from, err)
	}
	d, warnings := AskFork(ctx, opt.Hooks, BeforeForkEvent{Session: src.Header().ID, From: from, To: to, Entry: opt.At})
	plan.forked.Warnings = warnings
	if d.Cancel {
		return &Forked{Why: "a hook stopped it: " + cmp.Or(d.Why, "it did not say why"), Warnings: warnings}, nil
	}
	plan.forked.Path, plan.forked.ID = to, h.ID
	// The output first: a session that names what is not there is worse than output
	// that no session names.
	undo, err := plan.copyOutput(ctx, from, to)
	if err == nil {
		_, err = jsonl.WriteNew(ctx, to, h, plan.entries(ctx), jsonl.Options{Program: "clew fork"})
	}
	if err != nil {
		undo(context.WithoutCancel(ctx))
		return nil, failed(op, from, err)
	}
	return &plan.forked, nil
}

// forkHeader is the header of the new session.
func forkHeader(src *jsonl.File, opt ForkOptions) (session.Header, error) {
	from, err := filepath.Abs(src.Path())
	if err != nil {
		return session.Header{}, err
	}
	cfg := Config{Cwd: src.Header().Cwd, Clock: opt.Clock, NewID: opt.NewID}
	h := cfg.header()
	h.ParentSession = from
	return h, nil
}

// forkTarget is the name of the new file. That it is free is made sure of when it
// is written; what can be seen before is said before anything is done.
func forkTarget(from, to string, h session.Header) (string, error) {
	dir := to
	if to == "" {
		dir = filepath.Dir(from)
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return filepath.Join(dir, home.FileName(h.Timestamp, h.ID)), nil
	}
	if _, err := os.Lstat(to); err == nil {
		return "", &Error{Op: "fork", Subject: to, Err: fs.ErrExist, Hint: "choose another name; nothing was written"}
	}
	if _, err := os.Stat(filepath.Dir(to)); errors.Is(err, fs.ErrNotExist) {
		return "", &Error{Op: "fork", Subject: to, Err: fmt.Errorf("there is no folder %s", filepath.Dir(to)), Hint: "make it first"}
	}
	return to, nil
}

// copyOutput copies the large output that the path refers to. undo removes it
// again.
func (p *forkPlan) copyOutput(ctx context.Context, from, to string) (undo func(context.Context), err error) {
	undo = func(context.Context) {}
	if len(p.output) == 0 {
		return undo, nil
	}
	src, err := openBlobs(from)
	if err != nil {
		return undo, err
	}
	dst, err := openBlobs(to)
	if err != nil {
		return undo, err
	}
	if _, err := os.Lstat(dst.Path()); errors.Is(err, fs.ErrNotExist) {
		// What a fork that was cut off has left stays, for it may be another one's.
		undo = func(ctx context.Context) {
			if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) { // else it is that of another fork, which was first
				_ = dst.RemoveAll(ctx)
			}
		}
	}
	for _, id := range p.output {
		err := copyBlob(ctx, src, dst, id)
		if errors.Is(err, blob.ErrCorrupt) || errors.Is(err, blob.ErrNotFound) {
			continue // VerifyOutOfLine finds it in both
		}
		if err != nil {
			return undo, &Error{Op: "copy", Subject: src.Path(), Err: err, Hint: "no session was written"}
		}
		p.forked.Output++
	}
	return undo, nil
}
