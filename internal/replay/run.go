package replay

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/internal/replay/meter"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// The defaults of Options.
const (
	DefaultBudget = 4_000
	DefaultTail   = 8_000
)

// Options say how to replay. The zero value is ready for use.
type Options struct {
	// Policies to compare. Default: all.
	Policies []Policy
	// Budget is what the text of a policy may cost at a free point, in tokens of
	// three UTF-16 units. Default: 4,000. At a recorded point it is the size of the
	// recorded summary.
	Budget int
	// Tail is how much stays as it is behind a free point, in the same tokens.
	// Default: 8,000.
	Tail int
	// Chain also plays several compactions in a row at each free point.
	Chain bool
	// Cost says how costs are replayed.
	Cost CostOptions
	// Parallel is how many sessions are played at a time. Default: GOMAXPROCS.
	Parallel int
	// Text is called with each text and its score, for reading; never by two
	// goroutines at once, in no particular order. Optional.
	Text func(t Text)
	// Repair also measures, at recorded points, the recorded summary with what clew hook
	// gives beside it.
	Repair bool
	// Probe is where the last free point of each session is written for readers.
	// Optional.
	Probe *Probe
}

// Text is what a policy put in the place of what was dropped at a point.
type Text struct {
	Session  string
	Point    int // messages before it
	Recorded bool
	Policy   string
	Text     string
	Score    measure.Score
}

// RecordedPolicy is the name under which the summaries of the recorded programs
// stand in reports.
const RecordedPolicy = "recorded"

// PointResult is a point and how each policy did.
type PointResult struct {
	At       int                      `json:"at"` // messages before it
	Recorded bool                     `json:"recorded"`
	Dropped  int                      `json:"dropped"` // tokens
	Needs    int                      `json:"needs"`
	Ceiling  measure.Measured         `json:"-"` // contextual recall of all that is dropped
	Budget   int                      `json:"budget"`
	Scores   map[string]measure.Score `json:"-"`
	Chains   map[string]Chain         `json:"-"` // of free points that are large enough
	Unstable map[string]bool          `json:"-"` // policies that gave another text the second time
}

// SessionResult is a session and its points.
type SessionResult struct {
	Name     string        `json:"name"`
	Group    string        `json:"format"`
	Messages int           `json:"messages"` // that were said, what a rewrite put in left out
	Tokens   int           `json:"tokens"`   // of them
	Points   []PointResult `json:"-"`
	// Skipped says why there is no free point, "" when there are some.
	Skipped string `json:"skipped,omitempty"`
	// SkippedRecorded says of each recorded compaction without a point why.
	SkippedRecorded []string `json:"skippedRecorded,omitempty"`
}

// Report is the outcome of a replay.
type Report struct {
	Budget, Tail int
	Policies     []string
	Sessions     []SessionResult
	Costs        *Costs
	// Meter are the errors of estimates, on the sessions that recorded usage: those
	// of the engine's counter, and of four characters to a token.
	Meter []meter.Row
	// Again are sessions that were not counted because a longer one has the same id.
	Again []Again

	about map[string]string // of policies
}

// Again is a session that was not counted, and the one that was in its place.
type Again struct{ Name, Counted string }

// Check says what is wrong with the options: a setting that makes no sense, and
// what would come of it.
func (o Options) Check() error { return o.setDefaults() }

// setDefaults fills in the defaults.
func (o *Options) setDefaults() error {
	if o.Policies == nil {
		o.Policies = Policies()
	}
	o.Budget, o.Tail = cmp.Or(o.Budget, DefaultBudget), cmp.Or(o.Tail, DefaultTail)
	if o.Budget < 1 || o.Tail < 0 {
		return fmt.Errorf("a budget of %d and a tail of %d tokens make no sense: nothing could be kept", o.Budget, o.Tail)
	}
	if o.Parallel < 1 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.Probe != nil {
		o.Parallel = 1 // the folders are numbered in the order of the sessions
	}
	return o.Cost.setDefaults(o)
}

// Run plays sessions under policies. The error is that of a policy, or of ctx.
func Run(ctx context.Context, sessions []Session, opt Options) (*Report, error) {
	return Play(ctx, slices.Values(sessions), opt)
}

// Play is Run for sessions that need not be in memory all at once: as many are taken
// as are played at a time. Of sessions with the same ID the longest counts.
func Play(ctx context.Context, sessions iter.Seq[Session], opt Options) (*Report, error) {
	if err := opt.setDefaults(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var (
		mu    sync.Mutex
		first error
		wg    sync.WaitGroup
		all   []*played
	)
	text := opt.Text
	if text != nil {
		opt.Text = func(t Text) {
			mu.Lock()
			defer mu.Unlock()
			text(t)
		}
	}
	type job struct {
		session Session
		into    *played
	}
	next := make(chan job)
	for range opt.Parallel {
		wg.Go(func() {
			for j := range next {
				if err := play(ctx, &j.session, &opt, j.into); err != nil {
					mu.Lock()
					if first == nil {
						first = fmt.Errorf("%s: %w", j.session.Name, err)
					}
					mu.Unlock()
					stop()
				}
			}
		})
	}
	for s := range sessions {
		p := &played{}
		all = append(all, p)
		select {
		case next <- job{s, p}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(next)
	wg.Wait()
	if err := cmp.Or(first, ctx.Err()); err != nil {
		return nil, err
	}
	return report(ctx, all, &opt)
}

// played is what is left of a session when it was played.
type played struct {
	SessionResult
	id        string
	recording *recording
	meter     [2]meter.Errors // see Report.Meter
}

// report sums up.
func report(ctx context.Context, all []*played, opt *Options) (*Report, error) {
	r := &Report{Budget: opt.Budget, Tail: opt.Tail}
	r.about = map[string]string{RecordedPolicy: "the summary that the recorded program made"}
	if opt.Repair {
		maps.Copy(r.about, repairs)
	}
	for _, p := range opt.Policies {
		r.Policies = append(r.Policies, p.Name())
		r.about[p.Name()] = p.About()
	}
	all = r.distinct(all)
	recall := map[string]float64{}
	r.Meter = []meter.Row{{Name: "heuristic"}, {Name: "chars4"}}
	for _, p := range all {
		r.Sessions = append(r.Sessions, p.SessionResult)
		for k := range r.Meter {
			r.Meter[k].Errors.Add(p.meter[k])
		}
	}
	if r.Meter[0].Errors.Calls == 0 {
		r.Meter = nil
	}
	for _, row := range r.Rows(false) {
		if row.Contextual.N > 0 {
			recall[row.Policy] = row.Contextual.Value
		}
	}
	var err error
	r.Costs, err = replayCosts(ctx, all, r.Policies, recall, opt.Cost, opt.Parallel)
	return r, err
}

// distinct keeps the longest of the sessions with the same id, and notes the others.
func (r *Report) distinct(all []*played) []*played {
	at := map[string]int{}
	var out []*played
	for _, p := range all {
		i, ok := at[p.id]
		if !ok || p.id == "" {
			at[p.id] = len(out)
			out = append(out, p)
			continue
		}
		if p.Messages > out[i].Messages {
			p, out[i] = out[i], p
		}
		r.Again = append(r.Again, Again{p.Name, out[i].Name})
	}
	return out
}

// play plays one session.
func play(ctx context.Context, s *Session, opt *Options, res *played) error {
	res.id, res.Name, res.Group = s.ID, s.Name, s.Group
	parts := s.stretches()
	var points []*point
	for i, st := range parts {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if i == 0 {
			free, why := freePoints(s, st, opt)
			points = append(points, free...)
			res.Skipped = string(why)
		}
		if st.rewrite == nil || i+1 >= len(parts) {
			continue
		}
		c, ok := st.rewrite.Compaction()
		if !ok || c.Summary == "" {
			res.SkippedRecorded = append(res.SkippedRecorded, "no text of a summary")
			continue
		}
		if pt, why := recordedPoint(s, st, parts[i+1], c.Summary); why != "" {
			res.SkippedRecorded = append(res.SkippedRecorded, string(why))
		} else {
			points = append(points, pt)
		}
	}
	if len(parts) == 0 {
		res.Skipped = "no messages"
	}
	res.meter[0] = meter.Measure(s.Path, token.HeuristicFor)
	res.meter[1] = meter.Measure(s.Path, func(string, string) token.Counter { return token.Chars4() })
	res.recording = record(s)
	res.Messages, res.Tokens = len(res.recording.blocks), res.recording.tokens()
	last := -1
	for i, pt := range points {
		if pt.recorded == "" {
			last = i
		}
	}
	for i, pt := range points {
		got, err := pt.score(ctx, s, opt)
		if err == nil && i == last && opt.Probe != nil {
			err = pt.probe(ctx, s, opt)
		}
		if err != nil {
			return err
		}
		res.Points = append(res.Points, got)
	}
	return nil
}

// probe writes the point for readers.
func (pt *point) probe(ctx context.Context, s *Session, opt *Options) error {
	x := probePoint{
		session: filepath.Base(s.Name), at: pt.at, budget: opt.Budget, dropped: pt.prefix.Dropped, kept: pt.prefix.Kept, future: pt.next,
		texts: map[string]string{},
	}
	for _, p := range opt.Policies {
		r, err := p.Replace(ctx, pt.prefix)
		if err != nil {
			return err
		}
		x.texts[p.Name()] = r.Text
		if _, engine := p.(preset); engine {
			x.texts[p.Name()+RecallSuffix] = r.Text
		}
	}
	return opt.Probe.add(ctx, x)
}

func (pt *point) score(ctx context.Context, s *Session, opt *Options) (PointResult, error) {
	res := PointResult{
		At: pt.at, Recorded: pt.recorded != "", Dropped: pt.DroppedTokens, Needs: len(pt.Needs), Ceiling: pt.Ceiling(),
		Budget: int(pt.prefix.Budget), Scores: map[string]measure.Score{}, Chains: map[string]Chain{}, Unstable: map[string]bool{},
	}
	take := func(policy, text, frame string, budget int) {
		score := pt.Score(text, frame, budget)
		if opt.Text != nil {
			opt.Text(Text{s.Name, pt.at, res.Recorded, policy, text, score})
		}
		score.Missed, score.MissedContext, score.MissedSentences, score.ForeignIDs = nil, nil, nil, nil
		score.MissedPairs, score.WrongPairs, score.Stale = nil, nil, nil
		res.Scores[policy] = score // without what would hold on to the session
	}
	for _, p := range opt.Policies {
		prefix := pt.prefix
		prefix.Dropped, prefix.Kept = slices.Clone(prefix.Dropped), slices.Clone(prefix.Kept)
		r, err := p.Replace(ctx, prefix)
		if err != nil {
			return res, fmt.Errorf("policy %s: %w", p.Name(), err)
		}
		take(p.Name(), r.Text, p.Frame(), int(pt.prefix.Budget))
		if res.Recorded || !opt.Chain {
			continue
		}
		again, err := p.Replace(ctx, prefix)
		if err != nil {
			return res, fmt.Errorf("policy %s: %w", p.Name(), err)
		}
		if again.Text != r.Text || !bytes.Equal(again.Details, r.Details) {
			res.Unstable[p.Name()] = true
		}
		once := res.Scores[p.Name()]
		chain, ok, err := pt.chain(ctx, p, &once, opt.Tail)
		if err != nil {
			return res, fmt.Errorf("policy %s: %w", p.Name(), err)
		}
		if ok {
			res.Chains[p.Name()] = chain
		}
	}
	if res.Recorded {
		take(RecordedPolicy, pt.recorded, "", int(pt.prefix.Budget))
		if opt.Repair {
			for policy, text := range pt.repair() {
				take(policy, text, "", measure.Tokens(text))
			}
		}
	}
	return res, nil
}

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
