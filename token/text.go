package token

import (
	"encoding/binary"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/clew-dev/clew/internal/jsonx"
)

// heuristic estimates by what the characters of a text are and by what stands
// before them; see weights.
type heuristic struct {
	pricer
	family family
	pairs  *[1 << 16]uint16 // by the byte before and the byte itself
}

// HeuristicFor returns the counter that estimates by what characters are and by what
// stands before them, with weights for the tokenizer of the model and the model's price
// of images. Counting is linear and allocates nothing. A run of 64 or more characters
// that looks random, such as base64, costs two to three times as much as prose. A message
// costs its contents and an overhead. Where the text of thinking is withheld, its signature
// is counted instead. What is not sent costs nothing.
func HeuristicFor(provider, model string) Counter {
	f := familyOf(provider, model)
	return heuristicFor(f, imageRuleOf(f, provider, model))
}

func heuristicFor(f family, rule imageRule) *heuristic {
	if tables[f] == nil {
		f = universal
	}
	h := &heuristic{family: f, pairs: tables[f]()}
	h.pricer = pricer{words: h, w: weightsOf(f), image: rule}
	return h
}

// tables makes the table of each family when it is first needed.
var tables = map[family]func() *[1 << 16]uint16{
	claude: tableOf(claude), claude47: tableOf(claude47), gpt: tableOf(gpt), universal: tableOf(universal),
}

func tableOf(f family) func() *[1 << 16]uint16 {
	return sync.OnceValue(func() *[1 << 16]uint16 { w := weightsOf(f); return w.table() })
}

func (h *heuristic) Name() string { return "heuristic/" + string(h.family) }

func (h *heuristic) Text(s string) int64 { return tokens(h.text(s)) }

const (
	// runMin is how many letters, digits and signs of base64 in a row may be random
	// data. Paths and identifiers are shorter; a digest in hexadecimal has 64.
	runMin = 64
	// runProbe is the distance at which a text is probed for them: any runMin bytes
	// contain runProbe bytes that begin at a probe.
	runProbe = runMin / 2
)

func (h *heuristic) text(s string) millis {
	if len(s) < runMin {
		return h.sum(s, 0, len(s))
	}
	var n millis
	from := 0 // everything before it is weighed
	for i := 0; i+runProbe <= len(s); {
		if !random64[s[i]] || !random64[s[i+7]] || !random64[s[i+15]] || !random64[s[i+23]] || !random64[s[i+31]] {
			i += runProbe
			continue
		}
		start, end := i, i+1
		for start > from && random64[s[start-1]] {
			start--
		}
		for end < len(s) && random64[s[end]] {
			end++
		}
		if end-start >= runMin {
			if rate := h.runRate(s[:start], s[start:start+runMin]); rate > 0 {
				// The beginning keeps its cost as ordinary text if that is higher, so that
				// one more character never makes a run cheaper.
				head := max(h.sum(s, start, start+runMin), runMin*rate)
				n += h.sum(s, from, start) + head + millis(end-start-runMin)*rate
				from = end
			}
		}
		i = max(i+runProbe, end)
	}
	return n + h.sum(s, from, len(s))
}

// sum adds up the weights of s[from:to]. A text begins as if after a blank. A string never
// changes, and so the race detector has nothing to find here.
//
//go:norace
func (h *heuristic) sum(s string, from, to int) (n millis) {
	t := h.pairs
	before := uint64(' ')
	if from > 0 {
		before = uint64(s[from-1])
	}
	s = s[from:to]
	for len(s) >= 8 {
		w := binary.BigEndian.Uint64([]byte(s[:8]))
		n += millis(uint32(t[uint16(before<<8|w>>56)]) + uint32(t[uint16(w>>48)]) + uint32(t[uint16(w>>40)]) + uint32(t[uint16(w>>32)]) +
			uint32(t[uint16(w>>24)]) + uint32(t[uint16(w>>16)]) + uint32(t[uint16(w>>8)]) + uint32(t[uint16(w)]))
		before = w
		s = s[8:]
	}
	for i := range len(s) {
		before = before<<8 | uint64(s[i])
		n += millis(t[uint16(before)])
	}
	return n
}

// runRate returns the weight of a character of a run after its first runMin, which are
// head, or 0 when it does not look random: when it is no hexadecimal dump, has not
// different letters of one case as DNA has, and does not change between capitals, small
// letters, digits and signs as often as base64. Of runMin characters of that, 40 differ in
// kind from the one before, give or take 4; of the longest paths and names, fewer than 20.
func (h *heuristic) runRate(before, head string) millis {
	const changesMin = 26
	var count [4]int // digits, small letters, capitals, signs
	kind, changes, hex, differ := -1, 0, true, false
	for i := range len(head) {
		c, k := head[i], 3
		switch {
		case digit(c):
			k = 0
		case 'a' <= c && c <= 'z':
			k = 1
		case 'A' <= c && c <= 'Z':
			k = 2
		}
		if k != kind {
			kind = k
			changes++
		}
		count[k]++
		hex = hex && (k == 0 || k < 3 && c|0x20 <= 'f')
		differ = differ || c != head[0]
	}
	oneCase := (count[1] > 0) != (count[2] > 0)
	switch {
	case hex && count[0] > 0 && oneCase, count[0]+count[3] == 0 && oneCase && differ:
		return millis(h.w.hex)
	case changes >= changesMin && count[0] > 0, strings.HasSuffix(before, ";base64,"): // a blank bitmap is a row of As
		return millis(h.w.base64)
	}
	return 0
}

// random64 has the characters of base64 in both its alphabets, which include those of
// hexadecimal.
var random64 = func() (set [256]bool) {
	for c := range set {
		set[c] = digit(byte(c)) || letter(byte(c)) || strings.IndexByte("+-/_", byte(c)) >= 0
	}
	return set
}()

// appendSent appends a JSON value as it is sent: without white space between its
// parts, and with characters spelled \uXXXX as themselves.
func appendSent(dst, raw []byte) []byte {
	quoted := false
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			i++
			continue
		case quoted && c == '\\' && i+1 < len(raw):
			if raw[i+1] != 'u' {
				dst, i = append(dst, c, raw[i+1]), i+2
				continue
			}
			r, size := jsonx.Unescape(raw[i:])
			if r < 0 {
				dst = append(dst, raw[i:i+size]...)
			} else {
				dst = utf8.AppendRune(dst, r)
			}
			i += size
			continue
		}
		dst, i = append(dst, c), i+1
	}
	return dst
}

// asString returns the bytes as a string without copying them.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
