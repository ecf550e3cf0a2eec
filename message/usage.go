package message

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/clew-dev/clew/internal/jsonx"
)

// Usage is what a provider reported for one call, in tokens. Input excludes what was read from or written to the
// prompt cache; Reasoning is part of Output.
type Usage struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64
	Reasoning  int64
	TotalCount int64   // totalTokens as reported; see Total
	Cost       float64 // total cost in US dollars, 0 when unknown
}

// Total returns the size of the context after the call: totalTokens where it was reported, else the sum of the parts.
func (u *Usage) Total() int64 {
	if u == nil {
		return 0
	}
	if u.TotalCount != 0 {
		return u.TotalCount
	}
	return sum(u.Input, u.CacheRead, u.CacheWrite, u.Output)
}

// Prompt returns the size of the request: input, cache read and cache write.
func (u *Usage) Prompt() int64 {
	if u == nil {
		return 0
	}
	return sum(u.Input, u.CacheRead, u.CacheWrite)
}

// sum adds counts and stops at the greatest int64.
func sum(counts ...int64) (total int64) {
	for _, n := range counts {
		if n > 0 && total > math.MaxInt64-n {
			return math.MaxInt64
		}
		total += n
	}
	return total
}

// ParseUsage reads a usage object; anything else gives nil. Negative counts are taken as 0.
func ParseUsage(val []byte) *Usage {
	if _, err := jsonx.Scan(val, 0); err != nil {
		return nil
	}
	return parseUsage(val[jsonx.Space(val, 0):])
}

// counts are the members of a usage that are counts, in the order of the file format.
var counts = []struct {
	key string
	at  func(u *Usage) *int64
}{
	{"input", func(u *Usage) *int64 { return &u.Input }},
	{"output", func(u *Usage) *int64 { return &u.Output }},
	{"cacheRead", func(u *Usage) *int64 { return &u.CacheRead }},
	{"cacheWrite", func(u *Usage) *int64 { return &u.CacheWrite }},
	{"reasoning", func(u *Usage) *int64 { return &u.Reasoning }},
	{"totalTokens", func(u *Usage) *int64 { return &u.TotalCount }},
}

func parseUsage(val []byte) *Usage {
	if !jsonx.IsObject(val) {
		return nil
	}
	u := &Usage{}
	jsonx.Members(val, func(key, v []byte) bool {
		for _, c := range counts {
			if c.key == string(key) {
				*c.at(u) = jsonx.Count(v)
			}
		}
		if string(key) == "cost" {
			u.Cost, _ = jsonx.Float(jsonx.Get(v, "total"))
		}
		return true
	})
	return u
}

// JSON returns the usage as the file format has it.
func (u *Usage) JSON() json.RawMessage {
	var o jsonx.Object
	whole := *u
	whole.TotalCount = u.Total()
	for _, c := range counts {
		if n := *c.at(&whole); n > 0 || c.key != "reasoning" {
			o.Int(c.key, n)
		}
	}
	// pi's readers expect all parts of the cost.
	cost := strconv.AppendFloat(nil, u.Cost, 'f', -1, 64)
	o.Raw("cost", []byte(`{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":`+string(cost)+`}`))
	return o.Bytes()
}
