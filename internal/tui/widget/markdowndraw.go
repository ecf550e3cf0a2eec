package widget

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// A markdownDrawing turns the tree of a text into lines.
type markdownDrawing struct {
	theme     *Theme
	source    []byte
	width     int
	lines     []string
	addresses int // bytes of addresses that may still be shown; a definition may be used often
	paints    map[ink]paint
	last      byte // the last that was painted
}

// A margin is what stands before the lines of a block.
type margin struct {
	first, rest string // before the next line, and before those after it
	width       int    // what is left of a line, in columns
}

// minRoom is how narrow lists and quotes make a line, in columns.
const minRoom = 8

// inside draws a block in a block: mark stands before its first line, rest, which is as
// wide, before the others. Where that leaves too little room, mark has a line of its own
// and what follows is not indented. A block without lines is its mark.
func (d *markdownDrawing) inside(m *margin, mark, rest string, draw func(*margin)) {
	w := Width(mark)
	if m.width-w < minRoom {
		if mark != rest {
			d.line(m, trimStyled(mark))
		}
		draw(m)
		return
	}
	in := &margin{m.first + mark, m.rest + rest, m.width - w}
	m.first = m.rest
	before := len(d.lines)
	draw(in)
	if len(d.lines) == before {
		d.line(in, "")
	}
}

func (d *markdownDrawing) line(m *margin, s string) {
	if s == "" {
		s = trimStyled(m.first)
	} else {
		s = m.first + s
	}
	m.first = m.rest
	d.lines = append(d.lines, Cut(s, d.width))
}

// blocks draws what is in a node, with an empty line between two blocks. In an item
// of a list there is one where there was one.
func (d *markdownDrawing) blocks(parent ast.Node, m *margin) {
	drawn, item := false, parent.Kind() == ast.KindListItem
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindLinkReferenceDefinition {
			continue
		}
		if drawn && (!item || n.HasBlankPreviousLines()) {
			d.line(m, "")
		}
		drawn = true
		d.block(n, m)
	}
}

func (d *markdownDrawing) block(n ast.Node, m *margin) {
	switch n := n.(type) {
	case *ast.Heading:
		mark := strings.Repeat("#", n.Level) + " "
		d.inside(m, d.ink(mark, inkHeading), strings.Repeat(" ", len(mark)), func(in *margin) { d.paragraph(n, in, inkHeading) })
	case *ast.Blockquote:
		bar := d.ink("│", inkDim) + " "
		d.inside(m, bar, bar, func(in *margin) { d.blocks(n, in) })
	case *ast.List:
		d.list(n, m)
	case *ast.FencedCodeBlock:
		if n.Info != nil { // its language
			for _, l := range Wrap("── "+OneLine(string(n.Info.Value(d.source))), m.width) {
				d.line(m, d.ink(l, inkDim))
			}
		}
		d.code(n, m, string(n.Language(d.source)))
	case *ast.CodeBlock:
		d.code(n, m, "")
	case *ast.HTMLBlock:
		html := string(n.Lines().Value(d.source))
		if n.HasClosure() {
			html += string(n.ClosureLine.Value(d.source))
		}
		for _, l := range Wrap(strings.TrimRight(html, "\n "), m.width) {
			d.line(m, l)
		}
	case *ast.ThematicBreak:
		d.line(m, d.ink(strings.Repeat("─", m.width), inkDim))
	case *extast.Table:
		d.table(n, m)
	default:
		d.paragraph(n, m, 0)
	}
}

func (d *markdownDrawing) paragraph(n ast.Node, m *margin, base ink) {
	d.last = '\n'
	for _, l := range wrapStyled(d.inline(n, base, false), m.width) {
		d.line(m, l)
	}
}

// code keeps the lines of code, also the spaces in them, and breaks those that are
// too long where they are full.
func (d *markdownDrawing) code(n ast.Node, m *margin, language string) {
	const indent = "  "
	d.inside(m, indent, indent, func(in *margin) {
		lines := n.Lines()
		for _, s := range lines.Sliced(0, lines.Len()) {
			l := strings.TrimRight(string(s.Value(d.source)), " \n")
			for _, part := range hardWrap(l, in.width) {
				d.line(in, paintCode(d.theme, d.theme.Text, language, part))
			}
		}
	})
}

func (d *markdownDrawing) list(n *ast.List, m *margin) {
	last := strconv.Itoa(n.Start + n.ChildCount() - 1)
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if item.PreviousSibling() != nil && !n.IsTight {
			d.line(m, "")
		}
		mark := "• "
		if n.IsOrdered() {
			s := strconv.Itoa(number)
			mark = strings.Repeat(" ", len(last)-len(s)) + s + string(n.Marker) + " "
			number++
		} else if box := taskBox(item); box != nil {
			mark = boxText(box)
			box.Parent().RemoveChild(box.Parent(), box)
		}
		d.inside(m, mark, strings.Repeat(" ", Width(mark)), func(in *margin) { d.blocks(item, in) })
	}
}

// taskBox returns the box that an item of a list begins with, or nil.
func taskBox(item ast.Node) *extast.TaskCheckBox {
	if item.FirstChild() == nil {
		return nil
	}
	box, _ := item.FirstChild().FirstChild().(*extast.TaskCheckBox)
	return box
}

func boxText(box *extast.TaskCheckBox) string {
	if box.IsChecked {
		return "[x] "
	}
	return "[ ] "
}
