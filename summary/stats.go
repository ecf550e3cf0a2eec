package summary

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// stats says of each identifier how much it was used. What the agent wrote
// itself counts most: it is the best sign of what it will write again.
type stats struct {
	names *names
	uses  []use // by the number of the identifier
	total int   // messages
}

type use struct {
	agent, world float64 // uses, later ones counting more
	messages     int32   // in how many messages it occurs
	kept         bool    // it stands in what is kept
}

func newStats(total int, n *names) *stats {
	return &stats{names: n, total: total, uses: make([]use, len(n.text))}
}

func (s *stats) use(n int32) *use {
	if int(n) >= len(s.uses) {
		s.uses = append(s.uses, make([]use, len(s.names.text)-len(s.uses))...)
	}
	return &s.uses[n]
}

// see records that message at holds the identifier.
func (s *stats) see(n int32, at int, byAgent bool) {
	u := s.use(n)
	u.messages++
	if byAgent {
		u.agent += s.recency(at)
	} else {
		u.world += s.recency(at)
	}
}

// remember records uses from before the messages at hand.
func (s *stats) remember(n int32, uses int) {
	u := s.use(n)
	u.messages += int32(min(uses, 100))
	u.agent += float64(min(uses, 6)) * s.recency(0)
}

// recency is the weight of a use at message at: it falls by half over a share of
// the conversation.
func (s *stats) recency(at int) float64 {
	half := math.Max(minHalfLife, halfLife*float64(s.total))
	return math.Exp2(-float64(s.total-1-at) / half)
}

// weights returns the weight of each identifier.
func (s *stats) weights() []float64 {
	out := make([]float64, len(s.names.text))
	for n := range s.uses {
		out[n] = s.weight(int32(n))
	}
	return out
}

// weight says how much it is worth to name the identifier.
func (s *stats) weight(n int32) float64 {
	u := &s.uses[n]
	w := math.Pow(u.agent, usesPower) + worldUse*math.Pow(u.world, usesPower)
	if u.messages == 1 {
		w *= onlyOnce
	}
	if u.agent == 0 {
		w *= neverByUs
	}
	switch s.names.class[n] {
	case text.Number, text.Hash, text.UUID:
		w *= asNumber
	case text.Flag, text.Ref:
		w *= asFlag
	case text.URL:
		w *= asURL
	default:
	}
	if u.kept {
		w *= keptAnyway
	}
	return w
}

// coordinate names arguments that say where to look, not what is known.
var coordinate = map[string]bool{
	"offset": true, "limit": true, "timeout": true, "line": true, "view_range": true, "yield_time_ms": true,
	"max_output_tokens": true, "head_limit": true,
}

// argumentTexts calls fn with the strings in the arguments of a call and the
// names of the members they stand in.
func argumentTexts(args json.RawMessage, fn func(name, s string)) {
	jsonx.Members(args, func(key, val []byte) bool {
		name := string(key)
		if !coordinate[name] {
			argumentText(name, val, fn, 0)
		}
		return true
	})
}

func argumentText(name string, val []byte, fn func(name, s string), depth int) {
	if depth > 8 {
		return
	}
	switch {
	case jsonx.IsString(val):
		s, _ := jsonx.String(val)
		fn(name, s)
	case jsonx.IsArray(val):
		jsonx.Elements(val, func(v []byte) bool {
			argumentText(name, v, fn, depth+1)
			return true
		})
	case jsonx.IsObject(val):
		jsonx.Members(val, func(k, v []byte) bool {
			argumentText(string(k), v, fn, depth+1)
			return true
		})
	}
}

// maxLook is how much of one text is looked at: its beginning and its end.
const maxLook = 64 << 10

func lookAt(s string) string {
	if len(s) <= maxLook {
		return s
	}
	return text.Head(s, maxLook*3/4) + "\n" + text.Tail(s, maxLook/4)
}

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

// Profile says what is worth most in a kind of session. The user's words are
// quoted in every one of them; a profile says what comes next.
type Profile struct {
	name string
	// lines weigh lines by their kind.
	lines [lineOutput + 1]float64
	// shares of the budget, in percent, that sections may use at first.
	files, changes, done, decisions, names int64
}

// The profiles.
var (
	// Coding keeps what was done to files, code and commands.
	Coding = &Profile{
		name:  "coding",
		lines: [...]float64{lineProse: 1, lineUser: 1.2, lineCommand: .5, lineCode: .5, lineOutput: .5},
		files: 4, changes: 10, done: 10, decisions: 8, names: 4,
	}
	// Research keeps findings and references.
	Research = &Profile{
		name:  "research",
		lines: [...]float64{lineProse: 1.2, lineUser: 1.2, lineCommand: .3, lineCode: .3, lineOutput: .6},
		files: 3, changes: 6, done: 8, decisions: 14, names: 8,
	}
	// Chat keeps what was said.
	Chat = &Profile{
		name:  "chat",
		lines: [...]float64{lineProse: 1.2, lineUser: 1.5, lineCommand: .3, lineCode: .4, lineOutput: .3},
		files: 3, changes: 6, done: 8, decisions: 12, names: 6,
	}
)

// Name returns the name of the profile, as in settings.
func (p *Profile) Name() string { return p.name }

// guessProfile looks at what the agent did: with many words and few calls it
// talks, with reading and searching and hardly a change it researches.
func (d *digest) guessProfile() *Profile {
	answers, calls, work, changes := 0, 0, 0, 0
	for _, m := range d.msgs {
		switch m.Role {
		case message.RoleAssistant:
			answers++
		case message.RoleToolResult:
			calls++
			switch m.op.Kind {
			case ledger.OpWrite, ledger.OpEdit, ledger.OpPatch:
				changes++
			case ledger.OpShell:
				work++
			default:
			}
		default:
		}
	}
	changed := len(d.led.Paths(ledger.StateModified, ledger.StateCreated)) > 0
	switch {
	case calls*4 < answers && !changed:
		return Chat
	case calls > 0 && !changed && changes == 0 && work*4 < calls:
		return Research
	}
	return Coding
}
