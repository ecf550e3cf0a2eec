package sessiongen_test

import (
	"fmt"

	"github.com/clew-dev/clew/internal/sessiongen"
)

func Example() {
	var all sessiongen.Stats
	for seed := range uint64(100) {
		s := sessiongen.Generate(seed, sessiongen.Options{WellFormed: true})
		all.Merge(s.Stats)
	}
	fmt.Println(all.Below(map[sessiongen.Feature]float64{
		sessiongen.TwoCompactions: 0.3,
		sessiongen.ParallelCalls:  0.8,
	}))
	// Output: []
}

func ExampleDamageAs() {
	s := sessiongen.Generate(5, sessiongen.Options{})
	_, harm, ok := sessiongen.DamageAs("BOM", 1, s.Bytes())
	fmt.Println(harm, ok)
	// Output: BOM: the file begins with a byte order mark true
}
