package replay

import (
	"context"

	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/session"
)

// Generations is how many compactions in a row a chain has at most, and minPart the
// least that each of them drops beside the summary before it, in tokens.
const (
	Generations = 3
	minPart     = 10_000
)

// Chain is what is left at a point after one, two and three compactions in a row,
// each with the whole budget: what is dropped is divided in as many parts, and each
// part is summarized together with the summary of those before it.
type Chain struct {
	Contextual, Recall, Instructions [Generations]measure.Measured
}

// chain plays the compactions of a point after each other. The first generation is
// the score that it has already. ok is false where too little is dropped.
func (pt *point) chain(ctx context.Context, p Policy, once *measure.Score, tail int) (c Chain, ok bool, err error) {
	if pt.DroppedTokens < Generations*minPart {
		return c, false, nil
	}
	c.note(0, once)
	for n := 2; n <= Generations; n++ {
		text, err := pt.generations(ctx, p, n, tail)
		if err != nil {
			return c, false, err
		}
		s := pt.Score(text, p.Frame(), int(pt.prefix.Budget))
		c.note(n-1, &s)
	}
	return c, true, nil
}

func (c *Chain) note(i int, s *measure.Score) {
	c.Contextual[i], c.Recall[i], c.Instructions[i] = s.Contextual, s.Recall, s.Instructions
}

// generations returns the text after n compactions.
func (pt *point) generations(ctx context.Context, p Policy, n, tail int) (string, error) {
	var (
		items   = pt.prefix.Dropped
		carried []session.Item
		text    string
		from    int
	)
	for _, to := range pt.parts(n) {
		pre := pt.prefix
		pre.Dropped = append(carried[:len(carried):len(carried)], items[from:to]...)
		if to < len(items) {
			pre.Kept = pt.tailAfter(to, tail)
		}
		r, err := p.Replace(ctx, pre)
		if err != nil {
			return "", err
		}
		text = measure.CutUnits(r.Text, int(pre.Budget)*measure.CharsPerToken)
		if r.Summary == "" {
			r.Summary = text
		}
		carried, from = asSummary(r), to
	}
	return text, nil
}

// asSummary returns the summary as the next compaction meets it.
func asSummary(r Replacement) []session.Item {
	path := session.Preview(nil, session.NewCompaction(session.Compaction{Summary: r.Summary, Details: r.Details}))
	return session.Project(path).Items
}

// parts returns where n parts of what is dropped end, each about as large as the
// others; none begins with a result.
func (pt *point) parts(n int) []int {
	items := pt.prefix.Dropped
	all := 0
	for _, d := range pt.digests {
		all += d.Size()
	}
	var ends []int
	sum := 0
	for i, d := range pt.digests {
		if sum*n >= all*(len(ends)+1) && d.CallID == "" && len(ends) < n-1 && i > 0 {
			ends = append(ends, i)
		}
		sum += d.Size()
	}
	return append(ends, len(items))
}

// tailAfter returns the messages that would have been kept behind an earlier cut.
func (pt *point) tailAfter(at, tail int) []session.Item {
	units, to := 0, at
	for to < len(pt.digests) && units < tail*measure.CharsPerToken {
		units += pt.digests[to].Size()
		to++
	}
	return pt.prefix.Dropped[at:to:to]
}
