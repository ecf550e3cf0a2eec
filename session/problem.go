package session

import "fmt"

// Severity says how bad a Problem is.
type Severity string

// The severities.
const (
	SevError   Severity = "error"   // something is lost or not as its writer meant it
	SevWarning Severity = "warning" // readers may see it differently
	SevInfo    Severity = "info"    // legal, but worth knowing
)

// Problem is something found wrong with a record. It says what, what it means and what to do.
type Problem struct {
	Code     string   `json:"code"`              // stable: "torn-tail", "bad-line", ...; docs/FORMAT.md lists them
	Severity Severity `json:"severity"`          //
	Line     int      `json:"line,omitempty"`    // from 1; 0 when not known
	Offset   int64    `json:"offset"`            // of the record in the file, in bytes
	EntryID  string   `json:"entryId,omitempty"` // the entry concerned
	What     string   `json:"what"`              // what was found
	Meaning  string   `json:"meaning,omitempty"` // what follows from it
	Remedy   string   `json:"remedy,omitempty"`  // what to do
}

// NewProblem returns a problem with what all problems of its code share. what and args are as for fmt.Sprintf.
func NewProblem(code string, offset int64, entryID, what string, args ...any) Problem {
	p := problems[code]
	p.Code, p.Offset, p.EntryID, p.What = code, offset, entryID, fmt.Sprintf(what, args...)
	return p
}

// ByOffset compares problems by their place in the log.
func ByOffset(a, b Problem) int { return int(min(max(a.Offset-b.Offset, -1), 1)) }

const (
	repairs = "make a repaired copy"
	nothing = "nothing before it is in the context but its summary"
	passes  = "it is passed over; pi may open the session with an empty context"
	undoes  = "undo it, where it is the latest pass on the path"
	cuts    = "the next append moves it to a file with the ending .cut; nothing else to do"
	noPlace = "the edit has no effect"
)

// problems has severity, meaning and remedy for every code.
var problems = map[string]Problem{
	// Of the lines of a file.
	"bad-line":         {Severity: SevError, Meaning: "what it said is lost to readers; entries that hung under it hang where it hung, else under the record before it", Remedy: repairs + "; the bytes stay in the original"},
	"torn-tail":        {Severity: SevWarning, Meaning: "a writer was stopped in the middle of it; it was never acknowledged", Remedy: cuts},
	"part-pass":        {Severity: SevWarning, Meaning: "it did not happen; the context is the one before it", Remedy: cuts},
	"stray-value":      {Severity: SevWarning, Meaning: passes, Remedy: repairs},
	"no-id":            {Severity: SevError, Meaning: "it has no place in the tree; " + passes, Remedy: repairs},
	"second-header":    {Severity: SevWarning, Meaning: "the first one counts", Remedy: repairs},
	"joined-records":   {Severity: SevError, Meaning: "clew reads them all; pi passes over the whole line", Remedy: repairs},
	"duplicate-id":     {Severity: SevError, Meaning: "the last record with it counts, here and in pi; the others can't be reached", Remedy: repairs + ", in which the others have ids of their own"},
	"missing-parent":   {Severity: SevError, Meaning: "it is taken for a root: nothing before it is in its context", Remedy: repairs},
	"bom":              {Severity: SevWarning, Meaning: "clew passes over it; pi does not open the file", Remedy: repairs},
	"before-header":    {Severity: SevWarning, Meaning: "they are passed over", Remedy: repairs},
	"future-version":   {Severity: SevWarning, Meaning: "it is read as version 3 and can't be written", Remedy: "use a newer clew"},
	"no-lock":          {Severity: SevWarning, Meaning: "another program could write at the same time", Remedy: "do not use the session in two places at once"},
	"more":             {Severity: SevError, Meaning: "the file may be no session any more than it is damaged", Remedy: repairs},
	"old-version":      {Severity: SevInfo, Meaning: "it is read as version 3; the first append writes it as version 3 and keeps this one beside it"},
	"crlf":             {Severity: SevInfo, Meaning: "readers take the CR for white space"},
	"no-final-newline": {Severity: SevInfo, Meaning: "the next append writes it first"},

	// Of the tree.
	"cycle":       {Severity: SevError, Meaning: "a path through them begins at the entry that would come twice; pi does not end when it opens the session", Remedy: repairs},
	"root":        {Severity: SevInfo, Meaning: "the conversation was begun anew here; nothing before it is in its context"},
	"broken-pass": {Severity: SevWarning, Meaning: "what is there counts; the context behind it may be one that nobody planned", Remedy: undoes},

	// Of what entries name.
	"label-target":   {Severity: SevWarning, Meaning: "nothing carries this label"},
	"branch-from":    {Severity: SevInfo, Meaning: "the branch can't be looked at here; a copy of one path of a session has such summaries"},
	"edit-target":    {Severity: SevWarning, Meaning: noPlace},
	"edit-elsewhere": {Severity: SevInfo, Meaning: noPlace},
	"edit-kind":      {Severity: SevWarning, Meaning: noPlace},
	"first-kept":     {Severity: SevWarning, Meaning: nothing, Remedy: repairs},
	"split-unit":     {Severity: SevWarning, Meaning: "the result can't be sent, because its call is not in the context"},

	// Of calls and results.
	"second-result":       {Severity: SevWarning, Meaning: "the first one is sent"},
	"result-without-call": {Severity: SevWarning, Meaning: "it can't be sent, because its call is not on the path"},
	"call-without-result": {Severity: SevWarning, Meaning: "a result that says so is sent in their place"},
	"pending-call":        {Severity: SevInfo},

	// Of an entry by itself.
	"unknown-type":   {Severity: SevInfo, Meaning: "it is kept and takes part in the tree; the model sees nothing of it"},
	"unknown-role":   {Severity: SevWarning, Meaning: "it is kept and shown, and never sent to a model"},
	"invalid-utf8":   {Severity: SevWarning, Meaning: "readers show a replacement character in their place; the bytes stay as they are"},
	"empty-summary":  {Severity: SevWarning, Meaning: "what is before its first kept entry is not in the context, and nothing stands for it", Remedy: undoes},
	"bad-edit":       {Severity: SevWarning, Meaning: noPlace},
	"bad-pass":       {Severity: SevWarning, Meaning: "whether the pass is whole can't be told; its entries count"},
	"no-time":        {Severity: SevInfo, Meaning: "it is shown without one"},
	"time-order":     {Severity: SevInfo, Meaning: "the clock was set back, or records were moved; the order of the file counts"},
	"bad-message":    {Severity: SevError, Meaning: "the model sees nothing of it; pi may fail to open the session", Remedy: repairs},
	"bad-content":    {Severity: SevWarning, Meaning: "clew reads what it can of it; pi fails to build a context with it", Remedy: repairs},
	"bad-arguments":  {Severity: SevWarning, Meaning: "clew sends an empty object in their place; pi fails to build a context with them", Remedy: repairs},
	"negative-usage": {Severity: SevWarning, Meaning: "it counts as 0"},
}
