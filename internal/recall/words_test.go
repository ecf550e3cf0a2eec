package recall

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// termsOf is what a text is found by, each with its kind.
func termsOf(s string) []string {
	var out []string
	w := splitter{}
	w.emit = func(term []byte, from, to int, k kind) {
		out = append(out, []string{"word", "part", "name", "hash"}[k]+":"+string(term))
	}
	w.split(s)
	return out
}

// TestWords reads testdata/words.txt: a text, and below it the terms.
func TestWords(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "words.txt"))
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		lines := slices.DeleteFunc(strings.Split(block, "\n"), func(l string) bool { return strings.HasPrefix(l, "#") })
		if len(lines) == 0 {
			continue
		}
		if len(lines) != 2 {
			t.Fatalf("not a text and its terms: %q", block)
		}
		cases++
		if got, want := strings.Join(termsOf(lines[0]), " "), strings.TrimSpace(lines[1]); got != want {
			t.Errorf("%s\n got %s\nwant %s", lines[0], got, want)
		}
	}
	if cases < 20 {
		t.Errorf("%d cases", cases)
	}
}

// Spellings of a name meet, in both directions.
func TestSpellingsMeet(t *testing.T) {
	for _, names := range [][]string{
		{"parseConfig", "parse_config", "ParseConfig", "PARSE_CONFIG", "parse-config", "_parse_config_", "ｐａｒｓｅＣｏｎｆｉｇ"},
		{"migrations", "migration", "Migrations"},
		{"src/app/main.go", `src\app\main.go`, "SRC/app/main.go"},
		{"entries", "entry"},
	} {
		has := map[string]int{}
		for _, name := range names {
			seen := map[string]bool{}
			for _, term := range termsOf(name) {
				_, term, _ = strings.Cut(term, ":")
				if !seen[term] {
					seen[term] = true
					has[term]++
				}
			}
		}
		if !slices.ContainsFunc(names, func(string) bool {
			for _, n := range has {
				if n == len(names) {
					return true
				}
			}
			return false
		}) {
			t.Errorf("%v have no term in common: %v", names, has)
		}
	}
}

// FuzzWords: no term is empty or too long, or stands outside of the text, and the same text has
// the same terms wherever it stands.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "parseConfig in src/a_b/c-d.go", "中文abc日本語", "a\xff\xfeb", strings.Repeat("x", 70) + "é", "1.2.3-rc.4", "한국어 세션을", "___", "\u0301a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		w := splitter{}
		n := 0
		w.emit = func(term []byte, from, to int, k kind) {
			n++
			if len(term) == 0 || len(term) > 3*maxCompound || from < 0 || from >= to || to > len(s) {
				t.Fatalf("term %q from %d to %d of %d", term, from, to, len(s))
			}
			if utf8.ValidString(s) && !utf8.Valid(term) {
				t.Fatalf("term %q of %q is no text", term, s)
			}
			if bytes.ContainsAny(term, " \n\t") {
				t.Fatalf("term %q", term)
			}
		}
		w.split(s)
		if got := len(termsOf("; " + s + " ;")); got != n {
			t.Fatalf("%q has %d terms alone, %d in a text", s, n, got)
		}
	})
}

// A phrase is found where it stands, but for case and white space.
func TestFindPhrase(t *testing.T) {
	for _, tc := range []struct{ text, phrase, at string }{
		{"  The Token\n\t expiry.", "token expiry", "Token\n\t expiry"},
		{"a b", "A  B ", "a b"},
		{"ab", "a b", ""},
		{"x中文 测试y", "中文 测试", "中文 测试"},
		{"ÉCOLE", "école", "ÉCOLE"},
		{"a\xffb", "a\xfeb", "a\xffb"}, // bytes that are no text are alike
		{"aab", "ab", "ab"},
		{"", "a", ""},
		{"ＡＢＣ", "abc", "ＡＢＣ"},
	} {
		from, to := findPhrase(tc.text, foldPhrase(tc.phrase))
		got := ""
		if from >= 0 {
			got = tc.text[from:to]
		}
		if got != tc.at {
			t.Errorf("%q in %q: %q, want %q", tc.phrase, tc.text, got, tc.at)
		}
	}
	// A phrase that nearly stands at each place.
	text := strings.Repeat("a", 1<<20)
	if from, _ := findPhrase(text, foldPhrase(strings.Repeat("a", 4000)+"b")); from >= 0 {
		t.Error(from)
	}
}

// An excerpt begins and ends at a line where one is near, else at a sentence, else at a word.
func TestExcerptBorders(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"one two three\nfour needle five\nsix seven eight nine", "four needle five"},
		{"It was so for long. The needle was there. Then it went away at last", "The needle was there."},
		{"a bb cccccccccccccc needle eeee ffffffff", "ccccccccc needle eeee ffffffff"},
		{"the needle", "the needle"},
	} {
		at := strings.Index(tc.text, "needle")
		from, to := widen(tc.text, at, at+len("needle"), 30)
		if got := tc.text[from:to]; strings.TrimSpace(got) != strings.TrimSpace(tc.want) {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

// Handles are told from words.
func TestAreHandles(t *testing.T) {
	for s, want := range map[string]bool{
		"[#u2]": true, "[#u2, replaced] #1a2b3c": true, "1a2b3c4d .. 5e6f7081": true, "1a2b3c4d..": true, "sha256-0123abcd": true,
		"": false, "words": false, "#106": false, "1a2b3c4d failed": false, "a..b": false, "deadbee": true,
	} {
		if AreHandles(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}
