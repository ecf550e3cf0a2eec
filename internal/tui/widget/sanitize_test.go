package widget

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSanitize(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text stays", "plain\ntext, 中文 и ½", "plain\ntext, 中文 и ½"},
		{"joined emoji stay", "👩‍👩‍👧‍👦 🇩🇪 ❤️", "👩‍👩‍👧‍👦 🇩🇪 ❤️"},
		{"colour", "a\x1b[31;1mred\x1b[0mb", "aredb"},
		{"cursor", "a\x1b[2J\x1b[1;1Hb", "ab"},
		{"title", "a\x1b]0;owned\ab", "ab"},
		{"link", "\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"clipboard", "x\x1b]52;c;ZXZpbA==\x1b\\y", "xy"},
		{"device control", "x\x1bPq#0\x1b\\y", "xy"},
		{"one character control", "a\u009b2Jb\u009d0;t\u009cc", "abc"},
		{"reset", "a\x1bcb", "ab"},
		{"charset", "a\x1b(0b", "ab"},
		{"string without an end hides nothing", "a\x1b]0;rm -rf /\nb", "a]0;rm -rf /\nb"},
		{"sequence without an end hides nothing", "a\x1b[12", "a[12"},
		{"string with an escape in it hides nothing", "a\x1b]0;x\x1b[31mz\a", "a]0;xz"},
		{"too long to be meant", "a\x1b]0;" + strings.Repeat("x", 5000) + "\ab", "a]0;" + strings.Repeat("x", 5000) + "b"},
		{"bell and backspace", "a\a\b\b\bb", "ab"},
		{"line ends", "a\r\nb\rc\u2028d", "a\nb\nc\nd"},
		{"tab", "a\tb", "a    b"},
		{"direction", "a\u202eb\u2066c\u200fd\ufeff", "abcd"},
		{"tags and hidden selectors", "a\U000e0041\U000e0100b", "ab"},
		{"not UTF-8", "a\xffb\x9b31m", "a\ufffdb\ufffd31m"},
		{"escape alone", "\x1b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Sanitize(c.in); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestReveal(t *testing.T) {
	in := "rm \x1b]0;x\a \u202eexe \xff\u2028\tend\r\n中"
	want := `rm \x1b]0;x\a \u202eexe \xff\u2028    end` + "\n中"
	if got := Reveal(in); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzSanitize(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]8;;x\x1b\\y", "\u009b1;1H", "\x1b\x1b[[m", "a\r\rb", "中\u200d文\xc2", "\x1b]0;\x1b]0;\a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, fn := range map[string]func(string) string{"Sanitize": Sanitize, "Reveal": Reveal} {
			got := fn(s)
			if !utf8.ValidString(got) {
				t.Fatalf("%s(%q) = %q is not UTF-8", name, s, got)
			}
			for _, r := range got {
				if r != '\n' && unicode.IsControl(r) || r == '\u202e' || r == '\u2028' {
					t.Fatalf("%s(%q) = %q has %U", name, s, got, r)
				}
			}
			if again := fn(got); again != got {
				t.Fatalf("%s changes its own %q to %q", name, got, again)
			}
		}
	})
}
