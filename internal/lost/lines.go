package lost

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
	"github.com/clew-dev/clew/message"
)

// How sure a reader has what a line names: among plain words, and as one of a list.
const (
	amongWords = .85
	inList     = .15
	plainWords = 2 // of three letters or more
)

const (
	minLine = 12
	maxLine = 240 // characters
	eras    = 12  // parts of the conversation in which a name is counted once
)

// name is what is known of an identifier.
type name struct {
	last, eras int     // the message that has it last, and in how many parts of the conversation it stands
	era        int     // the last of them
	agent      bool    // the agent wrote it
	missing    float64 // how likely a reader does not have it
}

// line is a line of what was dropped.
type line struct {
	text  string
	entry string
	order int
	names []*name
	sure  float64
	gain  float64
}

// lines fills what is left with whole lines: again and again the one that names most of what
// is missing for its size.
func (w *writer) lines(in *Input) {
	names := map[string]*name{}
	var queue lineQueue
	seen := map[string]bool{}
	total := len(in.Dropped)
	for i, it := range in.Dropped {
		m := it.Message
		if m == nil || it.Entry == nil || m.Role == message.RoleSystem {
			continue
		}
		for _, s := range linesOf(m) {
			s = strings.TrimSpace(withoutNumber(s))
			l := line{text: s, entry: it.Entry.ID, order: len(queue)}
			for id := range text.Identifiers(s) {
				n := names[id.Text]
				if n == nil {
					n = &name{missing: 1, era: -1}
					names[id.Text] = n
				}
				if era := i * eras / max(total, 1); era != n.era {
					n.era = era
					n.eras++
				}
				n.last, n.agent = i, n.agent || m.Role == message.RoleAssistant
				if !slices.Contains(l.names, n) {
					l.names = append(l.names, n)
				}
			}
			size := utf8.RuneCountInString(s)
			if len(l.names) == 0 || size < minLine || size > maxLine || seen[s] || m.UserWords() {
				continue
			}
			seen[s] = true
			l.sure = sureness(s)
			queue = append(queue, &l)
		}
	}
	// What stays in the context is known, and what is said of it elsewhere by as much as a
	// reader has it from there.
	have := func(s string, sure float64) {
		for l := range strings.Lines(s) {
			sure := min(sure, sureness(l)+1-amongWords)
			for id := range text.Identifiers(l) {
				if n := names[id.Text]; n != nil {
					n.missing = min(n.missing, 1-sure)
				}
			}
		}
	}
	for _, it := range in.Kept {
		if it.Message != nil {
			for _, s := range linesOf(it.Message) {
				have(s, 1)
			}
		}
	}
	for l := range strings.Lines(in.Summary) {
		have(l, sureness(l))
	}
	for _, p := range w.parts {
		for l := range strings.Lines(p) {
			have(l, sureness(l))
		}
	}
	for _, l := range queue {
		l.weigh(total)
	}
	heap.Init(&queue)
	w.left -= utf8.RuneCountInString("## Lines\n")
	var chosen []*line
	entries := map[string]bool{}
	for len(queue) > 0 && queue[0].gain > 0 {
		top := queue[0]
		before := top.gain
		if top.weigh(total); top.gain < before {
			heap.Fix(&queue, 0)
			continue
		}
		heap.Pop(&queue)
		cost := utf8.RuneCountInString(top.text) + 1
		if !entries[top.entry] {
			cost += len(handle(top.entry))
		}
		if cost > w.left || w.taken[top.text] {
			continue
		}
		w.left -= cost
		entries[top.entry] = true
		chosen = append(chosen, top)
		for _, n := range top.names {
			n.missing *= 1 - top.sure
		}
	}
	if len(chosen) == 0 {
		return
	}
	slices.SortFunc(chosen, func(a, b *line) int { return cmp.Compare(a.order, b.order) })
	out := []string{"## Lines"}
	for i, l := range chosen {
		s := l.text
		if i == len(chosen)-1 || chosen[i+1].entry != l.entry {
			s += handle(l.entry)
		}
		out = append(out, s)
	}
	w.parts = append(w.parts, strings.Join(out, "\n"))
}

// weigh says what a line is worth for its size: a name counts more that came back over
// the conversation, that was there lately, and that the agent wrote itself.
func (l *line) weigh(total int) {
	l.gain = 0
	for _, n := range l.names {
		age := float64(total-n.last) / float64(max(total, 1))
		worth := (1 + math.Log1p(float64(n.eras))) * math.Exp(-age)
		if n.agent {
			worth *= 2
		}
		l.gain += worth * n.missing * l.sure
	}
	l.gain /= float64(utf8.RuneCountInString(l.text) + 1)
}

// sureness is how sure a reader has from a line what it names.
func sureness(s string) float64 {
	words := 0
	for _, word := range strings.Fields(s) {
		word = strings.Trim(word, ".,:;()[]*`'\"!?")
		letters := 0
		for _, r := range word {
			switch {
			case text.Wide(r):
				letters += 2
			case unicode.IsLower(r):
				letters++
			default:
				letters = -len(s) // it has other signs in it
			}
		}
		if letters >= 3 {
			words++
		}
	}
	if words >= plainWords {
		return amongWords
	}
	return inList
}

// withoutNumber removes the number that a tool which reads files puts before a line.
func withoutNumber(s string) string {
	rest := strings.TrimLeft(strings.TrimLeft(s, " "), "0123456789")
	for _, mark := range []string{"→", "\t"} {
		if after, ok := strings.CutPrefix(rest, mark); ok {
			return after
		}
	}
	return s
}

// linesOf returns the lines of a message and of the texts in its calls.
func linesOf(m *message.Message) []string {
	out := strings.Split(prose(m), "\n")
	var texts func(_, v []byte) bool
	texts = func(_, v []byte) bool {
		if s, ok := jsonx.String(v); ok {
			out = append(out, strings.Split(s, "\n")...)
		} else {
			jsonx.Members(v, texts)
			jsonx.Elements(v, func(e []byte) bool { return texts(nil, e) })
		}
		return true
	}
	for _, c := range m.ToolCalls() {
		texts(nil, c.Arguments)
	}
	return out
}

// lineQueue has the line that is worth most first.
type lineQueue []*line

func (q lineQueue) Len() int { return len(q) }
func (q lineQueue) Less(i, j int) bool {
	if q[i].gain != q[j].gain {
		return q[i].gain > q[j].gain
	}
	return q[i].order < q[j].order
}
func (q lineQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *lineQueue) Push(x any)   { *q = append(*q, x.(*line)) }
func (q *lineQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
