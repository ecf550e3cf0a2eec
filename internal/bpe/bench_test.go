package bpe_test

import (
	"encoding/base64"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/clew-dev/clew/internal/bpe"
)

// hostile are texts that are one piece, or look like one again and again.
func hostile(n int) map[string]string {
	rnd := rand.New(rand.NewPCG(3, 4))
	raw := make([]byte, n*3/4)
	for i := range raw {
		raw[i] = byte(rnd.IntN(256))
	}
	return map[string]string{
		"han":    strings.Repeat("中", n),
		"a":      strings.Repeat("a", n),
		"spaces": strings.Repeat(" ", n),
		"base64": base64.StdEncoding.EncodeToString(raw),
		"marks":  strings.Repeat("\u0301", n),
		"upper":  strings.Repeat("中A", n/2),
	}
}

// The time for ten times the text is about ten times as long: MB/s hardly fall.
func BenchmarkHostile(b *testing.B) {
	e := encodings()[0]
	for _, kind := range []string{"han", "a", "spaces", "base64", "marks", "upper"} {
		for _, times := range []int{1, 10, 100} {
			text := hostile(20_000 * times)[kind]
			b.Run(kind+"/"+strconv.Itoa(times)+"x", func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					e.Count(text)
				}
			})
		}
	}
}

func BenchmarkCount(b *testing.B) {
	text := strings.Repeat("func (e *Encoding) Count(text string) int64 { // how many tokens, 12345 of them?\n\treturn 0\n}\n", 2000)
	for _, e := range encodings() {
		b.Run(e.Name(), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				e.Count(text)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		bpe.For("gpt-5").Count("x")
	}
}
