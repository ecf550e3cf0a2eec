package measure

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkPoint reads a conversation, cuts it and scores a text.
func BenchmarkPoint(b *testing.B) {
	msgs := conversation(rand.New(rand.NewPCG(1, 1)), 2000)
	size := 0
	for i := range msgs {
		size += len(msgs[i].Text) + len(msgs[i].Hidden)
		for _, c := range msgs[i].Calls {
			size += len(c.Arguments)
		}
	}
	text := strings.Join(linesOf(Digests(msgs[:200])), "\n")
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		ds := Digests(msgs)
		NewPoint(ds[:1900], ds[1900:1950], nil, ds[1950:], "").Score(text, "", 4000)
	}
}

func BenchmarkIdentifiers(b *testing.B) {
	text := strings.Repeat("see /src/app/main.go:12, parseHeader and #288; the cache breaks when it reads https://example.org/a\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for range Identifiers(text) {
		}
	}
}
