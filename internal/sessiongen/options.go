package sessiongen

// Options say what kind of session to make. The zero value asks for a wild
// version 3 session of 20 to 120 entries with short texts.
type Options struct {
	// Entries is the number of records after the header. 0 draws 20 to 120.
	// A well-formed session may hold a few more, so that its last unit is whole.
	Entries int

	// Version is the format version: 3 (0 means 3), 2 (message role hookMessage,
	// no context edits, usage or system records) or 1 (one line of records without
	// ids, compactions with firstKeptEntryIndex).
	Version int

	// WellFormed asks for sessions in which, on every path from a root to a leaf and
	// in the context of every leaf, each call has exactly one result and each result
	// its call; nothing dangles and no field has the wrong kind.
	WellFormed bool

	// PiSafe leaves out what makes pi 0.87.1 throw or run out of memory: null or
	// missing content, missing arguments, missing ids, duplicate ids and cycles.
	PiSafe bool

	// UserBytes, AnswerBytes and ResultBytes bound ordinary texts, in bytes of JSON, give or
	// take a sentence. Defaults 1200, 1000 and 2000. Most texts are much shorter.
	UserBytes, AnswerBytes, ResultBytes int

	// HugeUsers user messages get HugeUserBytes of text and HugeResults tool results
	// get HugeResultBytes. The counts default to 0, the sizes to 1 MB and 5 MB. They
	// fall on the first messages of their kind, spread by a few.
	HugeUsers, HugeUserBytes     int
	HugeResults, HugeResultBytes int

	// Odds are the probabilities of everything else.
	Odds Odds
}

// Odds are probabilities. 0 means the default, which is named with each field; a
// negative value means never. A step is one thing that happens in a session: a
// user message, an answer with its results, a compaction and so on.
type Odds struct {
	// Of a step.
	System        float64 // a system message patches sections or tools: 0.015
	Bash          float64 // a shell run by the user: 0.035
	CustomMessage float64 // an extension's message: 0.035
	Custom        float64 // an extension's state: 0.025
	Label         float64 // a label set or cleared: 0.035
	Name          float64 // a session name: 0.012
	Model         float64 // a change of model: 0.02
	Level         float64 // a change of thinking level: 0.015
	Usage         float64 // a usage record: 0.02
	Edit          float64 // a context edit: 0.07
	Compact       float64 // a compaction: 0.06
	Branch        float64 // the leaf moves to an earlier entry: 0.065
	Root          float64 // another root begins: 0.012
	Orphan        float64 // a result without its call (wild only): 0.01
	DanglingRef   float64 // a parent, label or edit target that is not there (wild only): 0.006
	Unknown       float64 // a record of an unknown type (wild only): 0.01
	Malformed     float64 // a field of the wrong kind (wild and not PiSafe): 0.01
	DuplicateID   float64 // an id used twice (wild and not PiSafe): 0.002
	Cycle         float64 // entries that are their own ancestors (wild and not PiSafe): 0.001

	// Of the session.
	SystemFirst float64 // it begins with a system message: 0.5
	ReuseCalls  float64 // call ids are used again by later answers (wild only): 0.1

	// Of a user message, an answer, a text or what the comment names.
	UserShare    float64 // a conversation step is a user message, otherwise an answer: 0.3
	Tools        float64 // an answer calls tools: 0.65
	Parallel     float64 // an answer with calls makes 2 to 6 of them: 0.4
	Shuffle      float64 // the results of parallel calls come in another order: 0.45
	Missing      float64 // a result never comes (wild only): 0.04
	Failed       float64 // an answer is aborted or an error: 0.08
	Thinking     float64 // an answer has thinking: 0.3
	Signed       float64 // of thinking: 0.8
	Image        float64 // a user message or a result carries an image: 0.07
	OddArguments float64 // a call's arguments have numbers, keys and strings that are hard to copy: 0.06
	CJK          float64 // a text has Chinese, Japanese or Korean: 0.2
	Emoji        float64 // a text has emoji: 0.2
	Surrogate    float64 // a text has a lone surrogate escape: 0.02
	Excluded     float64 // a shell run is excluded from the context: 0.3
	Omit         float64 // an edit omits its target, otherwise it replaces the content: 0.5
	EditKept     float64 // an edit after a compaction goes to an entry that the compaction kept: 0.6
	RetainNone   float64 // a compaction keeps nothing before it: 0.1
	DanglingKept float64 // a compaction's first kept entry is not on its path (wild only): 0.1
	LabelKept    float64 // a compaction's first kept entry is a label, where the path has one: 0.35
	Nested       float64 // a compaction keeps an older compaction in its range, where there is one: 0.4
	Summarized   float64 // a move of the leaf writes a branch summary: 0.5
	ExtraFields  float64 // a record has unknown or repeated fields (wild only): 0.03
	Spacing      float64 // a record is written with spaces, or a blank line follows (wild only): 0.02
}

// resolve fills in the defaults and switches off what the options exclude.
func (o Options) resolve() Options {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&o.Version, 3)
	def(&o.UserBytes, 1200)
	def(&o.AnswerBytes, 1000)
	def(&o.ResultBytes, 2000)
	def(&o.HugeUserBytes, 1<<20)
	def(&o.HugeResultBytes, 5<<20)
	o.Odds.fill()
	d := &o.Odds
	if o.WellFormed {
		never(&d.Orphan, &d.DanglingRef, &d.Unknown, &d.ReuseCalls, &d.Missing, &d.DanglingKept, &d.ExtraFields, &d.Spacing)
	}
	if o.WellFormed || o.PiSafe {
		never(&d.Malformed, &d.DuplicateID, &d.Cycle)
	}
	if o.Version < 3 {
		never(&d.System, &d.Usage, &d.Edit, &d.SystemFirst, &d.Unknown)
	}
	if o.Version == 1 {
		never(&d.CustomMessage, &d.Custom, &d.Label, &d.Name, &d.Branch, &d.Root, &d.DanglingRef, &d.Malformed, &d.DuplicateID, &d.Cycle)
	}
	return o
}

func never(ps ...*float64) {
	for _, p := range ps {
		*p = 0
	}
}

func (d *Odds) fill() {
	for _, f := range []struct {
		p *float64
		v float64
	}{
		{&d.System, 0.015},
		{&d.Bash, 0.035},
		{&d.CustomMessage, 0.035},
		{&d.Custom, 0.025},
		{&d.Label, 0.035},
		{&d.Name, 0.012},
		{&d.Model, 0.02},
		{&d.Level, 0.015},
		{&d.Usage, 0.02},
		{&d.Edit, 0.07},
		{&d.Compact, 0.06},
		{&d.Branch, 0.065},
		{&d.Root, 0.012},
		{&d.Orphan, 0.01},
		{&d.DanglingRef, 0.006},
		{&d.Unknown, 0.01},
		{&d.Malformed, 0.01},
		{&d.DuplicateID, 0.002},
		{&d.Cycle, 0.001},
		{&d.SystemFirst, 0.5},
		{&d.ReuseCalls, 0.1},
		{&d.UserShare, 0.3},
		{&d.Tools, 0.65},
		{&d.Parallel, 0.4},
		{&d.Shuffle, 0.45},
		{&d.Missing, 0.04},
		{&d.Failed, 0.08},
		{&d.Thinking, 0.3},
		{&d.Signed, 0.8},
		{&d.Image, 0.07},
		{&d.OddArguments, 0.06},
		{&d.CJK, 0.2},
		{&d.Emoji, 0.2},
		{&d.Surrogate, 0.02},
		{&d.Excluded, 0.3},
		{&d.Omit, 0.5},
		{&d.EditKept, 0.6},
		{&d.RetainNone, 0.1},
		{&d.DanglingKept, 0.1},
		{&d.LabelKept, 0.35},
		{&d.Nested, 0.4},
		{&d.Summarized, 0.5},
		{&d.ExtraFields, 0.03},
		{&d.Spacing, 0.02},
	} {
		switch {
		case *f.p == 0:
			*f.p = f.v
		case *f.p < 0:
			*f.p = 0
		}
	}
}
