package widget

import (
	"crypto/sha256"
	"strings"
)

// A Markdown renders finished messages. It keeps what it has rendered last. The zero
// Markdown is ready.
//
// It knows CommonMark with GitHub's tables, task lists, struck words and bare
// addresses. HTML is text. A line of a paragraph stays a line.
type Markdown struct {
	cache  map[markdownKey][]string
	order  []markdownKey
	parser *markdownParser
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
	lines, ok := m.parser.draw(t, []byte(text), width)
	if !ok || len(lines) == 0 {
		return Wrap(text, width)
	}
	return lines
}

// draw is false for a text that the parser does not survive.
func (p *markdownParser) draw(t *Theme, source []byte, width int) (lines []string, ok bool) {
	defer func() {
		// A message of a model must not end the program.
		if recover() != nil {
			lines, ok = nil, false
		}
	}()
	d := &markdownDrawing{theme: t, source: source, width: width, addresses: len(source), paints: map[ink]paint{}}
	d.blocks(p.parse(source), &margin{width: width})
	for len(d.lines) > 0 && strings.TrimSpace(d.lines[0]) == "" {
		d.lines = d.lines[1:]
	}
	for len(d.lines) > 0 && strings.TrimSpace(d.lines[len(d.lines)-1]) == "" {
		d.lines = d.lines[:len(d.lines)-1]
	}
	return d.lines, true
}
