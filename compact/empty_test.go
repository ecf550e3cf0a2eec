package compact_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/token"
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
			meter, err := token.NewMeter(token.Config{System: prompt})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := compact.Make(context.Background(), compact.Input{Meter: meter, Reason: compact.Manual}, policy)
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
