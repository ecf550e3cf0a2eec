package clew

import (
	"context"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// load returns the snapshot at the leaf. It depends on the log, the leaf and the settings
// alone, so the one that the session holds stands until the leaf moves.
func (s *Session) load(ctx context.Context) (*compact.Snapshot, error) {
	leaf := s.log.Leaf()
	if s.snap != nil && s.snap.Leaf == leaf {
		return s.snap, nil
	}
	snap, err := compact.Load(ctx, s.log.Store(), leaf, s.cfg.setup())
	if err != nil {
		return nil, err
	}
	s.snap = snap
	return snap, nil
}

// setup says how the session is measured and compacted.
func (c Config) setup() *compact.Setup {
	s := &compact.Setup{
		Model: session.Model{Provider: c.Provider, ID: c.Model}, Policy: c.policy,
		Uncalibrated: c.Counter != nil, System: c.System, Tools: c.Tools,
	}
	if c.Counter != nil {
		s.Counter = func(session.Model) token.Counter { return c.Counter }
	}
	return s
}

// extend brings the snapshot up to date with entries that were appended. It reads nothing
// that must be read, so it can't fail after what was written.
func (s *Session) extend(entries []*session.Entry) {
	if s.snap != nil {
		s.snap = s.snap.With(entries...)
	}
}
