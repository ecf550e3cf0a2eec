package main

import (
	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/hook"
	"github.com/clew-dev/clew/summary"
)

// passHooks are the user's programs that are asked and told about a pass, and the
// summarizer that is kept for it: the plan that is made without them asks no model.
type passHooks struct {
	hooks      []clew.Hooks
	summarizer summary.Summarizer
	offloadDir string
}

// takeHooks looks for programs. Where there are any, the plan is only a first look, and
// the summarizer waits for the pass.
func (r *compactReport) takeHooks(policy *modelPolicy) (err error) {
	if r.DryRun {
		return nil // a look asks nobody
	}
	r.pass.hooks, err = hooksFor(policy.settings, hook.SessionBeforeCompact, hook.SessionCompact, hook.SessionCompactFailed)
	if r.pass.offloadDir = policy.settings.OffloadDir; len(r.pass.hooks) > 0 || r.pass.offloadDir != "" {
		r.pass.summarizer, policy.Summarizer = policy.Summarizer, nil
	}
	return err
}

// applyWithHooks makes the pass as a session in use does.
func (r *compactReport) applyWithHooks(cmd *cobra.Command, f kept, pl *planning) error {
	policy := pl.Policy
	policy.Summarizer = r.pass.summarizer
	cfg := clew.Config{Policy: policy, Provider: pl.Model.Provider, Model: pl.Model.ID, Hooks: r.pass.hooks, Cache: r.pass.offloadDir, KeepFiles: r.Out != ""}
	if pl.counter != counterHeuristic {
		cfg.Counter = pl.counter.of(pl.Model)
	}
	s, err := engineOn(cmd.Context(), f, cfg) // the file is closed by who opened it
	if err != nil {
		return err
	}
	if r.Closed, err = s.CloseOpenCalls(cmd.Context()); err != nil {
		return err
	}
	done, err := s.Compact(cmd.Context(), clew.CompactOptions{Reason: r.reason})
	if err != nil {
		return err
	}
	warn(cmd, done.Warnings)
	r.take(done.Plan)
	r.Entries, r.Deleted = done.Entries, append(r.Deleted, done.Deleted...)
	return nil
}
