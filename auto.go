package clew

import (
	"fmt"

	"github.com/clew-dev/clew/compact"
)

// declines says why a pass that is due is not made, "" where it is. What does not fit
// is brought into the limit all the same, unless Config.NoAuto forbids it; and reasoning
// that can't be sent any more is taken out whatever the settings say.
func (c *Config) declines(v *view, plan *compact.Plan) string {
	if plan.Reason == compact.Manual || plan.OnlyThinking {
		return ""
	}
	if c.NoAuto && plan.Reason == compact.Threshold {
		return "compaction by itself is switched off: " + plan.Why
	}
	if c.MaxPasses <= 0 || plan.Before.Guarded() > plan.Budget.Limit {
		return ""
	}
	if n := v.passes(); n >= c.MaxPasses {
		return fmt.Sprintf("%d passes were made for the user's last message, and no more are allowed as long as the context fits", n)
	}
	return ""
}

// passes counts the passes since the user's last message that were to make room.
func (v *view) passes() int {
	n := 0
	for i := len(v.path) - 1; i >= 0; i-- {
		e := v.path[i]
		if _, ok := e.Pass(); ok && !compact.ThinkingPass(e) {
			n++
		}
		if m, err := e.Message(); err == nil && m.UserWords() {
			return n
		}
	}
	return n
}
