package summary

import (
	"context"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/text"
)

// excerpt is a line of the log that may go into the document.
type excerpt struct {
	factLine
	at  int // index of the message; negative for an earlier summary
	seq int // order of lines
	ref string
}

// collector finds the excerpts of a digest.
type collector struct {
	d     *digest
	s     *stats
	lines []excerpt
	byKey []int32          // 1 + index in lines, by key
	of    map[string][]int // lines of each source
}

func (d *digest) collect(ctx context.Context) ([]excerpt, *stats, error) {
	c := &collector{d: d, s: newStats(len(d.msgs), d.names), of: map[string][]int{}}
	c.earlier()
	for at := range d.msgs {
		if at%64 == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		c.message(at)
	}
	for _, f := range d.led.Files {
		if f.State == ledger.StateDeleted {
			c.gone(f.Path, len(d.msgs), func(*factLine) bool { return true })
		}
	}
	for _, f := range d.kept {
		for _, u := range f.uses {
			c.s.use(u.id).kept = true
		}
	}
	return c.lines, c.s, nil
}

// earlier takes in what an earlier summary held, and what was used before it.
func (c *collector) earlier() {
	x := extractor{f: &facts{}, names: c.d.names, cwd: c.d.in.Cwd, focus: wordMap(c.d.in.Instructions), place: map[int32]int{}}
	take := func(ref string, l factLine) {
		n := len(x.f.lines)
		x.add(l, true)
		for _, l := range x.f.lines[n:] {
			c.line(-1, ref, l, chosenBefore)
		}
	}
	if c.d.prev != nil {
		for _, l := range c.d.prev.Context {
			take(l.Ref, factLine{from: l.From, text: l.Text, factor: 1})
		}
	}
	for _, st := range text.Statements(text.OutsideFences(c.d.foreign)) {
		take("", factLine{text: st, factor: 1})
	}
	for _, u := range x.f.uses {
		c.s.see(u.id, 0, u.agent)
	}
	before := c.d.index()
	for _, m := range c.d.led.Mentions {
		if _, here := before[m.Entry]; here {
			continue
		}
		for id := range text.Identifiers(m.Text) {
			c.s.remember(c.d.names.id(id), m.Uses)
		}
	}
}

func (c *collector) message(at int) {
	m := &c.d.msgs[at]
	f := m.facts
	if f.gone != "" {
		c.gone(f.gone, m.made, func(l *factLine) bool {
			return f.goneAll || slices.Contains(f.old, l.key) ||
				slices.ContainsFunc(f.oldPart, func(s string) bool { return strings.Contains(l.text, s) })
		})
	}
	for _, u := range f.uses {
		c.s.see(u.id, at, u.agent)
	}
	factor := 1.0
	if f.op.Kind == ledger.OpShell && c.d.outdated(f.op.Command) {
		factor = 0
	}
	for _, l := range f.lines {
		c.line(at, m.ref, l, factor)
	}
}

// line takes in a line. Said again, it is true again.
func (c *collector) line(at int, ref string, l factLine, factor float64) {
	l.factor *= factor * c.d.profile.lines[l.kind]
	if n := int(l.key) + 1; n > len(c.byKey) {
		c.byKey = append(c.byKey, make([]int32, max(n, 2*len(c.byKey))-len(c.byKey))...)
	}
	if k := c.byKey[l.key]; k > 0 {
		known := &c.lines[k-1]
		known.at, known.ref, known.factor = at, ref, max(known.factor, l.factor)
		return
	}
	c.byKey[l.key] = int32(len(c.lines)) + 1
	if l.from != "" {
		c.of[l.from] = append(c.of[l.from], len(c.lines))
	}
	c.lines = append(c.lines, excerpt{factLine: l, at: at, seq: len(c.lines), ref: ref})
}

// gone takes away the lines of a source from before message at that are no longer true.
func (c *collector) gone(from string, at int, old func(*factLine) bool) {
	for _, k := range c.of[from] {
		if e := &c.lines[k]; e.at < at && e.factor > 0 && old(&e.factLine) {
			e.factor = 0
		}
	}
}

// outdated reports whether a command line is a check that passes by now. What it
// said when it failed is history.
func (d *digest) outdated(command string) bool {
	return slices.ContainsFunc(d.led.Commands, func(c ledger.Command) bool {
		return c.Check != "" && !c.Failing() && strings.Contains(command, c.Text)
	})
}
