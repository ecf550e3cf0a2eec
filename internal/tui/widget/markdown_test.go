package widget

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// manual has all that is rendered.
const manual = `# A long title that has to be wrapped when the terminal is narrow

Some **bold**, *italic*, ***both***, ` + "`code span`" + `, ~~struck~~ and [a link](https://example.org/a_b?d=1&amp;e=2).
A line of its own.  
Bare https://example.org/x and <me@example.org>, [https://example.org](https://example.org).
中文字符中文字符中文字符中文字符中文字符中文字符中文字符中文字符中文字符中文字符。日本語テキストを折り返す。

![a diagram](img/a.png) ![](b.png) [![ci](badge.svg)](https://ci.example.org) [by name][ref]

Underlined
----------

8. Eight
9. Nine, with a text that needs more than one line in a terminal that has only eighty columns
   - nested
     - deeper
       ` + "```sh" + `
       go test ./...
       ` + "```" + `
10. Ten

    A paragraph in ten.

- [x] done
- [ ] open
- plain
-

> A quote that goes on and on so that it has to be wrapped at the end of the line, **here**.
>
> - a list in it
> > a quote in it

` + "```go\nfunc main() {\n\tfmt.Println(\"a\\.b\") // a very long line of code that goes beyond the right edge of the terminal\n\n\treturn\n}\n```" + `

    indented
      code

| Option | Default | What it does |
|:-------|--------:|:------------:|
| ` + "`-race`" + ` | off | run under the race detector,<br>which is slow |
| -count | 1 | how often each test runs: 中文说明, and a text that needs more room than there is on a small screen |
| a \| b | **x** | [l](http://e.org) |

| a | b |
|---|---|
| 1 | 2 |

---

<details>
<summary>HTML</summary>

&lt;here&gt; &copy; &#x41; &#27;[1m &bogus; \*not soft\* 5 * 3 * 2 snake_case_name a < b

</details>

[ref]: https://example.org/ref "a title"
`

func TestMarkdownGolden(t *testing.T) {
	golden(t, "markdown", func(theme *Theme, width, _ int) []string {
		return Markdown(theme, manual, width)
	})
	golden(t, "markdown-narrow", func(theme *Theme, width, _ int) []string {
		return Markdown(theme, manual, width/4)
	})
}

func TestMarkdown(t *testing.T) {
	for _, c := range []struct {
		name, in string
		width    int
		want     []string
	}{
		{"lines of a paragraph stay", "a\nb  \nc\\\nd", 20, []string{"a", "b", "c", "d"}},
		{"one empty line between blocks", "a\n\n\n\n# b\nc", 20, []string{"a", "", "# b", "", "c"}},
		{"wrapped title", "## one two three", 12, []string{"## one two", "   three"}},
		{"punctuation stays with its word", "中文字符中文字符中。", 18, []string{"中文字符中文字符", "中。"}},
		{"marks inside of marks", "**a *b* `c`**", 20, []string{"**a *b* `c`**"}},
		{"escaped marks", `\*a\* \# \q \\`, 20, []string{`*a* # \q \`}},
		{"entities", "&amp;&#65;&#x42;&nosuch;&#0;&", 20, []string{"&AB&nosuch;\ufffd&"}},
		{"entity of a line end", "a&NewLine;b&#10;c", 30, []string{"a&NewLine;b&#10;c"}},
		{"label and address", "[a](b) [c](<d e> 't') [](f)", 40, []string{"a (b) c (d e) (f)"}},
		{"address once", "[http://a.org](http://a.org) <http://b.org> http://c.org [d@e.org](mailto:d@e.org)", 90, []string{"http://a.org http://b.org http://c.org d@e.org"}},
		{"definition used twice", "[a] [a]\n\n[a]: http://x", 40, []string{"a (http://x) a (http://x)"}},
		{"code span of two lines", "`a\nb`", 20, []string{"`a b`"}},
		{"tight list", "- a\n- b\n  - c\n- d", 20, []string{"• a", "• b", "  • c", "• d"}},
		{"loose list", "- a\n\n- b\n  - c", 20, []string{"• a", "", "• b", "  • c"}},
		{"numbers go on and are in line", "9) a\n9) b\n   c", 20, []string{" 9) a", "10) b", "    c"}},
		{"text of an item is wrapped below itself", "- aaaa bbbb cccc", 10, []string{"• aaaa", "  bbbb", "  cccc"}},
		{"empty item", "-\n- a", 20, []string{"•", "• a"}},
		{"boxes", "- [ ] a\n- [X] b\n\n1. [x] c", 20, []string{"[ ] a", "[x] b", "", "1. [x] c"}},
		{"no box elsewhere", "[x] a", 20, []string{"[x] a"}},
		{"quote", "> a\n>\n> > b\n\n>", 20, []string{"│ a", "│", "│ │ b", "", "│"}},
		{"code keeps its spaces", "```\n\n  a  b\n\n   c\n```", 20, []string{"    a  b", "", "     c"}},
		{"long code is broken where it is full", "```sh\nabcdefgh ijk lmn\n```", 10, []string{"── sh", "  abcdefgh", "   ijk lmn"}},
		{"what a fence says", "~~~ go  run=\"1\"\na\n~~~", 20, []string{"── go run=\"1\"", "  a"}},
		{"fence without an end", "```\na", 20, []string{"  a"}},
		{"HTML is text", "<b>x</b> <!-- c -->\n\n<div>\n*a*\n</div>", 40, []string{"<b>x</b> <!-- c -->", "", "<div>", "*a*", "</div>"}},
		{"rule", "a\n\n***\n\nb", 10, []string{"a", "", "──────────", "", "b"}},
		{"table", "|a|b|\n|-|-:|\n|cc|1|\n|d|22|x|\n|e|", 40, []string{"a  │  b", "───┼───", "cc │  1", "d  │ 22", "e  │"}},
		{"head alone", "|a|b|\n|-|-|", 40, []string{"a │ b", "──┼──"}},
		{"br in a cell and elsewhere", "a<br>b\n\n|a|\n|-|\n|b<BR/>c|", 40, []string{"a<br>b", "", "a", "─", "b", "c"}},
		{
			"cells are wrapped", "|name|what it is|\n|-|-|\n|a|some words here|\n|b|c|", 20,
			[]string{"name │ what it is", "─────┼──────────────", "a    │ some words", "     │ here", "─────┼──────────────", "b    │ c"},
		},
		{
			"rows where columns are too narrow", "|name|one of them|the other|\n|-|-|-|\n|a|some words here|some more words|\n|b||c|", 20,
			[]string{"name: a", "one of th…: some", "  words here", "the other: some", "  more words", "", "name: b", "one of th…:", "the other: c"},
		},
		{"definitions alone", "[a]: b", 20, []string{"[a]: b"}},
		{"nothing", "", 20, []string{""}},
		{"too narrow to be rendered", "**a**", 9, []string{"**a**"}},
		{"no room left", "- - - - - a", 10, []string{"• •", "  •", "  •", "  •", "  a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Markdown(none(), c.in, c.width); !slices.Equal(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestMarkdownStyles: a style says what the marks say, and ends with its line.
func TestMarkdownStyles(t *testing.T) {
	theme := NewTheme(ModeDark, true)
	for in, want := range map[string]string{
		"a **b** c":       "a \x1b[1mb\x1b[m c",
		"*a **b***":       "\x1b[3ma \x1b[m\x1b[1;3mb\x1b[m",
		"~~a~~":           "~~\x1b[9ma\x1b[m~~",
		"`a`":             theme.Paint(theme.Tool, "a"),
		"# a":             theme.Paint(theme.Match, "# ") + theme.Paint(theme.Match, "a"),
		"[a](b)":          theme.Paint(theme.Accent, "a") + " " + theme.Paint(theme.Dim, "(b)"),
		"**aaaaaaaa bb**": "\x1b[1maaaaaaaa\x1b[m|\x1b[1mbb\x1b[m",
	} {
		if got := strings.Join(Markdown(theme, in, 10), "|"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestMarkdownKeepsTheText: whatever the width, the letters are there, once, in order.
func TestMarkdownKeepsTheText(t *testing.T) {
	r := newRand(t, 11)
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune("abcdefghijklmnopqrstuvwxyz中文字", r) {
				return r
			}
			return -1
		}, s)
	}
	parts := []string{"ab", "c", " ", "\n", "中文", "字", "*", "**", "_", "~~", "- ", "1. ", "> ", "# ", "    ", "\n\n", "  \n", "<d>"}
	for range rounds(5000) {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		text, width := b.String(), minMarkdownWidth+r.IntN(60)
		for _, theme := range []*Theme{none(), NewTheme(ModeLight, false)} {
			lines := Markdown(theme, text, width)
			checkWidth(t, "markdown", lines, width)
			if got, want := letters(unstyled(strings.Join(lines, ""))), letters(text); got != want {
				t.Fatalf("%q at %d:\n%s\nhas the letters %s, not %s", text, width, strings.Join(lines, "\n"), got, want)
			}
		}
	}
}

// TestMarkdownBounds: a part that goes beyond the bounds is text; the rest is rendered.
func TestMarkdownBounds(t *testing.T) {
	// The link at the end of the paragraph tells whether it was rendered.
	for _, name := range []string{"star pairs", "links", "links of links", "lines of pairs", "stars", "tildes", "ticks"} {
		for _, c := range []struct {
			n    int
			want string
		}{{300, "c (d)"}, {40_000, "[c](d)"}} {
			got := Markdown(none(), "- a\n\n"+strings.TrimRight(hostile[name](c.n), "\n")+"\n[c](d)\n\n`b` [c](d)", 80)
			if got[0] != "• a" || got[len(got)-1] != "`b` c (d)" {
				t.Errorf("%s: around it nothing was rendered: %q, %q", name, got[0], got[len(got)-1])
			}
			if last := got[len(got)-3]; last != c.want {
				t.Errorf("%s, %d bytes: its last line is %q, want %q", name, c.n, last, c.want)
			}
		}
	}
	rows := len(strings.Split(hostile["short rows"](40_000), "\n"))
	for _, n := range []int{rows, 10} {
		text := strings.Join(strings.Split(hostile["short rows"](40_000), "\n")[:n], "\n")
		if plain := strings.HasPrefix(Markdown(none(), text, 80)[0], "|a|a|"); plain != (n == rows) {
			t.Errorf("a table of %d short rows: plain is %v", n, plain)
		}
	}
	deep := strings.Repeat("> ", 60) + "a"
	if got := Markdown(none(), deep, 80); !slices.Equal(got, Wrap(deep, 80)) {
		t.Errorf("%q", got)
	}
	large := strings.Repeat("**a**\n\n", maxMarkdown/7)
	if got := Markdown(NewTheme(ModeDark, true), large, 80); got[0] != "\x1b[1ma\x1b[m" {
		t.Errorf("a long text was not rendered: %q", got[0])
	}
	large += "**a**\n\n"
	if got := Markdown(none(), large, 80); !slices.Equal(got, Wrap(large, 80)) {
		t.Error("a text beyond the limit was rendered")
	}
}

func TestMarkdownShowsCodeAsItIs(t *testing.T) {
	code := "func f() {\n    re := `\\.\\*\\\\`\n\n\n        deep // " + strings.Repeat("x", 90) + "\n}"
	for _, theme := range []*Theme{none(), NewTheme(ModeDark, true), NewTheme(ModeLight, false)} {
		var got []string
		for _, l := range Markdown(theme, "```go\n"+code+"\n```\n", 80) {
			got = append(got, unstyled(l))
		}
		text := strings.Join(got, "\n")
		for _, want := range []string{"  func f() {\n", "      re := `\\.\\*\\\\`\n\n\n          deep // xxx"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", theme.Mode, want, text)
			}
		}
		if strings.Count(text, "x") != 90 {
			t.Errorf("%s: a long line was cut:\n%s", theme.Mode, text)
		}
	}
}

func TestMarkdownWritesNoLinksOrControls(t *testing.T) {
	text := "[a](http://b.example) ![c](http://d.example/e.png) <http://f.example> &#27;]0;owned&#7; &#x1b;[2J &#155;1m &NewLine;&rlm;\x1b[8mhidden"
	for _, theme := range []*Theme{none(), NewTheme(ModeDark, true)} {
		lines := Markdown(theme, text, 70)
		checkWidth(t, "markdown", lines, 70)
		got := unstyled(strings.Join(lines, " "))
		if strings.Contains(got, "\x1b") {
			t.Errorf("%s: %q", theme.Mode, got)
		}
		for _, want := range []string{"http://b.example", "http://d.example/e.png", "http://f.example", "&#27;]0;owned&#7;", "hidden"} {
			if !strings.Contains(strings.Join(strings.Fields(got), ""), want) {
				t.Errorf("%s: %q is not in %q", theme.Mode, want, got)
			}
		}
	}
}

// hostile are texts that a parser may take long for, or that become large, each of about n
// bytes.
var hostile = map[string]func(n int) string{
	"brackets":       func(n int) string { return strings.Repeat("[", n) },
	"bracket pairs":  func(n int) string { return strings.Repeat("[]", n/2) },
	"lines of pairs": func(n int) string { return strings.Repeat("[a]\n", n/4) },
	"nested links":   func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("](a)", n/8) },
	"links":          func(n int) string { return strings.Repeat("[a](b", n/5) },
	"links of links": func(n int) string { return strings.Repeat("[a](<b", n/6) },
	"references":     func(n int) string { return strings.Repeat("[a][", n/4) },
	"images":         func(n int) string { return strings.Repeat("![", n/2) },
	"definitions":    func(n int) string { return strings.Repeat("[a]: b \"\n", n/9) },
	"long label":     func(n int) string { return "[" + strings.Repeat("a\n", n/2) },
	"used address": func(n int) string {
		return "[a]: " + strings.Repeat("&#65;", n/10) + "\n\n" + strings.Repeat("[a]\n\n", n/10)
	},
	"long address":   func(n int) string { return "[a]: " + strings.Repeat("x", n/2) + "\n\n" + strings.Repeat("[a] ", n/8) },
	"stars":          func(n int) string { return strings.Repeat("*a ", n/3) },
	"star pairs":     func(n int) string { return strings.Repeat("*a_ ", n/4) },
	"stars in stars": func(n int) string { return strings.Repeat("*a **a ", n/7) },
	"closed stars":   func(n int) string { return strings.Repeat("a**b"+strings.Repeat("c* ", 3), n/13) },
	"odd stars":      func(n int) string { return strings.Repeat("a***", n/8) + strings.Repeat("b*", n/4) },
	"tildes":         func(n int) string { return strings.Repeat("~a ", n/3) },
	"ticks": func(n int) string {
		var b strings.Builder
		for k := 1; b.Len() < n; k++ {
			b.WriteString("a" + strings.Repeat("`", k))
		}
		return b.String()
	},
	"tick pairs":      func(n int) string { return strings.Repeat("`a``", n/4) },
	"angles":          func(n int) string { return strings.Repeat("<a", n/2) },
	"addresses":       func(n int) string { return strings.Repeat("<http://a", n/9) },
	"mail":            func(n int) string { return strings.Repeat("a_", n/2) + "@" },
	"bare":            func(n int) string { return strings.Repeat("(www.a", n/6) },
	"comments":        func(n int) string { return strings.Repeat("<!--a ", n/6) },
	"tags":            func(n int) string { return strings.Repeat("<a b='\n", n/8) },
	"scripts":         func(n int) string { return strings.Repeat("<script>\n\n", n/10) },
	"quotes":          func(n int) string { return strings.Repeat(">", n) },
	"lines of quotes": func(n int) string { return strings.Repeat(strings.Repeat("> ", 30)+"a\n", n/62) },
	"growing quotes": func(n int) string {
		var b strings.Builder
		for k := 1; b.Len() < n; k++ {
			b.WriteString(strings.Repeat(">", k) + "a\n")
		}
		return b.String()
	},
	"lists in lists": func(n int) string { return strings.Repeat(strings.Repeat("+ ", 19)+"a\n", n/40) },
	"lists":          func(n int) string { return strings.Repeat("- ", n/2) },
	"numbers":        func(n int) string { return strings.Repeat("1. ", n/3) },
	"items":          func(n int) string { return strings.Repeat("- a\n", n/4) },
	"loose items":    func(n int) string { return strings.Repeat("- a\n\n", n/5) },
	"lazy items":     func(n int) string { return strings.Repeat("- > - > a\nb\n", n/12) },
	"empty items":    func(n int) string { return strings.Repeat("-\n", n/2) },
	"deep items": func(n int) string {
		var b strings.Builder
		for k := 0; b.Len() < n; k++ {
			b.WriteString(strings.Repeat("  ", k) + "- x\n")
		}
		return b.String()
	},
	"wide table": func(n int) string {
		return strings.Repeat("|a", n/4) + "\n" + strings.Repeat("|-", n/4) + "\n"
	},
	"short rows": func(n int) string {
		return strings.Repeat("|a", 100) + "|\n" + strings.Repeat("|-", 100) + "|\n" + strings.Repeat("b\n", n/2)
	},
	"escaped bars": func(n int) string { return "|a|\n|-|\n" + strings.Repeat("|`b\\|`|\n", n/8) },
	"many tables":  func(n int) string { return strings.Repeat("a|b\n-|-\n`\\|`|c\n\n", n/16) },
	"narrow cells": func(n int) string {
		return "|a|b|c|d|\n|-|-|-|-|\n|" + strings.Repeat("x", n) + "|y|z|\n"
	},
	"long heads": func(n int) string {
		return strings.Repeat("|"+strings.Repeat("h", 400), 20) + "|\n" + strings.Repeat("|-", 20) + "|\n" + strings.Repeat("|a|b\n", n/5)
	},
	"rules":       func(n int) string { return strings.Repeat("* ", n/2) },
	"headings":    func(n int) string { return strings.Repeat("#\n", n/2) },
	"underlines":  func(n int) string { return strings.Repeat("a\n=\n", n/4) },
	"fences":      func(n int) string { return strings.Repeat("```\n", n/4) },
	"open fences": func(n int) string { return strings.Repeat("> ```a\n", n/7) },
	"spaces":      func(n int) string { return "a" + strings.Repeat(" ", n) + "b" },
	"empty lines": func(n int) string { return "a" + strings.Repeat("\n", n) + "b" },
	"backslashes": func(n int) string { return strings.Repeat("\\", n) },
	"entities":    func(n int) string { return strings.Repeat("&#27;", n/5) },
	"ampersands":  func(n int) string { return strings.Repeat("&", n) },
	"marks":       func(n int) string { return "a" + strings.Repeat("\u0301", n/2) },
	"joiners":     func(n int) string { return strings.Repeat("\u200d", n/3) },
	"flags":       func(n int) string { return strings.Repeat("🇩", n/4) },
	"colours":     func(n int) string { return strings.Repeat("**a**`b`", n/8) },
}

func FuzzMarkdown(f *testing.F) {
	f.Add(sampleMarkdown, 40)
	f.Add(manual, 23)
	for _, text := range hostile {
		f.Add(text(200), 30)
	}
	f.Add("&#27;[2J<x>\x1b]8;;y\a", 20)
	f.Add("| a |\n|--|\n| `b|c` 中 |", 12)
	f.Fuzz(func(t *testing.T, s string, width int) {
		if width < 1 || width > 300 || len(s) > 4000 {
			return
		}
		checkWidth(t, "markdown", Markdown(NewTheme(ModeDark, true), s, width), width)
		for _, l := range Markdown(none(), s, width) {
			if strings.Contains(l, "\x1b") {
				t.Fatalf("an escape: %q", l)
			}
		}
	})
}

// TestMarkdownIsNotHeldUp: 20 times the text takes about 20 times as long, and makes
// that many lines. The library alone takes ten seconds for two of these.
func TestMarkdownIsNotHeldUp(t *testing.T) {
	theme := NewTheme(ModeDark, true)
	took := func(text string) (time.Duration, []string) {
		start := time.Now()
		lines := Markdown(theme, text, 80)
		return time.Since(start), lines
	}
	n := rounds(10 << 10)
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		small, _ := took(hostile[name](n))
		large, lines := took(hostile[name](20 * n))
		if large > 2*time.Second && large > 100*small {
			t.Errorf("%s: %v for %d bytes, %v for 20 times as many", name, small, n, large)
		}
		size := 0
		for _, l := range lines {
			size += len(l)
		}
		// Quotes in quotes are the most: each letter has its line of bars.
		if size > 200*20*n {
			t.Errorf("%s: %d bytes make %d", name, 20*n, size)
		}
		checkWidth(t, name, lines[:min(len(lines), 1000)], 80)
	}
}

func BenchmarkMarkdown(b *testing.B) {
	texts := maps.Clone(hostile)
	texts["an answer"] = func(n int) string { return strings.Repeat(sampleMarkdown, n/len(sampleMarkdown)+1) }
	texts["prose"] = func(n int) string {
		return strings.Repeat(strings.Repeat("word *soft* and so on ", 30)+"\n\n", n/662+1)
	}
	texts["code"] = func(n int) string {
		return "```go\n" + strings.Repeat("\tif err := f(x, y[i]); err != nil { // `why`\n", n/46+1) + "```\n"
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		for _, kb := range []int{4, 40, 400} {
			text := texts[name](kb << 10)
			b.Run(fmt.Sprintf("%s/%dKB", strings.ReplaceAll(name, " ", "-"), kb), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					Markdown(NewTheme(ModeDark, true), text, 80)
				}
			})
		}
	}
}
