package oracle

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/clew-dev/clew/internal/bpe"
)

// pair is our encoding and the other one.
type pair struct {
	ours   *bpe.Encoding
	theirs *tiktoken.Tiktoken
}

func pairs(t *testing.T) (all []pair) {
	t.Helper()
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	for _, ours := range []*bpe.Encoding{bpe.For("gpt-5"), bpe.For("gpt-4")} {
		theirs, err := tiktoken.GetEncoding(ours.Name())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pair{ours, theirs})
	}
	return all
}

// agree reports whether both make as many tokens of a text. The other one
// replaces what is not UTF-8, and does not know that ſ is an s in "'ſ".
func (p pair) agree(t *testing.T, text string) bool {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "ſ", "s")
	ours, theirs := p.ours.Count(text), p.theirs.EncodeOrdinary(text)
	if ours == int64(len(theirs)) {
		return true
	}
	t.Errorf("%s: %q has %d tokens, the other has %d", p.ours.Name(), text, ours, theirs)
	return false
}

func TestRandomTexts(t *testing.T) {
	const seed, count = 7, 100_000
	rnd := rand.New(rand.NewPCG(seed, seed))
	texts := make([]string, count)
	for i := range texts {
		texts[i] = randomText(rnd)
	}
	for _, p := range pairs(t) {
		wrong := 0
		for _, text := range texts {
			if !p.agree(t, text) {
				if wrong++; wrong > 20 {
					t.FailNow()
				}
			}
		}
		t.Logf("%s: %d random texts, %d differ", p.ours.Name(), count, wrong)
	}
}

// randomText joins characters and words from a few sources, so that the rules
// about neighbours are met.
func randomText(rnd *rand.Rand) string {
	words := []string{
		"the", "Word", "HTTPServer", "it's", "I'LL", "we've", "don't", "中文", "日本語", "한국어", "straße", "naïve",
		"👩‍👩‍👧", "e\u0301", "\u0301", "ǅ", "ʰ", "١٢٣", "½", "\r\n", "\n", "\n\n", "\t", "  ", "    ", " ", "/", "://", "=>",
		"'", "''s", "_", "--", "1234567", "0x1f", "\u00a0", "\u3000", "\u2028", "\u200d", "{}", "\");", "مرحبا", "Привет", "नमस्ते", "ไทย",
	}
	var b strings.Builder
	for range 1 + rnd.IntN(24) {
		switch rnd.IntN(5) {
		case 0:
			b.WriteRune(randomRune(rnd, 0x80))
		case 1:
			b.WriteRune(randomRune(rnd, 0x3000))
		case 2:
			b.WriteRune(randomRune(rnd, unicode.MaxRune))
		default:
			b.WriteString(words[rnd.IntN(len(words))])
		}
	}
	return b.String()
}

func randomRune(rnd *rand.Rand, below int) rune {
	for {
		if r := rune(rnd.IntN(below)); utf8.ValidRune(r) {
			return r
		}
	}
}

// The texts of recorded sessions, as they stand in the files: JSON, with escapes.
func TestRecordedSessions(t *testing.T) {
	dir, promised := os.LookupEnv("CLEW_CORPUS")
	if !promised {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	var texts []string
	files, total := 0, 0
	err := filepath.WalkDir(filepath.Join(dir, "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files++
		total += len(data)
		for line := range strings.Lines(string(data)) {
			// The other one takes quadratic time for long pieces, so base64 is cut.
			for ; len(line) > 4000; line = line[4000:] {
				texts = append(texts, unescape(line[:4000]))
			}
			texts = append(texts, unescape(line))
		}
		return err
	})
	if err != nil || files == 0 {
		if promised {
			t.Fatalf("CLEW_CORPUS is %q, and there is nothing: %v", dir, err)
		}
		t.Skip("no recorded sessions: set CLEW_CORPUS to their folder")
	}
	for _, p := range pairs(t) {
		t.Run(p.ours.Name(), func(t *testing.T) {
			t.Parallel()
			wrong := 0
			for _, text := range texts {
				if !p.agree(t, text) {
					if wrong++; wrong > 20 {
						t.FailNow()
					}
				}
			}
			t.Logf("%d texts from %d files, %d bytes, %d differ", len(texts), files, total, wrong)
		})
	}
}

// unescape puts the white space back that JSON spells with a backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\r`, "\r").Replace(s)
}
