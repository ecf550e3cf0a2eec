package compact_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
)

// TestEmptyContext shows that a session without messages is nothing to compact,
// whatever the policy, and that a prompt too large for it is said to be.
func TestEmptyContext(t *testing.T) {
	for _, name := range compact.PresetNames() {
		for _, prompt := range []string{"", strings.Repeat("Be kind to the users. ", 20_000)} {
			policy, err := compact.Preset(name)
			if err != nil {
				t.Fatal(err)
			}
			policy.Window, policy.Keep = 20_000, compact.Tokens(5)
			setup := &compact.Setup{System: prompt, Policy: func(session.Model) compact.Policy { return policy }}
			s, err := compact.Load(context.Background(), session.NewMemory(session.Header{ID: "s"}), "", setup)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := compact.Make(context.Background(), s, compact.Request{Reason: compact.Manual})
			var fixed *compact.FixedPartError
			switch {
			case prompt == "" && (err != nil || plan.Act || plan.Why != "the context is empty"): // who shows it says what it is a reason for
				t.Errorf("%s: %+v, %v", name, plan, err)
			case prompt != "" && (!errors.As(err, &fixed) || fixed.System < 20_000):
				t.Errorf("%s with a prompt that does not fit: %v", name, err)
			}
		}
	}
}
