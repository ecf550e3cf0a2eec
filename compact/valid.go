package compact

import (
	"fmt"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// valid checks what a pass could break: that every call keeps its result, and
// every result its call. What the log itself lacks is not the plan's fault. The
// request as a provider takes it is checked where it is made, by wire.Build:
// that reads every byte, and a plan must not cost that.
//
// A plan that would break a pair is a defect of clew, not of the session; it must
// not be applied.
func (p *planner) valid(after *session.Context) error {
	before := unpaired(p.context.Items)
	for id := range unpaired(after.Items) {
		if !before[id] {
			return fmt.Errorf("the context after the pass would not be valid: call %s would be without its other half; nothing was changed, and this is a defect of clew", id)
		}
	}
	return nil
}

// unpaired returns the ids of calls that have no result after them, and of
// results that have no call before them.
func unpaired(items []session.Item) map[string]bool {
	open, lone := map[string]bool{}, map[string]bool{}
	for _, it := range items {
		m := it.Message
		switch m.Role {
		case message.RoleToolResult:
			if !open[m.ToolCallID] {
				lone[m.ToolCallID] = true
			}
			delete(open, m.ToolCallID)
		case message.RoleAssistant:
			if m.StopReason == message.StopAborted || m.StopReason == message.StopError {
				continue // never sent
			}
			for _, call := range m.ToolCalls() {
				open[call.ID] = true
			}
		default:
		}
	}
	for id := range open {
		lone[id] = true
	}
	return lone
}
