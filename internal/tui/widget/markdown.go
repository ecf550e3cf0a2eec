package widget

import (
	"crypto/sha256"
	"errors"
	"html"
	"regexp"
	"strings"

	"charm.land/glamour/v2"
	"charm.land/glamour/v2/ansi"
	"charm.land/glamour/v2/styles"
	"charm.land/lipgloss/v2"
	xansi "github.com/charmbracelet/x/ansi"
)

// A Markdown renders finished messages. It keeps what it has rendered last. The zero
// Markdown is ready.
type Markdown struct {
	cache    map[markdownKey][]string
	order    []markdownKey
	renderer *glamour.TermRenderer // for one width and mode
	width    int
	mode     Mode
}

type markdownKey struct {
	sum   [sha256.Size]byte
	width int
	mode  Mode
}

// Limits of rendering. A text beyond them is shown as it is: what a parser does
// with many open brackets, or lists within lists, grows with their square, and a
// message must not make the screen stand still.
const (
	maxMarkdown      = 64 << 10 // bytes
	maxMarks         = 6000     // characters that may begin something
	maxBrackets      = 1000
	maxColumns       = 100  // of a table
	maxNesting       = 20   // of lists and quotes in each other
	maxNestings      = 5000 // all lines together
	maxMarkdownCache = 256  // texts
)

// costly reports whether a text is beyond what is rendered.
func costly(s string) bool {
	if len(s) > maxMarkdown {
		return true
	}
	marks, brackets, nestings := 0, 0, 0
	for line := range strings.SplitSeq(s, "\n") {
		bars := strings.Count(line, "|")
		brackets += strings.Count(line, "[")
		for i := range len(line) {
			if strings.IndexByte("*_`<~&!", line[i]) >= 0 {
				marks++
			}
		}
		n := nesting(line)
		nestings += n
		if bars > maxColumns || n > maxNesting {
			return true
		}
	}
	return marks > maxMarks || brackets > maxBrackets || nestings > maxNestings
}

// nesting says how many quotes and lists a line may be in.
func nesting(line string) int {
	if strings.Trim(line, "- ") == "" || strings.Trim(line, "* ") == "" || strings.Trim(line, "_ ") == "" {
		return 0 // a rule
	}
	start := len(line) - len(strings.TrimLeft(line, " >-+*.)0123456789"))
	n := 0
	for _, c := range []byte(line[:start]) {
		if strings.IndexByte(">-+*.)", c) >= 0 {
			n++
		}
	}
	return n + strings.Count(line[:start], "  ")/2
}

// Lines renders a text for a width. A text that can't be rendered is wrapped as it
// is.
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
	if width < 10 || costly(text) {
		return Wrap(text, width)
	}
	out, err := m.draw(t, breakCode(hold(text), width), width)
	if err != nil {
		return Wrap(text, width)
	}
	out = styleOnly(out)
	if t.mode == ModeNone {
		out = unstyled(out)
	}
	lines := strings.Split(out, "\n")
	for i, l := range lines {
		lines[i] = trimStyled(l)
	}
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return Wrap(text, width)
	}
	// What the renderer does not break: code, long words, cells of tables.
	fitted := lines[:0:0]
	for _, l := range lines {
		if Width(l) <= width {
			fitted = append(fitted, l)
			continue
		}
		var b strings.Builder
		w := lipgloss.NewWrapWriter(&b) // ends each line without a style
		_, err := w.Write([]byte(xansi.Hardwrap(l, width, true)))
		if err := errors.Join(err, w.Close()); err != nil {
			return Wrap(text, width)
		}
		for part := range strings.SplitSeq(b.String(), "\n") {
			fitted = append(fitted, Cut(trimStyled(part), width))
		}
	}
	return fitted
}

func (m *Markdown) draw(t *Theme, text string, width int) (out string, err error) {
	defer func() {
		// A message of a model must not end the program.
		if r := recover(); r != nil {
			err, m.renderer = errRender, nil
		}
	}()
	if m.renderer == nil || m.width != width || m.mode != t.mode {
		m.renderer, err = newRenderer(t, width)
		if err != nil {
			return "", err
		}
		m.width, m.mode = width, t.mode
	}
	return m.renderer.Render(text)
}

var errRender = errors.New("the text can't be rendered as Markdown")

func newRenderer(t *Theme, width int) (*glamour.TermRenderer, error) {
	var style ansi.StyleConfig
	options := []glamour.TermRendererOption{glamour.WithWordWrap(width), glamour.WithInlineTableLinks(true)}
	var theme string
	switch t.mode {
	case ModeLight:
		style, theme = styles.LightStyleConfig, "github"
	case ModeDark:
		style, theme = styles.DarkStyleConfig, "github-dark"
	default:
		// The formatter writes no escape sequences. A theme there must be: without
		// one, code would lose its backslashes.
		style, theme = styles.ASCIIStyleConfig, "bw"
		options = append(options, glamour.WithChromaFormatter("noop"))
		style.Code.Prefix, style.Code.Suffix = "`", "`"
	}
	none, margin := uint(0), uint(codeMargin)
	style.Document.Margin = &none
	style.Document.BlockPrefix, style.Document.BlockSuffix = "", ""
	style.Document.Color = nil // the terminal's own
	style.CodeBlock.Margin = &margin
	style.CodeBlock.Theme, style.CodeBlock.Chroma = theme, nil
	style.H1.Prefix, style.H1.Suffix = "# ", ""
	style.H1.Color, style.H1.BackgroundColor = style.Heading.Color, nil
	return glamour.NewTermRenderer(append(options, glamour.WithStyles(style))...)
}

var fenceOpen = regexp.MustCompile("^( *)(`{3,}|~{3,})[^`]*$")

// breakCode breaks the lines of code blocks that are too long, where they are full: the
// renderer would break them at spaces, as if they were prose.
func breakCode(s string, width int) string {
	if !strings.Contains(s, "```") && !strings.Contains(s, "~~~") {
		return s
	}
	var out []string
	fence, room := "", 0 // fence is "" outside of code
	for line := range strings.SplitSeq(s, "\n") {
		m := fenceOpen.FindStringSubmatch(line)
		switch {
		case fence == "" && m != nil:
			fence, room = m[2], width-codeMargin-2*len(m[1])
		case fence != "" && strings.HasPrefix(strings.TrimSpace(line), fence) && strings.Trim(strings.TrimSpace(line), fence[:1]) == "":
			fence = ""
		case fence != "" && room > 4 && Width(line) > room:
			out = append(out, hardWrap(line, room)...)
			continue
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// codeMargin is how far code is indented.
const codeMargin = 2

// held is put into an entity so that it isn't one any more. styleOnly takes it out.
const held = "\u2060"

var entity = regexp.MustCompile(`&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});`)

// hold keeps entities that stand for control characters and such from becoming
// them: they are shown as they are written.
func hold(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	return entity.ReplaceAllStringFunc(s, func(e string) string {
		if c := html.UnescapeString(e); c != e && Sanitize(c) != c || c == "\n" {
			return "&" + held + e[1:]
		}
		return e
	})
}

// trimStyled removes the spaces at the end of a line, also those between styles,
// and makes the line end without a style.
func trimStyled(l string) string {
	if !strings.Contains(l, "\x1b") {
		return strings.TrimRight(l, " ")
	}
	end := 0 // behind the last character that is not a space
	for i := 0; i < len(l); {
		if n := styleAt(l[i:]); n > 0 {
			i += n
			continue
		}
		if l[i] != ' ' {
			end = i + 1
		}
		i++
	}
	if end == len(l) || end == 0 {
		return l[:end]
	}
	return l[:end] + "\x1b[m"
}

func blank(l string) bool { return strings.TrimSpace(unstyled(l)) == "" }
