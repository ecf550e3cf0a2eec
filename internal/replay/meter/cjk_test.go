package meter_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/clew-dev/clew/internal/replay/meter"
	"github.com/clew-dev/clew/message"
	"github.com/clew-dev/clew/session"
	"github.com/clew-dev/clew/token"
)

// No recorded session is Chinese, Japanese or Korean. So sessions are made of
// samples of these, with code and paths among them, and a provider that counts
// with o200k: what a GPT model would report. docs/meter.md has the table.
func TestCJK(t *testing.T) {
	data, err := os.ReadFile("../../../token/testdata/o200k.json")
	if err != nil {
		t.Fatal(err)
	}
	var samples []struct{ Kind, Text string }
	if err := json.Unmarshal(data, &samples); err != nil {
		t.Fatal(err)
	}
	texts := map[string][]string{}
	for _, s := range samples {
		texts[s.Kind] = append(texts[s.Kind], s.Text)
	}
	kinds := []string{"chinese", "traditional chinese", "japanese", "korean"}
	exact := token.BPE("openai", "gpt-5")
	total := map[string]*meter.Errors{"heuristic": {}, "chars4": {}}
	var rows []meter.Row
	for _, kind := range kinds {
		path := made(t, exact, append(texts[kind], texts["code"]...), len(texts[kind]))
		for _, c := range counters {
			if total[c.name] == nil {
				continue
			}
			e := meter.Measure(path, c.of)
			if n := len(e.Growth.CJK(true)); n < len(e.Growth)*9/10 {
				t.Errorf("%s: only %d of %d samples are taken for it", kind, n, len(e.Growth))
			}
			e = e.CJK(true)
			total[c.name].Add(e)
			rows = append(rows, meter.Row{Name: kind + ", " + c.name, Errors: e})
		}
	}
	for _, name := range []string{"heuristic", "chars4"} {
		rows = append(rows, meter.Row{Name: "all, " + name, Errors: *total[name]})
	}
	t.Logf("\n%s", meter.Table(rows))
	h, c := total["heuristic"], total["chars4"]
	if h.Growth.Median() > .25 || h.Learned.Median() > .10 || h.Learned.Low(.95) > .20 || h.Guarded.Under() > .01 || h.Guarded.Bias() > .25 {
		t.Errorf("heuristic: growth %.3f, learned %.3f, low %.3f, under %.3f, over %.3f",
			h.Growth.Median(), h.Learned.Median(), h.Learned.Low(.95), h.Guarded.Under(), h.Guarded.Bias())
	}
	if c.Growth.Median() < 2*h.Growth.Median() {
		t.Errorf("chars4 is off by %.3f, the heuristic by %.3f", c.Growth.Median(), h.Growth.Median())
	}
}

// made makes a session of 60 calls. Results are texts in random order, the first
// wide ones twice as often as the others.
func made(t *testing.T, provider token.Counter, texts []string, wide int) []*session.Entry {
	t.Helper()
	log, err := session.NewLog(t.Context(), session.NewMemory(session.Header{ID: "s"}), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(21, 22))
	prompt := int64(10_000)
	for i := range 60 {
		var b strings.Builder
		for range 4 + rnd.IntN(12) {
			k := rnd.IntN(len(texts))
			if rnd.IntN(3) > 0 {
				k = rnd.IntN(wide)
			}
			b.WriteString(texts[k] + "\n")
		}
		id, at := fmt.Sprint("c", i), time.UnixMilli(int64(i))
		a := message.Assistant(at, message.TextBlock(texts[rnd.IntN(wide)]), message.ToolCallBlock(id, "read", []byte(`{"path":"docs/notes.md"}`)))
		a.Provider, a.Model, a.Usage = "openai", "gpt-5", &message.Usage{Input: prompt, Output: provider.Message(a)}
		r := message.ToolResult(id, "read", b.String(), false, at)
		if _, err := log.Append(t.Context(), session.Message(a), session.Message(r)); err != nil {
			t.Fatal(err)
		}
		prompt += provider.Message(a) + provider.Message(r)
	}
	path, err := log.Path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return path
}
