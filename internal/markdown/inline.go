package markdown

import (
	"bytes"
	"slices"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Parsers of what stands in a line.
var (
	Struck    parser.InlineParser = struck{}    // ~~words~~
	Tasks     parser.InlineParser = tasks{}     // [x] at the start of an item of a list
	Addresses parser.InlineParser = addresses{} // https://example.org and name@example.org
)

type struck struct{}

func (struck) Trigger() []byte { return []byte("~") }

func (struck) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	line, at := block.PeekLine()
	before := block.PrecendingCharacter()
	d := parser.ScanDelimiter(line, before, 1, tildes{})
	if d == nil || d.OriginalLength > 2 || before == '~' {
		return nil
	}
	d.Segment = at.WithStop(at.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}

type tildes struct{}

func (tildes) IsDelimiter(b byte) bool                   { return b == '~' }
func (tildes) CanOpenCloser(a, b *parser.Delimiter) bool { return a.Char == b.Char }
func (tildes) OnMatch(int) ast.Node                      { return extast.NewStrikethrough() }

type tasks struct{}

func (tasks) Trigger() []byte { return []byte("[") }

func (tasks) Parse(parent ast.Node, block text.Reader, _ parser.Context) ast.Node {
	item, ok := parent.Parent().(*ast.ListItem)
	if !ok || item.FirstChild() != parent || parent.HasChildren() {
		return nil
	}
	line, _ := block.PeekLine()
	if len(line) < 3 || line[2] != ']' || !util.IsSpace(line[1]) && line[1] != 'x' && line[1] != 'X' {
		return nil
	}
	block.Advance(len(line) - len(util.TrimLeftSpace(line[3:])))
	return extast.NewTaskCheckBox(!util.IsSpace(line[1]))
}

type addresses struct{}

// Trigger names what may stand before an address. A space is also the start of a line.
func (addresses) Trigger() []byte { return []byte(" *_~(") }

func (a addresses) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if pc.IsInLinkLabel() {
		return nil
	}
	line, at := block.PeekLine()
	before := 0
	if bytes.IndexByte(a.Trigger(), line[0]) >= 0 {
		before = 1
	}
	n, kind, protocol := address(line[before:])
	if n == 0 {
		return nil
	}
	if before > 0 {
		ast.MergeOrAppendTextSegment(parent, at.WithStop(at.Start+before))
	}
	block.Advance(before + n)
	link := ast.NewAutoLink(kind, ast.NewTextSegment(text.NewSegment(at.Start+before, at.Start+before+n)))
	link.Protocol = protocol
	return link
}

// address returns the length of the address that s begins with, 0 where there is none.
func address(s []byte) (n int, kind ast.AutoLinkType, protocol []byte) {
	for _, scheme := range []string{"http://", "https://", "ftp://", "www."} {
		if !bytes.HasPrefix(s, []byte(scheme)) {
			continue
		}
		host := len(scheme)
		if scheme == "www." {
			host, protocol = 0, []byte("http")
		}
		end := host + domain(s[host:])
		if end == host {
			return 0, 0, nil
		}
		for end < len(s) && s[end] > ' ' && s[end] < 0x7f && bytes.IndexByte([]byte(`<|\`), s[end]) < 0 {
			end++
		}
		return withoutTail(s[:end]), ast.AutoLinkURL, protocol
	}
	end := util.FindEmailIndex(s)
	if end < 0 || !bytes.Contains(s[bytes.IndexByte(s, '@'):end], []byte(".")) || end < len(s) && (s[end] == '-' || s[end] == '_') {
		return 0, 0, nil
	}
	return end, ast.AutoLinkEmail, nil
}

// domain returns the length of the domain that s begins with, with a name in front and a
// port. It has a dot, and no underscore in its last two parts.
func domain(s []byte) int {
	const longest = 256
	n := 0
	for n < min(len(s), longest) && (util.IsAlphaNumeric(s[n]) || bytes.IndexByte([]byte("-_.@:%+~="), s[n]) >= 0) {
		n++
	}
	host := s[:n]
	host = host[bytes.LastIndexByte(host, '@')+1:]
	host, _, _ = bytes.Cut(host, []byte(":"))
	parts := bytes.Split(bytes.Trim(host, ".-_~"), []byte("."))
	if len(parts) < 2 || slices.ContainsFunc(parts, func(p []byte) bool { return len(p) == 0 }) {
		return 0
	}
	if slices.ContainsFunc(parts[len(parts)-2:], func(p []byte) bool { return bytes.IndexByte(p, '_') >= 0 }) {
		return 0
	}
	return n
}

// withoutTail returns the length of an address without the marks of the sentence that
// follow it: punctuation, a bracket that it has not opened, an entity.
func withoutTail(s []byte) int {
	open := bytes.Count(s, []byte("(")) - bytes.Count(s, []byte(")"))
	for len(s) > 0 {
		last := len(s) - 1
		switch c := s[last]; {
		case bytes.IndexByte([]byte("?!.,:*_~'\""), c) >= 0:
			s = s[:last]
		case c == ')' && open < 0:
			open++
			s = s[:last]
		case c == ';':
			amp := last
			for amp > 0 && util.IsAlphaNumeric(s[amp-1]) {
				amp--
			}
			if amp == last || amp == 0 || s[amp-1] != '&' {
				return len(s)
			}
			s = s[:amp-1]
		default:
			return len(s)
		}
	}
	return 0
}
