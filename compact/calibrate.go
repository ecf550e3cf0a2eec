package compact

import (
	"encoding/json"
	"math/bits"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// minAnswers is how many answers there must be for anything to be learnt.
const minAnswers = 4

// counter returns what estimates the messages of a path, corrected by the usage
// that came back on it, what was learnt, and how many answers came since the last pass
// that says what was learnt. That depends on the path alone: it is learnt from as many of
// them as a power of two has, on top of what the pass knew. So a session that goes on and
// one that is opened again count alike, and most answers change nothing. With all, every
// answer is learnt from.
func (s *Setup) counter(m session.Model, path []*session.Entry, all bool) (token.Counter, token.Calibration, int, error) {
	counter := token.HeuristicFor(m.Provider, m.ID)
	if s.Counter != nil {
		counter = s.Counter(m)
	}
	if s.Uncalibrated {
		return counter, token.Calibration{}, 0, nil
	}
	var from token.Calibration
	for i := len(path) - 1; i >= 0; i-- {
		if data := recordOf(path[i]).Calibration; data != nil {
			if json.Unmarshal(data, &from) != nil {
				from = token.Calibration{} // of a version that this one does not know
			}
			path = path[i+1:]
			break
		}
	}
	var answers []int
	for i, e := range path {
		if e.Type != session.TypeMessage {
			continue
		}
		if m, err := e.Message(); err == nil && m.Role == message.RoleAssistant {
			answers = append(answers, i)
		}
	}
	if n := bucket(len(answers)); !all && n == 0 {
		path = nil
	} else if !all {
		path = path[:answers[n-1]+1]
	}
	counter, learned, err := token.Learn(counter, from, path, m.Provider, m.ID)
	return counter, learned, len(answers), err
}

// bucket is the largest power of two that is not larger than n, 0 below minAnswers.
func bucket(n int) int {
	if n < minAnswers {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}
