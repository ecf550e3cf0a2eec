package widget

import (
	"crypto/sha256"
	"strings"

	"github.com/yuin/goldmark/parser"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/clew-dev/clew/internal/markdown"
)

// A Markdown renders finished messages. It keeps what it has rendered last. The zero
// Markdown is ready.
//
// It knows CommonMark with GitHub's tables, task lists, struck words and bare
// addresses. HTML is text. A line of a paragraph stays a line.
type Markdown struct {
	cache  map[markdownKey][]string
	order  []markdownKey
	parser parser.Parser
}

type markdownKey struct {
	sum   [sha256.Size]byte
	width int
	mode  Mode
}

// Limits of rendering. A text beyond them is shown as it is.
const (
	maxMarkdown      = 512 << 10 // bytes
	minMarkdownWidth = 10        // columns
	maxMarkdownCache = 256       // texts
)

// Lines renders a text for a width. A text that can't be rendered is wrapped as it
// is. The result is not to be changed.
func (m *Markdown) Lines(t *Theme, text string, width int) []string {
	if width < 1 {
		return nil
	}
	k := markdownKey{sha256.Sum256([]byte(text)), width, t.mode}
	if lines, ok := m.cache[k]; ok {
		return lines
	}
	lines := m.render(t, Sanitize(text), width)
	if m.cache == nil {
		m.cache = map[markdownKey][]string{}
	}
	if len(m.order) >= maxMarkdownCache {
		delete(m.cache, m.order[0])
		m.order = m.order[1:]
	}
	m.cache[k], m.order = lines, append(m.order, k)
	return lines
}

func (m *Markdown) render(t *Theme, text string, width int) []string {
	if width < minMarkdownWidth || len(text) > maxMarkdown {
		return Wrap(text, width)
	}
	if m.parser == nil {
		m.parser = newMarkdownParser()
	}
	if !markdown.Tangled(text) {
		return m.draw(t, text, width)
	}
	var out []string // what can't be read stands as it is, what is around it is rendered
	for i, part := range strings.Split(text, "\n\n") {
		if i > 0 {
			out = append(out, "")
		}
		if markdown.Tangled(part) {
			out = append(out, Wrap(part, width)...)
		} else {
			out = append(out, m.draw(t, part, width)...)
		}
	}
	return out
}

// newMarkdownParser returns goldmark's parser with what GitHub adds. HTML in a line is text.
func newMarkdownParser() parser.Parser {
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
}

// draw renders a text; one that the parser does not survive stands as it is.
func (m *Markdown) draw(t *Theme, source string, width int) (lines []string) {
	defer func() {
		// A message of a model must not end the program.
		if recover() != nil || len(lines) == 0 {
			lines = Wrap(source, width)
		}
	}()
	text := []byte(source)
	d := &markdownDrawing{theme: t, source: text, width: width, addresses: len(text), paints: map[ink]paint{}}
	d.blocks(m.parser.Parse(gtext.NewReader(text)), &margin{width: width})
	for len(d.lines) > 0 && strings.TrimSpace(d.lines[0]) == "" {
		d.lines = d.lines[1:]
	}
	for len(d.lines) > 0 && strings.TrimSpace(d.lines[len(d.lines)-1]) == "" {
		d.lines = d.lines[:len(d.lines)-1]
	}
	return d.lines
}
