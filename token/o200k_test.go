package token_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clew-dev/clew/token"
)

type sample struct {
	Kind   string
	Text   string
	Tokens int64
}

func samples(t testing.TB) (all []sample) {
	t.Helper()
	if err := json.Unmarshal(readFile(t, "testdata/o200k.json"), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// latin are the kinds of text that recorded sessions are made of. Their weights
// were fitted together with the overhead of a message, so that without it a
// short text is up to a fifth low.
var latin = map[string]bool{"english": true, "german": true, "french": true, "code": true, "diff": true}

// For texts in every script the estimate is at least nine tenths of the tokens
// that the tokenizer of GPT makes of them, and not absurdly more. Other
// families have tokenizers that are no better at other scripts than that one,
// so their estimate is no lower there.
func TestScriptsAreNotUndercounted(t *testing.T) {
	gpt, claude := token.Heuristic(token.GPT), token.Heuristic(token.Claude)
	type totals struct{ real, gpt, claude, chars4 int64 }
	kinds := map[string]*totals{}
	var order []string
	for _, s := range samples(t) {
		k := kinds[s.Kind]
		if k == nil {
			k = &totals{}
			kinds[s.Kind] = k
			order = append(order, s.Kind)
		}
		k.real += s.Tokens
		k.gpt += gpt.Text(s.Text)
		k.claude += claude.Text(s.Text)
		k.chars4 += token.Chars4().Text(s.Text)
	}
	for _, kind := range order {
		k := kinds[kind]
		share := func(n int64) float64 { return float64(n) / float64(k.real) }
		t.Logf("%-20s %5d tokens  gpt %.2f  claude %.2f  chars4 %.2f", kind, k.real, share(k.gpt), share(k.claude), share(k.chars4))
		least := 0.9
		if latin[kind] {
			least = 0.8
		}
		if share(k.gpt) < least {
			t.Errorf("%s: %d tokens are estimated as %d", kind, k.real, k.gpt)
		}
		if share(k.gpt) > 2 {
			t.Errorf("%s: %d tokens are estimated as %d", kind, k.real, k.gpt)
		}
		if k.claude < k.gpt {
			t.Errorf("%s: %d tokens for claude, %d for gpt", kind, k.claude, k.gpt)
		}
	}
	if len(order) < 20 {
		t.Errorf("only %d kinds of text", len(order))
	}
}

// A long text is not counted by another rule than a short one: ten copies cost
// ten times as much, and a hundred thousand characters of Chinese are not taken
// for English.
func TestLongTextsKeepTheirScript(t *testing.T) {
	for _, s := range samples(t) {
		for _, f := range families {
			c := token.Heuristic(f)
			one, many := c.Text(s.Text+"\n"), c.Text(strings.Repeat(s.Text+"\n", 10))
			if many > 10*one || many < 10*one-10 {
				t.Errorf("%s, %s: %d once, %d ten times", f, s.Kind, one, many)
			}
		}
	}
	chinese := strings.Repeat("会话日志只追加", 200_000/7)
	for _, f := range families {
		if got := token.Heuristic(f).Text(chinese); got < 130_000 {
			t.Errorf("%s: 200,000 Chinese characters cost %d tokens", f, got)
		}
	}
}

var families = []token.Family{token.Claude, token.ClaudeNew, token.GPT, token.Universal}
