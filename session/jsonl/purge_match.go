package jsonl

import (
	"bytes"
	"index/suffixarray"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
)

// span is a part of a text.
type span struct{ from, to int }

// spellings returns the forms in which a text may stand in a string of a session:
// as it is, and as other programs escape it in JSON or in URLs, the longest first.
// Of a text of several lines every long line counts alone, for summaries quote
// and indent lines.
func spellings(s string) []string {
	forms := []string{s}
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); len(line) >= 16 {
			forms = append(forms, line)
		}
	}
	plain := len(forms)
	for _, f := range forms[:plain] {
		once := []string{inJSON(f, false), inJSON(f, true), strings.ReplaceAll(inJSON(f, false), "/", `\/`), inHTMLJSON(f)}
		for _, o := range once {
			forms = append(forms, o, inJSON(o, false))
		}
		forms = append(forms, url.QueryEscape(f), url.PathEscape(f))
	}
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(forms)
}

// inJSON returns what stands between the quotes of a JSON string.
func inJSON(s string, asciiOnly bool) string {
	q := jsonx.Quote(s)
	s = string(q[1 : len(q)-1])
	if !asciiOnly {
		return s
	}
	a := strconv.QuoteToASCII(s)
	a = strings.ReplaceAll(a[1:len(a)-1], `\\`, `\`)
	return strings.ReplaceAll(a, `\"`, `"`)
}

// inHTMLJSON is inJSON for writers that make JSON safe for HTML.
func inHTMLJSON(s string) string {
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(inJSON(s, false))
}

// findAll returns where any of the forms stands in s, without overlaps.
func findAll(s string, forms []string) (found []span) {
	for _, f := range forms {
		for at := 0; ; {
			k := strings.Index(s[at:], f)
			if k < 0 {
				break
			}
			from := at + k
			at = from + len(f)
			if !slices.ContainsFunc(found, func(o span) bool { return from < o.to && o.from < at }) {
				found = append(found, span{from, at})
			}
		}
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	return found
}

// redact puts the marker in the place of spans.
func redact(s string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		b.WriteString(s[at:sp.from])
		b.WriteString(PurgeMarker)
		at = sp.to
	}
	b.WriteString(s[at:])
	return b.String()
}

// matcher finds parts of texts that are to go in texts that were made of them:
// summaries, quotes, excerpts.
type matcher struct {
	array *suffixarray.Index
}

// Lengths of matches, in bytes: from longMatch on any part counts; from
// shortMatch on, one that begins and ends where a word does.
const (
	shortMatch = 4
	longMatch  = 12
)

func newMatcher(texts []string) *matcher {
	return &matcher{suffixarray.New([]byte(strings.Join(texts, "\x00")))}
}

func (m *matcher) has(s string) bool { return len(m.array.Lookup([]byte(s), 1)) > 0 }

// longest returns how many bytes of s, from its beginning, stand in the texts.
func (m *matcher) longest(s string) int {
	lo, hi := 0, min(shortMatch, len(s)) // lo bytes stand there, hi may
	for m.has(s[:hi]) {
		if lo = hi; lo == len(s) {
			return lo
		}
		hi = min(2*hi, len(s))
	}
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if m.has(s[:mid]) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// shared returns the parts of s that stand in the texts too.
func (m *matcher) shared(s string) (found []span) {
	heading := strings.HasPrefix(s, "#")
	for i := 0; i < len(s); {
		n := 0
		if i+shortMatch <= len(s) && m.has(s[i:i+shortMatch]) {
			n = m.longest(s[i:])
		}
		n = wholeRunes(s, i, n)
		if n < longMatch {
			n = wholeWords(s, i, n)
			if heading {
				n = 0
			}
		}
		if n < shortMatch || !telling(s[i:i+n]) {
			if s[i] == '\n' {
				heading = strings.HasPrefix(s[i+1:], "#")
			}
			i++
			continue
		}
		// White space around it is no part of it: lines stay lines.
		part := strings.TrimSpace(s[i : i+n])
		from := i + strings.Index(s[i:], part)
		found = append(found, span{from, from + len(part)})
		if k := strings.LastIndexByte(s[i:i+n], '\n'); k >= 0 {
			heading = strings.HasPrefix(s[i+k+1:], "#")
		}
		i += n
	}
	return found
}

func wholeRunes(s string, from, n int) int {
	if n == 0 || !utf8.RuneStart(s[from]) {
		return 0
	}
	for n > 0 && from+n < len(s) && !utf8.RuneStart(s[from+n]) {
		n--
	}
	return n
}

// wholeWords shortens a match to the words that are whole in it; 0 when it begins
// inside one.
func wholeWords(s string, from, n int) int {
	if wordAt(s, from-1) && wordAt(s, from) {
		return 0
	}
	for n > 0 && wordAt(s, from+n-1) && wordAt(s, from+n) {
		n--
	}
	return n
}

func wordAt(s string, i int) bool {
	if i < 0 || i >= len(s) {
		return false
	}
	c := s[i]
	return c >= utf8.RuneSelf || c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// telling reports whether a match has enough letters and digits to say something.
func telling(s string) bool {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n >= shortMatch
}

// secretLike returns the parts of a text that look like keys and tokens: long
// runs of letters and digits mixed.
func secretLike(s string) (words []string) {
	part := func(r rune) bool {
		return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("_+=-", r)
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return !part(r) }) {
		if len(word) >= 16 && strings.ContainsAny(word, "0123456789") && strings.IndexFunc(word, unicode.IsLetter) >= 0 {
			words = append(words, word)
		}
	}
	return words
}

// loose decodes the escapes of JSON strings in bytes that may be no JSON; at[i] is
// where byte i of the text stands in the bytes, and at[len(text)] is their end.
func loose(data []byte) (text string, at []int) {
	var b strings.Builder
	add := func(from int, s string) {
		for range len(s) {
			at = append(at, from)
		}
		b.WriteString(s)
	}
	for i := 0; i < len(data); {
		if data[i] != '\\' || i+1 == len(data) {
			add(i, string(data[i]))
			i++
			continue
		}
		switch c := data[i+1]; c {
		case 'n', 't', 'r', 'b', 'f':
			add(i, map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f"}[c])
			i += 2
		case 'u':
			n := unicodeEscape(data[i:])
			if n == 0 {
				add(i, `\`)
				i++
				continue
			}
			s, _ := jsonx.String(slices.Concat([]byte{'"'}, data[i:i+n], []byte{'"'}))
			add(i, s)
			i += n
		default:
			add(i, string(c))
			i += 2
		}
	}
	return b.String(), append(at, len(data))
}

// unicodeEscape returns the length of the escape, or pair of them, that data begins
// with; 0 when there is none.
func unicodeEscape(data []byte) int {
	hex := func(d []byte) (uint64, bool) {
		if len(d) < 6 || d[0] != '\\' || d[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(d[2:6]), 16, 16)
		return n, err == nil
	}
	first, ok := hex(data)
	if !ok {
		return 0
	}
	if second, ok := hex(data[6:]); ok && first>>10 == 0xd8>>2 && second>>10 == 0xdc>>2 {
		return 12
	}
	return 6
}

// blot overwrites parts of data, given by spans of its loose decoding.
func blot(data []byte, at []int, spans []span) []byte {
	out := bytes.Clone(data)
	for _, sp := range spans {
		for i := at[sp.from]; i < at[sp.to]; i++ {
			out[i] = '*'
		}
	}
	return out
}
