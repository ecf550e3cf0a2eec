package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clew-dev/clew/internal/replay"
)

// The bounds of what is drawn.
const (
	maxCharts = 6   // sessions
	maxSteps  = 300 // places on a line
	height    = 100 // units of a drawing, which is stretched to its place
	breadth   = 300
)

// chart is a session: how large the context was at each call, and what filled it.
type chart struct {
	Name, Model string
	Tokens      int
	Calls       int
	Most        int // tokens at the top
	Lines       []line
	Passes      []float64 // where the first policy that does so rewrote, in percent
	PassPolicy  string
	Ticks       []tick // of the height
	Window      float64
	Stacks      []stack
}

type line struct{ Policy, Class, Points string }

// stack is what filled the context under a policy.
type stack struct {
	Policy string
	Areas  []area
	Ticks  []tick
}

type area struct{ Kind, Class, Points string }

// drawn are the policies with a line, and stacked those with areas, where they were
// played.
var (
	drawn   = []string{"append", "clew", "clew+offload", "turns", "mask-batch", "model"}
	stacked = []string{"append", "clew", "mask-batch"}
)

// charts draws the longest sessions.
func charts(c *replay.Costs) (out []chart, more int) {
	sessions := slices.Clone(c.Sessions)
	slices.SortStableFunc(sessions, func(a, b replay.SessionCost) int { return cmp.Compare(b.Tokens, a.Tokens) })
	for _, s := range sessions {
		if len(out) == maxCharts {
			return out, len(sessions) - maxCharts
		}
		if ch, ok := newChart(&s, c.Options.Window); ok {
			out = append(out, ch)
		}
	}
	return out, 0
}

func newChart(s *replay.SessionCost, window int) (chart, bool) {
	ch := chart{Name: s.Name[strings.LastIndexAny(s.Name, `/\`)+1:], Model: s.Model, Tokens: s.Tokens}
	for _, p := range drawn {
		if cost, ok := s.Costs[p]; ok && p != "model" {
			ch.Most = max(ch.Most, cost.Peak)
			ch.Calls = max(ch.Calls, cost.Calls)
		}
	}
	if ch.Calls < 2 || ch.Most == 0 {
		return ch, false
	}
	for _, p := range drawn {
		cost, ok := s.Costs[p]
		if !ok || p == "model" {
			continue
		}
		ch.Lines = append(ch.Lines, line{p, lineClass(p), polyline(cost.Sizes, ch.Most)})
		if ch.PassPolicy == "" && len(cost.Rewrites) > 0 {
			ch.PassPolicy = p
			for _, rw := range cost.Rewrites {
				ch.Passes = append(ch.Passes, 100*float64(rw.Call)/float64(cost.Calls-1))
			}
		}
	}
	ch.Ticks = ticks(ch.Most)
	if window <= ch.Most {
		ch.Window = 100 * float64(window) / float64(ch.Most)
	}
	for _, p := range stacked {
		if cost, ok := s.Costs[p]; ok {
			ch.Stacks = append(ch.Stacks, newStack(p, &cost))
		}
	}
	return ch, true
}

// lineClass tells the lines of a chart apart.
func lineClass(policy string) string {
	return fmt.Sprintf("c%d", slices.Index(drawn, policy))
}

// steps are the indexes that are drawn of n: all, or as many as can be told apart.
func steps(n int) []int {
	if n <= maxSteps {
		out := make([]int, n)
		for i := range out {
			out[i] = i
		}
		return out
	}
	out := make([]int, maxSteps)
	for i := range out {
		out[i] = i * (n - 1) / (maxSteps - 1)
	}
	return out
}

func at(i, n, value, most int) string {
	return fmt.Sprintf("%.1f,%.1f", breadth*float64(i)/float64(max(n-1, 1)), height-height*float64(value)/float64(most))
}

func polyline(sizes []int, most int) string {
	var b strings.Builder
	for _, i := range steps(len(sizes)) {
		b.WriteString(at(i, len(sizes), sizes[i], most) + " ")
	}
	return strings.TrimSpace(b.String())
}

func newStack(policy string, c *replay.Cost) stack {
	s := stack{Policy: policy, Ticks: ticks(c.Peak)}
	index := steps(len(c.Parts))
	below := make([]int, len(c.Parts))
	for k := range replay.NumKinds {
		var up, down strings.Builder
		any := false
		for _, i := range index {
			up.WriteString(at(i, len(c.Parts), below[i]+c.Parts[i][k], c.Peak) + " ")
			any = any || c.Parts[i][k] > 0
		}
		for _, i := range slices.Backward(index) {
			down.WriteString(at(i, len(c.Parts), below[i], c.Peak) + " ")
		}
		for i := range below {
			below[i] += c.Parts[i][k]
		}
		if any {
			s.Areas = append(s.Areas, area{k.String(), fmt.Sprintf("k%d", k), strings.TrimSpace(up.String() + down.String())})
		}
	}
	return s
}

// Kinds name the areas, for the legend.
func (view) Kinds() []area {
	var out []area
	for k := range replay.NumKinds {
		out = append(out, area{Kind: k.String(), Class: fmt.Sprintf("k%d", k)})
	}
	return out
}

// ticks are round numbers of tokens up to most.
func ticks(most int) []tick {
	step := 1
	for most/step > 5 {
		switch step / pow10(step) {
		case 1, 5:
			step *= 2
		default: // 2
			step = step / 2 * 5
		}
	}
	var out []tick
	for n := 0; n <= most; n += step {
		text := fmt.Sprint(n)
		switch {
		case n >= 1_000_000:
			text = strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
		case n >= 1000:
			text = strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e3), ".0") + "k"
		}
		out = append(out, tick{100 * float64(n) / float64(most), text})
	}
	return out
}

func pow10(n int) int {
	p := 1
	for p*10 <= n {
		p *= 10
	}
	return p
}
