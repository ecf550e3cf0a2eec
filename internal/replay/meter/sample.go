package meter

import (
	"math"
	"slices"
	"unicode"

	"github.com/clew-dev/clew/message"
)

// Sample is an estimate and what was reported, in tokens.
type Sample struct {
	Estimate, Real int64
	// Messages are what was estimated, for Growth and Slices.
	Messages []*message.Message
	// CJK says that of the letters that were estimated at least a tenth were
	// Chinese, Japanese or Korean.
	CJK bool
}

// with returns the sample with another estimate.
func (s Sample) with(estimate int64) Sample {
	s.Estimate = estimate
	return s
}

// Error returns Estimate/Real - 1: below 0 the estimate was too low.
func (s Sample) Error() float64 { return float64(s.Estimate)/float64(s.Real) - 1 }

// Samples are the samples of one measure. The methods return NaN for no samples.
type Samples []Sample

// Median returns the median of the absolute errors.
func (s Samples) Median() float64 { return quantile(s.errors(math.Abs), .5) }

// Quantile returns a quantile of the absolute errors; .95 for p95.
func (s Samples) Quantile(q float64) float64 { return quantile(s.errors(math.Abs), q) }

// Bias returns the median of the errors with their sign.
func (s Samples) Bias() float64 { return quantile(s.errors(plain), .5) }

// Low returns by how much estimates were too low at a quantile: with .95, one of
// 20 was lower than that. It is 0 where even then they were not too low.
func (s Samples) Low(q float64) float64 {
	return max(0, quantile(s.errors(func(e float64) float64 { return -e }), q))
}

// Under returns the share of estimates that were too low.
func (s Samples) Under() float64 {
	n := 0
	for _, one := range s {
		if one.Estimate < one.Real {
			n++
		}
	}
	return float64(n) / float64(len(s))
}

// CJK returns the samples that are, or are not, of Chinese, Japanese and Korean.
func (s Samples) CJK(want bool) (some Samples) {
	for _, one := range s {
		if one.CJK == want {
			some = append(some, one)
		}
	}
	return some
}

func plain(e float64) float64 { return e }

func (s Samples) errors(of func(float64) float64) []float64 {
	out := make([]float64, len(s))
	for i, one := range s {
		out[i] = of(one.Error())
	}
	return out
}

// quantile returns the value below which a share of q of the values is.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(q*float64(len(values))))]
}

// cjk reports messages of whose letters at least a tenth are Chinese, Japanese or Korean.
func cjk(msgs []*message.Message) bool {
	var all, wide int64
	count := func(s string) {
		for _, r := range s {
			switch {
			case r < 0x80:
				if 'a' <= r|0x20 && r|0x20 <= 'z' {
					all++
				}
			case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
				all++
				wide++
			case unicode.IsLetter(r):
				all++
			}
		}
	}
	for _, m := range msgs {
		for i := range m.Content {
			count(m.Content[i].Text)
			count(string(m.Content[i].Arguments))
		}
	}
	return wide > 0 && wide*10 >= all
}
