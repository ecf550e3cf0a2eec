package replay

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/clew-dev/clew/internal/replay/measure"
)

// Row is one policy in a table.
type Row struct {
	Policy       string `json:"policy"`
	About        string `json:"about"`  // what it does, in a few words
	Points       int    `json:"points"` // at which it was scored
	Sessions     int    `json:"sessions"`
	Tokens       int    `json:"tokens"` // mean size of its texts
	Contextual   Mean   `json:"cCR,omitzero"`
	Recall       Mean   `json:"cr,omitzero"`
	RecallByUse  Mean   `json:"crByUse,omitzero"`
	Precision    Mean   `json:"precision,omitzero"`
	Instructions Mean   `json:"instructions,omitzero"`
	Constraints  Mean   `json:"constraints,omitzero"`
	TrailF1      Mean   `json:"trailF1,omitzero"`
	Modified     Mean   `json:"modified,omitzero"`
	Fresh        Mean   `json:"fresh,omitzero"`
	Foreign      Mean   `json:"madeUp,omitzero"`
	Plain        Mean   `json:"plain,omitzero"`
	Junk         Mean   `json:"junk,omitzero"`

	// Chain is the mean after one, two and three compactions in a row, of the same
	// points.
	Chain, ChainRecall, ChainInstructions [Generations]Mean `json:"-"`

	// Gates are the requirements that no average may hide.
	Gates Gates `json:"gates"`

	// ByClass adds up the needs of all points, and those found.
	ByClass [measure.NumClasses]measure.ClassScore `json:"-"`

	bySession []float64 // contextual recall
}

// Decay is the share of contextual recall that is lost between the first and the
// last of the compactions in a row.
func (r *Row) Decay() (share float64, ok bool) {
	if first := r.Chain[0]; first.N > 0 && first.Value > 0 {
		return 1 - r.Chain[Generations-1].Value/first.Value, true
	}
	return 0, false
}

// Mean is the mean of a measure: over the points of each session, then over the
// sessions. N is the number of points that had something to measure.
type Mean struct {
	Value float64
	N     int
}

// IsZero reports that there was nothing to measure.
func (m Mean) IsZero() bool { return m.N == 0 }

// MarshalJSON writes the value.
func (m Mean) MarshalJSON() ([]byte, error) {
	return measure.Measured{Value: m.Value, OK: m.N > 0}.MarshalJSON()
}

// Rows returns a row for each policy, in the order of the report, of the free
// points or of the recorded ones.
func (r *Report) Rows(recorded bool) []Row {
	names := slices.Clone(r.Policies)
	if recorded {
		names = append(names, RecordedPolicy)
		if r.about[HookPolicy] != "" {
			names = append(names, HookPolicy, StartPolicy, LinesPolicy)
		}
	}
	var rows []Row
	for _, name := range names {
		rows = append(rows, r.row(name, recorded))
	}
	return rows
}

func (r *Report) row(policy string, recorded bool) Row {
	row := Row{Policy: policy, About: r.about[policy]}
	var scores [][]measure.Score
	var chains [][]Chain
	for _, s := range r.Sessions {
		var of []measure.Score
		var in []Chain
		for _, p := range s.Points {
			if p.Recorded != recorded {
				continue
			}
			if score, ok := p.Scores[policy]; ok {
				of = append(of, score)
				row.Gates.add(&score, p.Unstable[policy])
				for i, c := range score.ByClass {
					row.ByClass[i].Needs += c.Needs
					row.ByClass[i].Found += c.Found
					row.ByClass[i].InContext += c.InContext
				}
			}
			if c, ok := p.Chains[policy]; ok {
				in = append(in, c)
			}
		}
		if len(of) > 0 {
			scores = append(scores, of)
			row.Points += len(of)
			row.Sessions++
		}
		if len(in) > 0 {
			chains = append(chains, in)
		}
	}
	mean := func(get func(s *measure.Score) measure.Measured) Mean { return meanOf(scores, get) }
	row.Tokens = int(mean(func(s *measure.Score) measure.Measured { return measure.Measured{Value: float64(s.Tokens), OK: true} }).Value)
	row.Contextual = mean(func(s *measure.Score) measure.Measured { return s.Contextual })
	row.Recall = mean(func(s *measure.Score) measure.Measured { return s.Recall })
	row.RecallByUse = mean(func(s *measure.Score) measure.Measured { return s.RecallByUse })
	row.Precision = mean(func(s *measure.Score) measure.Measured { return s.Precision })
	row.Instructions = mean(func(s *measure.Score) measure.Measured { return s.Instructions })
	row.Constraints = mean(func(s *measure.Score) measure.Measured { return s.Constraints })
	row.TrailF1 = mean(func(s *measure.Score) measure.Measured { return s.TrailF1 })
	row.Modified = mean(func(s *measure.Score) measure.Measured { return s.Modified })
	row.Fresh = mean(func(s *measure.Score) measure.Measured { return s.Fresh })
	row.Foreign = mean(func(s *measure.Score) measure.Measured { return s.Foreign })
	row.Junk = mean(func(s *measure.Score) measure.Measured { return s.Junk })
	row.Plain = mean(func(s *measure.Score) measure.Measured { return measure.Measured{Value: s.Plain, OK: s.Tokens > 0} })
	for _, of := range scores {
		if m := meanOf([][]measure.Score{of}, func(s *measure.Score) measure.Measured { return s.Contextual }); m.N > 0 {
			row.bySession = append(row.bySession, m.Value)
		}
	}
	for i := range Generations {
		row.Chain[i] = meanOf(chains, func(c *Chain) measure.Measured { return c.Contextual[i] })
		row.ChainRecall[i] = meanOf(chains, func(c *Chain) measure.Measured { return c.Recall[i] })
		row.ChainInstructions[i] = meanOf(chains, func(c *Chain) measure.Measured { return c.Instructions[i] })
	}
	return row
}

// Support says what the figures of the free points stand on.
type Support struct {
	Points int
	Needs  int // in the middle point
	// Ceiling is the contextual recall of all that was dropped.
	Ceiling Mean
}

// Support returns what the figures of the free points stand on.
func (r *Report) Support() Support {
	var s Support
	var needs []float64
	var ceilings [][]measure.Measured
	for _, session := range r.Sessions {
		var of []measure.Measured
		for _, p := range session.Points {
			if !p.Recorded {
				needs = append(needs, float64(p.Needs))
				of = append(of, p.Ceiling)
			}
		}
		ceilings = append(ceilings, of)
	}
	s.Points, s.Needs = len(needs), int(median(needs))
	s.Ceiling = meanOf(ceilings, func(m *measure.Measured) measure.Measured { return *m })
	return s
}

func meanOf[T any](sessions [][]T, get func(s *T) measure.Measured) Mean {
	var m Mean
	sum, groups := 0.0, 0
	for _, scores := range sessions {
		part, n := 0.0, 0
		for i := range scores {
			if v := get(&scores[i]); v.OK {
				part += v.Value
				n++
			}
		}
		if n > 0 {
			sum += part / float64(n)
			groups++
			m.N += n
		}
	}
	if groups > 0 {
		m.Value = sum / float64(groups)
	}
	return m
}

// Gates are requirements that no average may hide: each counts the points at which
// a policy does not meet it.
type Gates struct {
	OverBudget int `json:"overBudget"` // the text is larger than the budget, so its end did not count
	Lists      int `json:"lists"`      // less than 35 % of the text is plain words or structure
	MadeUp     int `json:"madeUp"`     // identifiers that were nowhere in what the policy was given
	Unstable   int `json:"unstable"`   // the same input gave another text
}

func (g *Gates) add(s *measure.Score, unstable bool) {
	if s.Cut > 0 {
		g.OverBudget++
	}
	if s.Tokens > 0 && s.Plain < measure.MinPlainShare {
		g.Lists++
	}
	if s.Foreign.OK && s.Foreign.Value > 0 {
		g.MadeUp++
	}
	if unstable {
		g.Unstable++
	}
}

// Passed reports whether there is no point at which a gate was missed.
func (g Gates) Passed() bool { return g == Gates{} }

// Missed says in words which gates were missed, and at how many points.
func (g Gates) Missed() []string {
	var out []string
	for _, gate := range []struct {
		n    int
		what string
	}{
		{g.Lists, fmt.Sprintf("less than %.0f%% plain words or structure", 100*measure.MinPlainShare)},
		{g.MadeUp, "something made up"},
		{g.OverBudget, "over the budget"},
		{g.Unstable, "another text the second time"},
	} {
		switch {
		case gate.n == 1:
			out = append(out, gate.what+" at 1 point")
		case gate.n > 1:
			out = append(out, fmt.Sprintf("%s at %d points", gate.what, gate.n))
		}
	}
	return out
}

// Group is how a policy did on the free points of the sessions of one group. Where
// one group has most of the sessions, the mean over all sessions is mostly its.
type Group struct {
	Name         string `json:"format"`
	Sessions     int    `json:"sessions"`
	Points       int    `json:"points"`
	Contextual   Mean   `json:"cCR,omitzero"`
	Recall       Mean   `json:"cr,omitzero"`
	Instructions Mean   `json:"instructions,omitzero"`
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

// Sessions differ more than points of one session do, so it is sessions that are
// drawn again.
const draws = 2000

// Interval returns the 95 % interval of the mean contextual recall over sessions, by
// drawing sessions again with a fixed seed. ok is false for fewer than three.
func (r *Row) Interval() (low, high float64, ok bool) {
	n := len(r.bySession)
	if n < 3 {
		return 0, 0, false
	}
	points := make([][2]float64, n)
	for i, v := range r.bySession {
		points[i] = [2]float64{v, 1}
	}
	low, high = drawnAgain(points, uint64(n))
	return low, high, true
}

// drawnAgain returns the 95 % interval of a mean when sessions are drawn again, each with
// its sum and how many that is the sum of.
func drawnAgain(points [][2]float64, seed uint64) (low, high float64) {
	rng := rand.New(rand.NewPCG(1, seed))
	means := make([]float64, draws)
	for i := range means {
		sum, n := 0.0, 0.0
		for range points {
			pt := points[rng.IntN(len(points))]
			sum, n = sum+pt[0], n+pt[1]
		}
		means[i] = sum / n
	}
	slices.Sort(means)
	return means[draws*25/1000], means[draws*975/1000-1]
}
