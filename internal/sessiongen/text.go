package sessiongen

import (
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"strconv"
	"strings"
)

// rng is the splitmix64 generator. It is written out here so that a seed means
// the same session under every Go version, and it uses integers only where a
// rounding difference between processors could change the result.
type rng struct{ state uint64 }

func (r *rng) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n returns a number in [0, limit); 0 when limit is not positive.
func (r *rng) n(limit int) int {
	if limit <= 0 {
		return 0
	}
	hi, _ := bits.Mul64(r.next(), uint64(limit))
	return int(hi)
}

// between returns a number in [lo, hi].
func (r *rng) between(lo, hi int) int { return lo + r.n(hi-lo+1) }

// chance is true with probability p.
func (r *rng) chance(p float64) bool { return float64(r.next()>>11)/(1<<53) < p }

// size returns a number in [1, limit] of which each order of magnitude is equally likely.
func (r *rng) size(limit int) int {
	if limit <= 1 {
		return 1
	}
	top := 1 << r.between(1, bits.Len(uint(limit)))
	return min(limit, r.between(max(1, top/2), top))
}

func pick[T any](r *rng, from []T) T { return from[r.n(len(from))] }

// digits returns n of the digits.
func (r *rng) digits(n int, digits string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[r.n(len(digits))]
	}
	return string(b)
}

func (r *rng) hex(n int) string { return r.digits(n, "0123456789abcdef") }

func (r *rng) base64(n int) string {
	return r.digits(n/4*4+4, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
}

// uuid returns text in the form of a version 7 UUID.
func (r *rng) uuid() string {
	return r.hex(8) + "-" + r.hex(4) + "-7" + r.hex(3) + "-" + pick(r, []string{"8", "9", "a", "b"}) + r.hex(3) + "-" + r.hex(12)
}

// Texts are made as the raw inside of a JSON string: what is in lines.txt is
// written to the session as it stands. That is how one character comes to be
// written in several ways ("é", "\u00e9"), and how halves of surrogate pairs,
// which no Go string can hold, get into a file.
//
//go:embed lines.txt
var linesFile string

var (
	lines = readLines()
	words = strings.Fields(strings.Join(lines["words"], " "))
)

// readLines reads the sections of lines.txt, each under its name.
func readLines() map[string][]string {
	all, name := map[string][]string{}, ""
	for _, line := range strings.Split(strings.TrimSuffix(linesFile, "\n"), "\n") {
		if to, ok := strings.CutPrefix(line, "== "); ok {
			name = to
		} else {
			all[name] = append(all[name], line)
		}
	}
	return all
}

// text returns about size bytes of one kind of content, or of a mix. What it
// uses of scripts and emoji is counted as a feature of the session.
func (g *gen) text(size int) string {
	var b strings.Builder
	cjk, emoji, lone := g.r.chance(g.o.Odds.CJK), g.r.chance(g.o.Odds.Emoji), g.r.chance(g.o.Odds.Surrogate)
	odd := g.r.chance(0.3)
	kind := pick(&g.r, []string{"", "", "", "code", "code", "diff", "log", "log", "json"})
	if cjk && g.r.chance(0.5) {
		kind = "cjk"
	}
	for b.Len() < size {
		if kind != "" {
			b.WriteString(pick(&g.r, lines[kind]))
		} else {
			g.sentence(&b)
		}
		if g.r.chance(0.3) {
			switch {
			case cjk && g.r.chance(0.6):
				b.WriteString(pick(&g.r, lines["cjk"]))
			case emoji && g.r.chance(0.6):
				b.WriteString(pick(&g.r, lines["emoji"]))
			case odd:
				b.WriteString(pick(&g.r, lines["odd"]))
			}
		}
	}
	// What was drawn is there at least once, however short the text is.
	if cjk {
		b.WriteString(pick(&g.r, lines["cjk"]))
		g.mark(CJK)
	}
	if emoji {
		b.WriteString(pick(&g.r, lines["emoji"][:9]))
		g.mark(Emoji)
	}
	if lone {
		// The letter before keeps two such texts from making a pair between them.
		b.WriteString("x" + pick(&g.r, lines["surrogates"]) + "x")
		g.mark(LoneSurrogates)
	}
	return b.String()
}

func (g *gen) sentence(b *strings.Builder) {
	for i := range g.r.between(2, 14) {
		if i > 0 {
			b.WriteByte(' ')
		}
		if g.r.chance(0.05) {
			b.WriteString(pick(&g.r, lines["paths"]))
		} else {
			b.WriteString(pick(&g.r, words))
		}
	}
	b.WriteString(pick(&g.r, []string{". ", ". ", ".\\n", "? ", ":\\n", "\\n\\n- ", ", "}))
}

// huge returns size bytes and a little more: numbered lines around a few kinds
// of content, made quickly.
func (g *gen) huge(size int) string {
	block := g.text(4096)
	var b strings.Builder
	for i := 1; b.Len() < size; i++ {
		b.WriteString(strconv.Itoa(i) + ": " + block + `\n`)
	}
	return b.String()
}

// shortText is for names, labels and commands.
func (g *gen) shortText() string {
	some := make([]string, g.r.between(1, 4))
	for i := range some {
		some[i] = pick(&g.r, words)
	}
	text := strings.Join(some, " ")
	if g.r.chance(g.o.Odds.CJK / 2) {
		text += pick(&g.r, lines["cjk"])
		g.mark(CJK)
	}
	return text
}

// fill returns a template with its places filled in, from left to right:
//
//	«t 120»       text of up to 120 bytes; U, A and R are the bounds of the options
//	«s» «w» «p»   a short text, a word, a path
//	«h 8» «b 60»  8 hex digits, base64 of up to about 60 characters
//	«n 100»       a number below 100
//	«1 100»       a number from 1 to 100
//	«f 0.3»       true with probability 0.3, otherwise false
//	«| a|b|c»     one of the alternatives
//	«? 0.3 X»     X with probability 0.3
//	«! 0.3 X»     X unless it is drawn
func (g *gen) fill(template string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(template, "«")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		end, depth := 0, 1
		for ; depth > 0; end++ {
			switch {
			case strings.HasPrefix(rest[end:], "«"):
				depth++
			case strings.HasPrefix(rest[end:], "»"):
				depth--
			}
		}
		b.WriteString(g.place(rest[:end-1]))
		template = rest[end-1+len("»"):]
	}
}

// place fills in one place of a template.
func (g *gen) place(s string) string {
	what, arg, _ := strings.Cut(s, " ")
	switch what {
	case "s":
		return g.shortText()
	case "w":
		return pick(&g.r, words)
	case "p":
		return pick(&g.r, lines["paths"])
	case "|":
		return pick(&g.r, strings.Split(arg, "|"))
	case "?", "!":
		p, part, _ := strings.Cut(arg, " ")
		if g.r.chance(number(p)) != (what == "?") {
			return ""
		}
		return g.fill(part)
	case "f":
		return strconv.FormatBool(g.r.chance(number(arg)))
	}
	limit, ok := map[string]int{"U": g.o.UserBytes, "A": g.o.AnswerBytes, "R": g.o.ResultBytes}[arg]
	if !ok {
		limit = int(number(arg))
	}
	switch what {
	case "t":
		return g.text(g.r.size(limit))
	case "h":
		return g.r.hex(limit)
	case "b":
		return g.r.base64(g.r.size(limit))
	case "n":
		return strconv.Itoa(g.r.n(limit))
	case "1":
		return strconv.Itoa(g.r.between(1, limit))
	}
	panic(fmt.Sprintf("sessiongen: a template has the place %q", s))
}

func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(err)
	}
	return f
}

// imageBlock returns a content block with an image whose header is true: the
// size can be read from it. The pixels of the larger ones are cut short.
func (g *gen) imageBlock() string {
	g.mark(Images)
	if !g.o.WellFormed && g.r.chance(0.15) {
		return `{"type":"image","data":"aGk=","mimeType":"image/png"}` // is no image
	}
	size := pick(&g.r, [][2]int{{1, 1}, {16, 9}, {120, 80}, {640, 480}, {1568, 882}, {1920, 1080}, {3000, 4000}})
	kind, data := "image/png", png(size[0], size[1])
	if g.r.chance(0.3) {
		kind, data = "image/jpeg", jpeg(size[0], size[1])
	}
	return `{"type":"image","data":"` + base64.StdEncoding.EncodeToString(data) + `","mimeType":"` + kind + `"}`
}

// png writes a black picture, one bit a pixel, uncompressed and of at most 1 kB.
func png(w, h int) []byte {
	be, le := binary.BigEndian, binary.LittleEndian
	b := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, data []byte) {
		body := append([]byte(kind), data...)
		b = append(be.AppendUint32(b, uint32(len(data))), body...)
		b = be.AppendUint32(b, crc32.ChecksumIEEE(body))
	}
	chunk("IHDR", append(be.AppendUint32(be.AppendUint32(nil, uint32(w)), uint32(h)), 1, 0, 0, 0, 0))
	rows := make([]byte, min(1000, h*(1+(w+7)/8)))
	pixels := le.AppendUint16([]byte{0x78, 0x01, 0x01}, uint16(len(rows)))
	pixels = append(le.AppendUint16(pixels, ^uint16(len(rows))), rows...)
	// All bytes are zero, so the Adler-32 sum is the count in its upper half and 1 in its lower.
	chunk("IDAT", be.AppendUint32(pixels, uint32(len(rows))<<16|1))
	chunk("IEND", nil)
	return b
}

// jpeg writes the markers up to the frame header and the end marker.
func jpeg(w, h int) []byte {
	b := []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xc0\x00\x0b\x08")
	b = binary.BigEndian.AppendUint16(b, uint16(h))
	b = binary.BigEndian.AppendUint16(b, uint16(w))
	return append(b, "\x01\x01\x11\x00\xff\xd9"...)
}
