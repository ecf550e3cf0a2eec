package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/session/jsonl"
	"github.com/clew-dev/clew/wire"
)

// Store keeps conversations, so that other processes and later ones go on with them. All
// methods may be called from several goroutines.
type Store interface {
	// Look returns what is new since a state that it returned before, from 0 on, and what was
	// measured at these ends of chains.
	Look(ctx context.Context, t Talk, since int64, ends []wire.Digest) (*Seen, error)
	// Write calls fn with the session of a conversation, which it makes where there is none.
	// One caller at a time has it, of all processes. What fn appends is kept as soon as Write
	// returns; where fn or Write fails, nothing of it counts.
	Write(ctx context.Context, t Talk, h session.Header, fn func(session.Store) error) error
	// Measured takes note of a measure. It does not block, and may forget it.
	Measured(t Talk, m Measure)
}

// ErrStoreDown is what a Store returns that can't be reached, once it has told its logger.
var ErrStoreDown = errors.New("what keeps the conversations can't be reached")

// Talk names a conversation.
type Talk struct {
	Tenant string
	ID     string // 32 hex digits, the first of the chain at its root
}

// Seen is what a Store knows of a conversation.
type Seen struct {
	State    int64
	Epochs   []*Epoch // oldest first
	Measures []Measure
}

// Measure is what an upstream measured for a list.
type Measure struct {
	End    wire.Digest // of the chain
	Tokens int64       // of the whole input
	Env    wire.Digest // system text, tools and model then
	Epoch  wire.Digest // the Head of the epoch that was in use, zero for none
	Time   time.Time
}

// EpochType is the type of the custom entries that hold an Epoch.
const EpochType = "clew.gateway.epoch"

// EpochOf returns the epoch that an entry holds, nil where it holds none.
func EpochOf(e *session.Entry) (*Epoch, error) {
	custom, ok := e.Custom()
	if !ok || custom.CustomType != EpochType {
		return nil, nil
	}
	var epoch Epoch
	if err := json.Unmarshal(custom.Data, &epoch); err != nil {
		return nil, fmt.Errorf("entry %s holds no epoch: %w", e.ID, err)
	}
	return &epoch, nil
}

// files is a Store of session files in a folder.
type files string

func (dir files) path(t Talk) string { return filepath.Join(string(dir), t.ID+".jsonl") }

// Look reads a file once: this process alone writes to it, as long as it lives.
func (dir files) Look(ctx context.Context, t Talk, since int64, _ []wire.Digest) (*Seen, error) {
	seen := &Seen{State: 1}
	if since > 0 {
		return seen, nil
	}
	f, err := jsonl.Open(ctx, dir.path(t), jsonl.Options{ReadOnly: true})
	if errors.Is(err, os.ErrNotExist) {
		return seen, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for e, err := range f.All(ctx) {
		if err != nil {
			return nil, err
		}
		switch epoch, err := EpochOf(e); {
		case err != nil:
			return nil, err
		case epoch != nil:
			seen.Epochs = append(seen.Epochs, epoch)
		}
	}
	return seen, nil
}

// Write opens the file for one use, so that other processes can write to it.
func (dir files) Write(ctx context.Context, t Talk, h session.Header, fn func(session.Store) error) error {
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		return err
	}
	opt := jsonl.Options{Program: "clew gateway"}
	f, err := jsonl.Open(ctx, dir.path(t), opt)
	if errors.Is(err, os.ErrNotExist) {
		f, err = jsonl.Create(ctx, dir.path(t), h, opt)
	}
	if err != nil {
		return err
	}
	return errors.Join(fn(f), f.Close())
}

func (files) Measured(Talk, Measure) {}
