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

// ErrNoQuery: a query that says nothing.
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

// foldPhrase returns a phrase as findPhrase takes it: folded, with single spaces.
func foldPhrase(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(fold(r))
	}
	return b.String()
}

// findPhrase returns where a folded phrase stands in a text, in bytes, or -1.
func findPhrase(s, phrase string) (from, to int) {
	first, _ := utf8.DecodeRuneInString(phrase)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if fold(r) == first {
			if end := matchPhrase(s, i, phrase); end >= 0 {
				return i, end
			}
		}
		i += n
	}
	return -1, -1
}

func matchPhrase(s string, i int, phrase string) int {
	for _, want := range phrase {
		if i >= len(s) {
			return -1
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if want == ' ' {
			if !unicode.IsSpace(r) {
				return -1
			}
			for i < len(s) {
				if r, n = utf8.DecodeRuneInString(s[i:]); !unicode.IsSpace(r) {
					break
				}
				i += n
			}
			continue
		}
		if fold(r) != want {
			return -1
		}
		i += n
	}
	return i
}
