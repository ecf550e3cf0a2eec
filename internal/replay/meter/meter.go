package meter

import (
	"strings"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Errors are the samples of each measure; see the package.
type Errors struct {
	Calls int // answers with a usage
	// Unexplained is how many prompts grew so that nothing in the record explains
	// it, in the way of token.Learner. They are in no sample of Growth, Learned,
	// Tools, Slices and Guarded.
	Unexplained int

	Raw, Fixed, Anchored   Samples
	Growth, Learned, Tools Samples
	Slices, Guarded        Samples
	Calibrations           []token.Calibration // in the end, one for each session
}

// Add adds the samples of another session.
func (e *Errors) Add(o Errors) {
	e.Calls += o.Calls
	e.Unexplained += o.Unexplained
	e.Raw = append(e.Raw, o.Raw...)
	e.Fixed = append(e.Fixed, o.Fixed...)
	e.Anchored = append(e.Anchored, o.Anchored...)
	e.Growth = append(e.Growth, o.Growth...)
	e.Learned = append(e.Learned, o.Learned...)
	e.Tools = append(e.Tools, o.Tools...)
	e.Slices = append(e.Slices, o.Slices...)
	e.Guarded = append(e.Guarded, o.Guarded...)
	e.Calibrations = append(e.Calibrations, o.Calibrations...)
}

// CJK returns the samples that are, or are not, of Chinese, Japanese and Korean.
// Only measures of what was added between calls have that; the others are left out.
func (e *Errors) CJK(want bool) Errors {
	return Errors{
		Growth: e.Growth.CJK(want), Learned: e.Learned.CJK(want), Tools: e.Tools.CJK(want),
		Slices: e.Slices.CJK(want), Guarded: e.Guarded.CJK(want),
	}
}

// learnedAfter is how many calls are learnt from before Learned is measured.
const learnedAfter = 10

// sliceMessages is how many messages a slice has at least.
const sliceMessages = 8

// leastGrowth is how many tokens a prompt must have grown by to say anything.
const leastGrowth = 100

// Measure measures a session, given the path of its entries, root first. counter
// makes the counter for the model that most of the answers are of; answers of
// other models end a window. What is learnt is learnt from this session alone,
// and used only for what comes later in it.
func Measure(path []*session.Entry, counter func(provider, model string) token.Counter) Errors {
	r := &run{}
	r.provider, r.model = mainModel(path)
	r.counter = counter(r.provider, r.model)
	r.learner = token.NewLearner(token.Calibration{}, r.counter, r.provider, r.model)
	for i, e := range path {
		refused := r.learner.Calibration().Refused
		r.learner.AddEntry(e)
		m := messageOf(e)
		if n := r.learner.Calibration().Refused - refused; n > 0 {
			r.Unexplained += int(n)
			r.opaque()
		}
		switch {
		case e.Type == session.TypeCustom:
			if c, ok := e.Custom(); ok && strings.HasPrefix(c.CustomType, "clew.") {
				r.opaque()
			}
		case e.Type == session.TypeCustomMessage && m != nil:
			r.add(m)
			r.opaque()
		case changes(e):
			r.reset(session.Project(path[:i+1]))
		case m != nil:
			r.add(m)
		}
	}
	r.Calibrations = []token.Calibration{r.learner.Calibration()}
	return r.Errors
}

// messageOf returns what an entry adds to the context, or nil.
func messageOf(e *session.Entry) *message.Message {
	switch e.Type {
	case session.TypeMessage:
		if m, err := e.Message(); err == nil {
			return m
		}
	case session.TypeCustomMessage:
		if m, ok := e.CustomMessage(); ok {
			return m
		}
	default:
	}
	return nil
}

// changes reports an entry that changes the context other than by adding to it.
func changes(e *session.Entry) bool {
	switch e.Type {
	case session.TypeCompaction, session.TypeContextEdit, session.TypeBranchSummary:
		return true
	case session.TypeMessage:
		return e.CopyOf() != ""
	default:
		return false
	}
}

func mainModel(path []*session.Entry) (provider, model string) {
	type name struct{ provider, model string }
	count := map[name]int{}
	var best name
	for _, e := range path {
		m := messageOf(e)
		if m == nil || m.Role != message.RoleAssistant || m.Usage.Prompt() == 0 {
			continue
		}
		n := name{m.Provider, m.Model}
		if count[n]++; count[n] > count[best] {
			best = n
		}
	}
	return best.provider, best.model
}

// run goes over a session.
type run struct {
	Errors
	provider, model string
	counter         token.Counter
	learner         *token.Learner

	visible int64 // E of all messages in the context
	offset  int64 // what is to be added to it, from the first call of the window
	started bool  // there was a call in this window

	last  *call   // the call before, nil at the beginning of a window
	since int64   // E of what came after its answer
	clean []*call // calls from which everything since is recorded as it was sent
}

// call is a call that was made, as far as later ones need it.
type call struct {
	prompt, total int64
	factor, guard float64 // what had been learnt by then
	calls         int64   // from how many
	estimate      int64   // E of the answer and what came after it
	answer        int64   // E of the answer
	messages      []*message.Message
	first         bool // no call came after it yet
	whole         bool // its usage is that of the whole answer
}

func (r *run) reset(c *session.Context) {
	r.visible, r.offset, r.started = 0, 0, false
	r.last, r.clean = nil, nil
	for _, it := range c.Items {
		r.visible += r.counter.Message(it.Message)
	}
}

// opaque says that something was sent that is not recorded as it was.
func (r *run) opaque() { r.clean = nil }

func (r *run) add(m *message.Message) {
	n := r.counter.Message(m)
	if n == 0 && m.Role != message.RoleAssistant {
		return // not sent
	}
	switch m.Role {
	case message.RoleAssistant:
		if m.StopReason == message.StopError || m.StopReason == message.StopAborted {
			return
		}
		r.answer(m, n)
		r.visible += n
		return
	case message.RoleToolResult:
		if !onlyText(m) {
			r.opaque()
		}
	default:
		r.opaque()
	}
	r.visible += n
	r.since += n
	r.extend(m, n)
}

// extend adds a message to what came after each call.
func (r *run) extend(m *message.Message, n int64) {
	for _, c := range r.clean {
		c.estimate += n
		c.messages = append(c.messages, m)
	}
}

func (r *run) answer(m *message.Message, n int64) {
	prompt := m.Usage.Prompt()
	if prompt <= 0 || m.Provider != r.provider || m.Model != r.model {
		r.last, r.clean, r.started = nil, nil, r.started && prompt <= 0
		return
	}
	r.Calls++
	total, whole := prompt+m.Usage.Output, m.Usage.Output >= (n-200)/4
	if !whole {
		total = prompt + n
	}
	if !r.started {
		r.started, r.offset = true, prompt-r.visible
	}
	r.Raw = append(r.Raw, Sample{Estimate: r.visible + n, Real: total})
	r.Fixed = append(r.Fixed, Sample{Estimate: r.visible + r.offset + n, Real: total})
	if r.last != nil {
		r.Anchored = append(r.Anchored, Sample{Estimate: r.last.total + r.since, Real: prompt})
	}
	r.growths(prompt)

	cal := r.learner.Calibration()
	guard := cal.Guard()
	if guard == 0 {
		guard = r.guard()
	}
	c := &call{
		prompt: prompt, total: total, factor: cal.Factor(), guard: guard, calls: cal.Calls,
		answer: n, first: true, whole: m.Usage.Output*2 >= n,
	}
	r.last, r.since = c, 0
	if !onlyText(m) || m.Usage.Reasoning > 0 {
		r.opaque()
		return
	}
	r.clean = append(r.clean, c)
	r.extend(m, n)
}

// guard returns the factor by which the counter itself says to multiply.
func (r *run) guard() float64 {
	m, err := token.NewMeter(token.Config{Provider: r.provider, Model: r.model, Counter: r.counter})
	if err != nil {
		return 1 // the settings are valid
	}
	return m.Guard()
}

// growths takes the samples that end at a request of that size.
func (r *run) growths(prompt int64) {
	keep := r.clean[:0]
	for _, c := range r.clean {
		grown := prompt - c.prompt
		learned := int64(float64(c.estimate)*c.factor + .5)
		sample := Sample{Estimate: c.estimate, Real: grown, Messages: c.messages, CJK: cjk(c.messages)}
		if c.first && grown >= leastGrowth {
			r.Growth = append(r.Growth, sample)
			if c.calls >= learnedAfter {
				r.Learned = append(r.Learned, sample.with(learned))
			}
			if tools := prompt - c.total; tools >= leastGrowth && c.whole {
				r.Tools = append(r.Tools, Sample{Estimate: c.estimate - c.answer, Real: tools, Messages: c.messages[1:], CJK: sample.CJK})
			}
		}
		c.first = false
		if len(c.messages) < sliceMessages {
			keep = append(keep, c)
			continue
		}
		if grown >= leastGrowth {
			r.Slices = append(r.Slices, sample.with(learned))
			r.Guarded = append(r.Guarded, sample.with(int64(float64(c.estimate)*c.factor*c.guard)))
		}
	}
	r.clean = keep
}

// onlyText reports a message of text and calls.
func onlyText(m *message.Message) bool {
	for i := range m.Content {
		switch m.Content[i].Type {
		case message.BlockText, message.BlockToolCall:
		default:
			return false
		}
	}
	return true
}

// Row is the errors of a counter.
type Row struct {
	Name   string
	Errors Errors
}
