package replay

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/replay/measure"
	"github.com/clew-dev/clew/message"
)

func nothing(Prefix) string { return "" }

// writer collects text within a budget.
type writer struct {
	b    strings.Builder
	left int // UTF-16 units
}

func newWriter(p Prefix) *writer { return &writer{left: int(p.Budget) * measure.CharsPerToken} }

// line adds a line if it fits.
func (w *writer) line(s string) bool {
	n := measure.Units(s) + 1
	if n > w.left {
		return false
	}
	w.left -= n
	w.b.WriteString(s + "\n")
	return true
}

// truncate is the end of what is dropped, as it is.
func truncate(p Prefix) string { return newest(p, raw) }

// mask is the same with the results of calls left out.
func mask(p Prefix) string {
	return newest(p, func(m *measure.Message) string {
		if m.Kind == measure.World && m.CallID != "" {
			return "[result left out]"
		}
		return raw(m)
	})
}

// newest renders the newest messages that fit, the first of them cut.
func newest(p Prefix, render func(m *measure.Message) string) string {
	var parts []string
	left := int(p.Budget) * measure.CharsPerToken
	for _, it := range slices.Backward(p.Dropped) {
		m, where := neutral(it.Message)
		if where != placeIn {
			continue
		}
		text := render(&m)
		n := measure.Units(text) + 1
		if n > left {
			parts = append(parts, endOf(text, left-1))
			break
		}
		left -= n
		parts = append(parts, text)
	}
	slices.Reverse(parts)
	return strings.Join(parts, "\n")
}

// endOf returns the longest end of s that has at most n UTF-16 units.
func endOf(s string, n int) string {
	if n <= 0 {
		return ""
	}
	drop := measure.Units(s) - n
	for i, r := range s {
		if drop <= 0 {
			return s[i:]
		}
		drop--
		if r > 0xFFFF {
			drop--
		}
	}
	return ""
}

func raw(m *measure.Message) string {
	var b strings.Builder
	b.WriteString(m.Text)
	for _, c := range m.Calls {
		b.WriteString("\n" + c.Name + " " + string(c.Arguments))
	}
	return b.String()
}

// filesAndUser is the file lists, then the messages of the user, the newest first.
func filesAndUser(p Prefix) string {
	w := newWriter(p)
	writeFiles(w, p)
	writeUser(w, p, w.left)
	return w.b.String()
}

func writeFiles(w *writer, p Prefix) {
	trail := measure.NewTrail(digests(p), p.Cwd)
	for _, list := range []struct {
		op    measure.Op
		title string
	}{{measure.OpRead, "Files read:"}, {measure.OpChanged, "Files modified:"}, {measure.OpDeleted, "Files deleted:"}} {
		first := true
		for _, pair := range trail.Pairs {
			if pair.Op != list.op {
				continue
			}
			if first && !w.line(list.title) {
				return
			}
			first = false
			w.line("- " + pair.Path)
		}
	}
}

// writeUser writes messages of the user, the newest first, up to a number of UTF-16
// units, in the order in which they were said.
func writeUser(w *writer, p Prefix, most int) {
	var texts []string
	for _, it := range slices.Backward(p.Dropped) {
		m, where := neutral(it.Message)
		if where != placeIn || m.Kind != measure.User {
			continue
		}
		n := measure.Units(m.Text) + 1
		if n > most {
			texts = append(texts, measure.CutUnits(m.Text, max(most-1, 0)))
			break
		}
		most -= n
		texts = append(texts, m.Text)
	}
	for _, t := range slices.Backward(texts) {
		w.line(t)
	}
}

func digests(p Prefix) []*measure.Digest {
	var out []*measure.Digest
	for _, it := range p.Dropped {
		if m, where := neutral(it.Message); where == placeIn {
			out = append(out, measure.NewDigest(&m))
		}
	}
	return out
}

// usage says in how many messages each identifier stands, in which last, in how many
// twelfths of what is dropped, and whether the agent wrote it.
type usage struct {
	count, last, parts map[string]int
	agent              map[string]bool
	total              int
}

func usageOf(p Prefix) usage {
	u := usage{map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}, len(p.Dropped)}
	for i, it := range p.Dropped {
		m, where := neutral(it.Message)
		if where != placeIn {
			continue
		}
		seen := map[string]bool{}
		for id := range measure.Identifiers(raw(&m)) {
			if !seen[id.Text] {
				seen[id.Text] = true
				if last, ok := u.last[id.Text]; !ok || last*12/u.total != i*12/u.total {
					u.parts[id.Text]++
				}
				u.count[id.Text]++
				u.last[id.Text] = i
				u.agent[id.Text] = u.agent[id.Text] || m.Kind == measure.Agent
			}
		}
	}
	return u
}

// weight is how much an identifier is worth: how often it came back, and how long
// ago it was last there.
func (u usage) weight(id string) float64 {
	age := float64(u.total-u.last[id]) / float64(max(u.total, 1))
	return math.Log1p(float64(u.count[id])) * math.Exp(-2*age)
}

// soup is the obvious way to cheat on recall: identifiers and nothing else.
func soup(p Prefix) string {
	u := usageOf(p)
	ids := make([]string, 0, len(u.count))
	for id := range u.count {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(u.weight(b), u.weight(a)), cmp.Compare(a, b))
	})
	left := int(p.Budget) * measure.CharsPerToken
	var b strings.Builder
	for _, id := range ids {
		n := measure.Units(id) + 1
		if n > left {
			break
		}
		left -= n
		b.WriteString(id + " ")
	}
	return b.String()
}

// extract is what a short script can do: the user's messages, the file lists, then
// the lines that hold the identifiers worth most.
func extract(p Prefix) string {
	const (
		userShare = .4
		maxLine   = 300 // UTF-16 units
	)
	w := newWriter(p)
	writeUser(w, p, int(userShare*float64(w.left)))
	writeFiles(w, p)
	type candidate struct {
		text  string
		order int
		score float64
	}
	var (
		u     = usageOf(p)
		lines []candidate
		seen  = map[string]bool{}
	)
	for _, it := range p.Dropped {
		m, where := neutral(it.Message)
		if where != placeIn || m.Kind == measure.User || it.Message.Role == message.RoleSystem {
			continue
		}
		for line := range strings.SplitSeq(raw(&m), "\n") {
			line = strings.TrimSpace(line)
			if n := measure.Units(line); n < 12 || n > maxLine || seen[line] {
				continue
			}
			seen[line] = true
			score, held := 0.0, map[string]bool{}
			for id := range measure.Identifiers(line) {
				if !held[id.Text] {
					held[id.Text] = true
					score += u.weight(id.Text)
				}
			}
			if m.Kind == measure.Agent {
				score *= 2
			}
			if score > 0 {
				lines = append(lines, candidate{line, len(lines), score / float64(measure.Units(line))})
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	var chosen []candidate
	covered := map[string]bool{}
	left := w.left
	for _, c := range lines {
		fresh := false
		for id := range measure.Identifiers(c.text) {
			fresh = fresh || !covered[id.Text]
		}
		n := measure.Units(c.text) + 1
		if !fresh || n > left {
			continue
		}
		for id := range measure.Identifiers(c.text) {
			covered[id.Text] = true
		}
		left -= n
		chosen = append(chosen, c)
	}
	slices.SortFunc(chosen, func(a, b candidate) int { return cmp.Compare(a.order, b.order) })
	for _, c := range chosen {
		w.line(c.text)
	}
	return w.b.String()
}
