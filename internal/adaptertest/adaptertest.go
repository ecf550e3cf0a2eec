// Package adaptertest has what the tests of the adapters share, each of which is a module of its own.
package adaptertest

import (
	"testing"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/model/modeltest"
	"github.com/clew-dev/clew/session"
)

// mostPasses is how many a conversation of some 140 requests may need.
const mostPasses = 20

// OnlyPassesSwitch checks that of at least so many requests each begins like the one before it, but for the
// first and for one a pass, and returns how many do.
func OnlyPassesSwitch(t testing.TB, s *clew.Session, requests []modeltest.Exchange, least int) (same int) {
	t.Helper()
	for _, x := range requests {
		if x.Kept {
			same++
		}
	}
	passes := 0
	for e, err := range s.Log().Store().All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := e.Custom(); ok && c.CustomType == session.CustomPass {
			passes++
		}
	}
	if len(requests) < least || len(requests)-same != 1+passes || passes > mostPasses {
		t.Errorf("%d of %d requests began like the one before, with %d passes", same, len(requests), passes)
	}
	return same
}
