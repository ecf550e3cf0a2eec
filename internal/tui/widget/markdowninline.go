package widget

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
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

// An inked text has a look for each byte.
type inked struct {
	text []byte
	ink  []ink
}

func (w *inked) add(s string, k ink) {
	w.text = append(w.text, s...)
	for range len(s) {
		w.ink = append(w.ink, k)
	}
}

// wrap breaks the text into lines of at most width columns. Its line ends stay.
func (w *inked) wrap(width int) []inked {
	w.unify()
	var out []inked
	for start := 0; start < len(w.text); {
		end := start + bytes.IndexByte(w.text[start:], '\n')
		if end < start {
			end = len(w.text)
		}
		line := string(w.text[start:end])
		breakLine(line, width, func(from, to int) {
			out = append(out, inked{w.text[start+from : start+to], w.ink[start+from : start+to]})
		})
		start = end + 1
	}
	return out
}

// unify gives all bytes of a character one style: a style between its parts would make
// several of it.
func (w *inked) unify() {
	s := string(w.text)
	if plain(s) {
		return
	}
	for i := 0; i < len(s); {
		c, _ := cluster(s[i:])
		for k := i + 1; k < i+len(c); k++ {
			w.ink[k] = w.ink[i]
		}
		i += len(c)
	}
}

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
	if d.theme.mode == ModeNone {
		return s
	}
	p := d.paint(k)
	return p.before + s + p.behind
}

func (d *markdownDrawing) painted(w inked) string {
	if d.theme.mode == ModeNone {
		return string(w.text)
	}
	var b strings.Builder
	for i := 0; i < len(w.text); {
		end := i + 1
		for end < len(w.text) && w.ink[end] == w.ink[i] {
			end++
		}
		b.WriteString(d.ink(string(w.text[i:end]), w.ink[i]))
		i = end
	}
	return b.String()
}

// inline returns the text of a paragraph. In a cell of a table <br> ends a line: there
// is no other way to.
func (d *markdownDrawing) inline(n ast.Node, base ink, cell bool) *inked {
	w := &inked{}
	d.children(w, n, base, cell)
	return w
}

func (d *markdownDrawing) children(w *inked, parent ast.Node, k ink, cell bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			unescape(w, n.Value(d.source), k, cell)
			if n.SoftLineBreak() || n.HardLineBreak() {
				w.add("\n", k)
			}
		case *ast.CodeSpan:
			d.codeSpan(w, n, k)
		case *ast.Emphasis:
			style := inkItalic
			if n.Level > 1 {
				style = inkBold
			}
			d.mark(w, strings.Repeat("*", n.Level), k)
			d.children(w, n, k|style, cell)
			d.mark(w, strings.Repeat("*", n.Level), k)
		case *extast.Strikethrough:
			// The marks stay: not every terminal strikes, and it would say the opposite.
			w.add("~~", k)
			d.children(w, n, k|inkStruck, cell)
			w.add("~~", k)
		case *ast.Link:
			start := len(w.text)
			d.children(w, n, k|inkLink, cell)
			d.address(w, string(w.text[start:]), n.Destination, k)
		case *ast.Image:
			w.add("[image", k)
			if n.HasChildren() {
				w.add(": ", k)
			}
			d.children(w, n, k, cell)
			w.add("]", k)
			d.address(w, "", n.Destination, k)
		case *ast.AutoLink:
			w.add(string(n.Label(d.source)), k|inkLink)
		case *extast.TaskCheckBox:
			w.add(boxText(n), k)
		default:
			d.children(w, n, k, cell)
		}
	}
}

// mark writes what stands for a style where there is none.
func (d *markdownDrawing) mark(w *inked, s string, k ink) {
	if d.theme.mode == ModeNone {
		w.add(s, k)
	}
}

func (d *markdownDrawing) codeSpan(w *inked, n ast.Node, k ink) {
	d.mark(w, "`", k)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			w.add(strings.ReplaceAll(string(t.Value(d.source)), "\n", " "), k|inkCode)
		}
	}
	d.mark(w, "`", k)
}

// address writes where a link goes, unless its label has said so.
func (d *markdownDrawing) address(w *inked, label string, destination []byte, k ink) {
	if len(destination) > d.addresses {
		return
	}
	d.addresses -= len(destination)
	to := &inked{}
	unescape(to, destination, k, false)
	s := strings.TrimPrefix(string(to.text), "mailto:")
	if s == "" || s == label {
		return
	}
	if n := len(w.text); n > 0 && w.text[n-1] != ' ' && w.text[n-1] != '\n' {
		w.add(" ", k)
	}
	w.add("("+s+")", k|inkDim)
}

// lineEnds are the ways to write the one tag that has a meaning.
var lineEnds = [...]string{"<br>", "<br/>", "<br />"}

// unescape adds text in which a backslash may stand before a mark, and &amp; for &.
func unescape(w *inked, s []byte, k ink, cell bool) {
	for len(s) > 0 {
		i := bytes.IndexAny(s, "\\&<")
		if i < 0 {
			i = len(s)
		}
		w.add(string(s[:i]), k)
		if s = s[i:]; len(s) == 0 {
			return
		}
		switch n := 1; s[0] {
		case '\\':
			if len(s) > 1 && util.IsPunct(s[1]) {
				s = s[1:]
			}
			w.add(string(s[:1]), k)
			s = s[1:]
		case '&':
			c, n := entity(s)
			w.add(c, k)
			s = s[n:]
		default:
			c := "<"
			for _, tag := range lineEnds {
				if cell && len(s) >= len(tag) && strings.EqualFold(string(s[:len(tag)]), tag) {
					c, n = "\n", len(tag)
				}
			}
			w.add(c, k)
			s = s[n:]
		}
	}
}

// entity returns what the &name; that s begins with stands for, and its length. What
// is none, or stands for something that must not be shown, is as it is written.
func entity(s []byte) (string, int) {
	end := bytes.IndexByte(s[:min(len(s), 34)], ';')
	if end < 2 {
		return "&", 1
	}
	name := string(s[1:end])
	c := ""
	if number, ok := strings.CutPrefix(name, "#"); ok {
		base := 10
		if strings.HasPrefix(number, "x") || strings.HasPrefix(number, "X") {
			number, base = number[1:], 16
		}
		v, err := strconv.ParseUint(number, base, 32)
		if err != nil {
			return "&", 1
		}
		c = string(utf8.RuneError)
		if v > 0 && v <= utf8.MaxRune {
			c = string(rune(v))
		}
	} else if e, ok := util.LookUpHTML5EntityByName(name); ok {
		c = string(e.Characters)
	}
	if c == "" || strings.Contains(c, "\n") || Sanitize(c) != c {
		return "&", 1
	}
	return c, end + 1
}
