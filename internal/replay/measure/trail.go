package measure

import (
	"path"
	"slices"
	"strings"
)

// Op is what was done to a file.
type Op uint8

// The operations. Creating a file and editing it are one: what a tool writes
// rarely says which it was.
const (
	OpRead Op = iota
	OpChanged
	OpDeleted
	numOps
)

var opNames = [numOps]string{"read", "changed", "deleted"}

func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return "?"
}

// Pair is a file and what was done to it.
type Pair struct {
	Op   Op
	Path string
}

// Trail is what calls did to files and how commands ended.
type Trail struct {
	// Pairs must be stated; Optional may be stated, and count neither for nor
	// against.
	Pairs, Optional []Pair
	// Turns are the files and commands that were in more than one state.
	Turns []Turn
}

// Turn is something that had one state first and another in the end.
type Turn struct {
	Path    string // of a file, or
	Command string
	Last    State
}

// State is how something stood in the end.
type State uint8

// The states.
const (
	Present  State = iota // a file that was written
	Gone                  // a file that was deleted
	Reverted              // a file whose changes were taken back
	Passing               // a command
	Failing               // a command
)

var stateNames = []string{"present", "gone", "reverted", "passing", "failing"}

func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "?"
}

// cleanPath returns the form of a path in which it is compared: with forward
// slashes, relative to the working directory where it lies below it.
func cleanPath(p, cwd string) string {
	p = path.Clean(strings.ReplaceAll(strings.TrimSpace(p), `\`, "/"))
	if cwd != "" {
		cwd = strings.TrimRight(strings.ReplaceAll(cwd, `\`, "/"), "/")
		if p == cwd {
			return "."
		}
		if rest, ok := strings.CutPrefix(p, cwd+"/"); ok {
			return rest
		}
	}
	return strings.TrimPrefix(p, "./")
}

// samePath reports whether two paths may name the same file: they are equal, or
// one is the end of the other.
func samePath(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	a = strings.TrimPrefix(a, "/")
	if !strings.HasSuffix(b, a) || a == "" {
		return false
	}
	return len(a) == len(b) || b[len(b)-len(a)-1] == '/'
}

// pairSet finds pairs by operation and path.
type pairSet struct {
	pairs  []Pair
	byBase map[string][]int
}

func newPairSet(pairs []Pair) *pairSet {
	s := &pairSet{pairs: pairs, byBase: map[string][]int{}}
	for i, p := range pairs {
		b := path.Base(p.Path)
		s.byBase[b] = append(s.byBase[b], i)
	}
	return s
}

// find returns the indexes of the pairs that p may mean, an equal path first.
func (s *pairSet) find(p Pair) []int {
	var out []int
	for _, i := range s.byBase[path.Base(p.Path)] {
		q := s.pairs[i]
		if q.Op != p.Op || !samePath(p.Path, q.Path) {
			continue
		}
		if q.Path == p.Path {
			out = slices.Insert(out, 0, i)
		} else {
			out = append(out, i)
		}
	}
	return out
}

// compared is what a text states held against a trail.
type compared struct {
	right          int
	missing, wrong []Pair
}

func (t *Trail) compare(stated []Pair) compared {
	truth, optional := newPairSet(t.Pairs), newPairSet(t.Optional)
	hit := make([]bool, len(t.Pairs))
	var c compared
	for _, p := range stated {
		meant := truth.find(p)
		if i := slices.IndexFunc(meant, func(i int) bool { return !hit[i] }); i >= 0 {
			hit[meant[i]] = true
			c.right++
		} else if len(meant) == 0 && len(optional.find(p)) == 0 {
			c.wrong = append(c.wrong, p)
		}
	}
	for i, p := range t.Pairs {
		if !hit[i] {
			c.missing = append(c.missing, p)
		}
	}
	return c
}

// f1 is the harmonic mean of the share of the stated pairs that are right and the
// share of the right ones that are stated. There is none without pairs to state.
func (c *compared) f1() Measured {
	if c.right+len(c.missing) == 0 {
		return Measured{}
	}
	return Measured{2 * float64(c.right) / float64(2*c.right+len(c.wrong)+len(c.missing)), true}
}

func (p Pair) String() string { return p.Op.String() + " " + p.Path }

func (u Turn) String() string { return u.Path + u.Command + ": " + u.Last.String() }
