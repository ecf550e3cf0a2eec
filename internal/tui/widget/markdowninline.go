package widget

import (
	"html"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/clew-dev/clew/internal/text"
)

// An ink says how a character looks.
type ink uint8

const (
	inkBold ink = 1 << iota
	inkItalic
	inkStruck
	inkCode
	inkLink
	inkDim
	inkHeading
)

// A paint is what stands before and behind text of one look.
type paint struct{ before, behind string }

func (d *markdownDrawing) paint(k ink) paint {
	if p, ok := d.paints[k]; ok {
		return p
	}
	t := d.theme
	style := t.Text
	switch {
	case k&inkCode != 0:
		style = t.Tool
	case k&inkDim != 0:
		style = t.Dim
	case k&inkLink != 0:
		style = t.Accent
	case k&inkHeading != 0:
		style = t.Match
	}
	if k&(inkBold|inkHeading) != 0 {
		style = style.Bold(true)
	}
	if k&inkItalic != 0 {
		style = style.Italic(true)
	}
	if k&inkStruck != 0 {
		style = style.Strikethrough(true)
	}
	before, behind, _ := strings.Cut(t.Paint(style, "x"), "x")
	p := paint{before, behind}
	d.paints[k] = p
	return p
}

// ink paints a text that has one look.
func (d *markdownDrawing) ink(s string, k ink) string {
	if s == "" {
		return ""
	}
	d.last = s[len(s)-1]
	if d.theme.Mode == ModeNone {
		return s
	}
	p := d.paint(k)
	return p.before + s + p.behind
}

// wrapStyled breaks painted text into lines of at most width columns; each has its styles.
// Its line ends stay, and lines without a text do not.
func wrapStyled(s string, width int) (out []string) {
	for line := range strings.SplitSeq(s, "\n") {
		breakLine(line, width, func(from, to int) { out = append(out, line[from:to]) })
	}
	if !strings.Contains(s, "\x1b") {
		return out
	}
	var b strings.Builder
	w := lipgloss.NewWrapWriter(&b)
	_, _ = w.Write([]byte(strings.Join(out, "\n"))) // a builder takes all
	_ = w.Close()
	out = out[:0]
	for line := range strings.SplitSeq(b.String(), "\n") {
		if line = trimStyled(line); ansi.Strip(line) != "" {
			out = append(out, line)
		}
	}
	return out
}

// inline returns the painted text of a paragraph. In a cell of a table <br> ends a line: there
// is no other way to.
func (d *markdownDrawing) inline(parent ast.Node, k ink, cell bool) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(d.span(n, k, cell))
	}
	return b.String()
}

func (d *markdownDrawing) span(n ast.Node, k ink, cell bool) string {
	switch n := n.(type) {
	case *ast.Text:
		s := d.ink(unescape(n.Value(d.source), cell), k)
		if n.SoftLineBreak() || n.HardLineBreak() {
			s, d.last = s+"\n", '\n'
		}
		return s
	case *ast.CodeSpan:
		var code strings.Builder
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				code.WriteString(strings.ReplaceAll(string(t.Value(d.source)), "\n", " "))
			}
		}
		return d.mark("`", k) + d.ink(code.String(), k|inkCode) + d.mark("`", k)
	case *ast.Emphasis:
		style, mark := inkItalic, strings.Repeat("*", n.Level)
		if n.Level > 1 {
			style = inkBold
		}
		return d.mark(mark, k) + d.inline(n, k|style, cell) + d.mark(mark, k)
	case *extast.Strikethrough:
		// The marks stay: not every terminal strikes, and it would say the opposite.
		return d.ink("~~", k) + d.inline(n, k|inkStruck, cell) + d.ink("~~", k)
	case *ast.Link:
		label := d.inline(n, k|inkLink, cell)
		return label + d.address(ansi.Strip(label), n.Destination, k)
	case *ast.Image:
		mark := "[image"
		if n.HasChildren() {
			mark += ": "
		}
		return d.ink(mark, k) + d.inline(n, k, cell) + d.ink("]", k) + d.address("", n.Destination, k)
	case *ast.AutoLink:
		return d.ink(string(n.Label(d.source)), k|inkLink)
	case *extast.TaskCheckBox:
		return d.ink(boxText(n), k)
	default:
		return d.inline(n, k, cell)
	}
}

// mark writes what stands for a style where there is none.
func (d *markdownDrawing) mark(s string, k ink) string {
	if d.theme.Mode == ModeNone {
		return d.ink(s, k)
	}
	return ""
}

// address says where a link goes, unless its label has said so.
func (d *markdownDrawing) address(label string, destination []byte, k ink) string {
	if len(destination) > d.addresses {
		return ""
	}
	d.addresses -= len(destination)
	to := strings.TrimPrefix(unescape(destination, false), "mailto:")
	if to == "" || to == label {
		return ""
	}
	space := ""
	if d.last != ' ' && d.last != '\n' {
		space = d.ink(" ", k)
	}
	return space + d.ink("("+to+")", k|inkDim)
}

// standsFor finds what may stand for something else: a backslash before a mark, an entity, and
// the one tag that has a meaning.
var standsFor = text.Pattern(`(?i)\\[[:punct:]]|&#?\w{1,32};|<br ?/?>`)

// unescape returns what a text stands for. In a cell <br> is a line end. An entity that is none,
// or that stands for something that must not be shown, is as it is written.
func unescape(s []byte, cell bool) string {
	return standsFor().ReplaceAllStringFunc(string(s), func(written string) string {
		meant := html.UnescapeString(written)
		switch {
		case written[0] == '\\':
			return written[1:]
		case written[0] == '<' && cell:
			return "\n"
		case len(meant) > 1 && strings.HasSuffix(meant, ";"), strings.Contains(meant, "\n"), Sanitize(meant) != meant:
			return written
		}
		return meant
	})
}
