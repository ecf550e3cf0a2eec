package markdown

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

func html(t *testing.T, md goldmark.Markdown, s string) string {
	t.Helper()
	var b bytes.Buffer
	if err := md.Convert([]byte(s), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func ours() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParserOptions(
			parser.WithInlineParsers(util.Prioritized(Tasks, 0), util.Prioritized(Struck, 500), util.Prioritized(Addresses, 999)),
			parser.WithParagraphTransformers(util.Prioritized(Tables, 200)),
			parser.WithASTTransformers(util.Prioritized(CodePipes, 0)),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(
			util.Prioritized(extension.NewTableHTMLRenderer(), 500), util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
			util.Prioritized(extension.NewTaskCheckBoxHTMLRenderer(), 500),
		)),
	)
}

var readAlike = []string{
	"| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 |\n| 4 | 5 | 6 |\n", "a | b\n:-- | --:\n1 | 2\n\nafter", "text\n| a | b |\n|--|--|\n", "one\ntwo\na|b\n-|-\nc|d",
	"a\n---\nb", "| a |\n| - |\n", "a|b\n-|x\n", "|a|\n|:|\n", "| `a\\|b\\|c` | d \\| e |\n|-|-|\n| `f\\|` | ``\\|g`` |", "- a|b\n  -|-\n  1|2", "> |a|\n> |-|\n> |b|",
	"||\n|-|", "| a | |\n|-|-|\n| | b |", "|\ta\t|\n|-|\n|\tb\t|", "*a|b*\n-|-\n**c** | [d](e)",
	"~~a~~ ~b~ ~~~c~~~ a~b~c ~~ d ~~ ~~a *b~~ c*", "~~a\nb~~", "~~~\ncode\n~~~",
	"- [ ] a\n- [x] b\n- [X] c\n- [y] d\n- [ ]\n- [x]e\n- a [x] b\n\n[x] p\n\n1. [ ] n", "- [x]\tb\n  [ ] c", "- > [x] a",
	"https://example.org", "see http://example.org/a?b=c&d=e#f, and (https://example.org/x_(y)). www.example.org/a! ftp://example.org/a", "http://localhost:80 http://a.b:80/c https://x.y.",
	"https://e.org/a&amp; https://e.org/a; *https://e.org* _www.e.org_ ~https://e.org~", "[https://a.org](b) <https://c.org> `https://d.org` xhttps://e.org", "www. http:// https://. http://.org",
	"https://example.org/a|b https://example.org/a<b>", "me@example.org, a.b+c@x-y.example.org. (me@example.org) me@example me@example.org- a@b.c_ @a.b", "| https://e.org/a | me@e.org |\n|-|-|",
}

// TestReadsAsTheLibrary compares with goldmark's own extensions.
func TestReadsAsTheLibrary(t *testing.T) {
	theirs := goldmark.New(goldmark.WithExtensions(extension.GFM))
	for _, s := range readAlike {
		if got, want := html(t, ours(), s), html(t, theirs, s); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", s, got, want)
		}
	}
}

// TestTablesAndAddressesEnd: what is made to be slow to read is not.
func TestTablesAndAddressesEnd(t *testing.T) {
	for _, s := range []string{"|a", "|-", "|a|\n|-|\n", "\\|", "`\\|`|", "www.a_", "_www.a.b_c", "(http://a.b", "a@b.", "~a~ ", "- [x] ", "www.a.b)", "https://a.b;&amp;"} {
		start := time.Now()
		html(t, ours(), "|a|\n|-|\n|"+strings.Repeat(s, (64<<10)/len(s))+"|\n\n"+strings.Repeat(s, (64<<10)/len(s)))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q takes %v", s, took)
		}
	}
	head := strings.Repeat("|a", 300) + "|\n" + strings.Repeat("|-", 300) + "|\n"
	if out := html(t, ours(), head+strings.Repeat("|b|\n", 10_000)); strings.Contains(out, "<table") {
		t.Errorf("a table of 3,000,000 cells was made: %d bytes", len(out))
	}
}

// FuzzReadsOn: no text makes the parsers panic, and none is lost.
func FuzzReadsOn(f *testing.F) {
	for _, s := range readAlike {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { html(t, ours(), s) })
}
