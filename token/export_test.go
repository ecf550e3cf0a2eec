package token

// What the tests of package token_test need of the inside.

type (
	Family  = family
	Weights = weights
)

const (
	Claude    = claude
	ClaudeNew = claude47
	GPT       = gpt
	Universal = universal
)

var (
	FamilyOf   = familyOf
	Exact      = exact
	Calibrated = calibrated
)

// Heuristic returns the heuristic of a family.
func Heuristic(f Family) Counter { return heuristicFor(f, imageRuleOf(f, "", "")) }

// Kinds is how many kinds of ASCII characters have a weight.
const Kinds = asciiKinds

// CountKinds adds the ASCII characters of a text to into, by kind, and returns what
// its other characters cost.
func CountKinds(f Family, text string, into []float64) (rest float64) {
	t := tables[f]()
	before := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < 0x80 {
			into[kindOf(before, c)]++
		} else {
			rest += float64(t[uint16(before)<<8|uint16(c)]) / perToken
		}
		before = c
	}
	return rest
}

// Fitted returns the heuristic for a model with other weights: tokens for each kind
// of ASCII character and then for a result.
func Fitted(provider, model string, fitted []float64) Counter {
	f := familyOf(provider, model)
	h := heuristicFor(f, imageRuleOf(f, provider, model))
	for i := range asciiKinds {
		h.w.ascii[i] = uint16(fitted[i]*perToken + .5)
	}
	h.w.call, h.w.result = uint32(fitted[asciiKinds]*perToken+.5), uint32(fitted[asciiKinds+1]*perToken+.5)
	h.pairs = h.w.table()
	return h
}

// FittedExact returns the counter of a tokenizer with another rate and result.
func FittedExact(name string, count func(string) int64, provider, model string, fitted []float64) Counter {
	e := exact(name, count, provider, model).(*tokenizer)
	e.rate, e.w.call, e.w.result = millis(fitted[0]*perToken+.5), uint32(fitted[1]*perToken+.5), uint32(fitted[2]*perToken+.5)
	return e
}

// MessageTokens is what a message other than a result costs beside its contents.
const MessageTokens = messageTokens / perToken
