package clew

import (
	"encoding/json"

	"github.com/clew-dev/clew/compact"
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
func (c *Config) counter(m session.Model, path []*session.Entry, all bool) (token.Counter, token.Calibration, error) {
	if c.Counter != nil {
		return c.Counter, token.Calibration{}, nil
	}
	var from token.Calibration
	for i := len(path) - 1; i >= 0; i-- {
		data := compact.Calibration(path[i])
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
	return token.Learn(token.HeuristicFor(m.Provider, m.ID), from, path, m.Provider, m.ID)
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

// answersOf counts the answers since the last pass that a path has.
func answersOf(path []*session.Entry) int {
	n := 0
	for i := len(path) - 1; i >= 0 && compact.Calibration(path[i]) == nil; i-- {
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

// learnt is what all usage on a path has taught, for a pass to keep.
func (s *Session) learnt(v *view) (json.RawMessage, error) {
	if s.cfg.Counter != nil {
		return nil, nil
	}
	_, known, err := s.cfg.counter(s.cfg.modelAt(v.model), v.path, true)
	if err != nil || known.Calls == 0 {
		return nil, err
	}
	return json.Marshal(known)
}
