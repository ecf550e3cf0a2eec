// Package sessiongen makes random sessions in pi's session format, for tests.
//
// A session is decided by its seed and options alone: ids, timestamps and texts
// come from the seed, so the same call gives the same bytes on every machine.
// The package imports nothing else of this module, so a test that uses it does
// not lean on the code it tests.
//
//	s := sessiongen.Generate(42, sessiongen.Options{})
//	os.WriteFile("s.jsonl", s.Bytes(), 0o600)
//	broken, harm := sessiongen.Damage(7, s.Bytes())
//	t.Log(harm) // "torn tail at line 61: the last 112 bytes are missing"
//
// By default a session is wild: results are missing, ids dangle, a few records
// have fields of the wrong kind. [Options.WellFormed] and [Options.PiSafe] narrow that.
package sessiongen

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Entry is what the generator knows about one record after the header.
type Entry struct {
	ID     string // "" in a version 1 file and in a record made without an id
	Parent string // the parentId as written; "" when null or absent
	Type   string // "message", "compaction", ...
	Role   string // of the message, for Type "message"

	// Line is the record's line, counted from 1; the header is line 1.
	Line int
	// Start and End delimit the record's line in Bytes, without its newline.
	Start, End int
}

// Session is one generated session.
type Session struct {
	ID      string  // of the header
	Entries []Entry // in file order
	Stats   Stats

	data []byte
}

// Bytes returns the session file. The caller may change it.
func (s Session) Bytes() []byte { return bytes.Clone(s.data) }

// Leaf returns the id of the last entry, which is where pi stands after opening the file.
func (s Session) Leaf() string {
	if len(s.Entries) == 0 {
		return ""
	}
	return s.Entries[len(s.Entries)-1].ID
}

// Generate makes the session that seed and opts describe. It panics when opts
// ask for a format version other than 1, 2 or 3, because that is a mistake in a test.
func Generate(seed uint64, opts Options) Session {
	o := opts.resolve()
	if o.Version < 1 || o.Version > 3 {
		panic(fmt.Sprintf("sessiongen: Options.Version is %d; there are versions 1, 2 and 3", o.Version))
	}
	g := newGen(seed, o)
	g.run()
	return g.finish()
}

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

// Odds are probabilities. 0 means the default, which stands in the tag of each
// field; a negative value means never. The words in the tags say where a field
// counts: wild, not in a well-formed session; unsafe, in neither a well-formed nor
// a pi-safe one; v2 and v3, from that version on. A step is one thing that happens
// in a session: a user message, an answer with its results, a compaction and so on.
type Odds struct {
	// Of a step.
	System        float64 `odds:"0.015 v3"`        // a system message patches sections or tools
	Bash          float64 `odds:"0.035"`           // a shell run by the user
	CustomMessage float64 `odds:"0.035 v2"`        // an extension's message
	Custom        float64 `odds:"0.025 v2"`        // an extension's state
	Label         float64 `odds:"0.035 v2"`        // a label set or cleared
	Name          float64 `odds:"0.012 v2"`        // a session name
	Model         float64 `odds:"0.02"`            // a change of model
	Level         float64 `odds:"0.015"`           // a change of thinking level
	Usage         float64 `odds:"0.02 v3"`         // a usage record
	Edit          float64 `odds:"0.07 v3"`         // a context edit
	Compact       float64 `odds:"0.06"`            // a compaction
	Branch        float64 `odds:"0.065 v2"`        // the leaf moves to an earlier entry
	Root          float64 `odds:"0.012 v2"`        // another root begins
	Orphan        float64 `odds:"0.01 wild"`       // a result without its call
	DanglingRef   float64 `odds:"0.006 wild v2"`   // a parent, label or edit target that is not there
	Unknown       float64 `odds:"0.01 wild v3"`    // a record of an unknown type
	Malformed     float64 `odds:"0.01 unsafe v2"`  // a field of the wrong kind
	DuplicateID   float64 `odds:"0.002 unsafe v2"` // an id used twice
	Cycle         float64 `odds:"0.001 unsafe v2"` // entries that are their own ancestors

	// Of the session.
	SystemFirst float64 `odds:"0.5 v3"`   // it begins with a system message
	ReuseCalls  float64 `odds:"0.1 wild"` // call ids are used again by later answers

	// Of a user message, an answer, a text or what the comment names.
	UserShare    float64 `odds:"0.3"`       // a conversation step is a user message, otherwise an answer
	Tools        float64 `odds:"0.65"`      // an answer calls tools
	Parallel     float64 `odds:"0.4"`       // an answer with calls makes 2 to 6 of them
	Shuffle      float64 `odds:"0.45"`      // the results of parallel calls come in another order
	Missing      float64 `odds:"0.04 wild"` // a result never comes
	Failed       float64 `odds:"0.08"`      // an answer is aborted or an error
	Thinking     float64 `odds:"0.3"`       // an answer has thinking
	Signed       float64 `odds:"0.8"`       // of thinking
	Image        float64 `odds:"0.07"`      // a user message or a result carries an image
	OddArguments float64 `odds:"0.06"`      // a call's arguments have numbers, keys and strings that are hard to copy
	CJK          float64 `odds:"0.2"`       // a text has Chinese, Japanese or Korean
	Emoji        float64 `odds:"0.2"`       // a text has emoji
	Surrogate    float64 `odds:"0.02"`      // a text has a lone surrogate escape
	Excluded     float64 `odds:"0.3"`       // a shell run is excluded from the context
	Omit         float64 `odds:"0.5"`       // an edit omits its target, otherwise it replaces the content
	EditKept     float64 `odds:"0.6"`       // an edit after a compaction goes to an entry that the compaction kept
	RetainNone   float64 `odds:"0.1"`       // a compaction keeps nothing before it
	DanglingKept float64 `odds:"0.1 wild"`  // a compaction's first kept entry is not on its path
	LabelKept    float64 `odds:"0.35"`      // a compaction's first kept entry is a label, where the path has one
	Nested       float64 `odds:"0.4"`       // a compaction keeps an older compaction in its range, where there is one
	Summarized   float64 `odds:"0.5"`       // a move of the leaf writes a branch summary
	ExtraFields  float64 `odds:"0.03 wild"` // a record has unknown or repeated fields
	Spacing      float64 `odds:"0.02 wild"` // a record is written with spaces, or a blank line follows
}

// resolve fills in the defaults and switches off what the options exclude.
func (o Options) resolve() Options {
	o.Version = cmp.Or(o.Version, 3)
	o.UserBytes = cmp.Or(o.UserBytes, 1200)
	o.AnswerBytes = cmp.Or(o.AnswerBytes, 1000)
	o.ResultBytes = cmp.Or(o.ResultBytes, 2000)
	o.HugeUserBytes = cmp.Or(o.HugeUserBytes, 1<<20)
	o.HugeResultBytes = cmp.Or(o.HugeResultBytes, 5<<20)
	off := map[string]bool{"wild": o.WellFormed, "unsafe": o.WellFormed || o.PiSafe, "v2": o.Version < 2, "v3": o.Version < 3}
	odds := reflect.ValueOf(&o.Odds).Elem()
	for i := range odds.NumField() {
		tag := strings.Fields(odds.Type().Field(i).Tag.Get("odds"))
		p := odds.Field(i).Float()
		if p == 0 {
			p, _ = strconv.ParseFloat(tag[0], 64) // the tags are sound
		}
		for _, word := range tag[1:] {
			if off[word] {
				p = 0
			}
		}
		odds.Field(i).SetFloat(max(0, p))
	}
	return o
}
