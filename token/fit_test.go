package token_test

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clew-dev/clew/internal/bpe"
	replay "github.com/clew-dev/clew/internal/replay/meter"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/token"
)

// A recorded is a session of the corpus with usage.
type recorded struct {
	replay.Recorded
	provider, model string // of most of its answers
	family          token.Family
	growth          replay.Samples // and of Tools
}

// recordedSessions reads the corpus.
func recordedSessions(t *testing.T) (all []*recorded) {
	t.Helper()
	sessions, skipped, err := replay.ReadCorpus(t.Context(), filepath.Join(corpusDir(t), "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d sessions, not read: %q", len(sessions), skipped)
	for _, s := range sessions {
		r := &recorded{Recorded: s}
		errs := replay.Measure(s.Path, func(provider, model string) token.Counter {
			r.provider, r.model, r.family = provider, model, token.FamilyOf(provider, model)
			return token.HeuristicFor(provider, model)
		})
		if r.growth = append(errs.Growth, errs.Tools...); errs.Calls > 0 {
			all = append(all, r)
		}
	}
	return all
}

// A row is an equation: rest + the sum of x × weights is about real.
type row struct {
	x          []float64
	rest, real float64
	repo       string
}

// rows returns an equation for each growth of a session; measure adds what a text
// has to x and returns what it costs beside that. The last two of x are calls and results.
func (r *recorded) rows(unknowns int, measure func(text string, x []float64) float64) (out []row) {
	for _, s := range r.growth {
		q := row{x: make([]float64, unknowns+2), real: float64(s.Real), repo: r.Repository}
		for _, m := range s.Messages {
			if m.Role == message.RoleToolResult {
				q.x[unknowns+1]++
			} else {
				q.rest += token.MessageTokens
				for i := range m.Content {
					if m.Content[i].Type == message.BlockToolCall {
						q.x[unknowns]++
					}
				}
			}
			for _, text := range textsOf(m) {
				q.rest += measure(text, q.x)
			}
		}
		out = append(out, q)
	}
	return out
}

func textsOf(m *message.Message) (texts []string) {
	for i := range m.Content {
		switch b := &m.Content[i]; b.Type {
		case message.BlockText:
			texts = append(texts, b.Text)
		case message.BlockToolCall:
			texts = append(texts, b.Name, string(b.Arguments))
		default:
		}
	}
	return texts
}

// solve returns the weights with the smallest sum of |estimate/real - 1|, errors below
// 5 % counting as their squares. Each repository counts as the root of how many rows
// it has. ridge pulls weights that the rows say little about to prior; the first
// bounded ones stay within a factor of two of it, the others are at least 0.
func solve(rows []row, prior []float64, ridge float64, bounded int) []float64 {
	const small, rounds, sweeps = .05, 30, 100
	n, count := len(prior), map[string]float64{}
	for _, q := range rows {
		count[q.repo]++
	}
	w := slices.Clone(prior)
	for range rounds {
		a, b, size := make([]float64, n*n), make([]float64, n), make([]float64, n)
		total := 0.
		for _, q := range rows {
			estimate := q.rest
			for j, x := range q.x {
				estimate += x * w[j]
			}
			weight := 1 / math.Sqrt(count[q.repo])
			k := weight / max(math.Abs(estimate/q.real-1), small)
			total += k
			for j, x := range q.x {
				x /= q.real
				size[j] += weight * x * x
				b[j] += k * x * (1 - q.rest/q.real)
				for l, y := range q.x {
					a[j*n+l] += k * x * y / q.real
				}
			}
		}
		all := 0.
		for _, c := range count {
			all += math.Sqrt(c)
		}
		for j := range n {
			pull := ridge*total*size[j]/all + 1e-9*total
			a[j*n+j] += pull
			b[j] += pull * prior[j]
		}
		for range sweeps {
			for j := range n {
				rest := b[j]
				for l, y := range w {
					if l != j {
						rest -= a[j*n+l] * y
					}
				}
				w[j] = max(0, rest/a[j*n+j])
				if j < bounded {
					w[j] = min(max(w[j], prior[j]/2), prior[j]*2)
				}
			}
		}
	}
	return w
}

// A fitting has the rows of the whole corpus.
type fitting struct {
	texts        []row // against o200k
	heuristic    map[token.Family][]row
	exact        map[token.Family][]row
	repositories []string
	encoding     *bpe.Encoding
	fitted       map[string][2][]float64
}

func newFitting(all []*recorded) *fitting {
	f := &fitting{heuristic: map[token.Family][]row{}, exact: map[token.Family][]row{}, encoding: bpe.For("gpt-5"), fitted: map[string][2][]float64{}}
	repos := map[string]bool{}
	for _, r := range all {
		repos[r.Repository] = true
		f.heuristic[r.family] = append(f.heuristic[r.family], r.rows(token.Kinds, func(text string, x []float64) float64 {
			return token.CountKinds(r.family, text, x)
		})...)
		f.exact[r.family] = append(f.exact[r.family], r.rows(1, func(text string, x []float64) float64 {
			x[0] += float64(f.encoding.Count(text))
			return 0
		})...)
		for _, s := range r.growth {
			for _, m := range s.Messages {
				for _, text := range textsOf(m) {
					if len(text) > 200 {
						q := row{x: make([]float64, token.Kinds), real: float64(f.encoding.Count(text)), repo: r.Repository}
						q.rest = token.CountKinds(token.GPT, text, q.x)
						f.texts = append(f.texts, q)
					}
				}
			}
		}
	}
	f.repositories = slices.Sorted(maps.Keys(repos))
	return f
}

func without(rows []row, repo string) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(q row) bool { return q.repo == repo })
}

// fit fits the weights of a family to all repositories but one. Where its sessions
// say little about a kind of character, the weight is near what the public
// tokenizer's is, at the family's rate.
func (f *fitting) fit(family token.Family, left string) (heuristic, exact []float64) {
	exact = solve(without(f.exact[family], left), []float64{1, 10, 10}, 0, 0)
	prior := slices.Repeat([]float64{.3}, token.Kinds)
	for i, w := range solve(without(f.texts, left), prior, 1e-4, 0) {
		prior[i] = max(w, .02) * exact[0]
	}
	return solve(without(f.heuristic[family], left), append(prior, exact[1:]...), .03, token.Kinds), exact
}

// weightsOf fits each family once for each repository that is left out, "" for none.
func (f *fitting) weightsOf(family token.Family, left string) (heuristic, exact []float64) {
	key := string(family) + " " + left
	if _, ok := f.fitted[key]; !ok {
		h, e := f.fit(family, left)
		f.fitted[key] = [2][]float64{h, e}
	}
	return f.fitted[key][0], f.fitted[key][1]
}

// TestFit prints the weights that weights.go should have, fitted to the whole corpus.
func TestFit(t *testing.T) {
	if testing.Short() {
		t.Skip("fits to the whole corpus")
	}
	all := recordedSessions(t)
	f := newFitting(all)
	for _, family := range []token.Family{token.Claude, token.ClaudeNew, token.GPT, token.Universal} {
		if len(f.heuristic[family]) == 0 {
			t.Logf("%s: the corpus has none", family)
			continue
		}
		h, e := f.weightsOf(family, "")
		t.Logf("%s: ascii, call, result %.3f; a token of o200k, call, result %.3f", family, h, e)
	}
}

// Estimates are near what providers reported on repositories that the weights were
// not fitted to: for each one, the weights are fitted to all the others.
func TestAccuracy(t *testing.T) {
	if testing.Short() {
		t.Skip("fits once for each repository of the corpus")
	}
	all := recordedSessions(t)
	f := newFitting(all)
	table := map[string]*replay.Errors{}
	add := func(name string, e replay.Errors) {
		if table[name] == nil {
			table[name] = &replay.Errors{}
		}
		table[name].Add(e)
	}
	repos := map[token.Family]map[string]bool{}
	for _, r := range all {
		if repos[r.family] == nil {
			repos[r.family] = map[string]bool{}
		}
		repos[r.family][r.Repository] = true
		h, x := f.weightsOf(r.family, r.Repository)
		e := replay.Measure(r.Path, func(provider, model string) token.Counter { return token.Fitted(provider, model, h) })
		for _, name := range []string{"model " + r.model, "family " + string(r.family), "format " + r.Format, "repository " + r.Repository, "all"} {
			add(name, e)
		}
		if r.Format != "claude-code" {
			add("all but claude-code", e)
		}
		e = replay.Measure(r.Path, func(provider, model string) token.Counter {
			return token.FittedExact("o200k", f.encoding.Count, provider, model, x)
		})
		add("o200k, family "+string(r.family), e)
		add("o200k, all", e)
		add("chars4, all", replay.Measure(r.Path, func(string, string) token.Counter { return token.Chars4() }))
	}
	var rows []replay.Row
	for _, name := range slices.Sorted(maps.Keys(table)) {
		rows = append(rows, replay.Row{Name: name, Errors: *table[name]})
	}
	t.Logf("%d repositories, each left out of the fit for it; %d prompts grew by what nothing in the record explains\n%s",
		len(f.repositories), table["all"].Unexplained, replay.Table(rows))
	check := func(what string, got, most float64) {
		t.Helper()
		if !(got <= most) {
			t.Errorf("%s: %.4f, at most %.4f is wanted", what, got, most)
		}
	}
	for family, in := range repos {
		if len(in) > 1 { // else there was nothing to fit to
			check("growth, median, "+string(family), table["family "+string(family)].Growth.Median(), .06)
		}
	}
	ours, complete := table["all"], table["all but claude-code"]
	check("growth, median", ours.Growth.Median(), .06)
	check("anchored, median", ours.Anchored.Median(), .0015)
	check("anchored, p95", ours.Anchored.Quantile(.95), .02)
	check("growth after ten calls, p95 of what is too low", ours.Learned.Low(.95), .20)
	check("guarded slices that are too low", ours.Guarded.Under(), .025)
	check("guarded slices, median above", ours.Guarded.Bias(), .17)
	if len(complete.Guarded) > 0 {
		check("guarded slices that are too low, of complete records", complete.Guarded.Under(), .01)
	}
	if chars4 := table["chars4, all"]; !(ours.Growth.Median() < chars4.Growth.Median()) {
		t.Error("the heuristic is no better than four characters to a token")
	}
}
