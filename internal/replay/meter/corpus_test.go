package meter_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/clew-dev/clew/internal/replay/meter"
	"github.com/clew-dev/clew/token"
)

// corpus returns the recorded sessions. It skips the test where there are none,
// and fails it where some were promised.
func corpus(t *testing.T) []meter.Recorded {
	t.Helper()
	dir, promised := os.LookupEnv("CLEW_CORPUS")
	if !promised {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	all, skipped, err := meter.ReadCorpus(t.Context(), filepath.Join(dir, "sessions"))
	if err != nil || len(all) == 0 {
		if promised {
			t.Fatalf("CLEW_CORPUS is %q, and there is nothing: %v", dir, err)
		}
		t.Skip("no recorded sessions: set CLEW_CORPUS to their folder")
	}
	t.Logf("%d sessions; not read: %q", len(all), skipped)
	return all
}

// counters are what is compared.
var counters = []struct {
	name string
	of   func(provider, model string) token.Counter
}{
	{"heuristic", token.HeuristicFor},
	{"o200k", token.BPE},
	{"chars4", func(string, string) token.Counter { return token.Chars4() }},
}

// The estimates on recorded sessions are as good as docs/meter.md says.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("measures every recorded session")
	}
	all := corpus(t)
	var rows []meter.Row
	total := map[string]meter.Errors{}
	// Claude Code puts reminders into results that it does not record: what a
	// guard must cover can only be asked of the others.
	complete := meter.Errors{}
	for _, c := range counters {
		var formats []string
		by := map[string]*meter.Errors{}
		sum := meter.Errors{}
		for _, s := range all {
			e := meter.Measure(s.Path, c.of)
			if e.Calls == 0 {
				continue
			}
			if by[s.Format] == nil {
				formats = append(formats, s.Format)
				by[s.Format] = &meter.Errors{}
			}
			by[s.Format].Add(e)
			sum.Add(e)
			if s.Format != "claude-code" && c.name == "heuristic" {
				complete.Add(e)
			}
		}
		for _, f := range formats {
			rows = append(rows, meter.Row{Name: f + ", " + c.name, Errors: *by[f]})
		}
		rows = append(rows, meter.Row{Name: "all, " + c.name, Errors: sum})
		total[c.name] = sum
		if c.name == "heuristic" {
			rows = append(rows, meter.Row{Name: "all but claude-code, " + c.name, Errors: complete})
			for _, cal := range sum.Calibrations {
				t.Log(cal.Explain())
			}
			t.Logf("%d samples of growth are Chinese, Japanese or Korean", len(sum.Growth.CJK(true)))
		}
	}
	t.Logf("%d prompts grew by what nothing in the record explains\n%s", total["heuristic"].Unexplained, meter.Table(rows))
	ours := total["heuristic"]
	for _, limit := range []struct {
		what      string
		got, most float64
	}{
		{"anchored, median", ours.Anchored.Median(), .0015},
		{"anchored, p95", ours.Anchored.Quantile(.95), .02},
		{"growth, median", ours.Growth.Median(), .15},
		{"growth after ten calls, median", ours.Learned.Median(), .10},
		{"growth after ten calls, p95 of what is too low", ours.Learned.Low(.95), .20},
		{"guarded slices, median", ours.Guarded.Bias(), .17},
		{"guarded slices that are too low", ours.Guarded.Under(), .025},
		{"guarded slices that are too low, of complete records", complete.Guarded.Under(), .01},
		{"guarded slices, of complete records, median", complete.Guarded.Bias(), .15},
	} {
		if !(limit.got <= limit.most) || math.IsNaN(limit.got) {
			t.Errorf("%s: %.4f, at most %.4f is wanted", limit.what, limit.got, limit.most)
		}
	}
	if chars4 := total["chars4"]; !(ours.Growth.Median() < chars4.Growth.Median()) {
		t.Error("the heuristic is no better than four characters to a token")
	}
}
