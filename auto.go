package clew

import (
	"fmt"
	"slices"

	"github.com/clew-dev/clew/compact"
)

// declines says why a pass that the snapshot asks for is not made, "" where it is. What does
// not fit is brought into the limit all the same, unless Config.NoAuto forbids it; and
// reasoning that can't be sent any more is taken out whatever the settings say.
func (c *Config) declines(s *compact.Snapshot, plan *compact.Plan) string {
	if !plan.Act || plan.Reason == compact.Manual {
		return ""
	}
	if c.NoAuto && plan.Reason == compact.Threshold {
		return "compaction by itself is switched off: " + plan.Why
	}
	if c.MaxPasses <= 0 || plan.Before.Guarded() > plan.Budget.Limit {
		return ""
	}
	if n := passes(s); n >= c.MaxPasses {
		return fmt.Sprintf("%d passes were made for the user's last message, and no more are allowed as long as the context fits", n)
	}
	return ""
}

// passes counts the passes since the user's last message that were to make room.
func passes(s *compact.Snapshot) int {
	n := 0
	for _, e := range slices.Backward(s.Path) {
		if _, ok := e.Pass(); ok && !compact.ThinkingPass(e) {
			n++
		}
		if m, err := e.Message(); err == nil && m.UserWords() {
			break
		}
	}
	return n
}
