package compact

import (
	"fmt"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/wire"
)

// valid renders a context for the provider of its latest answer and checks it.
// A plan that would give an invalid request is a defect of clew, not of the
// session; it must not be applied.
func (p *planner) valid(c *session.Context) error {
	profile := wire.Anthropic
	target := wire.Target{TakesImages: true}
	for i := len(c.Items) - 1; i >= 0; i-- {
		m := c.Items[i].Message
		if m.Role != message.RoleAssistant {
			continue
		}
		target.Provider, target.Model = m.Provider, m.Model
		if own, ok := wire.ProfileForAPI(m.API); ok {
			profile = own
		}
		break
	}
	_, _, err := wire.Build(messages(c.Items), profile, target, wire.Options{SettleMissing: true})
	if err != nil {
		return fmt.Errorf("the context after the pass would not be valid: %w", err)
	}
	return nil
}
