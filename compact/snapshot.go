// Package compact decides what to remove from a context that is about to outgrow the model's window, and removes it.
//
// [Make] computes a [Plan] from a [Snapshot]: a value that says what would be done now and why. A plan can be printed
// or rejected, and changes nothing. [Apply] appends the plan's entries to the log as one pass, which session.Log.Undo
// can undo.
//
//	snap, err := compact.Load(ctx, store, leaf, &compact.Setup{})
//	plan, err := compact.Make(ctx, snap, compact.Request{Reason: compact.Threshold})
//	if err == nil && plan.Act {
//		entries, err := compact.Apply(ctx, log, plan)
//		snap = snap.With(entries...)
//	}
package compact

import (
	"context"
	"encoding/json"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// Setup says what measures a session and by what policy it is compacted.
type Setup struct {
	Model session.Model // the model that is called. Default: the model in force at the leaf.
	// Policy returns the policy for the model that is called. Default: the zero Policy.
	Policy func(session.Model) Policy
	// Counter returns what estimates messages for a model. Default: token.HeuristicFor.
	Counter func(session.Model) token.Counter
	// Uncalibrated takes estimates as the counter makes them. Default: the usage on the path corrects them.
	Uncalibrated bool
	// System and Tools are sent with every request and are not in the log.
	System string
	Tools  json.RawMessage
}

// Snapshot is a session at one leaf. Everything that is decided about a context is
// decided on one snapshot, which is never changed once it is made.
type Snapshot struct {
	Leaf string // where the conversation stands
	Last string // id of the newest entry of the log
	Cwd  string // working directory of the session, "" where it is not known

	// Path is that of session.ContextPath, Context its projection, Messages those of Context.Items.
	Path     []*session.Entry
	Context  *session.Context
	Messages []*message.Message

	Logged  session.Model     // in force on the path
	Model   session.Model     // that is called
	Policy  Policy            // for Model
	Budget  Budget            // Policy in numbers
	Clamps  []Clamp           // settings that were not taken as they were given
	Meter   *token.Meter      // for Model
	Learned token.Calibration // what the usage on the path has taught Meter
	Reading token.Reading     // what the context costs, Costs what Meter estimates for each message
	Costs   []int64
	// stale are the items whose signed reasoning a provider may refuse: something before it has changed since.
	stale []int

	setup    *Setup
	answers  int             // since the last pass that says what was learnt
	targets  map[string]bool // entries that edits are for
	counted  *token.Running
	inferred inferred // what the pass on the path has inferred from the usage before it
	// derived says that a snapshot was derived from this one, which now owns the free
	// space behind the slices. No two share it, so plans know theirs by it.
	derived *atomic.Bool
}

// Load takes the snapshot at a leaf of a store, and reads no more than the context needs.
func Load(ctx context.Context, store session.Store, leaf string, setup *Setup) (*Snapshot, error) {
	s := &Snapshot{Leaf: leaf, Cwd: store.Header().Cwd, setup: setup}
	last, err := store.Last(ctx) // before the path, so that whatever is appended later is noticed
	if err != nil {
		return nil, err
	}
	if last != nil {
		s.Last = last.ID
	}
	if s.Path, err = session.ContextPath(ctx, store, leaf); err != nil {
		return nil, err
	}
	if s.Path, err = fromPass(ctx, store, s.Path); err != nil {
		return nil, err
	}
	if s.Logged, err = session.ModelAt(ctx, store, leaf); err != nil {
		return nil, err
	}
	return s, s.project()
}

// fromPass puts the beginning of its pass, which says what was learnt, before a path that begins with a compaction.
func fromPass(ctx context.Context, store session.Store, path []*session.Entry) ([]*session.Entry, error) {
	if len(path) == 0 || path[0].Type != session.TypeCompaction {
		return path, nil
	}
	e, err := store.Parent(ctx, path[0])
	if e == nil || err != nil || !isPass(e) {
		return path, err
	}
	return append([]*session.Entry{e}, path...), nil
}

func isPass(e *session.Entry) bool { _, ok := e.Pass(); return ok }

func (s *Snapshot) project() error {
	if s.Model = s.Logged; s.setup.Model != (session.Model{}) {
		s.Model = s.setup.Model
	}
	s.Policy = Policy{}
	if s.setup.Policy != nil {
		s.Policy = s.setup.Policy(s.Model)
	}
	var err error
	if s.Budget, s.Clamps, err = s.Policy.Resolve(); err != nil {
		return err
	}
	if s.Meter, s.Learned, s.answers, err = s.meter(false); err != nil {
		return err
	}
	s.Context = session.Project(s.Path)
	s.Context.Active = slices.Clip(s.Context.Active) // Path has the same array
	s.Messages, s.targets = nil, map[string]bool{}
	for _, e := range s.Context.Active {
		if edit, ok := e.ContextEdit(); ok {
			s.targets[edit.TargetID] = true
		}
	}
	s.stale = staleThinking(s.Path, s.Context)
	s.inferred = inferredOn(s.Path)
	s.counted, s.derived = s.Meter.Running(), &atomic.Bool{}
	s.measure(s.Context.Items)
	return nil
}

// meter returns what measures the context, corrected by the usage on the path; what was learnt; and how many answers
// came since the last pass that says what was learnt. It is learnt from as many of them as a power of two has, on top
// of what the pass knew: so a session that goes on and one that is opened again count alike, and most answers change
// nothing. With all, every answer is learnt from.
func (s *Snapshot) meter(all bool) (_ *token.Meter, learned token.Calibration, answers int, err error) {
	provider, id := s.Model.Provider, s.Model.ID
	counter := token.HeuristicFor(provider, id)
	if s.setup.Counter != nil {
		counter = s.setup.Counter(s.Model)
	}
	if !s.setup.Uncalibrated {
		known, path := calibrationOn(s.Path)
		var ends []int // of the path up to each answer
		for i, e := range path {
			if isAnswer(e) {
				ends = append(ends, i+1)
			}
		}
		answers = len(ends)
		if n := bucket(answers); !all && n == 0 {
			path = nil
		} else if !all {
			path = path[:ends[n-1]]
		}
		if counter, learned, err = token.Learn(counter, known, path, provider, id); err != nil {
			return nil, learned, 0, err
		}
	}
	meter, err := token.NewMeter(token.Config{
		Provider: provider, Model: id, Counter: counter,
		System: s.setup.System, Tools: s.setup.Tools, Window: s.Policy.Window,
	})
	return meter, learned, answers, err
}

// calibrationOn returns what the latest pass knew about estimates, and the path after it.
func calibrationOn(path []*session.Entry) (known token.Calibration, after []*session.Entry) {
	for i, e := range slices.Backward(path) {
		if data := recordOf(e).Calibration; data != nil {
			if json.Unmarshal(data, &known) != nil {
				known = token.Calibration{} // of a version that this one does not know
			}
			return known, path[i+1:]
		}
	}
	return known, path
}

func isAnswer(e *session.Entry) bool {
	if e.Type != session.TypeMessage {
		return false
	}
	m, err := e.Message()
	return err == nil && m.Role == message.RoleAssistant
}

// bucket is the largest power of two that is not larger than n, 0 below minAnswers.
func bucket(n int) int {
	if n < minAnswers {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

const minAnswers = 4

// measure adds items to what is counted.
func (s *Snapshot) measure(items []session.Item) {
	for _, it := range items {
		s.counted.Add(it.Message, it.At >= s.Context.Boundary)
		s.Messages = append(s.Messages, it.Message)
	}
	s.Reading, s.Costs = s.counted.Reading(), s.counted.Costs()
	if s.Reading.Anchor < 0 {
		s.Reading = s.inferred.on(s.Reading)
	}
}

// inferred is what usage says about requests as a whole.
type inferred struct {
	// Overhead is what they carried that is in no message and not in Setup. It stays whatever is done.
	Overhead int64   `json:"overhead,omitempty"`
	Scale    float64 `json:"scale,omitempty"` // by how much they exceed the estimates otherwise; 0 is 1
}

// on returns the reading of a context that nothing was reported of since. The scale widens the margin.
func (i inferred) on(r token.Reading) token.Reading {
	r.Guard = max(r.Guard, i.Scale)
	r.Measured = i.Overhead
	r.Tokens += i.Overhead
	r.Categories[token.Unattributed] += i.Overhead
	return r
}

// With returns the snapshot after entries that were appended at the leaf. It costs in proportion to them where none
// changes what stands before. It is nil where they stand elsewhere and the session is to be loaded anew.
func (s *Snapshot) With(entries ...*session.Entry) *Snapshot {
	n := *s
	again := false
	for _, e := range entries {
		if e.ParentID != n.Leaf {
			return nil
		}
		switch e.Type {
		case session.TypeCompaction, session.TypeContextEdit:
			again = true
		case session.TypeModelChange:
			n.Logged, _ = e.ModelChange()
		case session.TypeMessage:
			if m, err := e.Message(); err == nil && m.Role == message.RoleAssistant {
				n.Logged = session.Model{Provider: m.Provider, ID: m.Model}
				n.answers++
			}
		default:
		}
		again = again || n.targets[e.ID]
		n.Leaf, n.Last = e.ID, e.ID
	}
	relearn := !s.setup.Uncalibrated && bucket(n.answers) != bucket(s.answers)
	switched := s.setup.Model == (session.Model{}) && n.Logged != s.Logged
	if again || relearn || switched || !s.derived.CompareAndSwap(false, true) {
		n.Path = needed(append(slices.Clip(s.Path), entries...))
		if n.project() != nil {
			return nil
		}
		return &n
	}
	// None of the entries changes an earlier one, so their own projection is what they add.
	added := session.Project(entries).Items
	c, counted := *s.Context, *s.counted
	for i := range added {
		added[i].At += len(c.Active)
	}
	n.Path = append(n.Path, entries...)
	c.Active = append(c.Active, entries...)
	c.Items = append(c.Items, added...)
	n.Context, n.counted, n.derived = &c, &counted, &atomic.Bool{}
	n.measure(added)
	return &n
}

// Preview returns the snapshot as it would be with drafts appended; a plan made of it can't be applied.
func (s *Snapshot) Preview(drafts ...session.Draft) *Snapshot {
	if len(drafts) == 0 {
		return s
	}
	return s.With(session.Preview(s.Path, drafts...)[len(s.Path):]...)
}

// needed returns the part of a path that Load gives, and lets go of what is before.
func needed(path []*session.Entry) []*session.Entry {
	i := len(path) - 1
	for i >= 0 && path[i].Type != session.TypeCompaction {
		i--
	}
	if i < 0 {
		return path
	}
	c, _ := path[i].Compaction()
	from := i
	for from >= 0 && path[from].ID != c.FirstKeptEntryID && c.FirstKeptEntryID != "" {
		from--
	}
	if from < 0 {
		return path
	}
	if from == i && i > 0 && isPass(path[i-1]) {
		from--
	}
	return slices.Clone(path[from:])
}

// Item returns the index of the item that comes from an entry, -1 for none.
func (s *Snapshot) Item(entry string) int {
	for i := len(s.Context.Items) - 1; i >= 0; i-- {
		if s.Context.Items[i].Entry.ID == entry {
			return i
		}
	}
	return -1
}

// LastUsage is what was reported for the newest answer, nil for none.
func (s *Snapshot) LastUsage() *message.Usage {
	for _, m := range slices.Backward(s.Messages) {
		if m.Role == message.RoleAssistant && m.Usage != nil {
			u := *m.Usage
			return &u
		}
	}
	return nil
}
