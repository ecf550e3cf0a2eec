package text_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/text"
)

// whole are characters that must not be cut: each is several runes.
var whole = []string{
	"e\u0301", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "각", "\u1112\u1161\u11ab", "न\u093f", "⚠\ufe0f",
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"short", 5, "short"},
		{"a long line", 8, "a long…"},
		{"unbroken-word", 6, "unbro…"},
		{"one two three", 11, "one two…"},
		{"把这个文件改成用户登录", 6, "把这个文件…"},
		{"x", 0, ""},
		{"xy", 1, "…"},
		{"", 3, ""},
		{"caf" + whole[0] + "s of all kinds", 5, "caf…"},
		{"ab" + whole[1] + "cd", 5, "ab…"},
		{"flags 🇩🇪🇫🇷🇮🇹", 10, "flags 🇩🇪…"},
	} {
		if got := text.Clip(c.in, c.n); got != c.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

// sample draws text that mixes scripts, characters of several runes and, if
// wanted, bytes that are not UTF-8.
func sample(r *rand.Rand, broken bool) string {
	var b strings.Builder
	for range r.IntN(40) {
		switch r.IntN(6) {
		case 0:
			b.WriteString(whole[r.IntN(len(whole))])
		case 1:
			b.WriteString("测试用户")
		case 2:
			b.WriteByte(" \n\t"[r.IntN(3)])
		case 3:
			if broken {
				b.WriteByte(byte(0x80 + r.IntN(0x80)))
			}
		default:
			b.WriteString("word")
		}
	}
	return b.String()
}

func TestCutsKeepCharactersWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cuts := 0
	for range 5000 {
		s := sample(r, false)
		n := r.IntN(len(s) + 2)
		head, tail, clip := text.Head(s, n), text.Tail(s, n), text.Clip(s, n)
		if len(head) > n || !strings.HasPrefix(s, head) || len(tail) > n || !strings.HasSuffix(s, tail) {
			t.Fatalf("of %q: Head %q, Tail %q for %d bytes", s, head, tail, n)
		}
		if utf8.RuneCountInString(clip) > n {
			t.Fatalf("Clip(%q, %d) = %q is too long", s, n, clip)
		}
		if clip != s {
			cuts++
			clip = strings.TrimSuffix(clip, text.Ellipsis)
		}
		for _, part := range []string{head, clip} {
			if !strings.HasPrefix(s, part) || splits(s, len(part)) {
				t.Fatalf("%q is cut from %q in the middle of a character", part, s)
			}
		}
		if splits(s, len(s)-len(tail)) {
			t.Fatalf("%q is cut from the end of %q in the middle of a character", tail, s)
		}
	}
	if cuts < 1000 {
		t.Errorf("only %d texts were cut", cuts)
	}
}

// splits reports whether byte i stands inside one of the characters in whole.
func splits(s string, i int) bool {
	for _, w := range whole {
		for k := max(0, i-len(w)+1); k < i; k++ {
			if strings.HasPrefix(s[k:], w) {
				return true
			}
		}
	}
	return false
}

func FuzzCut(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		f.Add(sample(r, true), r.IntN(50))
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		head, tail := text.Head(s, n), text.Tail(s, n)
		if len(head) > max(n, 0) || len(tail) > max(n, 0) || !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) {
			t.Fatalf("of %q: Head %q, Tail %q for %d bytes", s, head, tail, n)
		}
		clip := text.Clip(s, n)
		if utf8.RuneCountInString(clip) > max(n, 0) {
			t.Fatalf("Clip(%q, %d) = %q", s, n, clip)
		}
		if utf8.ValidString(s) && !utf8.ValidString(head+tail+clip) {
			t.Fatalf("cuts of %q at %d are not UTF-8: %q %q %q", s, n, head, tail, clip)
		}
		text.Sentences(s)
		text.Plain(s)
		for id := range text.Identifiers(s) {
			if s[id.At:id.At+len(id.Text)] != id.Text {
				t.Fatalf("identifier %+v is not where it says in %q", id, s)
			}
		}
	})
}
