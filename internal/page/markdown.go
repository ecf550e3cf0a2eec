package page

import (
	"bytes"
	"html/template"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"github.com/clew-dev/clew/internal/markdown"
	"github.com/clew-dev/clew/internal/text"
)

// maxMarkdown is the longest text that is rendered, in bytes; a longer one is shown
// as it was written.
const maxMarkdown = 128 << 10

// prose is an answer or a summary as HTML. HTML in it is text; links go to the web or
// to a mailbox and nowhere else; images are named, not fetched. A text that is too
// long or too nested stands as it was written.
func prose(s string) (p part) {
	p = part{Kind: "markdown", Parts: []part{pre(s)}}
	if s = text.Visible(s); len(s) > maxMarkdown || markdown.Tangled(s) {
		return p
	}
	// What a model wrote must never end an export, whatever the library makes of it.
	defer func() { _ = recover() }()
	var b bytes.Buffer
	b.Grow(len(s) + len(s)/4)
	if err := converter().Convert([]byte(s), &b); err == nil {
		p.HTML, p.Parts = template.HTML(b.String()), nil
	}
	return p
}

var converter = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParserOptions(
			parser.WithInlineParsers(util.Prioritized(markdown.Struck, 500), util.Prioritized(markdown.Addresses, 999)),
			parser.WithParagraphTransformers(util.Prioritized(markdown.Tables, 200)),
			parser.WithASTTransformers(util.Prioritized(markdown.CodePipes, 0)),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safe{}, 100))),
	)
})

// safe renders what could do something as what can't. Each function returns what
// stands before and behind what is in a node.
type safe struct{}

func (safe) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	for kind, render := range map[ast.NodeKind]func(n ast.Node, source []byte) (before, behind string){
		ast.KindHeading: heading, ast.KindLink: link, ast.KindAutoLink: autoLink, ast.KindImage: noImage,
		ast.KindRawHTML: rawHTML, ast.KindHTMLBlock: codeBlock, ast.KindCodeBlock: codeBlock, ast.KindFencedCodeBlock: codeBlock,
		extast.KindTable: inTag("table"), extast.KindTableHeader: tableHead, extast.KindTableRow: tableRow, extast.KindTableCell: tableCell,
		extast.KindStrikethrough: inTag("del"),
	} {
		reg.Register(kind, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
			s, behind := render(n, source)
			if !entering {
				s = behind
			}
			_, err := w.WriteString(s)
			return ast.WalkContinue, err
		})
	}
}

func escape(b []byte) string { return string(util.EscapeHTML(b)) }

// heading keeps the headings of a text below those of the page.
func heading(n ast.Node, _ []byte) (before, behind string) {
	tag := "h" + strconv.Itoa(min(n.(*ast.Heading).Level+2, 6)) + ">"
	return "<" + tag, "</" + tag + "\n"
}

// anchor links to the web or to a mailbox. Of other links it says where they would
// have gone.
func anchor(dest []byte) (before, behind string) {
	for _, scheme := range []string{"http://", "https://", "mailto:"} {
		if len(dest) > len(scheme) && strings.EqualFold(string(dest[:len(scheme)]), scheme) {
			return `<a href="` + escape(util.URLEscape(dest, false)) + `" rel="noopener noreferrer nofollow">`, "</a>"
		}
	}
	return `<span class="nolink" title="` + escape(dest[:min(len(dest), 300)]) + `">`, "</span>"
}

func link(n ast.Node, _ []byte) (before, behind string) { return anchor(n.(*ast.Link).Destination) }

func autoLink(n ast.Node, source []byte) (all, _ string) {
	a := n.(*ast.AutoLink)
	label, dest := escape(a.Label(source)), a.URL(source)
	if a.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(dest), []byte("mailto:")) {
		dest = append([]byte("mailto:"), dest...)
	}
	if before, behind := anchor(dest); behind == "</a>" {
		return before + label + behind, ""
	}
	return label, ""
}

func noImage(n ast.Node, _ []byte) (before, behind string) {
	dest := n.(*ast.Image).Destination
	return `<span class="nolink" title="` + escape(dest[:min(len(dest), 300)]) + `">[image: `, "]</span>"
}

func rawHTML(n ast.Node, source []byte) (all, _ string) {
	segments := n.(*ast.RawHTML).Segments
	return escape(segments.Value(source)), ""
}

// codeBlock renders code, and HTML, which is shown as code.
func codeBlock(n ast.Node, source []byte) (all, _ string) {
	head, code := "<pre tabindex=\"0\"><code>", n.Lines().Value(source)
	if block, ok := n.(*ast.HTMLBlock); ok {
		if head = "<pre><code>\n"; block.HasClosure() {
			code = append(code, block.ClosureLine.Value(source)...)
		}
	}
	return head + escape(code) + "</code></pre>\n", ""
}

func inTag(name string) func(ast.Node, []byte) (before, behind string) {
	return func(ast.Node, []byte) (before, behind string) { return "<" + name + ">", "</" + name + ">" }
}

// tableHead renders the first row of a table, and the start of the body where there is one.
func tableHead(n ast.Node, _ []byte) (before, behind string) {
	behind = "</tr></thead>\n"
	if n.NextSibling() != nil {
		behind += "<tbody>\n"
	}
	return "<thead><tr>", behind
}

func tableRow(n ast.Node, _ []byte) (before, behind string) {
	behind = "</tr>\n"
	if n.NextSibling() == nil {
		behind += "</tbody>\n"
	}
	return "<tr>", behind
}

func tableCell(n ast.Node, _ []byte) (before, behind string) {
	if n.Parent().Kind() == extast.KindTableHeader {
		return "<th>", "</th>"
	}
	return "<td>", "</td>"
}
