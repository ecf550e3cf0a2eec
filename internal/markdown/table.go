// Package markdown has what GitHub adds to CommonMark, as parsers for goldmark: tables,
// struck words, task lists and bare addresses. goldmark's own package for them compiles
// regular expressions when a program starts, which costs each start half a millisecond.
package markdown

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	words "github.com/clew-dev/clew/internal/text"
)

// maxCells is the largest table, in cells: short rows below a long head are filled up, so
// that a small text could make a huge table.
const maxCells = 20_000

// Tables makes a table of a paragraph that has a delimiter row.
var Tables parser.ParagraphTransformer = tables{}

type tables struct{}

func (tables) Transform(p *ast.Paragraph, reader text.Reader, _ parser.Context) {
	lines, source := p.Lines(), reader.Source()
	for i := 1; i < lines.Len(); i++ {
		delimiter := lines.At(i)
		align := alignments(delimiter.Value(source))
		if align == nil {
			continue
		}
		head := cells(lines.At(i-1), source)
		if len(head) != len(align) || len(align)*(lines.Len()-i) > maxCells {
			return
		}
		table := extast.NewTable()
		table.Alignments = align
		table.AppendChild(table, extast.NewTableHeader(tableRow(head, align)))
		for _, line := range lines.Sliced(i+1, lines.Len()) {
			table.AppendChild(table, tableRow(cells(line, source), align))
		}
		p.Parent().InsertAfter(p.Parent(), p, table)
		if i == 1 {
			p.Parent().RemoveChild(p.Parent(), p)
			return
		}
		lines.SetSliced(0, i-1)
		last := lines.At(i - 2)
		lines.Set(i-2, last.TrimRightSpace(source))
		return
	}
}

// alignments reads a delimiter row; it is nil for any other line.
func alignments(line []byte) (out []extast.Alignment) {
	line = bytes.TrimSpace(line)
	if len(bytes.Trim(line, "-:| \t")) > 0 || !bytes.ContainsAny(line, "|:") {
		return nil
	}
	line = bytes.TrimSuffix(bytes.TrimPrefix(line, []byte("|")), []byte("|"))
	for cell := range bytes.SplitSeq(line, []byte("|")) {
		m := delimiter().FindSubmatch(cell)
		if m == nil {
			return nil
		}
		out = append(out, colons[string(m[1])+"-"+string(m[2])])
	}
	return out
}

var (
	delimiter = words.Pattern(`^\s*(:?)-+(:?)\s*$`)
	colons    = map[string]extast.Alignment{"-": extast.AlignNone, ":-": extast.AlignLeft, "-:": extast.AlignRight, ":-:": extast.AlignCenter}
)

// cells splits a row at the pipes that have no backslash before them.
func cells(line text.Segment, source []byte) (out []text.Segment) {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	if line.Start < line.Stop && source[line.Start] == '|' {
		line.Start++
	}
	start := line.Start
	for i := line.Start; i < line.Stop; i++ {
		if source[i] != '|' || i > line.Start && source[i-1] == '\\' {
			continue
		}
		out = append(out, trimmed(start, i, source))
		start = i + 1
	}
	if start < line.Stop {
		out = append(out, trimmed(start, line.Stop, source))
	}
	return out
}

func trimmed(start, stop int, source []byte) text.Segment {
	cell := text.NewSegment(start, stop)
	cell = cell.TrimLeftSpace(source)
	return cell.TrimRightSpace(source)
}

// tableRow makes a row with a cell for each column.
func tableRow(in []text.Segment, align []extast.Alignment) *extast.TableRow {
	row := extast.NewTableRow(align)
	for i, a := range align {
		cell := extast.NewTableCell()
		if i < len(in) {
			cell.Alignment = a
			cell.Lines().Append(in[i])
		}
		row.AppendChild(row, cell)
	}
	return row
}

// CodePipes takes the backslash from before the pipes of code in a table, which only
// keeps them from ending the cell.
var CodePipes parser.ASTTransformer = codePipes{}

type codePipes struct{}

func (codePipes) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	source, inCell := reader.Source(), false
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.Kind() {
		case extast.KindTableCell:
			inCell = entering
		case ast.KindCodeSpan:
			if inCell && entering {
				for c := n.FirstChild(); c != nil; c = c.NextSibling() {
					if t, ok := c.(*ast.Text); ok {
						splitAtPipe(n, t, source)
					}
				}
			}
		}
		return ast.WalkContinue, nil
	})
}

// splitAtPipe cuts a text before its first escaped pipe. What is behind the backslash is a
// text of its own, the next one.
func splitAtPipe(span ast.Node, t *ast.Text, source []byte) {
	at := bytes.Index(t.Segment.Value(source), []byte(`\|`))
	if at < 0 || t.Segment.Padding > 0 {
		return
	}
	rest := ast.NewRawTextSegment(t.Segment.WithStart(t.Segment.Start + at + 1))
	t.Segment = t.Segment.WithStop(t.Segment.Start + at)
	span.InsertAfter(span, t, rest)
}
