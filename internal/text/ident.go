package text

import (
	"iter"
	"strings"
)

// Class says what kind of identifier a token is.
type Class uint8

// The classes, in the order in which a token is tried.
const (
	URL    Class = iota + 1 // http or https
	Path                    // two components or more; Text is the last two
	File                    // a name with a known extension
	UUID                    // 8-4-4-4-12 hex digits
	Hash                    // 7 to 40 hex digits with a digit and a letter
	Ref                     // #123, ABC-123
	Env                     // UPPER_SNAKE
	Ident                   // snake_case, camelCase, PascalCase with an inner boundary
	Flag                    // --word
	Number                  // four digits or more, or dotted
)

// Identifier is a token that stands for one particular thing, so that it is of
// use only when it is spelled exactly so.
type Identifier struct {
	Class Class
	// Text is the token in the form in which its spellings meet: of a path the
	// last two components, of a URL what comes before a fragment.
	Text string
	// At is the index of Text in the text that was searched.
	At int
}

// Identifiers yields the identifiers of s in order, repeated ones each time.
// Tokens shorter than five bytes (a Ref: three) and words of programming
// languages are none.
func Identifiers(s string) iter.Seq[Identifier] {
	return func(yield func(Identifier) bool) {
		for i := 0; i < len(s); {
			if charOf[s[i]]&inToken == 0 {
				if s[i] == '#' {
					n := len(s) - i - 1 - len(strings.TrimLeft(s[i+1:], digits))
					if n >= 2 && (i == 0 || charOf[s[i-1]]&inToken == 0) {
						if !yield(Identifier{Ref, s[i : i+1+n], i}) {
							return
						}
						i += n
					}
				}
				i++
				continue
			}
			if n := urlAt(s[i:]); n > 0 {
				if !yield(Identifier{URL, trimURL(s[i : i+n]), i}) {
					return
				}
				i += n
				continue
			}
			end, kinds := i, uint8(0)
			for end < len(s) && charOf[s[end]]&inToken != 0 {
				kinds |= charOf[s[end]]
				end++
			}
			// Most are plain words of lower-case letters.
			if kinds&notPlain != 0 && !token(s, i, end, yield) {
				return
			}
			i = end
		}
	}
}

// token classifies s[from:end], a run of token characters.
func token(s string, from, end int, yield func(Identifier) bool) bool {
	for end > from && strings.IndexByte("./-@~", s[end-1]) >= 0 {
		end--
	}
	run := s[from:end]
	if len(run) < 3 {
		return true
	}
	if strings.IndexByte(run, '/') >= 0 {
		if at, ok := pathTail(run); ok {
			return len(run)-at < minLength || yield(Identifier{Path, run[at:], from + at})
		}
		for part, at := range runs(run, inPart) {
			if !token(s, from+at, from+at+len(part), yield) {
				return false
			}
		}
		return true
	}
	if strings.HasPrefix(run, "--") {
		if len(run) >= 6 && letter(rune(run[2])) && !strings.ContainsFunc(run[2:], noFlag) {
			return yield(Identifier{Flag, run, from})
		}
		return token(s, from+2, end, yield)
	}
	for run != "" && strings.IndexByte(".-@~", run[0]) >= 0 {
		run, from = run[1:], from+1
	}
	if len(run) < 3 {
		return true
	}
	switch {
	case knownFile(run):
		return len(run) < minLength || yield(Identifier{File, run, from})
	case len(run) == 36 && uuidForm().MatchString(run):
		return yield(Identifier{UUID, run, from})
	case run[0] <= 'Z' && refForm().MatchString(run):
		return yield(Identifier{Ref, run, from})
	case dotted(run):
		return len(run) < minLength || yield(Identifier{Number, run, from})
	}
	for word, at := range runs(run, inWord) {
		if c := wordClass(word); c != 0 && !yield(Identifier{c, word, from + at}) {
			return false
		}
	}
	return true
}

const minLength = 5

func wordClass(w string) Class {
	if len(w) < minLength {
		if len(w) == 4 && AllDigits(w) {
			return Number
		}
		return 0
	}
	upper, lower, digit, under, hexOnly, inner := false, false, false, false, true, false
	for i := range len(w) {
		c := w[i]
		k := charOf[c]
		switch {
		case c == '_':
			under = under || i > 0 && i < len(w)-1
		case k&isDigit != 0:
			digit = true
		case c >= 'a':
			lower = true
		default:
			upper = true
			inner = inner || i > 0 && w[i-1] >= 'a' || i > 0 && i+1 < len(w) && w[i-1] != '_' && w[i+1] >= 'a'
		}
		hexOnly = hexOnly && k&isHex != 0
	}
	switch {
	case !upper && !lower:
		if digit && !under {
			return Number
		}
		return 0
	case hexOnly && digit && (!upper || !lower) && len(w) >= 7 && len(w) <= 40:
		return Hash
	case !under && (!inner || !lower) || keyword()[w]:
		return 0
	case upper && !lower:
		return Env
	}
	return Ident
}

// pathTail returns where the last two components of a path begin.
func pathTail(run string) (at int, ok bool) {
	last := strings.LastIndexByte(run, '/')
	if last < 1 || last == len(run)-1 {
		return 0, false
	}
	before := strings.LastIndexByte(run[:last], '/')
	dir := run[before+1 : last]
	if dir == "" || dir == "." || dir == ".." || dir == "~" || !hasLetter(run[last+1:]) && !hasLetter(dir) {
		return 0, false
	}
	return before + 1, true
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, letter) }

// The forms of tokens that are rare enough for a regular expression.
var (
	// urlForm ends with a character that ends no sentence.
	urlForm  = Pattern(`^https?://[!#-&*-;=?-Z_a-z~]*[#-&+\-/-9=@-Za-z~]`)
	uuidForm = Pattern(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	refForm  = Pattern(`^[A-Z]{2,10}-[0-9]+$`)
)

// urlAt returns the length of the URL that s begins with, or 0.
func urlAt(s string) int {
	if len(s) < 9 || !strings.HasPrefix(s, "http") {
		return 0
	}
	return len(urlForm().FindString(s))
}

func trimURL(u string) string {
	if k := strings.IndexByte(u, '#'); k > 0 {
		u = u[:k]
	}
	return strings.TrimSuffix(u, "/")
}

func knownFile(run string) bool {
	dot := strings.LastIndexByte(run, '.')
	return dot > 0 && len(run)-dot-1 <= 10 && extension()[run[dot+1:]] && hasLetter(run[:dot])
}

// dotted matches 1.2.3, v1.2 and 0.5.
func dotted(w string) bool {
	w = strings.TrimPrefix(w, "v")
	return w[0] != '.' && strings.IndexByte(w, '.') > 0 && strings.Trim(w, digits+".") == ""
}

const digits = "0123456789"

// AllDigits reports whether s is a whole number without a sign.
func AllDigits(s string) bool { return s != "" && strings.Trim(s, digits) == "" }

// noFlag matches what no flag has behind its dashes.
func noFlag(c rune) bool { return c == '_' || c != '-' && charOf[c]&inWord == 0 }

// runs yields the runs of characters of a kind in s, and where they begin.
func runs(s string, kind uint8) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		from := 0
		for i := 0; i <= len(s); i++ {
			if i == len(s) || charOf[s[i]]&kind == 0 {
				if i > from && !yield(s[from:i], from) {
					return
				}
				from = i + 1
			}
		}
	}
}

func letter(c rune) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

const (
	inToken = 1 << iota
	inWord
	inPart // of a path
	isDigit
	isHex
	notPlain // a sign, a digit, an underscore or a capital
)

var charOf = func() (t [256]uint8) {
	for c := range 256 {
		switch {
		case letter(rune(c)) || c == '_':
			t[c] = inToken | inWord | inPart
			if l := c | 0x20; l >= 'a' && l <= 'f' {
				t[c] |= isHex
			}
			if c < 'a' {
				t[c] |= notPlain
			}
		case c >= '0' && c <= '9':
			t[c] = inToken | inWord | inPart | isDigit | isHex | notPlain
		case strings.IndexByte("./-@~", byte(c)) >= 0:
			t[c] = inToken | inPart | notPlain
		}
	}
	t['/'] &^= inPart
	return t
}()

// extension holds the file name extensions that make a name a File.
var extension = Words(`go mod sum ts tsx js jsx mjs cjs mts cts json jsonl json5 md mdx markdown txt rst py pyi ipynb
	rs toml yaml yml lock c h cc cpp cxx hpp hh m mm java kt kts scala clj rb erb php cs fs swift dart lua pl pm
	r jl ex exs erl hs ml mli zig nim sh bash zsh fish ps1 bat cmd sql graphql gql proto html htm css scss sass
	less vue svelte astro xml svg png jpg jpeg gif webp ico pdf csv tsv log ini cfg conf env properties gradle
	cmake mk tf tfvars hcl nix dockerfile patch diff snap tmpl tpl wasm zip gz tar xlsx docx pony pkl`)

// keyword holds words that look like identifiers and are not.
var keyword = Words(`JavaScript TypeScript GitHub GitLab NodeJS instanceof isinstance addEventListener toString
	parseInt parseFloat forEach hasOwnProperty getElementById innerHTML className useState useEffect __init__
	__name__ __main__ setTimeout clearTimeout setInterval clearInterval console_log readonly`)
