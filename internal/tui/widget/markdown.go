package widget

import (
	"strings"
	"sync"

	"github.com/yuin/goldmark/parser"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/clew-dev/clew/internal/markdown"
)

// Limits of rendering. A text beyond them is shown as it is.
const (
	maxMarkdown      = 512 << 10 // bytes
	minMarkdownWidth = 10        // columns
)

// Markdown renders a finished message for a width. What can't be rendered is wrapped as it is.
//
// It knows CommonMark with GitHub's tables, task lists, struck words and bare
// addresses. HTML is text. A line of a paragraph stays a line.
func Markdown(t *Theme, text string, width int) []string {
	text = Sanitize(text)
	if width < minMarkdownWidth || len(text) > maxMarkdown {
		return Wrap(text, width)
	}
	if !markdown.Tangled(text) {
		return drawMarkdown(t, text, width)
	}
	var out []string // what can't be read stands as it is, what is around it is rendered
	for i, part := range strings.Split(text, "\n\n") {
		if i > 0 {
			out = append(out, "")
		}
		if markdown.Tangled(part) {
			out = append(out, Wrap(part, width)...)
		} else {
			out = append(out, drawMarkdown(t, part, width)...)
		}
	}
	return out
}

// markdownParser is goldmark's parser with what GitHub adds. HTML in a line is text.
var markdownParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(
			util.Prioritized(markdown.Tasks, 0), util.Prioritized(parser.NewCodeSpanParser(), 100), util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300), util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(markdown.Struck, 500), util.Prioritized(markdown.Addresses, 999),
		),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(markdown.Tables, 200))...),
		parser.WithASTTransformers(util.Prioritized(markdown.CodePipes, 0)),
	)
})

// drawMarkdown renders a text; one that the parser does not survive stands as it is.
func drawMarkdown(t *Theme, source string, width int) (lines []string) {
	defer func() {
		// A message of a model must not end the program.
		if recover() != nil || len(lines) == 0 {
			lines = Wrap(source, width)
		}
	}()
	text := []byte(source)
	d := &markdownDrawing{theme: t, source: text, width: width, addresses: len(text), paints: map[ink]paint{}}
	d.blocks(markdownParser().Parse(gtext.NewReader(text)), &margin{width: width})
	for len(d.lines) > 0 && strings.TrimSpace(d.lines[0]) == "" {
		d.lines = d.lines[1:]
	}
	for len(d.lines) > 0 && strings.TrimSpace(d.lines[len(d.lines)-1]) == "" {
		d.lines = d.lines[:len(d.lines)-1]
	}
	return d.lines
}
