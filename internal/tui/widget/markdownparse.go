package widget

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/clew-dev/clew/internal/markdown"
)

// A markdownParser is the library's parser with bounds. What the library does with
// the marks of a paragraph may grow with their number times its length, and what
// it does with a line grows with the lists and quotes around it. A part of a text that
// goes beyond the bounds is plain text; the rest of it is rendered.
type markdownParser struct{ parser.Parser }

// The bounds.
const (
	maxScan    = 64 << 20 // steps, marks of a paragraph times its bytes, a text
	maxNesting = 20       // lists and quotes in each other
)

func newMarkdownParser() *markdownParser {
	return &markdownParser{parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(nested{parser.NewListParser()}, 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(nested{parser.NewBlockquoteParser()}, 800),
			util.Prioritized(parser.NewHTMLBlockParser(), 900),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(bounded{markdown.Tasks}, 0),
			util.Prioritized(bounded{parser.NewCodeSpanParser()}, 100),
			util.Prioritized(bounded{parser.NewLinkParser()}, 200),
			util.Prioritized(bounded{parser.NewAutoLinkParser()}, 300),
			util.Prioritized(bounded{parser.NewEmphasisParser()}, 500),
			util.Prioritized(bounded{markdown.Struck}, 500),
			util.Prioritized(bounded{markdown.Addresses}, 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(definitions{parser.LinkReferenceParagraphTransformer}, 100),
			util.Prioritized(markdown.Tables, 200),
		),
		parser.WithASTTransformers(util.Prioritized(markdown.CodePipes, 0)),
	)}
}

func (p *markdownParser) parse(source []byte) ast.Node {
	pc := parser.NewContext()
	pc.Set(budgetKey, &budget{scan: maxScan})
	return p.Parse(text.NewReader(source), parser.WithContext(pc))
}

// A budget is what the parser may still spend on a text.
type budget struct {
	scan int

	block   ast.Node // the paragraph that was asked for last
	allowed bool
}

var budgetKey = parser.NewContextKey()

func budgetOf(pc parser.Context) *budget { return pc.Get(budgetKey).(*budget) }

func (b *budget) spend(steps int) bool {
	if steps > b.scan {
		return false
	}
	b.scan -= steps
	return true
}

// bounded asks the budget before it looks at a paragraph.
type bounded struct{ parser.InlineParser }

func (p bounded) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	b := budgetOf(pc)
	if b.block != parent {
		marks, size := 0, 0
		for _, s := range parent.Lines().Sliced(0, parent.Lines().Len()) {
			line := s.Value(block.Source())
			size += len(line)
			for _, c := range line {
				if bytes.IndexByte([]byte("*_`~[]<!("), c) >= 0 {
					marks++
				}
			}
		}
		b.block, b.allowed = parent, b.spend(marks*size)
	}
	if !b.allowed {
		return nil
	}
	return p.InlineParser.Parse(parent, block, pc)
}

func (p bounded) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := p.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// nested opens no list and no quote that is too deep.
type nested struct{ parser.BlockParser }

func (p nested) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		if k := n.Kind(); k == ast.KindBlockquote || k == ast.KindList {
			depth++
		}
	}
	if depth >= maxNesting {
		return nil, parser.NoChildren
	}
	return p.BlockParser.Open(parent, reader, pc)
}

// definitions reads [label]: address.
type definitions struct{ parser.ParagraphTransformer }

func (d definitions) Transform(n *ast.Paragraph, reader text.Reader, pc parser.Context) {
	lines, size := n.Lines(), 0
	first := lines.At(0)
	if !bytes.HasPrefix(bytes.TrimLeft(first.Value(reader.Source()), " "), []byte("[")) {
		return
	}
	for _, s := range lines.Sliced(0, lines.Len()) {
		size += s.Len()
	}
	if budgetOf(pc).spend(lines.Len() * size) {
		d.ParagraphTransformer.Transform(n, reader, pc)
	}
}
