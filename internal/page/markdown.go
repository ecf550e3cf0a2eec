package page

import (
	"bytes"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

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
	if s = visible(s); len(s) > maxMarkdown || tangled(s) {
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
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)),
			extension.Strikethrough, extension.Linkify,
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(safe{}, 100))),
	)
})

// Bounds of what is rendered: beyond them a text was made to be hard to read, for a
// browser, which stops at some hundreds of levels, or for the parser, which compares
// each mark of a block with the others.
const (
	maxLevels = 50   // quotes and lists in each other
	maxMarks  = 500  // of emphasis and links in a block
	maxFenced = 5000 // likewise in code, which has marks of its own
)

// tangled reports whether a text goes beyond the bounds.
func tangled(s string) bool {
	marks, fence := 0, ""
	for l := range strings.Lines(s) {
		bare := strings.TrimLeft(l, " \t")
		if levels(l) > maxLevels && strings.Trim(l, "-*+_ \t\r\n") != "" || len(l)-len(bare) > 8*maxLevels {
			return true
		}
		switch f := bare[:len(bare)-len(strings.TrimLeft(bare, "`~"))]; {
		case fence != "" && strings.HasPrefix(f, fence):
			fence, marks = "", 0
		case fence == "" && len(f) >= 3 && strings.Trim(f, f[:1]) == "":
			fence, marks = f, 0
		case strings.TrimSpace(l) == "", text.ListMark(l) != "", text.TableRow(l):
			marks = 0
		}
		for i := range len(l) {
			if strings.IndexByte("[]*_~<`!", l[i]) >= 0 {
				marks++
			}
		}
		if marks > maxFenced || marks > maxMarks && fence == "" {
			return true
		}
	}
	return false
}

// levels counts the marks that a line begins with.
func levels(l string) (n int) {
	for i := 0; i < len(l) && strings.IndexByte("> \t-*+0123456789.)", l[i]) >= 0; i++ {
		if strings.IndexByte(">-*+.)", l[i]) >= 0 {
			n++
		}
	}
	return n
}

// safe renders what could do something as what can't.
type safe struct{}

func (safe) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHeading, heading)
	reg.Register(ast.KindLink, link)
	reg.Register(ast.KindAutoLink, autoLink)
	reg.Register(ast.KindImage, noImage)
	reg.Register(ast.KindRawHTML, rawHTML)
	reg.Register(ast.KindHTMLBlock, codeBlock)
	reg.Register(ast.KindCodeBlock, codeBlock)
	reg.Register(ast.KindFencedCodeBlock, codeBlock)
}

// heading keeps the headings of a text below those of the page.
func heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "h" + strconv.Itoa(min(n.(*ast.Heading).Level+2, 6)) + ">"
	if entering {
		_, _ = w.WriteString("<" + tag)
	} else {
		_, _ = w.WriteString("</" + tag + "\n")
	}
	return ast.WalkContinue, nil
}

// linked reports whether a page may link to an address.
func linked(dest []byte) bool {
	return slices.ContainsFunc([]string{"http://", "https://", "mailto:"}, func(scheme string) bool {
		return len(dest) > len(scheme) && strings.EqualFold(string(dest[:len(scheme)]), scheme)
	})
}

func anchor(dest []byte) string {
	return `<a href="` + string(util.EscapeHTML(util.URLEscape(dest, false))) + `" rel="noopener noreferrer nofollow">`
}

// nowhere begins what would be a link, with where it would have gone.
func nowhere(dest []byte) string {
	return `<span class="nolink" title="` + string(util.EscapeHTML(dest[:min(len(dest), 300)])) + `">`
}

func link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	dest := n.(*ast.Link).Destination
	switch ok := linked(dest); {
	case ok && entering:
		_, _ = w.WriteString(anchor(dest))
	case ok:
		_, _ = w.WriteString("</a>")
	case entering:
		_, _ = w.WriteString(nowhere(dest))
	default:
		_, _ = w.WriteString("</span>")
	}
	return ast.WalkContinue, nil
}

func autoLink(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	a := n.(*ast.AutoLink)
	label, dest := string(util.EscapeHTML(a.Label(source))), a.URL(source)
	if a.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(dest), []byte("mailto:")) {
		dest = append([]byte("mailto:"), dest...)
	}
	if linked(dest) {
		label = anchor(dest) + label + "</a>"
	}
	_, _ = w.WriteString(label)
	return ast.WalkContinue, nil
}

func noImage(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(nowhere(n.(*ast.Image).Destination) + "[image: ")
	} else {
		_, _ = w.WriteString("]</span>")
	}
	return ast.WalkContinue, nil
}

func rawHTML(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		segments := n.(*ast.RawHTML).Segments
		for i := range segments.Len() {
			s := segments.At(i)
			_, _ = w.Write(util.EscapeHTML(s.Value(source)))
		}
	}
	return ast.WalkSkipChildren, nil
}

// codeBlock renders code, and HTML, which is shown as code.
func codeBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	block, isHTML := n.(*ast.HTMLBlock)
	if isHTML {
		_, _ = w.WriteString("<pre><code>\n")
	} else {
		_, _ = w.WriteString("<pre tabindex=\"0\"><code>")
	}
	for i := range n.Lines().Len() {
		l := n.Lines().At(i)
		_, _ = w.Write(util.EscapeHTML(l.Value(source)))
	}
	if isHTML && block.HasClosure() {
		_, _ = w.Write(util.EscapeHTML(block.ClosureLine.Value(source)))
	}
	_, _ = w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, nil
}
