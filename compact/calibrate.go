package compact

import (
	"encoding/json"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// minAnswers is how many answers there must be for anything to be learnt.
const minAnswers = 4

// counter returns what estimates the messages of a path, corrected by the usage
// that came back on it, and what was learnt. That depends on the path alone: it is
// learnt from as many answers since the last pass as a power of two has, on top of
// what the pass knew. So a session that goes on and one that is opened again count
// alike, and most answers change nothing. With all, every answer is learnt from.
func (s *Setup) counter(m session.Model, path []*session.Entry, all bool) (token.Counter, token.Calibration, error) {
	var counter token.Counter
	if s.Counter != nil {
		counter = s.Counter(m)
	} else {
		counter = token.HeuristicFor(m.Provider, m.ID)
	}
	if s.Uncalibrated {
		return counter, token.Calibration{}, nil
	}
	var from token.Calibration
	for i := len(path) - 1; i >= 0; i-- {
		data := recordOf(path[i]).Calibration
		if data == nil {
			continue
		}
		if json.Unmarshal(data, &from) != nil {
			from = token.Calibration{} // of a version that this one does not know
		}
		path = path[i+1:]
		break
	}
	if !all {
		path = learnt(path)
	}
	return token.Learn(counter, from, path, m.Provider, m.ID)
}

// learnt returns the part of a path that is learnt from.
func learnt(path []*session.Entry) []*session.Entry {
	enough := bucket(answersOf(path))
	if enough == 0 {
		return nil
	}
	for i, e := range path {
		if isAnswer(e) {
			if enough--; enough == 0 {
				return path[:i+1]
			}
		}
	}
	return path
}

// bucket is the largest power of two that is not larger than n, 0 below minAnswers.
func bucket(n int) int {
	if n < minAnswers {
		return 0
	}
	p := minAnswers
	for p*2 <= n {
		p *= 2
	}
	return p
}

// answersOf counts the answers on a path since the last pass that says what was learnt.
func answersOf(path []*session.Entry) int {
	n := 0
	for i := len(path) - 1; i >= 0 && recordOf(path[i]).Calibration == nil; i-- {
		if isAnswer(path[i]) {
			n++
		}
	}
	return n
}

func isAnswer(e *session.Entry) bool {
	if e.Type != session.TypeMessage {
		return false
	}
	m, err := e.Message()
	return err == nil && m.Role == message.RoleAssistant
}
