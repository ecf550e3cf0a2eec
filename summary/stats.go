package summary

import (
	"encoding/json"
	"math"

	"github.com/clew-dev/clew/internal/jsonx"
	"github.com/clew-dev/clew/internal/text"
)

// stats says of each identifier how much it was used. What the agent wrote
// itself counts most: it is the best sign of what it will write again.
type stats struct {
	names *names
	uses  []use // by the number of the identifier
	total int   // messages
}

type use struct {
	agent, world float64 // uses, later ones counting more
	messages     int32   // in how many messages it occurs
	kept         bool    // it stands in what is kept
}

func newStats(total int, n *names) *stats {
	return &stats{names: n, total: total, uses: make([]use, len(n.text))}
}

func (s *stats) use(n int32) *use {
	if int(n) >= len(s.uses) {
		s.uses = append(s.uses, make([]use, len(s.names.text)-len(s.uses))...)
	}
	return &s.uses[n]
}

// see records that message at holds the identifier.
func (s *stats) see(n int32, at int, byAgent bool) {
	u := s.use(n)
	u.messages++
	if byAgent {
		u.agent += s.recency(at)
	} else {
		u.world += s.recency(at)
	}
}

// remember records uses from before the messages at hand.
func (s *stats) remember(n int32, uses int) {
	u := s.use(n)
	u.messages += int32(min(uses, 100))
	u.agent += float64(min(uses, 6)) * s.recency(0)
}

// recency is the weight of a use at message at: it falls by half over a share of
// the conversation.
func (s *stats) recency(at int) float64 {
	half := math.Max(minHalfLife, halfLife*float64(s.total))
	return math.Exp2(-float64(s.total-1-at) / half)
}

// weights returns the weight of each identifier.
func (s *stats) weights() []float64 {
	out := make([]float64, len(s.names.text))
	for n := range s.uses {
		out[n] = s.weight(int32(n))
	}
	return out
}

// weight says how much it is worth to name the identifier.
func (s *stats) weight(n int32) float64 {
	u := &s.uses[n]
	w := math.Pow(u.agent, usesPower) + worldUse*math.Pow(u.world, usesPower)
	if u.messages == 1 {
		w *= onlyOnce
	}
	if u.agent == 0 {
		w *= neverByUs
	}
	switch s.names.class[n] {
	case text.Number, text.Hash, text.UUID:
		w *= asNumber
	case text.Flag, text.Ref:
		w *= asFlag
	case text.URL:
		w *= asURL
	default:
	}
	if u.kept {
		w *= keptAnyway
	}
	return w
}

// coordinate names arguments that say where to look, not what is known.
var coordinate = map[string]bool{
	"offset": true, "limit": true, "timeout": true, "line": true, "view_range": true, "yield_time_ms": true,
	"max_output_tokens": true, "head_limit": true,
}

// argumentTexts calls fn with the strings in the arguments of a call and the
// names of the members they stand in.
func argumentTexts(args json.RawMessage, fn func(name, s string)) {
	jsonx.Members(args, func(key, val []byte) bool {
		name := string(key)
		if !coordinate[name] {
			argumentText(name, val, fn, 0)
		}
		return true
	})
}

func argumentText(name string, val []byte, fn func(name, s string), depth int) {
	if depth > 8 {
		return
	}
	switch {
	case jsonx.IsString(val):
		s, _ := jsonx.String(val)
		fn(name, s)
	case jsonx.IsArray(val):
		jsonx.Elements(val, func(v []byte) bool {
			argumentText(name, v, fn, depth+1)
			return true
		})
	case jsonx.IsObject(val):
		jsonx.Members(val, func(k, v []byte) bool {
			argumentText(string(k), v, fn, depth+1)
			return true
		})
	}
}

// maxLook is how much of one text is looked at: its beginning and its end.
const maxLook = 64 << 10

func lookAt(s string) string {
	if len(s) <= maxLook {
		return s
	}
	return text.Head(s, maxLook*3/4) + "\n" + text.Tail(s, maxLook/4)
}
