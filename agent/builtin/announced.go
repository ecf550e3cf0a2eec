package builtin

import (
	"sync"

	"github.com/clew-dev/clew/internal/text"
)

// maxAnnounced is how many paths are remembered between Effect and Run.
const maxAnnounced = 4096

// announced remembers where the paths of calls led when Effect told it, so that Run
// touches that place or none. The zero value is ready for use.
type announced struct {
	mu    sync.Mutex
	paths map[string]*promise
}

type promise struct {
	abs    string
	calls  int  // that were announced and did not run yet
	broken bool // the path led to two places: it is not known which the user agreed to
}

func (n *announced) tell(key, abs string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.paths[key]
	if p == nil {
		if n.paths == nil || len(n.paths) >= maxAnnounced {
			n.paths = map[string]*promise{} // what was forgotten has to be announced again
		}
		p = &promise{abs: abs}
		n.paths[key] = p
	}
	p.calls++
	p.broken = p.broken || p.abs != abs
}

// keep reports whether a path still leads where it was announced to, for one call.
// known is false when nothing was announced.
func (n *announced) keep(key, abs string) (same, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.paths[key]
	if p == nil {
		return false, false
	}
	same = p.abs == abs && !p.broken
	if p.calls--; p.calls == 0 || !same {
		delete(n.paths, key)
	}
	return same, true
}

// announce is resolve for Effect.
func (s *Set) announce(op, arg string) (place, error) {
	p, err := s.resolve(op, arg)
	if err == nil {
		s.said.tell(op+"\x00"+arg, p.abs)
	}
	return p, err
}

// again is resolve for Run: what leads elsewhere than Effect said is refused, and
// what is outside and was not announced.
func (s *Set) again(op, arg string) (place, error) {
	p, err := s.resolve(op, arg)
	if err != nil {
		return p, err
	}
	same, known := s.said.keep(op+"\x00"+arg, p.abs)
	switch {
	case known && !same:
		return p, &Error{Op: op, Subject: text.OneLine(arg, maxLine), Err: changed("the path leads elsewhere than when it was looked at: to " + p.shown), Hint: "call again, if that place is meant"}
	case !known && p.outside:
		return p, &Error{Op: op, Subject: text.OneLine(arg, maxLine), Err: refused("the path is outside the project, and nobody was asked"), Hint: "call again"}
	}
	return p, nil
}
