package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/gateway"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// loaded is a session as commands look at it. They write nothing.
type loaded struct {
	*compact.Snapshot
	windowBy string          // a Window of package clew, or windowGateway
	leaf     string          // where the session stands
	closing  []session.Draft // results of the calls that were interrupted, with which plans are made
}

// windowGateway says that the window is the one to which a gateway has kept the session.
const windowGateway = "gateway"

// load takes the snapshot of a session at a leaf, for the model that is in force there, or for
// another one. It reads no more of the log than the context needs.
func load(ctx context.Context, s session.Store, leaf string, model session.Model, policy modelPolicy, counter counterFlag) (*loaded, error) {
	last, err := s.Get(ctx, leaf)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, err
	}
	l := &loaded{leaf: leaf}
	l.Snapshot, err = compact.Load(ctx, s, leaf, &compact.Setup{Model: model, Counter: counter.of, Policy: func(m session.Model) compact.Policy {
		of, by := policy.at(last, m)
		l.windowBy = by
		return of
	}})
	return l, err
}

// at is of, where a session has come to an entry that may say to which window a gateway kept it:
// upstreams may have told it another one than the catalogue has.
func (p modelPolicy) at(last *session.Entry, m session.Model) (compact.Policy, string) {
	of, by := p.of(m)
	if last == nil || by == clew.WindowSet {
		return of, by
	}
	if epoch, err := gateway.EpochOf(last); err == nil && epoch != nil && epoch.Window > 0 {
		of.Window, by = epoch.Window, windowGateway
	}
	return of, by
}

// windowFrom says, for a report, how the window is known, where it was not given.
func windowFrom(by string, m session.Model) string {
	switch by {
	case clew.WindowCatalogue:
		return " (of " + printable(m.ID) + ")"
	case clew.WindowPreset:
		return " (as much as the preset uses)"
	case clew.WindowAssumed:
		return " (assumed: the model is not known)"
	case windowGateway:
		return " (that the gateway kept to)"
	}
	return ""
}

// newPlanning takes the snapshot of a session at its newest entry, with results of the calls that
// were interrupted. Where there are any, its plans are to be looked at and not to be applied.
func newPlanning(cmd *cobra.Command, s session.Store, policy modelPolicy, counter counterFlag) (*loaded, error) {
	leaf, err := leafOf(cmd, s, "")
	if err != nil {
		return nil, err
	}
	p, err := load(cmd.Context(), s, leaf, session.Model{}, policy, counter)
	if err != nil {
		return nil, err
	}
	p.closing = compact.Interrupted(p.Context.Items, time.Now())
	p.Snapshot = p.Preview(p.closing...)
	return p, nil
}

// modelName is a model as provider/id, "" where it is not known.
func modelName(m session.Model) string { return strings.Trim(m.Provider+"/"+m.ID, "/") }

// barCells is how long a usage bar is.
const barCells = 20

// usageBar shows how much of a window a number of tokens takes.
func usageBar(p painter, tokens, window int64) string {
	share := float64(tokens) / float64(max(window, 1))
	full := min(int(share*barCells+0.5), barCells)
	color := styleGreen
	switch {
	case share > 0.9:
		color = styleRed
	case share > 0.7:
		color = styleYellow
	}
	return p.paint(color, strings.Repeat("█", full)) + p.paint(styleDim, strings.Repeat("░", barCells-full)) +
		fmt.Sprintf(" %s tokens, %.0f %% of the window", number(tokens), share*100)
}

// howMeasured says where a reading comes from.
func howMeasured(r token.Reading) string {
	switch {
	case r.Estimated == 0:
		return "as the provider reported"
	case r.Measured == 0:
		return "estimated"
	case r.Anchor < 0:
		return fmt.Sprintf("estimated, with %s that the usage before the pass has shown", number(r.Measured))
	}
	return fmt.Sprintf("%s reported, %s estimated", number(r.Measured), number(r.Estimated))
}
