package replay

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/message"
)

// The controls are what a script of some sixty lines can do. A summarizer that is
// worse than they are is not worth its code.

// controlUser is the share of a control's text for the words of the user.
const controlUser = .2

// lines is the user's words, then whole lines as they stood, picked greedily by the
// identifiers that they cover.
func lines(p Prefix) string {
	w := newWriter(p)
	writeUser(w, p, int(controlUser*float64(w.left)))
	known := map[string]bool{}
	for _, it := range p.Kept {
		if m, where := neutral(it.Message); where == placeIn {
			for id := range measure.Identifiers(raw(&m)) {
				known[id.Text] = true
			}
		}
	}
	type line struct {
		text  string
		order int
		ids   []string
		seen  float64 // how sure a reader is of a name from this line
	}
	var (
		u    = usageOf(p)
		all  []*line
		seen = map[string]bool{}
	)
	for _, it := range p.Dropped {
		m, where := neutral(it.Message)
		if where != placeIn || m.Kind == measure.User {
			continue
		}
		for _, s := range rawLines(&m) {
			s = strings.TrimSpace(s)
			if n := measure.Units(s); n < 12 || n > 240 || seen[s] {
				continue
			}
			seen[s] = true
			l := &line{text: s, order: len(all), seen: .15}
			for id := range measure.Identifiers(s) {
				if !known[id.Text] && !slices.Contains(l.ids, id.Text) {
					l.ids = append(l.ids, id.Text)
				}
			}
			if len(plainWord().FindAllString(s, 3)) >= 2 {
				l.seen = .85
			}
			if len(l.ids) > 0 {
				all = append(all, l)
			}
		}
	}
	missing := map[string]float64{} // the chance that a name is not known yet
	gain := func(l *line) float64 {
		g := 0.0
		for _, id := range l.ids {
			if _, ok := missing[id]; !ok {
				missing[id] = 1
			}
			g += u.spread(id) * missing[id] * l.seen
		}
		return g / float64(measure.Units(l.text)+1)
	}
	var chosen []*line
	greedy(all, gain, func(l *line) {
		if n := measure.Units(l.text) + 1; n <= w.left {
			w.left -= n
			chosen = append(chosen, l)
			for _, id := range l.ids {
				missing[id] *= 1 - l.seen
			}
		}
	})
	slices.SortFunc(chosen, func(a, b *line) int { return cmp.Compare(a.order, b.order) })
	for _, l := range chosen {
		w.b.WriteString(l.text + "\n")
	}
	return w.b.String()
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:^|[\s(])\p{Ll}{3,}|\p{Han}{2}`) })

// greedy takes the best candidate again and again. The gain of one never grows by
// taking others, so an old gain is a bound.
func greedy[T any](all []T, gain func(T) float64, take func(T)) {
	type bound struct {
		gain float64
		at   int
	}
	queue := make([]bound, len(all))
	for i, c := range all {
		queue[i] = bound{gain(c), i}
	}
	before := func(a, b bound) int { return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.at, b.at)) }
	slices.SortFunc(queue, before)
	for len(queue) > 0 && queue[0].gain > 0 {
		top := bound{gain(all[queue[0].at]), queue[0].at}
		queue = queue[1:]
		if len(queue) == 0 || before(top, queue[0]) <= 0 {
			take(all[top.at])
			continue
		}
		i, _ := slices.BinarySearchFunc(queue, top, before)
		queue = slices.Insert(queue, i, top)
	}
}

// rawLines returns the lines of a message and of the texts among its arguments.
func rawLines(m *measure.Message) []string {
	out := strings.Split(m.Text, "\n")
	for i := range m.Calls {
		m.Calls[i].Strings(func(s string) { out = append(out, strings.Split(s, "\n")...) })
	}
	return out
}

// spread is what an identifier is worth: in how many twelfths of the session it
// stands, how lately, and whether the agent ever wrote it.
func (u usage) spread(id string) float64 {
	age := float64(u.total-u.last[id]) / float64(max(u.total, 1))
	w := (1 + math.Log1p(float64(u.parts[id]))) * math.Exp(-age)
	if u.agent[id] {
		w *= 2
	}
	return w
}

// story is the user's words, the sentences of the agent and one line a call with its
// outcome; what is newer is worth more.
func story(p Prefix) string {
	w := newWriter(p)
	writeUser(w, p, int(controlUser*float64(w.left)))
	type piece struct {
		text  string
		order int
		worth float64
	}
	var all []piece
	for i, it := range p.Dropped {
		m, where := neutral(it.Message)
		if where != placeIn || m.Kind != measure.Agent {
			continue
		}
		age := math.Exp(-2 * float64(len(p.Dropped)-i) / float64(len(p.Dropped)))
		for _, s := range strings.Split(m.Text, "\n") {
			s = strings.TrimSpace(s)
			if n := measure.Units(s); n >= 30 && n <= 400 && !strings.HasSuffix(s, ":") {
				all = append(all, piece{s, len(all), age})
			}
		}
		for _, c := range m.Calls {
			if s := callLine(&c, p, i); s != "" {
				all = append(all, piece{s, len(all), age / 2})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b piece) int { return cmp.Compare(b.worth, a.worth) })
	var chosen []piece
	for _, c := range all {
		if n := measure.Units(c.text) + 1; n <= w.left {
			w.left -= n
			chosen = append(chosen, c)
		}
	}
	slices.SortFunc(chosen, func(a, b piece) int { return cmp.Compare(a.order, b.order) })
	for _, c := range chosen {
		w.b.WriteString(c.text + "\n")
	}
	return w.b.String()
}

// callLine is a call with what it was about and how it ended.
func callLine(c *measure.Call, p Prefix, at int) string {
	about := ""
	c.Strings(func(s string) {
		about = cmp.Or(about, measure.CutUnits(strings.Join(strings.Fields(s), " "), 120))
	})
	for _, it := range p.Dropped[at+1:] {
		if it.Message.Role == message.RoleToolResult && it.Message.ToolCallID == c.ID {
			text := strings.TrimSpace(it.Message.Text())
			first, _, _ := strings.Cut(text, "\n")
			outcome := fmt.Sprintf("%d lines", strings.Count(text, "\n")+1)
			if it.Message.IsError {
				outcome = "failed: " + measure.CutUnits(first, 100)
			}
			return fmt.Sprintf("%s(%s) -> %s", c.Name, about, outcome)
		}
	}
	return ""
}
