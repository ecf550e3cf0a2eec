package summary

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/text"
)

// The part of names says which names stand where. A sentence says more, but what
// will be typed again has to be spelled right, and a name takes a tenth of the
// room of a sentence.

const (
	maxNameLine = 200 // bytes
	// leastName is the share of the weight of the tenth best below which a name is
	// not worth its room.
	leastName = 0.04
)

// findHomes says for each identifier which file or command it stands in: where the
// lines that hold it are worth most; and whether it stands only in lines that are
// no longer true.
func (p *planner) findHomes() (out []string, gone []bool) {
	out, gone = make([]string, len(p.d.names.text)), make([]bool, len(p.d.names.text))
	alive := make([]bool, len(out))
	best := make([]float64, len(out))
	sum := map[string]map[int32]float64{}
	for i := range p.lines {
		e := &p.lines[i]
		for _, sp := range e.spots {
			if sp.id >= 0 {
				alive[sp.id] = alive[sp.id] || e.factor > 0
				gone[sp.id] = !alive[sp.id]
			}
		}
		if e.from == "" {
			continue
		}
		worth := 1.0
		if isCommand(e.from) {
			worth = 0.2
		}
		of := sum[e.from]
		if of == nil {
			of = map[int32]float64{}
			sum[e.from] = of
		}
		for _, sp := range e.spots {
			n := sp.id
			if n < 0 {
				continue
			}
			of[n] += worth * e.factor
			if of[n] > best[n] {
				best[n], out[n] = of[n], e.from
			}
		}
	}
	return out, gone
}

// named says which identifiers the document holds.
func (p *planner) named(b *builder) []bool {
	out := make([]bool, len(p.d.names.text))
	for _, t := range b.taken {
		for _, s := range t.texts() {
			for id := range text.Identifiers(s) {
				if n, ok := p.d.names.ids[id.Text]; ok {
					out[n] = true
				}
			}
		}
	}
	return out
}

// names offers the names that the document does not hold yet, those worth most
// within so many tokens, as lines of the file or command they stand in.
func (p *planner) names(b *builder, room int64) []piece {
	named, weights := p.named(b), p.weights
	var order []int32
	for n, w := range weights {
		if w > 0 && !named[n] && !p.gone[n] && len(p.d.names.text[n]) <= maxNameLine/2 && !forbidden(p.d.names.text[n]) {
			order = append(order, int32(n))
		}
	}
	slices.SortFunc(order, func(a, c int32) int {
		return cmp.Or(cmp.Compare(weights[c], weights[a]), cmp.Compare(p.d.names.text[a], p.d.names.text[c]))
	})
	if len(order) > 10 {
		least := weights[order[9]] * leastName
		order = slices.DeleteFunc(order, func(n int32) bool { return weights[n] < least })
	}
	var lines nameLines
	for _, n := range order {
		t := p.d.names.text[n]
		cost := b.price(t + ", ")
		if cost > room {
			continue
		}
		room -= cost
		lines.add(p.homes[n], t)
	}
	return lines.pieces()
}

// nameLines gathers names by their home.
type nameLines struct {
	of    map[string][]string
	order []string
}

func (l *nameLines) add(home, name string) {
	if strings.HasSuffix(home, name) || strings.HasSuffix(name, home) {
		home = ""
	}
	if l.of == nil {
		l.of = map[string][]string{}
	}
	if l.of[home] == nil {
		l.order = append(l.order, home)
	}
	l.of[home] = append(l.of[home], name)
}

// pieces returns the names as lines. A name alone in its home stands with the
// others of that kind.
func (l *nameLines) pieces() []piece {
	var out []piece
	var alone []string
	add := func(home string, list []string) {
		line := ""
		for _, name := range list {
			if line != "" && len(line)+len(name) > maxNameLine {
				out = append(out, piece{kind: kindNames, line: Line{Text: line}, order: len(out)})
				line = ""
			}
			switch {
			case line != "":
				line += ", " + name
			case home != "":
				line = home + ": " + name
			default:
				line = name
			}
		}
		if line != "" {
			out = append(out, piece{kind: kindNames, line: Line{Text: line}, order: len(out)})
		}
	}
	for _, home := range l.order {
		if list := l.of[home]; home == "" || len(list) < 2 {
			alone = append(alone, list...)
		} else {
			add(home, list)
		}
	}
	add("", alone)
	return out
}
