package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clew-dev/clew"
	"github.com/clew-dev/clew/compact"
	"github.com/clew-dev/clew/session"
)

func TestCutByColumns(t *testing.T) {
	for _, tc := range []struct {
		s    string
		n    int
		want string
	}{
		{"hello", 5, "hello"},
		{"hello", 4, "hel…"},
		{"hello", 1, "…"},
		{"hello", 0, ""},
		{"hello", -3, ""},
		{"修复测试", 8, "修复测试"},
		{"修复测试", 7, "修复测…"},
		{"修复测试", 6, "修复…"}, // a wide character is not cut in half
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧…"},
	} {
		if got := cut(tc.s, tc.n); got != tc.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tc.s, tc.n, got, tc.want)
		}
	}
	if got := cutLeft("/src/app/main.go", 8); got != "…main.go" {
		t.Errorf("cutLeft: %q", got)
	}
}

func TestFit(t *testing.T) {
	for _, tc := range []struct {
		text, tail string
		n          int
		want       string
	}{
		{"I look.", "read(a)", 20, "I look. read(a)"},
		{"I look at all of it.", "read(a)", 20, "I look at a… read(a)"},
		{"I look at all of it.", "read(a) read(b) read(c)", 20, "I look at… read(a) …"},
		{"", "read(a) read(b)", 10, "read(a) r…"},
		{"I look at all of it.", "", 10, "I look at…"},
	} {
		if got := fit(tc.text, tc.tail, tc.n); got != tc.want || textWidth(got) > tc.n {
			t.Errorf("fit(%q, %q, %d) = %q, want %q", tc.text, tc.tail, tc.n, got, tc.want)
		}
	}
}

// FuzzPrintable: whatever a file holds, what is printed of it moves no cursor and
// is valid text.
func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[2J\x1b]0;title\x07", "a\r\nb", "\u202eabc", "\xff\xfe", "\u0085", "修复\t🙂", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, got := range map[string]string{"printable": printable(s), "headline": headline(s), "printableText": printableText(s), "cut": cut(headline(s), 20)} {
			if !utf8.ValidString(got) {
				t.Errorf("%s(%q) = %q is no valid text", name, s, got)
			}
			for _, r := range got {
				control := r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
				if control && (name != "printableText" || r != '\n' && r != '\t') {
					t.Errorf("%s(%q) holds %U", name, s, r)
				}
			}
			if strings.Contains(got, "\n") && name != "printableText" {
				t.Errorf("%s(%q) has more than one line", name, s)
			}
		}
		if n := textWidth(cut(headline(s), 20)); n > 20 {
			t.Errorf("cut gives %d columns of %q", n, s)
		}
	})
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := number(n); got != want {
			t.Errorf("number(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 9949: "9.9 kB", 9950: "10 kB", 999_499: "999 kB", 999_500: "1.0 MB", 1_500_000_000: "1.5 GB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %s, want %s", n, got, want)
		}
	}
	if n := shortestOf([]string{"aaaaaaaaaa1", "b", "aaaaaaaaaa2", "bbbbbbbbbbbb", "bbbbbbbbbbbb"}, func(id *string) string { return *id }); n != 11 {
		t.Errorf("11 characters tell them apart, not %d", n)
	}
	for id, want := range map[string]int64{"claude-opus-4-5": 200_000, "us.anthropic.claude-3-haiku": 200_000, "openai/gpt-5": 272_000 + compact.DefaultReserve, "gpt-4.1-mini": 1_047_576, "gemini-1.5-pro": 2_097_152, "strange": 0} {
		p, from := modelPolicy{}.of(session.Model{ID: id})
		if known := from == clew.WindowCatalogue; known != (want > 0) || known && p.Window != want {
			t.Errorf("the window of %s is %d, want %d", id, p.Window, want)
		}
	}
}
