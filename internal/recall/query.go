package recall

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// Query says what to look for. The fields narrow down together.
type Query struct {
	// Text is words, best match first, and "phrases in quotes", each of which must
	// stand in a hit as it is, but for case and the width of white space. A quote
	// without its other half is a character like others. Without words and
	// phrases, everything that the other fields let through is a hit, newest first.
	Text string
	// Roles that hits may have. Default: all.
	Roles []message.Role
	// Tool names the tool that a hit calls or is the result of, in any case. A shell
	// run of the user counts as bash.
	Tool string
	// Path begins a path that a hit's call, or the call that a hit is the result of,
	// has among its arguments.
	Path string
	// Since and Until are ids of the first and the last entry, in the order of
	// the log, that may be a hit.
	Since, Until string
	// Only tells which entries may be hits. Default: all.
	Only func(id string) bool

	// Offset is how many hits to pass over. What Results.Next says goes on where the
	// last page ended, as long as nothing is appended.
	Offset int
	// Limit is how many hits to return. Default: 10; at most 100.
	Limit int
	// Snippet is how long the text around the best place of a hit may be, in bytes.
	// Default: 240; at most 4000.
	Snippet int
}

// Limits of a Query.
const (
	DefaultLimit   = 10
	MaxLimit       = 100
	DefaultSnippet = 240
	MaxSnippet     = 4000

	minSnippet = 20
	// maxQuery is how much of a query is read, in bytes.
	maxQuery = 4096
)

// ErrNoQuery says that a query asks for nothing.
var ErrNoQuery = errors.New("nothing to look for")

// parsed is the text of a query.
type parsed struct {
	terms   []queryTerm
	phrases []string // folded
}

type queryTerm struct {
	text string
	// hash asks for all hashes that begin so, and for those that this one begins with.
	hash bool
	// must says that it is a word of a phrase.
	must bool
}

// parse reads the text of a query. Any text is one.
func parse(s string) parsed {
	if len(s) > maxQuery {
		s = text.Head(s, maxQuery)
	}
	var p parsed
	at := map[string]int{}
	w := splitter{}
	must := false
	w.emit = func(term []byte, from, to int, k kind) {
		if k == kindPart && isWide(term) {
			return // the pairs say more
		}
		need := must && len(term) > 1 && (k == kindWord || k == kindHash)
		if i, ok := at[string(term)]; ok {
			p.terms[i].must = p.terms[i].must || need
			return
		}
		at[string(term)] = len(p.terms)
		p.terms = append(p.terms, queryTerm{text: string(term), hash: k == kindHash || isHexWord(term), must: need})
	}
	for s != "" {
		before, rest, ok := strings.Cut(s, `"`)
		phrase, after, closed := strings.Cut(rest, `"`)
		if !ok || !closed {
			w.split(s)
			break
		}
		must = false
		w.split(before)
		if folded := foldPhrase(phrase); folded != "" {
			must = true
			w.split(phrase)
			p.phrases = append(p.phrases, folded)
		}
		must, s = false, after
	}
	return p
}

// isHexWord reports whether a term may be the beginning of a hash, though it has
// digits or letters alone.
func isHexWord(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(b) >= minHash
}

func isWide(term []byte) bool {
	return classAt(string(term), 0).class == charWide
}

// folded calls fn with each character of a text as phrases are compared: folded, and with
// one space for all white space between two others; from and to are the bytes of the
// text that it stands for.
func folded(s string, fn func(r rune, from, to int)) {
	space := -1 // where the white space before began
	begun := false
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) {
			if space < 0 {
				space = i
			}
			i += n
			continue
		}
		if space >= 0 && begun {
			fn(' ', space, i)
		}
		space, begun = -1, true
		fn(fold(r), i, i+n)
		i += n
	}
}

// foldPhrase returns a text as findPhrase takes it.
func foldPhrase(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	folded(s, func(r rune, _, _ int) { b.WriteRune(r) })
	return b.String()
}

// findPhrase returns where a folded phrase stands in a text, in bytes, or -1. It takes
// time in proportion to the text, whatever the two are.
func findPhrase(s, phrase string) (from, to int) {
	at := strings.Index(foldPhrase(s), phrase)
	if at < 0 {
		return -1, -1
	}
	n := 0
	from, to = -1, -1
	folded(s, func(r rune, a, b int) {
		if n == at {
			from = a
		}
		if n += utf8.RuneLen(r); n == at+len(phrase) {
			to = b
		}
	})
	return from, to
}
