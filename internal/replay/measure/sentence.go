package measure

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// The rules of instruction retention.
const (
	minSentence = 8   // UTF-16 units
	maxSentence = 400 // UTF-16 units
	shingle     = 5   // words
	keptShare   = .6  // of the shingles
)

// Sentence is a sentence of the user.
type Sentence struct {
	Text string
	// Constraint says that it has a word of obligation or prohibition.
	Constraint bool
	words      []string
}

var (
	fence = text.Pattern("(?s)```.*?(```|$)")
	tag   = text.Pattern(`</?[A-Za-z][^<>]*>`)
	// constraintWord finds a word of obligation in the languages that have been
	// thought of.
	constraintWord = text.Pattern(`(?i)\b(must|never|don['’]?t|do not|always|only|instead|make sure)\b` +
		`|必须|不要|不能|只|一定|请用|してはいけない|必ず|반드시|하지 ?마`)
)

// Sentences returns the sentences of what a user typed. Code between fences, tables
// and lines with tags have none; nor have sentences that are shorter than eight or
// longer than 400 UTF-16 units.
func Sentences(text string) []Sentence {
	var out []Sentence
	text = fence().ReplaceAllString(text, "\n")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "|") || strings.Count(line, " | ") > 1 || tag().MatchString(line) {
			continue
		}
		splitSentences(line, func(s string) {
			s = strings.TrimSpace(s)
			if n := Units(s); n < minSentence || n > maxSentence {
				return
			}
			if words := sentenceWords(s); len(words) > 0 {
				out = append(out, Sentence{s, constraintWord().MatchString(s), words})
			}
		})
	}
	return out
}

// splitSentences splits a line at the end marks. Those of ASCII end a sentence only
// before a space, for they also stand in names of files and in numbers.
func splitSentences(line string, fn func(s string)) {
	from := 0
	for i, r := range line {
		switch r {
		case '.', '!', '?':
			if next := i + 1; next < len(line) && line[next] != ' ' && line[next] != '\t' {
				continue
			}
		case '。', '！', '？':
		default:
			continue
		}
		fn(line[from:i])
		from = i + utf8.RuneLen(r)
	}
	fn(line[from:])
}

// sentenceWords returns the words of a text in lower case: runs of letters, digits
// and _ . / - , and each character of an unspaced script by itself.
func sentenceWords(s string) []string {
	var words []string
	from := -1
	flush := func(to int) {
		if from >= 0 {
			if w := strings.TrimRight(s[from:to], "./-"); w != "" {
				words = append(words, strings.ToLower(w))
			}
		}
		from = -1
	}
	for i, r := range s {
		switch {
		case unspaced(r):
			flush(i)
			words = append(words, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || r == '_' || r == '.' || r == '/' || r == '-':
			if from < 0 {
				from = i
			}
		default:
			flush(i)
		}
	}
	flush(len(s))
	return words
}

// spoken is a text in which sentences are looked for.
type spoken struct {
	joined   string // the words, each between spaces
	shingles map[string]bool
}

func spokenOf(text string) *spoken {
	words := sentenceWords(text)
	s := &spoken{joined: " " + strings.Join(words, " ") + " ", shingles: map[string]bool{}}
	for i := 0; i+shingle <= len(words); i++ {
		s.shingles[strings.Join(words[i:i+shingle], " ")] = true
	}
	return s
}

// keeps reports whether a sentence is there word for word, or nearly: six tenths of
// its runs of five words, or all of it where it is shorter.
func (s *spoken) keeps(sentence *Sentence) bool {
	w := sentence.words
	if len(w) < shingle {
		return strings.Contains(s.joined, " "+strings.Join(w, " ")+" ")
	}
	found, all := 0, len(w)-shingle+1
	for i := range all {
		if s.shingles[strings.Join(w[i:i+shingle], " ")] {
			found++
		}
	}
	return float64(found) >= keptShare*float64(all)
}
