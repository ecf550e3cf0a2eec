package widget

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		name  string
		in    string
		width int
		want  []string
	}{
		{"fits", "abc def", 7, []string{"abc def"}},
		{"at a space", "abc def ghi", 7, []string{"abc def", "ghi"}},
		{"space at the break is left out", "abc    def", 4, []string{"abc", "def"}},
		{"inner spaces stay", "a  b c", 4, []string{"a  b", "c"}},
		{"long word", "abcdefgh", 3, []string{"abc", "def", "gh"}},
		{"word after a long one", "ab cdefgh ij", 4, []string{"ab", "cdef", "gh", "ij"}},
		{"indent goes on", "  abc def", 6, []string{"  abc", "  def"}},
		{"lines", "a\n\nb", 5, []string{"a", "", "b"}},
		{"Chinese", "中文字中文字", 5, []string{"中文", "字中", "文字"}},
		{"Chinese after a word", "ab 中文字", 6, []string{"ab 中", "文字"}},
		{"punctuation stays", "中文字。中", 6, []string{"中文", "字。中"}},
		{"emoji is whole", "a👩‍👩‍👧‍👦b", 2, []string{"a", "👩‍👩‍👧‍👦", "b"}},
		{"too wide for the line", "a中b", 1, []string{"a", "…", "b"}},
		{"no room beside the indent", " 中", 2, []string{"中"}},
		{"wide character after what can't end", "x abcd。", 5, []string{"x", "abcd", "。"}},
		{"spaces only", "      ", 3, []string{""}},
		{"empty", "", 3, []string{""}},
		{"no room", "abc", 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Wrap(c.in, c.width); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// pieces are what random texts are made of: scripts, emoji of several runes,
// escape sequences, long words, line ends.
var pieces = []string{
	"a", "word", "something-long_and/with.dots", " ", "  ", "\n", "\t", "\r\n", "中", "文字", "。", "한국어", "日本語テキスト", "ไทย", "हिन्दी", "é", "e\u0301",
	"👩‍👩‍👧‍👦", "🇩🇪", "❤️", "👍🏽", "🙂", "\x1b[31m", "\x1b[0m", "\x1b]8;;http://x\x1b\\", "\x1b[2J", "\a", "\x00", "\xff", "\u202e", "\u200b", "…", "→", "`", "**", "# ", "```\n", "| a | b |\n|---|---|\n", "&#27;", "&Tab;", "[x](http://y)", "- ", "> ", "1. ",
	"ﷺ", "\U000e0041", "｡", "①", "─",
}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range r.IntN(n + 1) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func newRand(t *testing.T, seed uint64) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(seed, 7))
}

// rounds is how often a test tries something that it would try n times.
func rounds(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

// checkWidth fails when a line is wider than width or does something to the
// terminal other than style.
func checkWidth(t *testing.T, what string, lines []string, width int) {
	t.Helper()
	for _, l := range lines {
		if w := Width(l); w > width {
			t.Fatalf("%s: a line of %d columns in %d: %q", what, w, width, l)
		}
		if strings.Contains(l, "\n") {
			t.Fatalf("%s: a line with a line end: %q", what, l)
		}
		if bad := unstyled(l); strings.ContainsFunc(bad, unseen) {
			t.Fatalf("%s: a line with a control character: %q", what, l)
		}
	}
}

func TestWrapKeepsTextAndWidth(t *testing.T) {
	r := newRand(t, 1)
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for range 3000 {
		s, width := Sanitize(randomText(r, 40)), 1+r.IntN(40)
		lines := Wrap(s, width)
		checkWidth(t, "Wrap", lines, width)
		if got, want := squeeze(strings.Join(lines, "")), squeeze(s); width > 1 && !strings.ContainsRune(s, 'ﷺ') && got != want {
			t.Fatalf("Wrap(%q, %d) = %q", s, width, lines)
		}
	}
}

func TestCut(t *testing.T) {
	r := newRand(t, 2)
	for range 3000 {
		s, width := OneLine(randomText(r, 30)), r.IntN(30)
		checkWidth(t, "Cut", []string{Cut(s, width), Cut(NewTheme(ModeDark, true).Paint(NewTheme(ModeDark, true).Error, s), width)}, width)
	}
	if got := Cut("中文字", 5); got != "中文…" {
		t.Errorf("Cut = %q", got)
	}
}

var style = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// unstyled returns s without its styles. Other sequences stay.
func unstyled(s string) string { return style.ReplaceAllString(s, "") }
