package replay

import (
	"fmt"

	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/session"
)

// The rules by which points are chosen.
const (
	Horizon    = 40     // messages of the future that count
	MinNeeds   = 5      // identifiers the agent needed
	MinDropped = 20_000 // tokens
	MinAnswers = 8      // messages of the agent in the future
	PerSession = 3      // free points of a session
	MinSummary = 200    // tokens of a recorded summary: less is none, or one that can't be read
)

// Prefix is what a policy is given: what stood before a point. Nothing that came
// later is in it.
type Prefix struct {
	// Dropped is what is to be replaced, Kept what stays behind it. System messages
	// and what programs put in are in neither: they are sent again anyway.
	Dropped, Kept []session.Item
	Cwd           string
	// Budget is the most that the text may cost, by Counter.
	Budget int64
}

// point is a place at which texts are scored.
type point struct {
	prefix Prefix
	*measure.Point
	at      int               // messages before it
	digests []*measure.Digest // of prefix.Dropped
	next    []session.Item    // what came after
	// recorded is the summary that the recorded program made here; "" at a free
	// point.
	recorded string
}

// why a place is no point.
type unfit string

// freePoints chooses the points inside the first stretch of a session: what came
// next there was written with everything at hand, so it favours no policy. There are
// at most PerSession of them, spread evenly from the first place at which enough is
// dropped to the last behind which enough follows, and about Horizon messages apart
// at least. Where the agent needed too little, the next place counts.
func freePoints(s *Session, st *stretch, opt *Options) ([]*point, unfit) {
	lo, hi := -1, -1
	for p := range st.digests {
		if p+1 >= len(st.digests) || st.digests[p+1].Kind != measure.Agent {
			continue
		}
		if lo < 0 && measure.TokensOf(st.digests[:cutAt(st, p, opt.Tail)]) >= MinDropped {
			lo = p
		}
		if lo >= 0 && answers(st.digests[p+1:]) >= MinAnswers {
			hi = p
		}
	}
	if lo < 0 || hi < lo {
		return nil, unfit(fmt.Sprintf("too short: %d tokens in %d messages before its first rewrite; a point needs %d tokens before the tail and %d answers after it",
			measure.TokensOf(st.digests), len(st.digests), MinDropped, MinAnswers))
	}
	n := min(PerSession, 1+(hi-lo)/Horizon)
	step := (hi - lo) / max(n-1, 1)
	var out []*point
	for i := range n {
		from, to := lo+step*i, min(lo+step*i+step/2, hi)
		if n > 1 && i == n-1 {
			from, to = hi-step/2+1, hi // as many places as the others have
		}
		for p := from; p <= to; p++ {
			if st.digests[p+1].Kind != measure.Agent {
				continue
			}
			cut := cutAt(st, p, opt.Tail)
			next := future(st.digests[p+1:])
			if len(measure.Needs(st.digests[:cut], st.digests[cut:p+1], st.always, next)) >= MinNeeds {
				out = append(out, newPoint(s, st, p, cut, next, opt.Budget))
				break
			}
		}
	}
	if len(out) == 0 {
		return nil, unfit(fmt.Sprintf("nowhere did the agent need %d identifiers of what was dropped", MinNeeds))
	}
	return out, ""
}

func newPoint(s *Session, st *stretch, p, cut int, next []*measure.Digest, budget int) *point {
	return &point{
		prefix: Prefix{Dropped: st.items[:cut:cut], Kept: st.items[cut : p+1 : p+1], Cwd: s.Cwd, Budget: int64(budget)},
		Point:  measure.NewPoint(st.digests[:cut], st.digests[cut:p+1], st.always, next, s.Cwd),
		at:     p + 1, digests: st.digests[:cut], next: st.items[p+1 : min(p+1+Horizon, len(st.items))],
	}
}

// cutAt returns how many messages up to p are dropped when a tail of so many
// tokens is kept: never fewer than belong to the newest unit, and beginning with no
// result.
func cutAt(st *stretch, p, tail int) int {
	units, cut := 0, p+1
	for cut > 0 {
		units += st.digests[cut-1].Size()
		if (units+measure.CharsPerToken-1)/measure.CharsPerToken > tail {
			break
		}
		cut--
	}
	for cut <= p && st.digests[cut].CallID != "" {
		cut++
	}
	if cut > p { // the newest unit alone is larger than the tail
		for cut = p; cut > 0 && st.digests[cut].CallID != ""; {
			cut--
		}
	}
	return cut
}

func answers(ds []*measure.Digest) int {
	n := 0
	for _, d := range future(ds) {
		if d.Kind == measure.Agent {
			n++
		}
	}
	return n
}

func future(ds []*measure.Digest) []*measure.Digest { return ds[:min(Horizon, len(ds))] }

// recordedPoint is the place at which the recorded program compacted. What it put
// there shaped what came next, so such points favour it.
func recordedPoint(s *Session, st, next *stretch, summary string) (*point, unfit) {
	c, ok := st.rewrite.Compaction()
	if !ok {
		return nil, "an edit, not a compaction"
	}
	cut := len(st.items)
	for i, it := range st.items {
		if it.Entry.ID == c.FirstKeptEntryID {
			cut = i
			break
		}
	}
	// What followed: the next stretch without the summary and what was kept.
	after := next.digests
	for len(after) > 0 && after[0].Kind == measure.Summary {
		after = after[1:]
	}
	kept := st.digests[cut:]
	after = after[min(len(kept), len(after)):]
	for len(after) > 0 && after[0].Kind != measure.Agent {
		kept = append(kept[:len(kept):len(kept)], after[0])
		after = after[1:]
	}
	f := future(after)
	pt := &point{
		prefix: Prefix{Dropped: st.items[:cut:cut], Kept: st.items[cut:], Cwd: s.Cwd, Budget: int64(measure.Tokens(summary))},
		Point:  measure.NewPoint(st.digests[:cut], kept, st.always, f, s.Cwd),
		at:     len(st.items), digests: st.digests[:cut], recorded: summary,
	}
	switch {
	case measure.Tokens(summary) < MinSummary:
		return nil, unfit(fmt.Sprintf("its summary of %d tokens is too short to be one", measure.Tokens(summary)))
	case pt.DroppedTokens < MinDropped:
		return nil, unfit(fmt.Sprintf("%d tokens were dropped; a point needs %d", pt.DroppedTokens, MinDropped))
	case pt.Answers < MinAnswers:
		return nil, unfit(fmt.Sprintf("%d answers follow; a point needs %d", pt.Answers, MinAnswers))
	case len(pt.Needs) < MinNeeds:
		return nil, unfit(fmt.Sprintf("the agent needed %d identifiers of what was dropped; a point needs %d", len(pt.Needs), MinNeeds))
	}
	return pt, ""
}
