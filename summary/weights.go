package summary

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/clew-dev/clew/internal/text"
)

// The weights of the choice of excerpts. They were fitted on real sessions by
// what the agents used next; the result changes little with any one of them.
const (
	// The weight of a use falls by half over halfLife of the conversation, at
	// least over minHalfLife messages.
	halfLife    = 0.35
	minHalfLife = 20.0

	// Uses of an identifier count less the more there are: to the power of usesPower.
	usesPower   = 0.7
	worldUse    = 0.3  // a use that is not the agent's, against one that is
	neverByUs   = 0.4  // an identifier that the agent never wrote
	onlyOnce    = 0.7  // one that occurs in a single message
	asNumber    = 0.3  // a number, a hash, a UUID: seldom typed again
	asFlag      = 0.5  // a flag, a reference
	asURL       = 0.8  // a URL
	keptAnyway  = 0.1  // one that stands in what is kept
	namedBefore = 0.12 // each time the document names it already

	// What a line is worth, whatever kind it is of; see profiles for the kinds.
	chosenBefore = 0.7  // it stands in an earlier summary: it had its time
	fewWords     = 0.2  // fewer than two plain words
	inFocus      = 2.0  // worth of a word it shares with the instructions
	sameSource   = 0.95 // each line of the same source that is there already
	announces    = 0.5  // it ends with a colon, or announces the next call

	// The cost of a line is its length to the power of lengthPower, and more for
	// being a line at all, both in tokens.
	lengthPower = 0.85
	perLine     = 10.0

	// Of a line of code or output only a part may be taken, with so many plain words
	// around what it is taken for, unless it is shorter than wholeLine bytes.
	partWords = 3
	wholeLine = 50

	// A line that is worth less than this share of the best is left out though it
	// would fit.
	worthless = 0.0001
)

// spoken holds what a document says already, so that nothing is said twice.
type spoken struct {
	text  []byte           // all of it in lower case, each statement before a zero byte
	sizes []int            // how many words each statement has
	with  map[string][]int // the statements with a word
	both  []int            // for has: how many words of each statement the new one has
}

func (s *spoken) add(t string) {
	s.text = append(append(s.text, strings.ToLower(t)...), 0)
	words := wordSet(t)
	if s.with == nil {
		s.with = map[string][]int{}
	}
	for _, w := range words {
		s.with[w] = append(s.with[w], len(s.sizes))
	}
	s.sizes = append(s.sizes, len(words))
	s.both = append(s.both, 0)
}

// has reports whether a statement is a part of one that is there, or says nearly
// the same: two thirds of the words of both are in both.
func (s *spoken) has(t string) bool {
	low := strings.ToLower(strings.TrimRight(t, ".:!… "))
	if len(s.sizes) > 0 && bytes.Contains(s.text, []byte(low)) {
		return true
	}
	words := wordSet(t)
	if len(words) < 4 {
		return false
	}
	clear(s.both)
	for _, w := range words {
		for _, i := range s.with[w] {
			s.both[i]++
		}
	}
	for i, both := range s.both {
		if both*3 >= (len(words)+s.sizes[i]-both)*2 {
			return true
		}
	}
	return false
}

func wordSet(t string) []string {
	words := slices.Collect(contentWords(t))
	slices.Sort(words)
	return slices.Compact(words)
}

// leastPlain is the least share of a document that is plain words and the marks of
// its structure: a list of identifiers is no summary. Measured without handles.
const leastPlain = 0.37

// plainShare returns the share of a text, white space aside, that is letters of
// plain words or the marks at the beginning of lines.
func plainShare(s string) float64 {
	plain, all := 0, 0
	for line := range strings.SplitSeq(s, "\n") {
		if m := handleAtEnd().FindStringSubmatch(line); m != nil {
			line = m[1]
		}
		body := strings.TrimLeft(line, " #>-")
		marks := len(strings.ReplaceAll(line[:len(line)-len(body)], " ", ""))
		plain += marks
		all += marks
		at := 0
		for id := range text.Identifiers(body) {
			plain += wordLetters(body[at:max(at, id.At)])
			at = max(at, id.At+len(id.Text))
		}
		plain += wordLetters(body[at:])
		for _, r := range body {
			if !unicode.IsSpace(r) {
				all++
			}
		}
	}
	if all == 0 {
		return 1
	}
	return float64(plain) / float64(all)
}

// wordLetters counts the letters of words of two letters and more.
func wordLetters(s string) int {
	n, run := 0, 0
	for _, r := range s {
		switch {
		case text.Wide(r):
			n++
		case unicode.IsLetter(r):
			run++
			continue
		}
		if run > 1 {
			n += run
		}
		run = 0
	}
	if run > 1 {
		n += run
	}
	return n
}

// plain returns which part of a line is plain words.
func (l *factLine) plain() float64 {
	n := 0
	for _, sp := range l.spots {
		if sp.id < 0 {
			n += int(sp.to) - int(sp.from)
		}
	}
	return min(float64(n)/float64(max(len(l.text), 1)), 1)
}
