package token

import (
	"slices"
	"strings"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
)

// Learner learns from a conversation, whose messages it is given in order, how much the
// estimates of a counter have to be corrected for a model: it compares by how much the
// prompt grew from one answer to the next with what the first answer and the results
// after it were estimated at. It does not learn where something else may have changed the
// prompt; docs/meter.md says where. It is not safe for use by several goroutines.
type Learner struct {
	counter Counter
	c       Calibration
	pair    growth // since the last answer
	slice   growth // since the last answer that ended a slice
}

// growth is what was added to the context since an answer.
type growth struct {
	prompt   int64 // of the request that the answer was given to; 0: there is none
	estimate int64 // of the answer and what came after it
	messages int
}

// NewLearner returns a learner that goes on from what c has learnt, with the
// counter whose estimates are to be corrected. When c is of another model or
// counter, it begins anew.
func NewLearner(c Calibration, counter Counter, provider, model string) *Learner {
	if !c.of(counter, provider, model) {
		c = Calibration{}
	}
	c.Provider, c.Model, c.Counter = provider, model, counter.Name()
	c.Recent = slices.Clone(c.Recent)
	return &Learner{counter: counter, c: c}
}

func (c Calibration) of(counter Counter, provider, model string) bool {
	return c.Provider == provider && c.Model == model && c.Counter == counter.Name()
}

// Calibration returns what was learnt so far.
func (l *Learner) Calibration() Calibration {
	c := l.c
	c.Recent = slices.Clone(c.Recent)
	return c
}

// Break says that the context was changed in another way than by the messages that
// are added, such as by a pass.
func (l *Learner) Break() { l.pair, l.slice = growth{}, growth{} }

// AddEntry adds the next entry of a path of a log.
func (l *Learner) AddEntry(e *session.Entry) {
	switch e.Type {
	case session.TypeMessage:
		m, err := e.Message()
		if err != nil || e.CopyOf() != "" {
			l.Break() // the usage of a copy is about the context of its original
			return
		}
		l.Add(m)
	case session.TypeLabel, session.TypeSessionInfo, session.TypeUsage, session.TypeModelChange:
		// They do not change what the model sees; Add notices another model by its answers.
	case session.TypeCustom:
		// Custom entries are not sent, but those of clew mark passes and moves of the leaf.
		if c, ok := e.Custom(); !ok || strings.HasPrefix(c.CustomType, "clew.") {
			l.Break()
		}
	default:
		// Compactions, edits, branch summaries, messages of programs, unknown entries.
		l.Break()
	}
}

// Learn returns a counter that is corrected by what is known of its estimates for a
// model (from, which may be the zero value) and by the usage on a path of a log, root
// first, and what was learnt. It fails when the counter is calibrated already.
func Learn(counter Counter, from Calibration, path []*session.Entry, provider, model string) (Counter, Calibration, error) {
	l := NewLearner(from, counter, provider, model)
	for _, e := range path {
		l.AddEntry(e)
	}
	c := l.Calibration()
	corrected, err := calibrated(counter, c)
	return corrected, c, err
}

// Add takes the next message of the conversation.
func (l *Learner) Add(m *message.Message) {
	switch {
	case m.Role == message.RoleAssistant:
		l.answer(m)
	case m.Role == message.RoleToolResult && plain(m):
		l.add(m)
	case m.Role == message.RoleBashExecution && m.ExcludeFromContext: // not sent
	default:
		l.Break()
	}
}

func (l *Learner) add(m *message.Message) {
	n := max(0, l.counter.Message(m))
	for _, g := range []*growth{&l.pair, &l.slice} {
		g.estimate = addSat(g.estimate, n)
		g.messages++
	}
}

func (l *Learner) answer(m *message.Message) {
	if m.Failed() {
		return // not sent again; the next request is as if it had not been
	}
	prompt := m.Usage.Prompt()
	if prompt > maxPrompt {
		l.c.Refused++
	}
	if m.Provider != l.c.Provider || m.Model != l.c.Model || prompt <= 0 || prompt > maxPrompt {
		l.Break()
		return
	}
	if l.pair.prompt > 0 {
		l.learnPair(prompt, m.Timestamp)
	}
	if l.slice.prompt > 0 && l.slice.messages >= sliceMessages {
		l.learnSlice(prompt)
		l.slice = growth{}
	}
	if !plain(m) || l.hides(m) {
		l.Break()
		return
	}
	l.pair = growth{prompt: prompt}
	if l.slice.prompt == 0 {
		l.slice = growth{prompt: prompt}
	}
	l.add(m)
}

func plain(m *message.Message) bool {
	return !slices.ContainsFunc(m.Content, func(b message.Block) bool {
		return b.Type != message.BlockText && b.Type != message.BlockToolCall
	})
}

// hides reports an answer of which more was paid for than can be seen: reasoning
// that the provider keeps. The margin is wide enough for a counter that is off
// by a factor of two.
func (l *Learner) hides(m *message.Message) bool {
	u := m.Usage
	return u.Reasoning > 0 || u.Output > 3*min(l.counter.Message(m), maxPrompt)+300
}

// How fast it learns. The numbers were chosen on recorded sessions; see
// docs/meter.md for what comes of them.
const (
	maxPrompt = 1 << 40 // tokens; more is no prompt

	leastGrowth   = 100 // tokens, for smaller ones say little
	mostRatio     = 4
	sliceMessages = 8

	priorWeight = 2_000  // what the factor 1 that it begins with counts
	fullWeight  = 1_000  // what a stretch of fullSize tokens or more counts
	fullSize    = 500    // tokens
	maxWeight   = 40_000 // so that old calls are forgotten little by little

	mostStep  = 500_000 // by how much one call may disagree, at most
	guardStep = 250_000 // by how much one slice may raise the guard, at most
	// guardFall says how slowly the guard falls to what is seen: by one in so many
	// parts with each slice. At first it falls faster, because it began with a guess.
	guardFall = 50
)

// ratio returns real/estimated in millionths, and false when there is nothing
// to be learnt from it.
func (g growth) ratio(prompt int64) (r ppm, ok bool) {
	if grown := prompt - g.prompt; grown >= leastGrowth && g.estimate > 0 && g.explains(prompt) {
		return grown * one / g.estimate, true
	}
	return 0, false
}

// explains reports whether a counter can be that wrong. Where it can't, something
// else happened to the context, or the report is wrong.
func (g growth) explains(prompt int64) bool {
	const slack = leastGrowth * mostRatio
	grown, estimate := prompt-g.prompt, min(g.estimate, maxPrompt)
	return estimate <= max(grown, 0)*mostRatio+slack && grown <= estimate*mostRatio+slack
}

func (l *Learner) learnPair(prompt, at int64) {
	if !l.pair.explains(prompt) {
		l.c.Refused++
		l.Break()
		return
	}
	r, ok := l.pair.ratio(prompt)
	if !ok {
		return
	}
	c := &l.c
	if c.Calls == 0 {
		c.FactorPPM, c.Weight, c.First = one, priorWeight, at
	}
	c.Calls++
	c.Last = max(c.Last, at)
	off := r*one/c.FactorPPM - one // by how much the calibrated estimate was too low
	c.Recent = append(c.Recent, off/1000)
	if extra := len(c.Recent) - recentKept; extra > 0 {
		c.Recent = slices.Delete(c.Recent, 0, extra)
	}
	off = min(max(off, -mostStep), mostStep)
	w := min(fullWeight, l.pair.estimate*fullWeight/fullSize)
	c.Weight = min(c.Weight+w, maxWeight)
	if c.Weight > 0 {
		c.FactorPPM = min(max(c.FactorPPM+c.FactorPPM*off/one*w/c.Weight, minFactor), maxFactor)
	}
}

func (l *Learner) learnSlice(prompt int64) {
	r, ok := l.slice.ratio(prompt)
	c := &l.c
	if !ok || c.Calls == 0 {
		return
	}
	if c.GuardPPM == 0 {
		c.GuardPPM = min(max(ppm(guardOf(l.counter)*float64(one)), minGuard), maxGuard)
	}
	c.Slices++
	seen := r * one / c.scale()
	if seen > c.GuardPPM {
		c.GuardPPM = min(c.GuardPPM+min(seen-c.GuardPPM, guardStep), maxGuard)
		return
	}
	over := c.GuardPPM - max(seen, minGuard)
	c.GuardPPM -= over / min(guardFall, c.Slices+2)
}
