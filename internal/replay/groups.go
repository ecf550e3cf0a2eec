package replay

import (
	"cmp"
	"slices"

	"github.com/clew-dev/clew/internal/replay/measure"
)

// Group is how a policy did on the free points of the sessions of one group. Where
// one group has most of the sessions, the mean over all sessions is mostly its.
type Group struct {
	Name                             string
	Sessions, Points                 int
	Contextual, Recall, Instructions Mean
}

// Groups returns how a policy did on each group of sessions, in the order of their
// names.
func (r *Report) Groups(policy string) []Group {
	scores := map[string][][]measure.Score{}
	for _, s := range r.Sessions {
		var of []measure.Score
		for _, p := range s.Points {
			if score, ok := p.Scores[policy]; ok && !p.Recorded {
				of = append(of, score)
			}
		}
		if len(of) > 0 {
			scores[s.Group] = append(scores[s.Group], of)
		}
	}
	var out []Group
	for name, of := range scores {
		g := Group{Name: name, Sessions: len(of)}
		for _, s := range of {
			g.Points += len(s)
		}
		g.Contextual = meanOf(of, func(s *measure.Score) measure.Measured { return s.Contextual })
		g.Recall = meanOf(of, func(s *measure.Score) measure.Measured { return s.Recall })
		g.Instructions = meanOf(of, func(s *measure.Score) measure.Measured { return s.Instructions })
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
