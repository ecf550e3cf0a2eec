package measure

import (
	"iter"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// Class is the kind of an identifier.
type Class uint8

// The classes, in the order in which a span is tried; each span belongs to one.
const (
	URL    Class = iota // http or https, without fragment and final slash
	Path                // two components or more; the last two stand for it
	File                // a name with a known extension
	UUID                // 8-4-4-4-12 hex digits
	Hash                // 7 to 40 hex digits with a digit and a letter
	Ref                 // #123, ABC-123
	Env                 // UPPER_SNAKE
	Ident               // snake_case, camelCase, PascalCase with an inner boundary
	Flag                // --word
	Number              // four digits or more, or dotted
	NumClasses
)

var classNames = [NumClasses]string{"url", "path", "file", "uuid", "hash", "ref", "env", "ident", "flag", "number"}

func (c Class) String() string {
	if c < NumClasses {
		return classNames[c]
	}
	return "?"
}

// ID is an identifier: a token that is of use only when it is spelled exactly so.
type ID struct {
	Class Class
	Text  string // the normal form, in which its spellings meet
	// From and To are the span of the whole token, which for a path is more than
	// Text.
	From, To int
}

// The least length of an identifier, in bytes.
const (
	minID  = 5
	minRef = 3
)

// Identifiers yields the identifiers of a text in order, repeated ones each time.
// Their letters are those of ASCII. Words of programming languages that merely look
// like identifiers are none.
func Identifiers(s string) iter.Seq[ID] {
	return func(yield func(ID) bool) {
		emit := func(c Class, text string, from, to int) bool {
			least := minID
			if c == Ref {
				least = minRef
			}
			return len(text) < least || stopID()[text] || yield(ID{c, text, from, to})
		}
		for i := 0; i < len(s); {
			k := charKind[s[i]]
			switch {
			case s[i] == '#':
				n := 0
				for i+1+n < len(s) && isDigit(s[i+1+n]) {
					n++
				}
				after := i + 1 + n
				if n > 0 && (after == len(s) || charKind[s[after]]&inWord == 0) && (i == 0 || charKind[s[i-1]]&inWord == 0) {
					if !emit(Ref, s[i:after], i, after) {
						return
					}
				}
				i = after
			case k&inRun == 0:
				i++
			default:
				if n := urlLen(s[i:]); n > 0 {
					u := s[i : i+n]
					if k := strings.IndexByte(u, '#'); k >= 0 {
						u = u[:k]
					}
					if !emit(URL, strings.TrimRight(u, "/"), i, i+n) {
						return
					}
					i += n
					continue
				}
				end := i + 1
				for end < len(s) && charKind[s[end]]&inRun != 0 {
					end++
				}
				if !run(s, i, end, emit) {
					return
				}
				i = end
			}
		}
	}
}

// run classifies s[from:end], a run of characters of names, paths and flags.
func run(s string, from, end int, emit func(Class, string, int, int) bool) bool {
	for end > from && strings.IndexByte("./-@~+", s[end-1]) >= 0 {
		end--
	}
	r := s[from:end]
	if len(r) < minRef {
		return true
	}
	if strings.IndexByte(r, '/') >= 0 {
		if text, ok := pathTail(r); ok {
			return emit(Path, text, from, end)
		}
		for at := from; at < end; {
			next := strings.IndexByte(s[at:end], '/')
			if next < 0 {
				next = end - at
			}
			if next > 0 && !run(s, at, at+next, emit) {
				return false
			}
			at += next + 1
		}
		return true
	}
	if strings.HasPrefix(r, "--") {
		if len(r) > 3 && isLetter(r[2]) && flagText(r[2:]) {
			return emit(Flag, r, from, end)
		}
	}
	for r != "" && strings.IndexByte(".-@~+", r[0]) >= 0 {
		r, from = r[1:], from+1
	}
	switch {
	case len(r) < minRef:
		return true
	case isFile(r):
		return emit(File, r, from, end)
	case isUUID(r):
		return emit(UUID, r, from, end)
	case isTicket(r):
		return emit(Ref, r, from, end)
	case isDotted(r):
		return emit(Number, r, from, end)
	}
	for i := 0; i < len(r); {
		if charKind[r[i]]&inWord == 0 {
			i++
			continue
		}
		j := i + 1
		for j < len(r) && charKind[r[j]]&inWord != 0 {
			j++
		}
		if c, ok := wordClass(r[i:j]); ok && !emit(c, r[i:j], from+i, from+j) {
			return false
		}
		i = j
	}
	return true
}

// pathTail returns the last two components of a path with at least two.
func pathTail(r string) (string, bool) {
	last := strings.LastIndexByte(r, '/')
	if last <= 0 {
		return "", false
	}
	before := strings.LastIndexByte(r[:last], '/')
	dir, name := r[before+1:last], r[last+1:]
	switch dir {
	case "", ".", "..", "~":
		return "", false
	}
	if !hasLetter(dir) && !hasLetter(name) {
		return "", false
	}
	return r[before+1:], true
}

func urlLen(s string) int {
	if len(s) < 9 || s[0] != 'h' || !strings.HasPrefix(s, "http") {
		return 0
	}
	n := len("http")
	if s[n] == 's' {
		n++
	}
	if !strings.HasPrefix(s[n:], "://") {
		return 0
	}
	n += len("://")
	start := n
	for n < len(s) && s[n] > ' ' && s[n] < 0x7f && strings.IndexByte("\"'`<>()[]{}|\\^", s[n]) < 0 {
		n++
	}
	for n > start && strings.IndexByte(".,;:!?*_", s[n-1]) >= 0 {
		n--
	}
	if n == start {
		return 0
	}
	return n
}

func wordClass(w string) (Class, bool) {
	var upper, lower, digit, inner, under bool
	hex := true
	for i := range len(w) {
		c := w[i]
		switch {
		case c == '_':
			under = under || i > 0 && i < len(w)-1
		case isDigit(c):
			digit = true
		case c >= 'a':
			lower = true
		default:
			upper = true
			inner = inner || i > 0 && (isLower(w[i-1]) || isDigit(w[i-1])) || i > 0 && i+1 < len(w) && w[i-1] != '_' && isLower(w[i+1])
		}
		hex = hex && charKind[c]&isHex != 0
	}
	switch {
	case !upper && !lower:
		return Number, digit && !under && len(w) >= 4
	case hex && digit && len(w) >= 7 && len(w) <= 40:
		return Hash, true
	case upper && !lower:
		return Env, under
	}
	return Ident, under || inner && lower
}

func isFile(r string) bool {
	dot := strings.LastIndexByte(r, '.')
	return dot > 0 && fileExt()[r[dot+1:]] && hasLetter(r[:dot])
}

func isUUID(r string) bool {
	if len(r) != 36 {
		return false
	}
	for i := range len(r) {
		switch i {
		case 8, 13, 18, 23:
			if r[i] != '-' {
				return false
			}
		default:
			if charKind[r[i]]&isHex == 0 {
				return false
			}
		}
	}
	return true
}

func isTicket(r string) bool {
	dash := strings.IndexByte(r, '-')
	if dash < 2 || dash > 10 || dash == len(r)-1 {
		return false
	}
	for i := range len(r) {
		if i < dash && (r[i] < 'A' || r[i] > 'Z') || i > dash && !isDigit(r[i]) {
			return false
		}
	}
	return true
}

func isDotted(r string) bool {
	if r[0] == 'v' {
		r = r[1:]
	}
	dots := 0
	for i := range len(r) {
		if r[i] == '.' {
			dots++
		} else if !isDigit(r[i]) {
			return false
		}
	}
	return dots > 0 && r[0] != '.'
}

func flagText(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && !isDigit(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

func hasLetter(s string) bool {
	for i := range len(s) {
		if isLetter(s[i]) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

const (
	inRun = 1 << iota
	inWord
	isHex
)

var charKind = func() (t [256]uint8) {
	for c := range 256 {
		b := byte(c)
		switch {
		case isLetter(b) || isDigit(b) || b == '_':
			t[c] = inRun | inWord
			if l := b | 0x20; isDigit(b) || l >= 'a' && l <= 'f' {
				t[c] |= isHex
			}
		case strings.IndexByte("./-@~+", b) >= 0:
			t[c] = inRun
		}
	}
	return t
}()

// fileExt are the extensions that make a name the name of a file.
var fileExt = text.Words(`
	adoc asm astro bat bib c cc cfg clj cljs cmake cmd conf cpp cs css csv cts cu cxx dart diff dockerfile
	ex exs erl fish fs gif go gql gradle graphql groovy h hcl hh hpp hrl hs htm html ico ini ipynb java jpeg
	jpg js json json5 jsonl jsx kt kts less lock log lua m md mdx mjs mk ml mli mod mts nim nix out patch pdf
	php pl plist pm png pony proto ps1 py pyi pyx rb rs rst sass scala scss sh snap sql sum svelte svg swift
	tar tex tf tfvars toml ts tsv tsx txt vue wasm webp xlsx xml yaml yml zig zip zsh`)

// stopID are words of languages and the names of things everybody knows, which
// look like identifiers.
var stopID = text.Words(`
	JavaScript TypeScript GitHub GitLab BitBucket PostgreSQL MySQL SQLite NodeJS DevOps OpenAI macOS
	console.log instanceof isinstance addEventListener removeEventListener toString parseInt parseFloat forEach
	hasOwnProperty getElementById querySelector innerHTML className useState useEffect setTimeout clearTimeout
	setInterval clearInterval __init__ __name__ __main__ __file__ TypeError ValueError KeyError RuntimeError
	dev/null bin/sh bin/bash IndexError AttributeError ImportError NotImplementedError StopIteration NaN undefined`)
