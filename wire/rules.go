package wire

import (
	"fmt"
	"slices"
	"strings"
)

// Rule names one thing that must hold of a rendered list.
type Rule string

// The rules that Validate checks. A rule about something an API does not have
// holds for its profile.
const (
	RuleJSON          Rule = "json"           // every part is one JSON value of the kind the API has there
	RuleUTF8          Rule = "utf8"           // valid UTF-8 without halves of surrogate pairs
	RuleNotEmpty      Rule = "not-empty"      // there are messages, and each says something; no text is blank
	RuleRole          Rule = "role"           // roles are those of the API
	RuleStart         Rule = "start"          // the first message is the user's
	RuleAlternate     Rule = "alternate"      // no two neighbours have one role
	RuleBlock         Rule = "block"          // blocks have types of the API, and stand where it takes them
	RuleCallWithout   Rule = "call-without"   // every call has its result
	RuleResultWithout Rule = "result-without" // every result has its call, and no call has two
	RuleOrder         Rule = "order"          // results follow directly on their calls, in their order, and nothing comes between
	RuleCallID        Rule = "call-id"        // ids of calls and items have the characters and length that are taken
	RuleUniqueID      Rule = "unique-id"      // no two calls have one id
	RuleToolName      Rule = "tool-name"      // names of tools have the characters and length that are taken
	RuleArguments     Rule = "arguments"      // arguments are an object
	RuleThinking      Rule = "thinking"       // thinking is signed, as it came, and followed by what came with it
	RuleImage         Rule = "image"          // images are base64 of a type that is taken
	RuleSummary       Rule = "summary"        // at most one compaction summary
	RuleSystem        Rule = "system"         // the system text has the form of the API
	RuleTools         Rule = "tools"          // tools have the form of the API and names of their own
	RuleSize          Rule = "size"           // the parts fit the greatest request
)

// Violation is one place where a rule is broken.
type Violation struct {
	Rule  Rule
	Index int    // of the message in Request.Messages; -1 for the request as a whole
	Text  string // what is wrong there
}

func (v Violation) String() string { return located(v.Index, v.Text, string(v.Rule)) }

// ValidationError lists what an API would refuse.
type ValidationError struct {
	Profile    string
	Violations []Violation // in the order of the messages; those of the request as a whole first
}

func (e *ValidationError) Error() string {
	parts := few(e.Violations, Violation.String, "and %d more")
	return fmt.Sprintf("the list is not one that the %s API takes: %s", e.Profile, strings.Join(parts, "; "))
}

func (e *ValidationError) broken(r Rule) bool {
	return slices.ContainsFunc(e.Violations, func(v Violation) bool { return v.Rule == r })
}
