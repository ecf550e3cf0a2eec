package token

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/clew-dev/clew/internal/jsonx"
)

// Config says for which model a [Meter] measures, and what every request carries
// beside the messages. The zero value measures for an unknown model.
type Config struct {
	// Provider and Model name the model that is about to be called, as the
	// provider does: "anthropic", "claude-opus-4-6".
	Provider string
	Model    string

	// Counter makes the estimates. Default: HeuristicFor(Provider, Model).
	Counter Counter

	// System is prompt text that is sent beside the system messages of the
	// conversation. Leave it empty when the prompt is one of those.
	System string
	// Tools is a JSON array of the tool definitions that are sent beside those
	// in system messages. Default: none.
	Tools json.RawMessage

	// Window is the size of the model's context window in tokens; 0 when it is
	// not known. It does not change what is measured.
	Window int64

	// Safety multiplies the estimated part in Reading.Guarded. It is at least 1.
	// 0 means the counter's own factor: 1.2 for Claude up to 4.6, 1.35 for later ones,
	// 1.25 for GPT, 1.3 for other models, 2.3 for Chars4, what was learnt for a
	// calibrated counter, and 1.3 for a counter of your own.
	Safety float64

	// AnyUsage takes every usage above 0 of an answer that did not fail as an
	// anchor, as pi does. By default a usage also must say how large the prompt
	// was, and come from a model with the same tokenizer as far as is known.
	AnyUsage bool
}

// defaultGuard is for counters that do not know how good they are.
const defaultGuard = 1.3

// Validate reports the first setting that cannot be used, and what would come of it.
func (c *Config) Validate() error {
	switch {
	case c.Window < 0:
		return fmt.Errorf("token: Window is %d: no context fits a window below 0; use 0 for an unknown window", c.Window)
	case math.IsNaN(c.Safety) || math.IsInf(c.Safety, 0):
		return fmt.Errorf("token: Safety is %v: no context would ever be known to fit; use 0 for the default", c.Safety)
	case c.Safety != 0 && c.Safety < 1:
		return fmt.Errorf("token: Safety is %v: estimates would be made smaller and requests overflow; use at least 1, or 0 for the default", c.Safety)
	}
	if jsonx.IsNull(c.Tools) {
		return nil
	}
	end, err := jsonx.Scan(c.Tools, 0)
	switch {
	case err != nil:
		return fmt.Errorf("token: Tools is not JSON, so its tokens can't be counted: %w", err)
	case jsonx.Space(c.Tools, end) != len(c.Tools):
		return fmt.Errorf("token: Tools has data after its end at byte %d; give one JSON array", jsonx.Space(c.Tools, end))
	case !jsonx.IsArray(c.Tools[jsonx.Space(c.Tools, 0):]):
		return fmt.Errorf("token: Tools is JSON but no array; give the array of definitions that is sent")
	}
	return nil
}
