package summary_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/clew-dev/clew/internal/testchat"
	"github.com/clew-dev/clew/summary"
)

// A whole summary, the facts included, at 1, 10 and 100 times: the time per byte must stay about
// the same.
func BenchmarkDeterministic(b *testing.B) {
	for _, n := range []int{50, 500, 5000} {
		items := chat(rand.New(rand.NewPCG(1, 1)), n).Items()
		bytes := 0
		for _, it := range items {
			bytes += len(it.Message.JSON())
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				summarize(b, summary.Input{Items: items, Cwd: cwd, Budget: 4000, ClipLast: true})
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	text := summarize(b, summary.Input{Items: chat(rand.New(rand.NewPCG(1, 1)), 500).Items(), Cwd: cwd, Budget: 4000, ClipLast: true}).Text
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, ok := summary.Parse(text); !ok {
			b.Fatal("not read")
		}
	}
}

// Many tiny messages, at 1, 10 and 100 times: the time per message must stay about the same.
// A tenth of them are quoted by the summary before.
func BenchmarkTiny(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		conv := testchat.New()
		var earlier []summary.Quote
		for i := range n / 2 {
			text := fmt.Sprintf("Now look at part %d of the list.", i)
			id := conv.User(text)
			if i < n/20 {
				earlier = append(earlier, summary.Quote{Ref: id, Text: text})
			}
			conv.Say(fmt.Sprintf("Part %d says that row%d is empty.", i, i))
		}
		items := conv.Items()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				summarize(b, summary.Input{Items: items, Earlier: earlier, Cwd: cwd, Budget: 20_000, ClipLast: true})
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/message")
		})
	}
}
