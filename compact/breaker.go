package compact

import (
	"encoding/json"
	"fmt"

	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// The breaker stops passes that gain nothing from being tried again and again.
const (
	breakerPasses = 2  // so many in a row
	breakerGain   = 5  // that each freed less than this share of the context, in percent
	breakerGrowth = 10 // stop further ones until it has grown by this share
)

// readings are what a clew.pass entry stores of the meter.
type readings struct {
	Before token.Reading `json:"before"`
	After  token.Reading `json:"after"`
	// Calibration is what was learnt about the estimates until then.
	Calibration json.RawMessage `json:"calibration,omitempty"`
}

// Calibration returns what the entry that begins a pass says was learnt about the
// estimates; nil for any other entry. See Input.Calibration.
func Calibration(e *session.Entry) json.RawMessage {
	info, ok := e.Pass()
	if !ok {
		return nil
	}
	var r readings
	if json.Unmarshal(info.Meter, &r) != nil {
		return nil
	}
	return r.Calibration
}

// breaker returns why no pass is to be tried now, or "". It is read from the
// passes on the path, so it survives a restart. A pass that the user asks for is
// never stopped, nor one without which the context would not fit; and one that
// helps closes it again.
func breaker(path []*session.Entry, now int64) string {
	useless, after := 0, int64(0)
	for i := len(path) - 1; i >= 0 && useless < breakerPasses; i-- {
		info, ok := path[i].Pass()
		if !ok || ThinkingPass(path[i]) {
			continue
		}
		var r readings
		if json.Unmarshal(info.Meter, &r) != nil || r.Before.Tokens == 0 {
			return ""
		}
		if Reason(info.Reason) != Threshold || (r.Before.Tokens-r.After.Tokens)*100 >= r.Before.Tokens*breakerGain {
			return ""
		}
		if useless == 0 {
			after = r.After.Tokens
		}
		useless++
	}
	if useless < breakerPasses || now*100 >= after*(100+breakerGrowth) {
		return ""
	}
	return fmt.Sprintf("the last %d passes freed less than %d %% each; the next is tried when the context has grown by %d %%, or when it is asked for",
		useless, breakerGain, breakerGrowth)
}
