package bpe_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/bpe"
)

// encodings returns both; they share nothing with those of other tests.
var encodings = sync.OnceValue(func() []*bpe.Encoding {
	return []*bpe.Encoding{bpe.For("gpt-5"), bpe.For("gpt-4")}
})

// Texts are cut where the patterns cut them; the cases were worked out by hand.
func TestPieces(t *testing.T) {
	data, err := os.ReadFile("testdata/splits.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	if len(lines) < 60 || len(lines)%3 != 0 {
		t.Fatalf("%d lines, not three for each of 20 cases or more", len(lines))
	}
	for at := 0; at < len(lines); at += 3 {
		text := quoted(t, lines[at])[0]
		for i, e := range encodings() {
			line := lines[at+1+i]
			if line == "same" {
				line = lines[at+1]
			}
			want := quoted(t, line)
			if got := e.Pieces(text); !slices.Equal(got, want) {
				t.Errorf("%s: %q\n got %q\nwant %q", e.Name(), text, got, want)
			}
		}
	}
}

func quoted(t *testing.T, line string) (all []string) {
	t.Helper()
	for line != "" {
		q, err := strconv.QuotedPrefix(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		s, _ := strconv.Unquote(q)
		all = append(all, s)
		line = strings.TrimSpace(line[len(q):])
	}
	return all
}

// Known tokens; those of the first text are in OpenAI's cookbook.
func TestKnownTokens(t *testing.T) {
	for _, c := range []struct {
		text          string
		o200k, cl100k []int
	}{
		{"tiktoken is great!", []int{83, 8251, 2488, 382, 2212, 0}, []int{83, 1609, 5963, 374, 2294, 0}},
		{"hello world", []int{24912, 2375}, []int{15339, 1917}},
		{"", nil, nil},
	} {
		for i, want := range [][]int{c.o200k, c.cl100k} {
			if got := encodings()[i].Encode(c.text); !slices.Equal(got, want) {
				t.Errorf("%s: %q is %d, want %d", encodings()[i].Name(), c.text, got, want)
			}
		}
	}
}

// The samples that the weights of the heuristic are held against have the
// number of tokens that is stated for them.
func TestSamples(t *testing.T) {
	data, err := os.ReadFile("../../token/testdata/o200k.json")
	if err != nil {
		t.Fatal(err)
	}
	var samples []struct {
		Kind, Text string
		Tokens     int64
	}
	if err := json.Unmarshal(data, &samples); err != nil || len(samples) < 50 {
		t.Fatal(len(samples), err)
	}
	for _, s := range samples {
		if got := encodings()[0].Count(s.Text); got != s.Tokens {
			t.Errorf("%s: %d tokens, want %d: %q", s.Kind, got, s.Tokens, s.Text)
		}
	}
}

// check asserts what holds for every text.
func check(t *testing.T, e *bpe.Encoding, text string) {
	t.Helper()
	tokens := e.Encode(text)
	back, err := e.Decode(tokens)
	if err != nil || back != text {
		t.Fatalf("%s: %q comes back as %q, %v", e.Name(), text, back, err)
	}
	if n := e.Count(text); n != int64(len(tokens)) {
		t.Fatalf("%s: Count says %d, Encode gives %d: %q", e.Name(), n, len(tokens), text)
	}
	pieces := e.Pieces(text)
	if strings.Join(pieces, "") != text || slices.Contains(pieces, "") {
		t.Fatalf("%s: %q is cut into %q", e.Name(), text, pieces)
	}
	// Each piece is encoded by itself, as joining the best two neighbours gives it.
	var naive []int
	for _, p := range pieces {
		if len(p) > 150 {
			return
		}
		naive = append(naive, joined(e, p)...)
	}
	if !slices.Equal(tokens, naive) {
		t.Fatalf("%s: %q is %d, want %d", e.Name(), text, tokens, naive)
	}
}

// ranks is the vocabulary as a map.
var ranks = sync.OnceValue(func() map[*bpe.Encoding]map[string]int {
	all := map[*bpe.Encoding]map[string]int{}
	for _, e := range encodings() {
		all[e] = map[string]int{}
		for rank := range e.Size() {
			token, err := e.Decode([]int{rank})
			if err != nil {
				panic(err)
			}
			all[e][token] = rank
		}
	}
	return all
})

// joined is byte pair encoding as it is defined, without any speed.
func joined(e *bpe.Encoding, piece string) (tokens []int) {
	rank := ranks()[e]
	if r, ok := rank[piece]; ok {
		return []int{r}
	}
	var parts []string
	for i := range len(piece) {
		parts = append(parts, piece[i:i+1])
	}
	for {
		best, at := -1, 0
		for i := range len(parts) - 1 {
			if r, ok := rank[parts[i]+parts[i+1]]; ok && (best < 0 || r < best) {
				best, at = r, i
			}
		}
		if best < 0 {
			break
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
	for _, p := range parts {
		tokens = append(tokens, rank[p])
	}
	return tokens
}

func TestRandomTexts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	count := 2000
	if testing.Short() {
		count = 400
	}
	long := 0
	for range count {
		text := randomText(rnd)
		for _, e := range encodings() {
			check(t, e, text)
			for _, p := range e.Pieces(text) {
				if len(p) > 48 {
					long++
				}
			}
		}
	}
	t.Logf("%d texts, %d long pieces", count, long)
	if long < count/20 {
		t.Errorf("only %d pieces are long enough for the queue", long)
	}
}

func randomText(rnd *rand.Rand) string {
	var b strings.Builder
	for range 1 + rnd.IntN(10) {
		switch rnd.IntN(8) {
		case 0:
			b.WriteByte(byte(rnd.IntN(256)))
		case 1:
			b.WriteRune(rune(rnd.IntN(0x3100)))
		case 2:
			b.WriteRune(rune(rnd.IntN(utf8.MaxRune)))
		case 3:
			b.WriteString(strings.Repeat(string(rune(0x4e00+rnd.IntN(3000))), 1+rnd.IntN(60)))
		case 4:
			raw := make([]byte, rnd.IntN(60))
			for i := range raw {
				raw[i] = byte(rnd.IntN(256))
			}
			b.WriteString(base64.StdEncoding.EncodeToString(raw))
		case 5:
			b.WriteString(strings.Repeat([]string{" ", "a", "\n", "\t", "=", "ab", "0"}[rnd.IntN(7)], 1+rnd.IntN(130)))
		default:
			words := []string{"the ", "Config", "'s", "don't", " ", "\r\n", "_", "//", "e\u0301", "👩‍👧", "1234", "中文", "); "}
			b.WriteString(words[rnd.IntN(len(words))])
		}
	}
	return b.String()
}

func FuzzEncode(f *testing.F) {
	for _, seed := range []string{"", "a\n \nx", "it's", "\xff\xfe", "中A", "👩‍👩‍👧", "1234", "\u0301X", "<|endoftext|>", strings.Repeat("ab", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range encodings() {
			check(t, e, text)
		}
	})
}

func TestVocabularies(t *testing.T) {
	for i, want := range []int{199_998, 100_256} {
		e := encodings()[i]
		if e.Size() != want {
			t.Errorf("%s has %d tokens, want %d", e.Name(), e.Size(), want)
		}
		// Every token is found again by its bytes.
		if got := len(ranks()[e]); got != want {
			t.Errorf("%s has %d different tokens, want %d", e.Name(), got, want)
		}
		for _, bad := range []int{-1, want} {
			if _, err := e.Decode([]int{0, bad}); err == nil || !strings.Contains(err.Error(), strconv.Itoa(bad)+" at index 1") {
				t.Errorf("%s: Decode of %d: %v", e.Name(), bad, err)
			}
		}
	}
}

func TestFor(t *testing.T) {
	for model, want := range map[string]string{
		"gpt-4": bpe.CL100k, "gpt-4-turbo-2024-04-09": bpe.CL100k, "openai/gpt-3.5-turbo": bpe.CL100k, "GPT-35-turbo": bpe.CL100k,
		"gpt-4o": bpe.O200k, "gpt-4.1-mini": bpe.O200k, "gpt-5.6": bpe.O200k, "o3": bpe.O200k, "claude-opus-4-6": bpe.O200k, "": bpe.O200k,
	} {
		if got := bpe.For(model).Name(); got != want {
			t.Errorf("%q: %s, want %s", model, got, want)
		}
	}
}

// Long pieces of every kind come back, and ten times the text has about ten times
// the tokens. With time that grew with the square of the length this would not end.
func TestLongPieces(t *testing.T) {
	const n = 100_000
	ten, one := hostile(n), hostile(n/10)
	for kind, text := range ten {
		e := encodings()[0]
		tokens := e.Encode(text)
		if back, err := e.Decode(tokens); err != nil || back != text {
			t.Errorf("%s: not the same text, %v", kind, err)
		}
		count, tenth := e.Count(text), e.Count(one[kind])
		if count != int64(len(tokens)) || count < 9*tenth || count > 11*tenth {
			t.Errorf("%s: %d tokens, Count says %d, and %d for a tenth", kind, len(tokens), count, tenth)
		}
	}
}

// One Encoding, first used by several goroutines at once.
func TestConcurrentUse(t *testing.T) {
	e := bpe.For("gpt-5")
	text := strings.Repeat("concurrent use, 中文 and base64 "+base64.StdEncoding.EncodeToString(make([]byte, 99))+"\n", 20)
	want := encodings()[0].Count(text)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := e.Count(text); got != want || len(e.Encode(text)) != int(want) {
				t.Errorf("%d tokens, want %d", got, want)
			}
		})
	}
	wg.Wait()
}
