package summary_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/clew-dev/clew/internal/ledger"
	"github.com/clew-dev/clew/summary"
)

func BenchmarkDeterministic(b *testing.B) {
	for _, n := range []int{50, 500, 5000} {
		items := chat(rand.New(rand.NewPCG(1, 1)), n).Items()
		bytes := 0
		for _, it := range items {
			bytes += len(it.Message.JSON())
		}
		facts := ledger.Read(items, ledger.Options{Cwd: cwd})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				summarize(b, summary.Input{Items: items, Cwd: cwd, Budget: 4000, Ledger: &facts, ClipLast: true})
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
